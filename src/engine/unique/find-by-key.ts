// The row with a key, without a scan: the index leads to it.
import { shown } from '../../base/options.js'
import { StoreError } from '../../base/store-error.js'
import { hashOfTokens, isTextKind, type KeyColumn, KeyHasher } from '../../format/key-hash.js'
import { renderRowObject } from '../../format/row-text.js'
import type { ReadRecord } from '../../kv/kv.js'
import type { ReadJsonResult } from '../api/store-types.js'
import type { KeyValues } from '../api/unique-types.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { readHead } from '../read/generations.js'
import { keyColumnsOf } from './key-columns.js'
import { rowIdAt } from './key-conflict.js'
import { readKeyIndex, rowWithKey } from './key-index.js'

/** @throws {StoreError} TABLE_NOT_FOUND, REQUEST_VALIDATION_ERROR, DATA_CORRUPT */
export function readByKey(
  { team, table, tableId }: TablePlace,
  values: KeyValues,
): Promise<ReadJsonResult | null> {
  return team.partition.read(async (view) => {
    const { generation } = await readHead(team, view, table, tableId)
    const read: ReadRecord = (key) => view.get(key)
    if (generation.keyIndex === null) {
      throw invalid('the table has no key: give it one with alter({ key }), or use find')
    }
    const index = await readKeyIndex(table, generation.keyIndex, read)
    const schema = await team.schemas.get(table, generation.schemaNumber, read)
    const columns = keyColumnsOf(index.record.columns, schema.columns)
    const hash = hashOfTokens(columns, tokensOf(columns, values))
    const hasher = new KeyHasher(columns)
    for (const position of await index.positionsOf(hash)) {
      const keyed = { sources: team, table, generation, hasher, read }
      const row = await rowWithKey(keyed, position, hash)
      if (row === null) continue
      const rowId = await rowIdAt(team, read, table, generation, position)
      team.activity.rowsOut++
      const json = renderRowObject(rowId, row.text)
      return toPublicVersion(team, { json, version: row.version })
    }
    return null
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
