// The row with a key, without a scan: the index leads to it.
import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, toHex } from '../../base/bytes.js'
import { shown } from '../../base/options.js'
import { StoreError } from '../../base/store-error.js'
import { hashOfTokens, isTextKind, type KeyColumn, KeyHasher } from '../../format/key-hash.js'
import type { Position } from '../../format/keys.js'
import { renderRowObject } from '../../format/row-text.js'
import type { ReadRecord } from '../../kv/kv.js'
import { readAwaitable } from '../../kv/read-awaitable.js'
import type { ReadJsonResult } from '../api/store-types.js'
import type { KeyValues } from '../api/unique-types.js'
import type { RowJson } from '../context/hot-row-cache.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { readHead } from '../read/generations.js'
import { keyColumnsOf } from './key-columns.js'
import { rowIdAt } from './key-conflict.js'
import { type KeyedGeneration, readKeyIndex, rowWithKey } from './key-index.js'

/** @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, DATA_CORRUPT */
export function readByKey(
  { team, table, tableId }: TablePlace,
  values: KeyValues,
): Awaitable<ReadJsonResult | null> {
  return readAwaitable(team.partition, (view) =>
    chain(readHead(team, view, table, tableId), (head) => {
      const { generation } = head
      const read: ReadRecord = (key) => view.get(key)
      if (generation.keyIndex === null) {
        throw invalid('the table has no key: give it one with alter({ key }), or use find')
      }
      return chain(readKeyIndex(table, generation.keyIndex, read), (index) =>
        chain(team.schemas.get(table, generation.schemaNumber, read), (schema) => {
          const columns = keyColumnsOf(index.record.columns, schema.columns)
          const hash = hashOfTokens(columns, tokensOf(columns, values))
          const name = `${toHex(index.place.index)}${toHex(hash)}` // No row ID is so long.
          const kept = team.hotRows.get(head, name)
          if (kept !== undefined) return told(team, kept)
          const hasher = new KeyHasher(columns)
          const keyed = { sources: team, table, generation, hasher, read }
          return chain(index.positionsOf(hash), (positions) =>
            chain(rowAmong(team, keyed, positions, hash), (row) => {
              if (row === null) return null
              team.hotRows.note(head, name, row)
              return told(team, row)
            }),
          )
        }),
      )
    }),
  )
}

function told(team: TeamContext, { json, version }: RowJson): ReadJsonResult {
  team.activity.rowsOut++
  return toPublicVersion(team, { json, version })
}

/** The first row with a key among the rows at some positions. */
function rowAmong(
  team: TeamContext,
  keyed: KeyedGeneration,
  [position, ...others]: readonly Position[],
  hash: Bytes,
): Awaitable<RowJson | null> {
  if (position === undefined) return null
  const { read, table, generation } = keyed
  return chain(rowWithKey(keyed, position, hash), (row): Awaitable<RowJson | null> => {
    if (row === null) return rowAmong(team, keyed, others, hash)
    return chain(rowIdAt(team, read, table, generation, position), (rowId) => {
      return { json: renderRowObject(rowId, row.text), version: row.version }
    })
  })
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
function tokensOf(columns: readonly KeyColumn[], values: KeyValues): string[] {
  const wanted = columns.map(({ id }) => id)
  const other = Object.keys(values).find((id) => !wanted.includes(id))
  if (other !== undefined) {
    throw invalid(`${shown(other)} is not one of its columns, which are ${wanted.join(', ')}`)
  }
  return columns.map((column) => tokenOf(column, values[column.id]))
}

function tokenOf({ id, kind }: KeyColumn, value: unknown): string {
  if (isTextKind(kind) && typeof value === 'string') return JSON.stringify(value)
  if (kind === 'boolean' && typeof value === 'boolean') return String(value)
  if (kind === 'number' && typeof value === 'bigint') return String(value)
  if (kind === 'number' && typeof value === 'number' && Number.isFinite(value)) return String(value)
  const type = isTextKind(kind) ? 'string' : kind
  throw invalid(`the value of column '${id}' must be a ${type}, not ${shown(value)}`)
}

function invalid(problem: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', `Invalid key of a row: ${problem}`)
}
