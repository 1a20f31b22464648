// Updates or deletes one row: lays a row record over its position, in a commit that checks the table's head.

import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, bytesOf, utf8 } from '../../base/bytes.js'
import type { Deferred } from '../../base/data-error.js'
import { typeName } from '../../base/options.js'
import type { Random } from '../../base/random.js'
import { StoreError } from '../../base/store-error.js'
import type { Steps } from '../../base/time-slices.js'
import { type Position, rowKey, schemaKey, type TableKey } from '../../format/keys.js'
import { encodeRowRecord, type TableHead } from '../../format/records.js'
import { spliceRowText } from '../../format/row-text.js'
import { hideDropped } from '../../format/schema-record.js'
import type { ReadRecord } from '../../kv/kv.js'
import type { ObjectId } from '../../objects/objects.js'
import type { ColumnSummary } from '../../schema/column-summary.js'
import { decodeJsonText, scanJsonChanges } from '../../schema/scan-json.js'
import { newSummary, summarizeTokenInSteps } from '../../schema/summarize.js'
import { checkSchemaSize } from '../../schema/table-schema.js'
import { checkIfMatch } from '../arguments/if-match.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import { type IndexedSchema, indexSchema } from '../caches/schema-cache.js'
import { filesOfRecords, putMarkers } from '../commit/file-markers.js'
import type { AheadOfTurn } from '../commit/table-looks.js'
import type { Plan, Planned } from '../commit/table-writer.js'
import { hintOfRecord, hintOfTable } from '../commit/work-hints.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { invalidValue, scanRowObject, unknownColumn } from '../import/row-object.js'
import { checkColumnCount, widenColumns } from '../import/schema-of-rows.js'
import { brokenRule, cellFits, type RowPolicy, toStoredToken } from '../import/stored-form.js'
import {
  type FoundRow,
  findPosition,
  findRow,
  type RowSources,
  recordsOfRow,
  rowNotFound,
} from '../read/row-lookup.js'
import type { CompactedRow } from '../segments/segment-cache.js'
import type { OnSchemaError, RowInput } from '../types/row-types.js'
import type { DeleteResult } from '../types/store-types.js'
import { planNewSchema, putSchema, underSchema } from './schema-change.js'

/** New cells by column ID: JSON tokens, or null for an emptied cell. They are in the order in which they were given. */
export type CellChanges = ReadonlyMap<string, string | null>

type Version = Readonly<{ version: number }>

