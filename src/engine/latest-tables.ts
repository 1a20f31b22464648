// Point reads of tables to which nothing was committed since they were last read.
//
// Invariants:
// - What is remembered of a table was read from one commit, and counts only while the partition says that this is
//   the latest one still. Then nothing has to be read to know where a row is.
// - A row is taken from its segment only if no row record is over it: this way is left out for a table with a row
//   record anywhere, and for rows that are not served as they are stored.
import { ByteCache } from '../base/byte-cache.js'
import { type Bytes, sameBytes, toHex } from '../base/bytes.js'
import { after, isHere, type Soon } from '../base/soon.js'
import {
  EXTENTS_MAX,
  extentPageKey,
  PAGE_EXTENTS,
  rowsRange,
  type TableKey,
} from '../format/keys.js'
import type { Generation, TableHead } from '../format/records.js'
import { parseRowId } from '../format/row-id.js'
import { renderRowObject } from '../format/row-text.js'
import type { KvView } from '../kv/kv.js'
import { readSoon } from '../kv/read-soon.js'
import { readHead } from './generations.js'
import { findRow, rowNotFound } from './row-lookup.js'
import type { RowJson } from './row-texts.js'
import type { TeamContext } from './store-context.js'
import type { TablePlace } from './table-change.js'

/** Tables of which something is remembered. */
const TABLES_MAX = 16

/** Extent pages of a table that are at hand: 12 KB each, for 8,192 segments. */
const PAGES_MAX = 32

/** Memory for names of generations whose row records were looked for, so that they are not again, and of each. */
const LOOKED_FOR_BYTES_MAX = 512 * 1024
const LOOKED_FOR_BYTES = 128

type LookedFor = ByteCache<true>

/** At most TABLES_MAX tables of PAGES_MAX pages, which have a largest size. */
export class LatestTables {
  readonly #tables = new Map<string, LatestTable>()
  readonly #lookedFor: LookedFor = new ByteCache(LOOKED_FOR_BYTES_MAX, () => LOOKED_FOR_BYTES)

