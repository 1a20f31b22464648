// Updating and deleting one row: a row record laid over its position, committed with the table's head.
import { type Bytes, utf8 } from '../base/bytes.js'
import { StoreError } from '../base/store-error.js'
import { rowKey } from '../format/keys.js'
import { encodeRowRecord, type TableHead } from '../format/records.js'
import { spliceRowText } from '../format/row-text.js'
import { describeRule, tokenFits } from '../schema/judge.js'
import { decodeJsonText, scanJsonChanges } from '../schema/scan-json.js'
import { conformToken, unknownColumn } from './conform.js'
import { findRow, rowNotFound } from './row-lookup.js'
import { invalidValue, scanRowObject } from './row-object.js'
import type { IndexedSchema } from './schema-cache.js'
import type { ResolvedOptions } from './store-options.js'
import type { RowObject } from './store-types.js'
import { checkIfMatch, type TablePlace } from './table-change.js'
import type { Planned } from './table-writer.js'

/** New cells by column ID: JSON tokens, or null for an emptied cell. In the order they were given. */
export type CellChanges = ReadonlyMap<string, string | null>

type Version = Readonly<{ version: number }>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED, COLUMN_HAS_INVALID_VALUE */
export function changesOfObject(cells: RowObject): CellChanges {
  const { ids, tokens } = scanRowObject(cells, 0)
  return new Map(ids.map((id, i) => [id, tokens[i] ?? null]))
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED */
export function changesOfText(json: Bytes | string, options: ResolvedOptions): CellChanges {
  const text = typeof json === 'string' ? json : decodeJsonText(json)
  return scanJsonChanges(text, { columnsMax: options.columnsMax, rowCharsMax: options.rowBytesMax })
}

export function updateRow(
  { team, table, tableId }: TablePlace,
  rowId: string,
  changes: CellChanges,
  ifMatch: number | bigint | undefined,
): Promise<Version> {
  const { teamId, partition } = team
  return team.writers.change({ teamId, partition, table, tableId }, async (head, read) => {
    const row = await findRow(team, read, table, head.generation, rowId)
    if (row === null) throw rowNotFound(rowId)
    checkIfMatch('row', ifMatch, row.version)
    const schema = await team.schemas.get(table, head.generation.schemaNumber, read)
    const cells = conformChanges(changes, schema, team.options.formatChecks)
    if (cells.size === 0) return { result: { version: head.version } }
    const text = spliceRowText(row.text, cells)
    checkRowSize(text, team.options.rowBytesMax)
    const record = { schemaNumber: head.generation.schemaNumber, text }
    return writeRecord(head, rowKey(table, row.position), record, head.generation.liveRows)
  })
}

export function deleteRow({ team, table, tableId }: TablePlace, rowId: string): Promise<Version> {
  const { teamId, partition } = team
  return team.writers.change({ teamId, partition, table, tableId }, async (head, read) => {
    const { generation } = head
    const row = await findRow(team, read, table, generation, rowId)
    if (row === null) return { result: { version: head.version } }
    const tombstone = { schemaNumber: generation.schemaNumber, text: null }
    return writeRecord(head, rowKey(table, row.position), tombstone, generation.liveRows - 1)
  })
}

/** The change that lays a record over a position. */
function writeRecord(
  { version, generation }: TableHead,
  key: Bytes,
  record: Readonly<{ schemaNumber: number; text: string | null }>,
  liveRows: number,
): Planned<Version> {
  const next = version + 1
  return {
    result: { version: next },
    change: {
      next: { ...generation, liveRows },
      puts: [[key, encodeRowRecord({ ...record, version: next })]],
    },
  }
}

/** Judges changes against the schema, and gives them the form that is stored. */
function conformChanges(
  changes: CellChanges,
  { columns }: IndexedSchema,
  formatChecks: boolean,
): CellChanges {
  const cells = new Map<string, string | null>()
  for (const [id, token] of changes) {
    const column = columns.get(id)
    if (column === undefined) throw unknownColumn(id)
    if (token !== null && !tokenFits(column.type, token, formatChecks)) {
      throw invalidValue(id, { value: token, rule: describeRule(column.type) })
    }
    cells.set(id, token === null ? null : conformToken(token, column.type, false))
  }
  return cells
}

function checkRowSize(text: string, rowBytesMax: number): void {
  if (3 * text.length <= rowBytesMax || utf8(text).length <= rowBytesMax) return
  throw new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `Invalid request body: the row would have more than ${rowBytesMax} bytes`,
  )
}
