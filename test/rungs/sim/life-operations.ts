// Operations of a history on the life of tables, and on many rows at once.
import type { DeleteRowsResult } from '../../../src/index.js'
import { type DiskJudge, refused, SCHEMA, type SimOperation } from './operations.js'
import {
  isUnique,
  type ModelRow,
  type ModelTable,
  type Outcome,
  type TableState,
} from './oracle.js'

type Alteration = Readonly<{ name?: string; hasFiles?: boolean }>

/** Renames a table, drops its column `f`, or adds it again, without its former cells. */
export function alterTable(
  world: DiskJudge,
  table: ModelTable,
  { name, hasFiles }: Alteration,
): SimOperation {
  const columns = SCHEMA.columns.filter(({ id }) => id !== 'f' || hasFiles)
  const altered = (state: NonNullable<TableState>): NonNullable<TableState> => {
    const version = state.version + 1
    const renamed = { ...state, name: name ?? state.name }
    const retains = hasFiles === undefined || hasFiles === state.hasFiles
    if (retains) return renamed.name === state.name ? state : { ...renamed, version }
    if (hasFiles) return { ...renamed, version, hasFiles }
    const rows = state.rows.map((row) => ({ ...row, f: null, version }))
    return { ...renamed, version, rows, hasFiles }
  }
  const shown = hasFiles === undefined ? '' : ` ${hasFiles ? 'with' : 'without'} f`
  return {
    text: `alter ${table.name}${name === undefined ? '' : ` to ${name}`}${shown}`,
    table,
    run: ({ team }) => {
      const target = team.table(table.id ?? '')
      if (hasFiles === undefined) return target.rename(name ?? '')
      const change = { schema: { columns }, ...(name !== undefined && { name }) }
      if (hasFiles) return target.alter(change)
      return target.alter({ ...change, drop: ['f'] }).catch((failure) => {
        const lacksIt = String(failure).includes('drop names a column that is not dropped')
        if (lacksIt) return target.alter(change)
        throw failure
      })
    },
    apply: (state, outcome) => {
      const dropsKey = state?.key === 'f' && hasFiles === false
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          return dropsKey && code === 'REQUEST_VALIDATION_ERROR'
        })
      }
      if (state === null || dropsKey) return []
      const next = altered(state)
      return fits(outcome, ({ version }) => version === next.version) ? [next] : []
    },
  }
}

/** Whether an operation's result passes a check. An operation without a result passes. */
export function fits(outcome: Outcome, check: (value: { version: number }) => boolean): boolean {
  return outcome.kind !== 'done' || check(outcome.value as { version: number })
}

export function deleteTable(
  world: DiskJudge,
  table: ModelTable,
  ifMatch: number | undefined,
): SimOperation {
  return {
    text: `delete ${table.name}${ifMatch === undefined ? '' : ` if ${ifMatch}`}`,
    table,
    run: ({ team }) => team.table(table.id ?? '').delete({ ifMatch }),
    apply: (state, outcome) => {
      const isOver = state !== null && ifMatch !== undefined && state.version > ifMatch
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          return code === 'PRECONDITION_FAILED' && isOver
        })
      }
      return state === null || isOver ? [] : [null]
    },
  }
}

export function updateRows(
  world: DiskJudge,
  table: ModelTable,
  rows: readonly Readonly<{ row: ModelRow; text: string }>[],
): SimOperation {
  const texts = new Map(rows.map(({ row, text }) => [row.id, text]))
  const after = (state: NonNullable<TableState>): NonNullable<TableState> => {
    const version = state.version + 1
    const next = state.rows.map((row) => {
      const v = texts.get(row.id)
      return v === undefined ? row : { ...row, v, version }
    })
    return { ...state, version, rows: next }
  }
  return {
    text: `update ${rows.map(({ row, text }) => `${row.n} to ${text}`).join()} of ${table.name}`,
    table,
    readsObjects: true,
    run: ({ team }) => {
      const updates = rows.map(({ row, text }) => ({ rowId: row.id ?? '', cells: { v: text } }))
      return team.table(table.id ?? '').updateRows(updates)
    },
    apply: (state, outcome) => {
      const there = state?.rows.filter(({ id }) => texts.has(id)) ?? []
      const isWhole = there.length === rows.length
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          if (state === null) return false
          if (code === 'KEY_NOT_UNIQUE') return isWhole && !isUnique(state.key, after(state).rows)
          return code === 'ROW_NOT_FOUND' && !isWhole
        })
      }
      if (state === null || !isWhole) return []
      const next = after(state)
      if (!isUnique(next.key, next.rows)) return []
      return fits(outcome, ({ version }) => version === next.version) ? [next] : []
    },
  }
}

export function deleteRows(
  world: DiskJudge,
  table: ModelTable,
  rows: readonly ModelRow[],
): SimOperation {
  const ids = new Set(rows.map(({ id }) => id))
  return {
    text: `delete ${rows.map(({ n }) => n).join()} of ${table.name}`,
    table,
    readsObjects: true,
    run: ({ team }) => team.table(table.id ?? '').deleteRows(rows.map(({ id }) => id ?? '')),
    apply: (state, outcome) => {
      if (outcome.kind === 'failed') return refused(world, state, outcome.failure, () => false)
      if (state === null) return []
      const left = state.rows.filter(({ id }) => !ids.has(id))
      const count = state.rows.length - left.length
      const version = state.version + (count > 0 ? 1 : 0)
      const isRight = fits(outcome, (value) => {
        const { deleted, missing } = value as DeleteRowsResult
        return value.version === version && deleted === count && missing === ids.size - count
      })
      return isRight ? [{ ...state, version, rows: left }] : []
    },
  }
}
