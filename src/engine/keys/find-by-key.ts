// Finds the row with a key by means of the index, without a scan.
import { type Awaitable, chain } from '../../base/awaitable.js'
import { NO_BYTES, toHex } from '../../base/bytes.js'
import { isRecord, shown } from '../../base/options.js'
import { StoreError } from '../../base/store-error.js'
import {
  hashOfValues,
  hasValues,
  isTextKind,
  type KeyColumn,
  valuesOfTokens,
} from '../../format/key-hash.js'
import type { Position, TableKey } from '../../format/keys.js'
import type { TableHead } from '../../format/records.js'
import { renderRowObject } from '../../format/row-text.js'
import type { ReadRecord } from '../../kv/kv.js'
import { readAwaitable } from '../../kv/read-awaitable.js'
import { numberTokenOf } from '../../schema/value-rules.js'
import type { RowJson } from '../caches/hot-row-cache.js'
import type { KeyOfHead } from '../caches/keys-of-heads.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { readHead } from '../read/generations.js'
import { findRowAt } from '../read/row-lookup.js'
import type { ReadJsonResult } from '../types/store-types.js'
import { resolveKeyColumns } from './key-columns.js'
import { rowIdAt } from './key-conflict.js'
import { KeyIndex, readKeyIndex } from './key-index.js'

/**
 * Maximum number of characters of key values that are used as the name of their row in the cache. For longer values,
 * their hash is used.
 */
const NAME_CHARS_MAX = 200

/** @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, DATA_CORRUPT */
export function readByKey<V extends string | number | bigint | boolean>(
  { team, table, tableId }: TablePlace,
  values: Readonly<Record<string, V>>,
  encodeValue: EncodeKeyValue<V>,
): Awaitable<ReadJsonResult | null> {
  return readAwaitable(team.partition, (view) =>
    chain(readHead(team, view, table, tableId), (head) => {
      const read: ReadRecord = (key) => view.get(key)
      if (!isRecord(values)) throw invalidRowKey(`it must be an object, not ${shown(values)}`)
      return chain(readTableKey(team, table, head, read), (key) => {
        const { columns, prefix } = key
        const wanted = valuesOfTokens(columns, encodeKeyValues(columns, values, encodeValue))
        const text = wanted.join('\0')
        const isShort = text.length <= NAME_CHARS_MAX
        const name = `${prefix}${isShort ? text : toHex(hashOfValues(wanted))}`
        const kept = team.hotRows.get(head, name)
        if (kept !== undefined) return told(team, kept)
        return chain(findByKey({ team, table, head, read, key }, wanted), (row) => {
          if (row === null) return null
          team.hotRows.note(head, name, row)
          return told(team, row)
        })
      })
    }),
  )
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR: if the table has no key */
function readTableKey(
  team: TeamContext,
  table: TableKey,
  head: TableHead,
  read: ReadRecord,
): Awaitable<KeyOfHead> {
  const known = team.keysOfHeads.get(head)
  if (known !== undefined) return known
  const { keyIndex, schemaNumber } = head.generation
  if (keyIndex === null) {
    throw invalidRowKey('the table has no key: set one with alter({ key }), or use find')
  }
  return chain(readKeyIndex(table, keyIndex, read), ({ record }) =>
    chain(team.schemas.get(table, schemaNumber, read), (schema) => {
      const columns = resolveKeyColumns(record.columns, schema.columns)
      // The prefix is longer than any row ID, so no name is a row ID.
      const prefix = `key ${toHex(keyIndex)} `
      return team.keysOfHeads.set(head, { record, columns, prefix })
    }),
  )
}

/** A table with a key, in one view. */
type KeyedTable = Readonly<{
  team: TeamContext
  table: TableKey
  head: TableHead
  read: ReadRecord
  key: KeyOfHead
}>

/** @param wanted - The values of the key. */
function findByKey(keyed: KeyedTable, wanted: readonly string[]): Awaitable<RowJson | null> {
  const { table, head, read, key } = keyed
  const place = { table, index: head.generation.keyIndex ?? NO_BYTES }
  const index = new KeyIndex(place, key.record, read)
  return chain(index.positionsOf(hashOfValues(wanted)), (positions) =>
    rowAmong(keyed, positions, wanted),
  )
}

function told(team: TeamContext, { json, version }: RowJson): ReadJsonResult {
  team.activity.rowsOut++
  return toPublicVersion(team, { json, version })
}

/** The first row with the key among the rows at some positions. */
function rowAmong(
  keyed: KeyedTable,
  [position, ...others]: readonly Position[],
  wanted: readonly string[],
): Awaitable<RowJson | null> {
  if (position === undefined) return null
  const { team, table, head, read, key } = keyed
  const { generation } = head
  return chain(
    findRowAt(team, read, table, generation, position),
    (row): Awaitable<RowJson | null> => {
      if (row === null || !hasValues(row.text, key.columns, wanted)) {
        return rowAmong(keyed, others, wanted)
      }
      return chain(rowIdAt(team, read, table, generation, position), (rowId) => {
        return { json: renderRowObject(rowId, row.text), version: row.version }
      })
    },
  )
}

/** Writes a value of a key as JSON. @throws {StoreError} REQUEST_VALIDATION_ERROR */
type EncodeKeyValue<V> = (column: KeyColumn, value: V | undefined) => string

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
function encodeKeyValues<V>(
  columns: readonly KeyColumn[],
  values: Readonly<Record<string, V>>,
  encodeValue: EncodeKeyValue<V>,
): string[] {
  const wanted = columns.map(({ id }) => id)
  const other = Object.keys(values).find((id) => !wanted.includes(id))
  if (other !== undefined) {
    throw invalidRowKey(`${shown(other)} is not one of its columns, which are ${wanted.join(', ')}`)
  }
  return columns.map((column) => encodeValue(column, values[column.id]))
}

export function encodeKeyValue({ id, kind }: KeyColumn, value: unknown): string {
  if (isTextKind(kind) && typeof value === 'string') return JSON.stringify(value)
  if (kind === 'boolean' && typeof value === 'boolean') return String(value)
  if (kind === 'number' && typeof value === 'bigint') return String(value)
  if (kind === 'number' && typeof value === 'number' && Number.isFinite(value)) return String(value)
  const type = isTextKind(kind) ? 'string' : kind
  throw invalidRowKey(`the value of column '${id}' must be a ${type}, not ${shown(value)}`)
}

/** A number in JSON form, `true` or `false`, or a text, as JSON. */
export function encodeKeyText({ id, kind }: KeyColumn, text: unknown): string {
  if (typeof text === 'string') {
    if (isTextKind(kind)) return JSON.stringify(text)
    if (kind === 'boolean' && (text === 'true' || text === 'false')) return text
    const token = kind === 'number' ? numberTokenOf(text) : undefined
    if (token !== undefined) return token
  }
  const type = isTextKind(kind) ? 'text' : kind
  throw invalidRowKey(`the value of column '${id}' must be a ${type}, not ${shown(text)}`)
}

function invalidRowKey(problem: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', `Invalid row key: ${problem}`)
}
