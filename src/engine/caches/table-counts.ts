// Whether a team has as many tables, and as long names of tables, as it may have. The number of tables that it has
// made is in its record, so that up to the limit nothing is counted. Beyond it, deleted tables make room: then the
// catalog is counted, and what was found is remembered. That number is never too small, as only creates add to it,
// and those are in the record.
//
// Names that are not longer than the share of a table are not counted, and always accepted: all tables together have at
// most the limit of them, and at most the limit of longer ones, about. What was found of those may be too large, as
// tables were deleted since: then it is counted again before a name is refused.
import { BoundedMap } from '../../base/bounded-map.js'
import { utf8 } from '../../base/bytes.js'
import { CATALOG_RANGE } from '../../format/keys.js'
import { decodeCatalogEntry } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches, scanKeys } from '../../kv/scan-batches.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'

/** Teams whose tables, or names, were counted and that are remembered, at most. */
const TEAMS_MAX = 1_000

export class TableCounts {
  readonly #tablesMax: number
  /** The tables of a team when it had made `made`. */
  readonly #known = new BoundedMap<string, Readonly<{ made: number; tables: number }>>(TEAMS_MAX)
  readonly #nameBytesMax: number
  readonly #shareBytes: number
  /** The bytes of the names of a team, at most, as far as this process knows. */
  readonly #nameBytes = new BoundedMap<string, number>(TEAMS_MAX)

  constructor({
    tablesMax,
    tableNamesBytesMax,
  }: Pick<ResolvedOptions, 'tablesMax' | 'tableNamesBytesMax'>) {
    this.#tablesMax = tablesMax
    this.#nameBytesMax = tableNamesBytesMax
    this.#shareBytes = Math.floor(tableNamesBytesMax / Math.max(1, tablesMax))
  }

  /** @param made - Tables that the team has made, deleted ones included. */
  async isFull(teamId: string, view: KvView, made: number): Promise<boolean> {
    if (made < this.#tablesMax) return false
    const known = this.#known.get(teamId)
    if (known !== undefined && known.tables + made - known.made < this.#tablesMax) return false
    let tables = 0
    for await (const keys of scanKeys(view, CATALOG_RANGE)) tables += keys.length
    this.#known.set(teamId, { made, tables })
    return tables >= this.#tablesMax
  }

  /** Whether a name needs no look at the others. */
  isShort(name: string): boolean {
    return utf8(name).length <= this.#shareBytes
  }

  /**
   * Whether the names of a team leave room for another.
   * @param replaced - The name whose place it takes. Default: none.
   */
  async hasRoomFor(name: string, teamId: string, view: KvView, replaced = ''): Promise<boolean> {
    if (this.isShort(name)) return true
    const roomMax = this.#nameBytesMax - utf8(name).length + utf8(replaced).length
    if ((this.#nameBytes.get(teamId) ?? Number.POSITIVE_INFINITY) <= roomMax) return true
    let bytes = 0
    for await (const entries of scanBatches(view, CATALOG_RANGE)) {
      for (const [, entry] of entries) bytes += utf8(decodeCatalogEntry(entry).name).length
    }
    this.#nameBytes.set(teamId, bytes)
    return bytes <= roomMax
  }

  /** Notes a name that was given to a table. */
  noteName(name: string, teamId: string): void {
    const known = this.#nameBytes.get(teamId)
    if (known !== undefined) this.#nameBytes.set(teamId, known + utf8(name).length)
  }
}
