// Operations on many rows of a table: updates, deletions by ID and by condition, and merges by key.
import { sameValues } from '../../../src/format/row-values.js'
import {
  type DeleteRowsResult,
  isStoreError,
  type MergeCounts,
  type MergeResult,
  type RowWithId,
  type Where,
} from '../../../src/index.js'
import { parseRendered } from '../../../src/schema/parse-rendered.js'
import { matches } from '../../store/find-oracle.js'
import { mergeOf } from '../../support/merge-oracle.js'
import type { ModelSchema } from './cell-rules.js'
import {
  type InputRow,
  type RowsSpec,
  type SampleRow,
  toChunk,
  toInput,
  tokensOfObject,
  toObject,
} from './input.js'
import { INVALID, isRefusedByKey, kindOf, namedRows } from './key-rules.js'
import {
  expectEqual,
  expectFailure,
  expectValue,
  type MadeIds,
  type Operation,
  type Outcome,
  show,
} from './operation.js'
import {
  changeSchema,
  currentOf,
  type Failure,
  judgeOf,
  judgeSource,
  type ModelGeneration,
  type ModelRow,
  type ModelTable,
  type OnSchemaError,
  rowJsonOf,
  shownCells,
} from './oracle.js'
import {
  type IfMatch,
  isPast,
  newRows,
  noteRowIds,
  onTable,
  type TableTarget,
  tableOf,
} from './row-operations.js'
import { cellsAfter, findRow, tokensOf } from './table-operations.js'

export type Update = Readonly<{ rowId: string; cells: SampleRow; ifMatch: IfMatch }>

/** @param updates - At most one per row. */
export function updateRows(
  target: TableTarget,
  updates: readonly Update[],
  onSchemaError: OnSchemaError,
): Operation {
  const shown = updates.map(({ rowId, cells, ifMatch }) => {
    return `${rowId} ifMatch ${ifMatch} ${show(toObject(cells))}`
  })
  return {
    text: `update ${updates.length} rows ${onSchemaError}: ${shown.join(', ')}`,
    run: (world) => {
      const given = updates.map(({ rowId, cells, ifMatch }) => ({
        rowId,
        cells: toObject(cells),
        ...(ifMatch !== undefined && { ifMatch }),
      }))
      return tableOf(world, target).updateRows(given, { onSchemaError })
    },
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        const found = updates.map(({ rowId }) => findRow(table, rowId)?.[0])
        const gone = found.indexOf(undefined) // Refused before a row that is too new.
        if (gone >= 0) return expectFailure(outcome, { code: 'ROW_NOT_FOUND', row: gone })
        const newer = found.findIndex((row, at) => row && isPast(updates[at]?.ifMatch, row))
        if (newer >= 0) return expectFailure(outcome, { code: 'PRECONDITION_FAILED', row: newer })
        const generation = currentOf(table)
        const sent = updates.map(({ cells }) => tokensOfObject(cells))
        const judged = judgeUpdates(sent, generation.schema, onSchemaError)
        if ('failures' in judged) return expectOneOf(outcome, judged.failures)
        const isChange = judged.tokens.some(({ size }) => size > 0)
        const version = table.version + (isChange ? 1 : 0)
        const changed = new Map<number, ModelRow>()
        for (const [i, { rowId }] of updates.entries()) {
          const [row, index] = findRow(table, rowId) ?? []
          const tokens = judged.tokens[i]
          if (row === undefined || index === undefined || !tokens?.size) continue
          changed.set(index, { ...row, cells: cellsAfter(row.cells, tokens), version })
        }
        const rows = generation.rows.map((row, index) => changed.get(index) ?? row)
        const keyed = { before: generation.schema, after: judged.schema, rows: namedRows(rows) }
        if (isChange && isRefusedByKey(outcome, table.key, keyed)) return
        table.version = version
        expectEqual('the result', expectValue(outcome), { version })
        if (!isChange) return
        changeSchema(generation, judged.schema, version)
        for (const [index, row] of changed) generation.rows[index] = row
      })
    },
  }
}

type Judged = Readonly<{
  schema: ModelSchema
  tokens: readonly ReadonlyMap<string, string | null>[]
}>

