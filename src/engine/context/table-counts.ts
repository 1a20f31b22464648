// Whether a team has as many tables as it may have. The number of tables that it has made is in its record, so that up to
// the limit nothing is counted. Beyond it, deleted tables make room: then the catalog is counted, and what was found is
// remembered. That number is never too small, as only creates add to it, and those are in the record.
import { BoundedMap } from '../../base/bounded-map.js'
import { CATALOG_RANGE } from '../../format/keys.js'
import type { KvView } from '../../kv/kv.js'
import { scanKeys } from '../../kv/scan-batches.js'
import type { ResolvedOptions } from '../api/resolve-options.js'

/** Teams whose tables were counted and that are remembered, at most. */
const TEAMS_MAX = 1_000

export class TableCounts {
  readonly #tablesMax: number
  /** The tables of a team when it had made `made`. */
  readonly #known = new BoundedMap<string, Readonly<{ made: number; tables: number }>>(TEAMS_MAX)

  constructor({ tablesMax }: Pick<ResolvedOptions, 'tablesMax'>) {
    this.#tablesMax = tablesMax
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
}
