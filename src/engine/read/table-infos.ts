// The descriptions of tables, made from heads, schemas and extent pages. Rows are not read.
import { inBatches } from '../../base/batches.js'
import type { Bytes } from '../../base/bytes.js'
import { byteText } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import { decodeExtentPage } from '../../format/extent-page.js'
import { decodeKeyIndex, keyIndexKey } from '../../format/key-index.js'
import {
  CATALOG_RANGE,
  catalogKey,
  extentPageKey,
  PAGE_EXTENTS,
  schemaKey,
  type TableKey,
  tableHeadKey,
} from '../../format/keys.js'
import {
  type CatalogEntry,
  decodeCatalogEntry,
  type Generation,
  type TableHead,
} from '../../format/records.js'
import { renderTableId } from '../../format/table-id.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { segmentBytes } from '../limits/team-limits.js'
import type { TableEntry, TableInfo, TableNamesOptions } from '../types/life-types.js'
import { readHead } from './generations.js'

/** Maximum number of records that one query reads by their keys. */
const READ_COUNT = 500

/** @throws {StoreError} TABLE_NOT_FOUND */
export function readTableInfo({ team, table, tableId }: TablePlace): Promise<TableInfo> {
  return team.partition.read(async (view) => {
    const head = await readHead(team, view, table, tableId)
    const entry = await view.get(catalogKey(head.order))
    if (entry === null) throw damagedTable(table, 'the catalog does not list it')
    const [info] = await readFoundInfos(team, view, [{ head, ...decodeCatalogEntry(entry) }])
    if (info === undefined) throw damagedTable(table, 'it has no head')
    return info
  })
}

/** All tables of a team, in the order of the catalog. */
export function readTableInfos(team: TeamContext): Promise<TableInfo[]> {
  return team.partition.read(async (view) => {
    const infos: TableInfo[] = []
    for await (const listed of catalogOf(view)) {
      for (const some of inBatches(listed, READ_COUNT)) {
        const heads = await view.getMany(some.map(({ table }) => tableHeadKey(table)))
        const found = some.map(({ table, name }, at) => {
          const head = heads[at] ?? null
          if (head === null) throw damagedTable(table, 'it has no head')
          return { table, name, head: team.heads.decode(head) }
        })
        infos.push(...(await readFoundInfos(team, view, found)))
      }
    }
    return infos
  })
}

/** Memory of an entry besides its name, in bytes, and memory of a character of the name, in bytes. */
const ENTRY_BYTES = 200
const CHAR_BYTES = 2

/**
 * @param name - The name of the tables to list; null: all tables.
 * @param reserve - Reserves the memory of entries before it is allocated. Default: nothing is reserved.
 */
export function readTableNames(
  team: TeamContext,
  name: string | null,
  reserve: TableNamesOptions['reserve'] = () => undefined,
): Promise<TableEntry[]> {
  return team.partition.read(async (view) => {
    const found: TableEntry[] = []
    let bytes = 0
    for await (const entries of scanBatches(view, CATALOG_RANGE)) {
      for (const [, entry] of entries) bytes += ENTRY_BYTES + CHAR_BYTES * entry.length
      await reserve(bytes)
      for (const [, record] of entries) {
        const entry = decodeCatalogEntry(record)
        if (name !== null && entry.name !== name) continue
        found.push({ id: renderTableId(entry.table), name: entry.name })
      }
    }
    return found
  })
}

/** The ID of the oldest table with a name; null: no table has the name. */
export async function firstTableNamed(view: KvView, name: string): Promise<string | null> {
  for await (const listed of catalogOf(view)) {
    const found = listed.find((entry) => entry.name === name)
    if (found !== undefined) return renderTableId(found.table)
  }
  return null
}

async function* catalogOf(view: KvView): AsyncGenerator<CatalogEntry[], void> {
  for await (const entries of scanBatches(view, CATALOG_RANGE)) {
    yield entries.map(([, bytes]) => decodeCatalogEntry(bytes))
  }
}

type FoundTable = CatalogEntry & Readonly<{ head: TableHead }>

async function readFoundInfos(
  team: TeamContext,
  view: KvView,
  found: readonly FoundTable[],
): Promise<TableInfo[]> {
  const records = await readRecordsByKey(view, found.flatMap(recordsOf))
  const base = versionBase(team)
  return Promise.all(
    found.map(async ({ table, name, head }): Promise<TableInfo> => {
      const { generation, version, times } = head
      const read = (key: Bytes): Bytes | null => records.get(byteText(key)) ?? null
      const { schema } = await team.schemas.get(table, generation.schemaNumber, read)
      const pages = listPageKeys(table, generation).map(read)
      return {
        id: renderTableId(table),
        name,
        schema,
        ...readInfoKey(table, generation, read),
        rowCount: generation.liveRows,
        version: version + base,
        createdAt: times?.createdAt || null,
        updatedAt: times?.updatedAt || null,
        bytes: pageSegmentBytes(pages) + (generation.open?.textBytes ?? 0),
      }
    }),
  )
}

function recordsOf({ table, head: { generation } }: FoundTable): Bytes[] {
  const { keyIndex } = generation
  const keys = [schemaKey(table, generation.schemaNumber), ...listPageKeys(table, generation)]
  if (keyIndex !== null) keys.push(keyIndexKey({ table, index: keyIndex }))
  return keys
}

function readInfoKey(
  table: TableKey,
  { keyIndex }: Generation,
  read: (key: Bytes) => Bytes | null,
): Pick<TableInfo, 'key'> {
  if (keyIndex === null) return {}
  const record = read(keyIndexKey({ table, index: keyIndex }))
  if (record === null) throw damagedTable(table, 'the index of its key is missing')
  return { key: decodeKeyIndex(record).columns }
}

/** The keys of the extent pages of a generation: one per 256 extents. */
function listPageKeys(table: TableKey, { firstExtent, nextExtent, open }: Generation): Bytes[] {
  const keys: Bytes[] = []
  const limit = open?.extent ?? nextExtent
  for (let extent = firstExtent; extent < limit; extent += PAGE_EXTENTS) {
    keys.push(extentPageKey(table, Math.floor(extent / PAGE_EXTENTS)))
  }
  return keys
}

async function readRecordsByKey(
  view: KvView,
  keys: readonly Bytes[],
): Promise<ReadonlyMap<string, Bytes | null>> {
  const records = new Map<string, Bytes | null>()
  for (const some of inBatches(keys, READ_COUNT)) {
    const values = await view.getMany(some)
    for (const [at, key] of some.entries()) records.set(byteText(key), values[at] ?? null)
  }
  return records
}

function pageSegmentBytes(pages: readonly (Bytes | null)[]): number {
  let bytes = 0
  for (const page of pages) {
    const entries = page === null ? [] : decodeExtentPage(page)
    bytes += segmentBytes(entries.flatMap(({ segment }) => segment ?? []))
  }
  return bytes
}

function damagedTable(table: TableKey, problem: string): StoreError {
  return new StoreError('DATA_CORRUPT', `Table ${renderTableId(table)} is damaged: ${problem}`)
}
