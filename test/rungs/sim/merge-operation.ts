// Merges by key in a history: the numbers of rows are their keys.
import type { MergeCounts, MergeResult } from '../../../src/index.js'
import { MERGE_MODES, mergeOf } from '../../support/merge-oracle.js'
import { show } from '../model/operation.js'
import { type DiskJudge, inputOf, type RowsForm, refused, type SimOperation } from './operations.js'
import { type ModelRow, type ModelTable, showRows, type TableState } from './oracle.js'

export type SimMerge = Readonly<{
  mode: 'upsert' | 'replace'
  /** Each number at most once. */
  rows: readonly ModelRow[]
  form: RowsForm
  idempotencyKey?: string
}>

type Merged = Readonly<{ state: NonNullable<TableState>; counts: MergeCounts }>

export function mergeTable(world: DiskJudge, table: ModelTable, merge: SimMerge): SimOperation {
  const { mode, rows, form, idempotencyKey } = merge
  return {
    text: `merge (${mode}) into ${table.name} ${form} ${showRows(rows)}`,
    table,
    readsObjects: true,
    run: ({ team }) => {
      const key = idempotencyKey === undefined ? {} : { idempotencyKey }
      return team
        .table(table.id ?? '')
        .merge({ rows: inputOf(rows, form), key: ['n'], ...MERGE_MODES[mode], ...key })
    },
    apply: (state, outcome) => {
      const isRefused = state === null || !['n', null].includes(state.key)
      const mustFail = isRefused || (!state.hasFiles && namesFiles(merge))
      const merged = mustFail ? null : mergedState(state, merge)
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          if (state === null) return false
          if (isRefused && code === 'REQUEST_VALIDATION_ERROR') return true
          if (!state.hasFiles && code === 'COLUMN_ID_NOT_FOUND') return namesFiles(merge)
          return code === 'KEY_NOT_UNIQUE' && merged === null
        })
      }
      if (merged === null) return []
      if (outcome.kind === 'unknown') return [merged.state]
      const { version, addedRowIds, added, changed, unchanged, removed } =
        outcome.value as MergeResult
      const found = { added, changed, unchanged, removed }
      if (version !== merged.state.version || show(found) !== show(merged.counts)) return []
      const known = merged.state.rows.length - added
      const withIds = merged.state.rows.map((row, i) => {
        return i < known ? row : { ...row, id: addedRowIds.at(i - known) ?? null }
      })
      return [{ ...merged.state, version, rows: withIds }]
    },
  }
}

/** null: a row of the input has the key of two rows of the table. */
function mergedState(state: NonNullable<TableState>, merge: SimMerge): Merged | null {
  const { mode, rows: input } = merge
  const named = namesFiles(merge) ? ['n', 'v', 'f'] : ['n', 'v']
  const rules = { ...MERGE_MODES[mode], key: ['n'], named, isSame: Object.is }
  const merged = mergeOf(state.rows.map(cellsOf), input.map(cellsOf), rules)
  if (merged === null) return null
  const { fates, added, counts } = merged
  const version = state.version + 1
  const kept = state.rows.flatMap((row, at): ModelRow[] => {
    const fate = fates[at]
    if (typeof fate !== 'object') return fate === 'removed' ? [] : [row]
    return [{ ...row, ...Object.fromEntries(fate.changes), version }]
  })
  const rows = [...kept, ...added.flatMap((at) => input.slice(at, at + 1))].map((row, at) => {
    return at < kept.length ? row : { ...row, id: null, version }
  })
  const isChanged = counts.added + counts.changed + counts.removed > 0
  return { state: isChanged ? { ...state, version, rows } : state, counts }
}

function cellsOf({ n, v, f }: ModelRow): ReadonlyMap<string, unknown> {
  return new Map(Object.entries({ n, v, f }).filter(([, value]) => value !== null))
}

/** A CSV header without rows names no column, as in an add. */
function namesFiles({ rows, form }: SimMerge): boolean {
  return (form === 'csv' && rows.length > 0) || rows.some(({ f }) => f !== null)
}