  of(teamId: string, tableId: string): LatestTable {
    const name = `${tableId} ${teamId}`
    const known = this.#tables.get(name)
    if (known !== undefined) return known
    const [oldest] = this.#tables.keys()
    if (this.#tables.size >= TABLES_MAX && oldest !== undefined) this.#tables.delete(oldest)
    const table = new LatestTable(this.#lookedFor)
    this.#tables.set(name, table)
    return table
  }
}

/** What is remembered of one table. */
export class LatestTable {
  readonly #lookedFor: LookedFor
  /** Of the partition when the rest was read. */
  #moment: object | undefined
  #head: TableHead | undefined
  /** Whether it is known that no row has a row record. */
  #isPlain = false
  readonly #pages = new Map<number, Bytes>()

  /** @param lookedFor - Generations whose row records were looked for, as hex: of all tables. */
  constructor(lookedFor: LookedFor) {
    this.#lookedFor = lookedFor
  }

  /** The head as it is now, if that is known. */
  headAt(moment: object | undefined): TableHead | undefined {
    return moment !== undefined && moment === this.#moment ? this.#head : undefined
  }

  /** @param moment - Of the partition since before the head was read, and still. */
  remember(moment: object, head: TableHead, isPlain: boolean): void {
    if (moment !== this.#moment) this.#pages.clear()
    this.#moment = moment
    this.#head = head
    this.#isPlain = isPlain
  }

  /** Whether row records should be looked for: once in the life of a generation, as one look may take in all of it. */
  shouldLook({ nonce }: Generation): boolean {
    const name = toHex(nonce)
    if (this.#lookedFor.get(name) === true) return false
    this.#lookedFor.set(name, true)
    return true
  }

  /** The row with an ID, of a head that is the one now; undefined: it has to be looked for in the records. */
  rowOf(
    { team, table }: TablePlace,
    { generation }: TableHead,
    rowId: string,
  ): Soon<RowJson> | undefined {
    if (!this.#isPlain || generation.forward !== null) return undefined
    const id = parseRowId(rowId)
    if (id === null) throw rowNotFound(rowId)
    const { extent, slot, nonce } = id
    if (extent < generation.firstExtent || extent >= generation.nextExtent) throw rowNotFound(rowId)
    if (generation.open?.extent === extent || extent < generation.convertBefore) return undefined
    const page = this.#page(team, table, Math.floor(extent / PAGE_EXTENTS))
    if (page === undefined) return undefined
    const entry = team.extents.ofPage(page, extent)
    if (entry.segment === null || entry.folded || entry.convert) return undefined
    if (slot >= entry.rowCount || !sameBytes(entry.nonce, nonce)) throw rowNotFound(rowId)
    const version = Math.max(entry.version, generation.widenedAt)
    const text = team.segments.rowText(entry.segment, slot)
    return isHere(text)
      ? { json: renderRowObject(rowId, text), version }
      : text.then((read) => ({ json: renderRowObject(rowId, read), version }))
  }

  #page({ partition }: TeamContext, table: TableKey, number: number): Bytes | undefined {
    const known = this.#pages.get(number)
    if (known !== undefined) return known
    const page = readSoon(partition, (view) => view.get(extentPageKey(table, number)))
    // What comes in this turn is of the commit that is the latest one still.
    if (!isHere(page) || page === null) return undefined
    if (this.#pages.size >= PAGES_MAX) this.#pages.clear()
    this.#pages.set(number, page)
    return page
  }
}

/** The row with an ID as JSON, and its version. @throws {StoreError} ROW_NOT_FOUND, TABLE_NOT_FOUND, DATA_CORRUPT */
export function readRowJson(place: TablePlace, latest: LatestTable, rowId: string): Soon<RowJson> {
  const { team } = place
  const head = latest.headAt(team.partition.moment?.())
  if (head === undefined) return readRecords(place, latest, rowId)
  const kept = team.rows.get(head, rowId)
  if (kept !== undefined) return kept
  const found = latest.rowOf(place, head, rowId)
  if (found === undefined) return readRecords(place, latest, rowId)
  if (!isHere(found)) return found.then((row) => noted(team, head, rowId, row))
  return noted(team, head, rowId, found)
}

function noted({ rows }: TeamContext, head: TableHead, rowId: string, row: RowJson): RowJson {
  rows.note(head, rowId, row)
  return row
}

/** As `readRowJson`, with the records read in one view; what they say of the table is remembered. */
function readRecords(
  { team, table, tableId }: TablePlace,
  latest: LatestTable,
  rowId: string,
): Soon<RowJson> {
  const moment = team.partition.moment?.()
  return readSoon(team.partition, (view) =>
    after(readHead(team, view, table, tableId), (head) => {
      const kept = team.rows.get(head, rowId)
      if (kept !== undefined) return kept
      return after(isPlain(view, table, head, latest, moment), (plain) => {
        if (moment !== undefined && team.partition.moment?.() === moment) {
          latest.remember(moment, head, plain)
        }
        const read = (key: Bytes) => view.get(key)
        return after(findRow(team, read, table, head.generation, rowId), (row) => {
          if (row === null) throw rowNotFound(rowId)
          const found = { json: renderRowObject(rowId, row.text), version: row.version }
          return noted(team, head, rowId, found)
        })
      })
    }),
  )
}

/** Whether it is known that a table has no row records, which is found out if it was never tried. */
function isPlain(
  view: KvView,
  table: TableKey,
  { generation }: TableHead,
  latest: LatestTable,
  moment: object | undefined,
): Soon<boolean> {
  if (moment === undefined || view.isEmpty === undefined) return false
  const { firstExtent, nextExtent } = generation
  const start = { extent: firstExtent, slot: 0 }
  // Walks have found out about the extents that there are. A look goes on to the end, for those that will be added.
  const toEnd = rowsRange(table, start, EXTENTS_MAX)
  if (view.isEmpty(toEnd) || view.isEmpty(rowsRange(table, start, nextExtent))) return true
  if (!latest.shouldLook(generation)) return false
  return view.scan({ ...toEnd, count: 1 }).then((found) => found.length === 0)
}