/** All cells are judged against one schema. The error depends on what is wrong with each. */
function judgeUpdates(
  sent: readonly InputRow[],
  before: ModelSchema,
  onSchemaError: OnSchemaError,
): Judged | Readonly<{ failures: readonly Failure[] }> {
  const columns = [...new Set(sent.flatMap((row) => row.map(([id]) => id)))]
  const judge = judgeOf([{ chunk: { columns, rows: sent, claims: [] } }], before, onSchemaError)
  const failures: Failure[] = []
  const tokens: ReadonlyMap<string, string | null>[] = []
  for (const [row, cells] of sent.entries()) {
    const found = tokensOf(cells, judge)
    if ('failure' in found) failures.push({ ...found.failure, row })
    else tokens.push(found.tokens)
  }
  return failures.length > 0 ? { failures } : { schema: judge.schema, tokens }
}

function expectOneOf(outcome: Outcome, failures: readonly Failure[]): void {
  const row =
    'failure' in outcome && isStoreError(outcome.failure) ? outcome.failure.row : undefined
  const [first = { code: 'REQUEST_VALIDATION_ERROR' as const }] = failures
  expectFailure(outcome, failures.find((failure) => failure.row === row) ?? first)
}

/** The rows to delete: by IDs, or by a condition. */
export type WhichRows = Readonly<{ rowIds: readonly string[] }> | Readonly<{ where: Where }>

export function deleteRows(target: TableTarget, which: WhichRows): Operation {
  return {
    text: `delete the rows ${show(which)}`,
    run: (world) => tableOf(world, target).deleteRows('where' in which ? which : which.rowIds),
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        const generation = currentOf(table)
        const rowIds = 'where' in which ? idsThatMatch(generation, which.where) : which.rowIds
        const found = new Set(rowIds.filter((rowId) => findRow(table, rowId) !== null))
        if (found.size > 0) table.version++
        for (const [index, row] of generation.rows.entries()) {
          if (found.has(row.id)) generation.rows[index] = { ...row, cells: [], gone: true }
        }
        const missing = rowIds.length - found.size
        const expected = { version: table.version, deleted: found.size, missing }
        expectEqual('the result', expectValue(outcome) as DeleteRowsResult, expected)
      })
    },
  }
}

/** The rows as read with numbers as text. */
export function rowsAsText(generation: ModelGeneration): RowWithId[] {
  return generation.rows
    .filter(({ gone }) => !gone)
    .map((row) => parseRendered(rowJsonOf(row, generation), 'text') as RowWithId)
}

function idsThatMatch(generation: ModelGeneration, where: Where): string[] {
  const rows = rowsAsText(generation).filter((row) => matches(generation.schema, row, where))
  return rows.map(({ $rowID }) => $rowID)
}

export type MergeSpec = Readonly<{
  missing: 'keep' | 'delete'
  unnamed: 'keep' | 'empty'
  key: readonly string[]
  rows: RowsSpec
  ifMatch: IfMatch
  dryRun: boolean
}>

type MergedAndMade = MergeResult & Readonly<{ ids: MadeIds }>

export function mergeRows(target: TableTarget, merge: MergeSpec): Operation {
  const { missing, unnamed, key, rows, ifMatch, dryRun } = merge
  const texts = rows.rows.map((row) => `{${row.map(([id, { json }]) => `${id}: ${json}`).join()}}`)
  return {
    text: `${dryRun ? 'dry run: ' : ''}merge (missing ${missing}, unnamed ${unnamed} by ${key.join()}) ifMatch ${ifMatch} [${texts.join(', ')}]`,
    async run(world): Promise<MergedAndMade> {
      const bound = ifMatch === undefined ? {} : { ifMatch }
      const request = { rows: toInput(rows), key, missing, unnamed, dryRun, ...bound }
      const merged = await tableOf(world, target).merge(request)
      return noteRowIds(world, { ...merged, rowIds: merged.addedRowIds })
    },
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        if (isPast(ifMatch, table)) return expectFailure(outcome, { code: 'PRECONDITION_FAILED' })
        const generation = currentOf(table)
        if (!mayMergeBy(key, table)) return expectFailure(outcome, INVALID)
        const source = [{ chunk: toChunk(rows) }]
        const judge = judgeOf(source, generation.schema, 'abort')
        const judged = judgeSource(source, judge)
        if ('failure' in judged) return expectFailure(outcome, judged.failure)
        const kinds = key.map((id) => kindOf(generation.schema, id) ?? 'array')
        if (kinds.includes('array')) return expectFailure(outcome, INVALID)
        const joined = join(generation, judged.rows, merge)
        if ('failure' in joined) return expectFailure(outcome, joined.failure)
        const { added, counts } = joined
        const { version, ids, ...found } = expectValue(outcome) as MergedAndMade
        const isChange = !dryRun && counts.added + counts.changed + counts.removed > 0
        if (isChange) table.version++
        const { addedRowIds: _, rowIds: __, ...told } = found as typeof found & { rowIds?: unknown }
        expectEqual('the result', { version, ...told }, { version: table.version, ...counts })
        if (dryRun) return expectEqual('the new row IDs', ids, [])
        const made = newRows(ids, added, version, { others: generation.rows })
        const rowsAfter = joined.rows.map((row, i) => {
          return row === generation.rows[i] ? row : { ...row, version }
        })
        generation.rows = [...rowsAfter, ...made]
      })
    },
  }
}

