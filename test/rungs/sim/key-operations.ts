// Operations of a history on the keys of tables. An operation that would break a key has no effect.
import type { ChangeResult, ReadResult, RowIds } from '../../../src/index.js'
import { fits, updateRows } from './life-operations.js'
import {
  changeTable,
  type DiskJudge,
  matchRows,
  type OperationPlace,
  refused,
  type SimOperation,
  updateRow,
} from './operations.js'
import {
  isUnique,
  type KeyColumn,
  type ModelRow,
  type ModelTable,
  type Oracle,
  showRows,
  type TableState,
} from './oracle.js'

/** Gives a table a key; null removes it. */
export function alterKey(world: DiskJudge, table: ModelTable, key: KeyColumn | null): SimOperation {
  return {
    text: `alter ${table.name} to be by ${key}`,
    table,
    readsObjects: true,
    run: ({ team }) => team.table(table.id ?? '').alter({ key: key === null ? null : [key] }),
    apply: (state, outcome) => {
      const isBroken = state !== null && !isUnique(key, state.rows)
      const isAbsent = state !== null && key === 'f' && !state.hasFiles
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          if (isAbsent) return code === 'REQUEST_VALIDATION_ERROR'
          return code === 'KEY_NOT_UNIQUE' && isBroken
        })
      }
      if (state === null || isBroken || isAbsent) return []
      const next = state.key === key ? state : { ...state, version: state.version + 1, key }
      return fits(outcome, ({ version }) => version === next.version) ? [next] : []
    },
  }
}

/**
 * Sends a text for a number column that is the table's key. This has no effect, because it would change the keys of all
 * rows.
 * @param ifMatch - A version up to which the key is certainly this one.
 */
export function retypeKey(world: DiskJudge, table: ModelTable, ifMatch: number): SimOperation {
  const rows = [{ n: 'a text', v: 'no row' }]
  const merge = { rows, key: ['n'], ifMatch, onSchemaError: 'updateSchema' } as const
  return {
    text: `merge a text for a number into ${table.name} if ${ifMatch}`,
    table,
    readsObjects: true,
    run: ({ team }) => team.table(table.id ?? '').merge(merge),
    apply: (state, outcome) => {
      if (outcome.kind !== 'failed') return []
      return refused(world, state, outcome.failure, (code) => {
        if (state === null) return false
        if (code === 'PRECONDITION_FAILED') return state.version > ifMatch
        return code === 'REQUEST_VALIDATION_ERROR' && state.key === 'n'
      })
    },
  }
}

/** In one transaction of two steps, gives a row a new text, and its old text to another row. */
export function handOverText(
  world: DiskJudge,
  oracle: Oracle,
  table: ModelTable,
  [from, to]: readonly [ModelRow, ModelRow],
): SimOperation {
  const text = oracle.newText(from.n)
  const given = [
    { row: from, text },
    { row: to, text: oracle.shareText(to.n, from.v) },
  ]
  return {
    ...updateRows(world, table, given),
    text: `in a transaction: update ${table.name} ${from.n} to ${text}, then ${to.n} to ${from.v}`,
    run: ({ team }) =>
      team.transaction(async (t) => {
        const target = t.table(table.id ?? '')
        await target.updateRow(from.id ?? '', { v: text })
        return target.updateRow(to.id ?? '', { v: from.v })
      }),
  }
}

/** Reads a row by its key, concurrently with other operations. */
export function getBeside(
  world: DiskJudge,
  table: ModelTable,
  key: KeyColumn,
  value: string | number,
): SimOperation {
  return {
    text: `get ${table.name} by ${key} ${value}`,
    table,
    readsObjects: true,
    run: ({ team }) => team.table(table.id ?? '').get({ [key]: value }),
    apply: (state, outcome) => {
      if (outcome.kind === 'unknown') return []
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          return code === 'REQUEST_VALIDATION_ERROR' && state !== null && state.key !== key
        })
      }
      if (state?.key !== key) return []
      const found = outcome.value as ReadResult | null
      const row = state.rows.find((one) => one[key] === value)
      if (row === undefined || found === null) {
        return row === undefined && found === null ? [state] : []
      }
      const isIt = found.version === row.version && matchRows([row], [found.row]) !== null
      return isIt ? [state] : []
    },
  }
}

/** The same operation as the only one of a transaction. */
export function inTransaction(operation: SimOperation): SimOperation {
  return {
    ...operation,
    text: `in a transaction: ${operation.text}`,
    run: ({ team, store }) =>
      team.transaction((t) =>
        operation.run({ store, team: t as unknown as OperationPlace['team'] }),
      ),
  }
}

/** Adds rows, two of which have the same text. */
export function addTwins(
  world: DiskJudge,
  oracle: Oracle,
  table: ModelTable,
  count: number,
): SimOperation {
  const [first, ...others] = oracle.newRows(count, null)
  const text = first?.v ?? ''
  const last = others.pop()
  const twins = [first, ...others, last && { ...last, v: oracle.shareText(last.n, text) }]
  const rows = twins.filter((row): row is ModelRow => row !== undefined)
  return changeTable(world, 'add', table, { rows, form: 'objects' }, {})
}

/** Gives a row a text that it or another row once had, and that no row has now, as far as the oracle knows. */
export function takePastText(
  world: DiskJudge,
  oracle: Oracle,
  table: ModelTable,
  [row, other]: readonly [ModelRow, ModelRow],
): SimOperation | null {
  const text = oracle.pastText(other)
  if (text === null) return null
  return updateRow(world, oracle, table, row, undefined, oracle.shareText(row.n, text))
}

/** In one transaction gives a row a text, and adds rows, one of which has the same text. */
export function updateAndAdd(
  world: DiskJudge,
  oracle: Oracle,
  table: ModelTable,
  row: ModelRow,
): SimOperation {
  const added = oracle.newRows(3, null)
  const text = oracle.shareText(row.n, added[0]?.v ?? '')
  const after = (state: NonNullable<TableState>, ids?: RowIds): NonNullable<TableState> => {
    const version = state.version + 1
    const before = state.rows.map((one) => (one.id === row.id ? { ...one, v: text, version } : one))
    const news = added.map((one, i) => ({ ...one, id: ids?.at(i) ?? null, version }))
    return { ...state, version, rows: [...before, ...news] }
  }
  const run: SimOperation['run'] = ({ team }) =>
    team.transaction(async (t) => {
      const target = t.table(table.id ?? '')
      await target.updateRow(row.id ?? '', { v: text })
      return target.addRows(added.map(({ n, v }) => ({ n, v })))
    })
  return {
    text: `in a transaction: update ${table.name} ${row.n} to ${text} and add ${showRows(added)}`,
    table,
    readsObjects: true,
    run,
    apply: (state, outcome) => {
      const isThere = state?.rows.some(({ id }) => id === row.id) ?? false
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          if (state === null) return false
          return isThere ? code === 'KEY_NOT_UNIQUE' && state.key === 'v' : code === 'ROW_NOT_FOUND'
        })
      }
      if (state === null || !isThere || state.key === 'v') return []
      if (outcome.kind === 'unknown') return [after(state)]
      const { version, rowIds } = outcome.value as ChangeResult
      return version === state.version + 1 ? [after(state, rowIds)] : []
    },
  }
}
