// Reads rows by their positions, in the order of a list. The rows are looked up in the order of the table. So if a
// frame has several of the rows, the look-up of the first reads the frame, and that of the second puts it into the
// cache.
import type { Generation } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import { type Extent, ExtentWalk } from '../caches/extents.js'
import type { TablePlace } from '../context/store-context.js'
import type { RowExtent } from '../read/page-writer.js'
import { findRowAt } from '../read/row-lookup.js'
import { positionOf } from './best-rows.js'

/**
 * Approximate maximum number of UTF-16 units of the texts in memory. Later rows are not read, and must be requested
 * again.
 */
const TEXT_MAX = 2 * 1024 * 1024

/** A row as served now. */
export type PlacedRow = Readonly<{ extent: RowExtent; slot: number; text: string }>

/**
 * The rows at some positions, in order: all of them, or the first ones. null for a row that no longer exists.
 * @throws {StoreError} DATA_CORRUPT
 */
export async function readPlaces(
  place: TablePlace,
  view: KvView,
  generation: Generation,
  places: Float64Array,
): Promise<(PlacedRow | null)[]> {
  const { team, table } = place
  const read = (key: Uint8Array) => view.get(key)
  const walk = new ExtentWalk(read, table, generation)
  const slices = team.slices.begin()
  const rows: (PlacedRow | null)[] = Array.from(places, () => null)
  const inTable = Array.from(places.keys()).sort((one, other) => {
    return (places[one] ?? 0) - (places[other] ?? 0)
  })
  let extent: Extent | null = null
  let chars = 0
  for (const index of inTable) {
    const position = positionOf(places[index] ?? 0)
    const row = await findRowAt(team, read, table, generation, position)
    if (row === null) continue
    if (extent?.extent !== position.extent) extent = await walk.at(position.extent)
    if (extent === null) continue
    chars += row.text.length
    if (chars > TEXT_MAX && places.length > 1) {
      const fewer = places.subarray(0, Math.ceil(places.length / 4))
      return readPlaces(place, view, generation, fewer)
    }
    rows[index] = { extent, slot: position.slot, text: row.text }
    if (slices.spend(row.text.length)) await slices.pause()
  }
  return rows
}