/** A table with a key is merged only by it. */
function mayMergeBy(key: readonly string[], { key: own }: ModelTable): boolean {
  return own === null || (own.length === key.length && own.every((id) => key.includes(id)))
}

type Cells = ModelRow['cells']

type Joined = Readonly<{
  /** The previous rows in their order. Changed ones are other objects. */
  rows: readonly ModelRow[]
  added: readonly Cells[]
  counts: MergeCounts
}>

function join(
  { rows: before, schema }: ModelGeneration,
  input: readonly Cells[],
  { key, missing, unnamed, rows: sent }: MergeSpec,
): Joined | Readonly<{ failure: Failure }> {
  const incoming = input.map((cells) => new Map(cells))
  for (const cells of incoming) {
    const column = key.find((id) => !cells.has(id))
    if (column !== undefined) return { failure: { code: 'COLUMN_HAS_INVALID_VALUE', column } }
  }
  const shown = before.map((row) => (row.gone ? null : new Map(shownCells(row, schema))))
  const named = toChunk(sent).columns
  const merged = mergeOf(shown, incoming, { key, missing, unnamed, named, isSame: sameValues })
  if (merged === null) return { failure: { code: 'KEY_NOT_UNIQUE' } }
  const rows = before.map((row, at): ModelRow => {
    const fate = merged.fates[at]
    if (fate === 'removed') return { ...row, cells: [], gone: true }
    if (typeof fate !== 'object') return row
    const whole = unnamed === 'empty' ? input[fate.partner] : undefined
    return { ...row, cells: whole ?? cellsAfter(row.cells, fate.changes) }
  })
  return { rows, added: input.filter((_, at) => merged.added.includes(at)), counts: merged.counts }
}

/** Rows of a merge: some of the table, changed or not, and others. A key occurs once. */
export function rowsToMerge(
  generation: ModelGeneration | undefined,
  { key, from, rows }: Readonly<{ key: readonly string[]; from: number; rows: RowsSpec }>,
): RowsSpec {
  const live = generation?.rows.filter(({ gone }) => !gone) ?? []
  const { schema } = generation ?? { schema: { columns: [] } }
  const known = live.slice(from, from + ROWS_TAKEN).map((row, i): SampleRow => {
    const cells = new Map(
      shownCells(row, schema).map(([id, json]) => [id, { json, field: json }] as const),
    )
    if (i % 2 === 0) return [...cells]
    const change = rows.rows[i >> 1]?.filter(([id]) => !key.includes(id)) ?? []
    return [...new Map([...cells, ...change])]
  })
  const seen = new Set<string>()
  const all = [...rows.rows.slice(ROWS_TAKEN >> 1), ...known].filter((row) => {
    const tokens = key.map((id) => row.find(([column]) => column === id)?.[1].json)
    const text = tokens.join()
    const isEmpty = tokens.some((token) => token === undefined || ['null', '""'].includes(token))
    if (isEmpty || seen.has(text)) return false
    seen.add(text)
    return true
  })
  return { form: rows.form === 'jsonBytes' ? 'jsonBytes' : 'json', rows: all, times: 1, claims: [] }
}

/** Most rows of the table that a merge takes. */
const ROWS_TAKEN = 6