/** The place of a row, as a plan sees it. */
type RowPlace = Readonly<{
  read: ReadRecord
  random: Random
  team: TeamContext
  table: TableKey
  position: Position
}>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED, COLUMN_HAS_INVALID_VALUE */
export function changesOfObject(cells: RowInput, onSchemaError: OnSchemaError): CellChanges {
  const { ids, tokens } = scanRowObject(cells, onSchemaError === 'dropColumns')
  return new Map(ids.map((id, i) => [id, tokens[i] ?? null]))
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED */
export function changesOfText(json: Bytes | string, options: ResolvedOptions): CellChanges {
  const text = typeof json === 'string' ? json : bytesOf(json)
  if (text === undefined) {
    const message = `updateRowJson takes the text or the bytes of a JSON object, not ${typeName(json)}`
    throw new StoreError('REQUEST_VALIDATION_ERROR', message)
  }
  const decoded = typeof text === 'string' ? text : decodeJsonText(text)
  return scanJsonChanges(decoded, {
    columnsMax: options.columnsMax,
    rowCharsMax: options.rowBytesMax,
  })
}

export function updateRowCells(
  place: TablePlace,
  rowId: string,
  changes: Deferred<CellChanges>,
  options: Readonly<{ ifMatch: number | bigint | undefined; onSchemaError: OnSchemaError }>,
): Promise<Version> {
  const { team, table } = place
  const rows = team.kv.shared ? keepingText(team) : team
  return team.writers.change(
    place,
    (head, read) =>
      chain(findRow(rows, read, table, head.generation, rowId), (row) => {
        if (row === null) throw rowNotFound(rowId)
        checkIfMatch('row', options.ifMatch, toPublicVersion(team, row).version)
        const given = changes()
        const schema = team.schemas.get(table, head.generation.schemaNumber, read)
        return chain(schema, (found) => {
          const judged = judgeAndConform(team, given, found, options.onSchemaError)
          return chain(team.slices.begin().run(judged), ({ policy, cells }) => {
            if (cells.size === 0) return { result: { version: head.version } }
            const newSchema = planNewSchema(found, policy.schema)
            const shown = hideDropped(row.stored.text, found.past, row.stored.version)
            const text = spliceRowText(shown, cells)
            checkRowSize(text, team.options.rowBytesMax)
            const { random } = team.options
            const rowPlace = { read, random, team, table, position: row.position }
            return writeText(head, rowPlace, { ...row.stored, text }, newSchema)
          })
        })
      }),
    aheadOfUpdate(place, rows, rowId),
  )
}

/** @returns undefined: the store is not shared, so nothing is read ahead */
function aheadOfUpdate(
  { team, table }: TablePlace,
  rows: RowSources,
  rowId: string,
): AheadOfTurn | undefined {
  if (!team.kv.shared) return undefined
  const records = recordsOfRow(table, rowId)
  return {
    keys: (head) => [...records, schemaKey(table, head?.generation.schemaNumber ?? 0)],
    warm: ({ generation }, read) => findRow(rows, read, table, generation, rowId),
  }
}

/** Keeps the text of the last row read, so that a turn does not read a row again that was read before the turn. */
function keepingText({ extents, forwards, schemas, segments }: TeamContext): RowSources {
  let kept: Readonly<{ object: ObjectId; slot: number; text: string }> | undefined
  let keptCompacted: Readonly<{ object: ObjectId; slot: number; row: CompactedRow }> | undefined
  return {
    extents,
    forwards,
    schemas,
    segments: {
      footer: (ref) => segments.footer(ref),
      rowText: (ref, slot) => {
        if (kept?.object === ref.object && kept.slot === slot) return kept.text
        return chain(segments.rowText(ref, slot), (text) => {
          kept = { object: ref.object, slot, text }
          return text
        })
      },
      compactedRow: (ref, slot, shows) => {
        if (keptCompacted?.object === ref.object && keptCompacted.slot === slot)
          return keptCompacted.row
        return chain(segments.compactedRow(ref, slot, shows), (row) => {
          if (row !== null) keptCompacted = { object: ref.object, slot, row }
          return row
        })
      },
    },
  }
}

/**
 * The change that lays a row's new text over its position, under a new schema if there is one. Old cells that need
 * conversion keep their stored form, and the record keeps the number of the schema that they were stored under. So they
 * are converted in one step, even after a later widening. That conversion leaves the new cells unchanged.
 */
function writeText(
  head: TableHead,
  { read, random, team, table, position }: RowPlace,
  { text, schemaNumber: storedUnder }: FoundRow['stored'],
  newSchema: ReturnType<typeof planNewSchema>,
): Awaitable<Planned<Version>> {
  const { version, generation: before } = head
  const next = newSchema === null ? before : underSchema(before, newSchema, version + 1)
  // If this change widens columns, it sets the row's cells in them: no old cell has to be converted because of it.
  const schemaNumber = storedUnder === before.schemaNumber ? next.schemaNumber : storedUnder
  const record = encodeRowRecord({ version: version + 1, schemaNumber, text })
  return chain(putMarkers(read, random, filesOfRecords([record])), (markers) => {
    const puts = [[rowKey(table, position), record] as const, ...markers]
    if (newSchema !== null) {
      puts.push(
        putSchema(table, next, newSchema, version + 1),
        ...hintOfTable(team, table, version + 1),
      )
    }
    puts.push(...hintOfRecord(team, head, table, position.extent))
    return { result: { version: version + 1 }, change: { next, puts, operation: 'update' } }
  })
}

/** Deletes a row. If it does not exist, the version stays. */
export function deleteRow(place: TablePlace, rowId: string): Promise<DeleteResult> {
  const { team, table } = place
  const plan: Plan<DeleteResult> = async (head, read) => {
    const { version, generation } = head
    const position = await findPosition(team, read, table, generation, rowId)
    if (position === null) return { result: { version, deleted: false } }
    const { schemaNumber, liveRows, deletedRows } = generation
    const tombstone = encodeRowRecord({ version: version + 1, schemaNumber, text: null })
    const next = { ...generation, liveRows: liveRows - 1, deletedRows: deletedRows + 1 }
    return {
      result: { version: version + 1, deleted: true },
      change: {
        next,
        operation: 'delete',
        puts: [
          [rowKey(table, position), tombstone],
          ...hintOfRecord(team, head, table, position.extent),
        ],
      },
    }
  }
  return team.writers.change(place, plan, aheadOfDelete(place, rowId))
}

/** @returns undefined: the store is not shared, so nothing is read ahead */
function aheadOfDelete({ team, table }: TablePlace, rowId: string): AheadOfTurn | undefined {
  if (!team.kv.shared) return undefined
  const records = recordsOfRow(table, rowId)
  return {
    keys: () => records,
    warm: ({ generation }, read) => findPosition(team, read, table, generation, rowId),
  }
}

function* judgeAndConform(
  team: TeamContext,
  changes: CellChanges,
  schema: IndexedSchema,
  onSchemaError: OnSchemaError,
): Steps<Readonly<{ policy: RowPolicy; cells: CellChanges }>> {
  const policy = yield* policyForChanges(team, [changes], schema, onSchemaError)
  return { policy, cells: yield* changesToStoredForm(changes, policy) }
}

/** The rules for the new cells of rows. `updateSchema` widens the schema for them. */
export function* policyForChanges(
  { options }: TeamContext,
  rows: readonly CellChanges[],
  schema: IndexedSchema,
  onSchemaError: OnSchemaError,
): Steps<RowPolicy> {
  const { formatChecks, columnsMax } = options
  const drops = onSchemaError === 'dropColumns'
  if (onSchemaError !== 'updateSchema') return { schema, formatChecks, inferred: false, drops }
  const merged = new Map<string, ColumnSummary>()
  for (const changes of rows) {
    for (const [id, token] of changes) {
      const summary = merged.get(id) ?? newSummary(id)
      if (token !== null) yield* summarizeTokenInSteps(summary, token)
      merged.set(id, summary)
    }
  }
  const columns = widenColumns(schema, merged, formatChecks, drops)
  checkColumnCount(columns.length, columnsMax)
  checkSchemaSize({ columns }, schema.schema)
  return { schema: indexSchema({ columns }), formatChecks, inferred: true, drops }
}

/** Judges changes, leaves out the misfits that the policy drops, and converts the other cells to their stored form. */
export function* changesToStoredForm(changes: CellChanges, policy: RowPolicy): Steps<CellChanges> {
  const cells = new Map<string, string | null>()
  for (const [id, token] of changes) {
    const column = policy.schema.columns.get(id)
    if (column === undefined) {
      if (policy.drops) continue
      throw unknownColumn(id, policy.schema.columns)
    }
    if (token !== null && !(yield* cellFits(policy, column, token, false))) {
      if (policy.drops) continue
      throw invalidValue(id, { value: token, rule: brokenRule(policy, column, token, false) })
    }
    cells.set(id, token === null ? null : toStoredToken(token, column.type, false))
  }
  return cells
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkRowSize(text: string, rowBytesMax: number): void {
  if (3 * text.length <= rowBytesMax || utf8(text).length <= rowBytesMax) return
  throw new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `The row would be longer than ${rowBytesMax} bytes`,
  )
}
