// Checks how many tables a team has, and how long their names are. The team's record has the number of tables ever
// created, so nothing is counted while this number is below the limit. From the limit on, the catalog is counted,
// because deleted tables make room, and the result is remembered. This result is never too small, because only creates
// add tables, and the record counts creates.
//
// A name that is not longer than a table's share is always accepted and not counted. So the maximum size of all names
// of a team is about twice the limit: short names take up to the limit, and so do longer names. The remembered bytes of
// names may be too large, because tables may have been deleted since the count. So names are counted again before a
// name is refused.
import { BoundedMap } from '../../base/bounded-map.js'
import { utf8 } from '../../base/bytes.js'
import { CATALOG_RANGE } from '../../format/keys.js'
import { decodeCatalogEntry } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import { scanBatches, scanKeys } from '../../kv/scan-batches.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'

/** Maximum number of teams whose counts are remembered. */
const TEAMS_MAX = 1_000

export class TableCounts {
  readonly #tablesMax: number
  /** The number of a team's tables at the time when it had created `made` tables in all. */
  readonly #known = new BoundedMap<string, Readonly<{ made: number; tables: number }>>(TEAMS_MAX)
  readonly #nameBytesMax: number
  readonly #shareBytes: number
  /** The maximum size of the names of a team, in bytes, as far as this process knows. */
  readonly #nameBytes = new BoundedMap<string, number>(TEAMS_MAX)

  constructor({
    tablesMax,
    tableNamesBytesMax,
  }: Pick<ResolvedOptions, 'tablesMax' | 'tableNamesBytesMax'>) {
    this.#tablesMax = tablesMax
    this.#nameBytesMax = tableNamesBytesMax
    this.#shareBytes = Math.floor(tableNamesBytesMax / Math.max(1, tablesMax))
  }

  /** @param made - The number of tables that the team has created, including deleted ones. */
  async isFull(teamId: string, view: KvView, made: number): Promise<boolean> {
    if (made < this.#tablesMax) return false
    const known = this.#known.get(teamId)
    if (known !== undefined && known.tables + made - known.made < this.#tablesMax) return false
    let tables = 0
    for await (const keys of scanKeys(view, CATALOG_RANGE)) tables += keys.length
    this.#known.set(teamId, { made, tables })
    return tables >= this.#tablesMax
  }

  /** Whether a name is short enough to be accepted without a count. */
  isShort(name: string): boolean {
    return utf8(name).length <= this.#shareBytes
  }

  /**
   * Whether a team has room for another name.
   * @param replaced - The name that the new one replaces. Default: none.
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

  /** Notes that a table was given a name. */
  noteName(name: string, teamId: string): void {
    const known = this.#nameBytes.get(teamId)
    if (known !== undefined) this.#nameBytes.set(teamId, known + utf8(name).length)
  }
}
