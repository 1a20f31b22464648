// Reads many rows by their IDs, in one view. The rows are looked up in the order of their positions. So the rows of one
// frame follow each other: the look-up of the first reads the frame, and that of the second puts it into the cache.
import type { Bytes } from '../../base/bytes.js'
import { byteText } from '../../base/platform.js'
import { parseRowId } from '../../format/row-id.js'
import { renderRowObject } from '../../format/row-text.js'
import { readAhead } from '../../kv/read-ahead.js'
import type { RowJson } from '../caches/hot-row-cache.js'
import type { TablePlace } from '../context/store-context.js'
import { readHead } from '../read/generations.js'
import { findRow, recordsOfRow } from '../read/row-lookup.js'

/** Number of rows whose records one query reads, on stores where each query is a round trip. */
const ROWS_OF_A_QUERY = 256

/**
 * The rows with some IDs, in the order of the IDs; null for an ID without a row.
 * @throws {StoreError} TABLE_NOT_FOUND, DATA_CORRUPT
 */
export async function readRows(
  { team, table, tableId }: TablePlace,
  rowIds: readonly string[],
): Promise<(RowJson | null)[]> {
  const found: (RowJson | null)[] = rowIds.map(() => null)
  const places = indexesInOrder(rowIds)
  const slices = team.slices.begin()
  await team.partition.read(async (view) => {
    const { generation } = await readHead(team, view, table, tableId)
    for (let first = 0; first < places.length; first += ROWS_OF_A_QUERY) {
      const part = places.slice(first, first + ROWS_OF_A_QUERY)
      const ids = part.map((index) => rowIds[index] ?? '')
      const ahead = team.kv.shared
        ? { keys: distinct(ids, (id) => recordsOfRow(table, id)) }
        : undefined
      await readAhead(view, ahead, async (known) => {
        const read = (key: Bytes) => known.get(key)
        for (const index of part) {
          const rowId = rowIds[index] ?? ''
          const row = await findRow(team, read, table, generation, rowId)
          if (row === null) continue
          found[index] = { json: renderRowObject(rowId, row.text), version: row.version }
          if (slices.spend(row.text.length)) await slices.pause()
        }
      })
    }
  })
  team.activity.rowsOut += found.filter((row) => row !== null).length
  return found
}

/** The indexes of row IDs, in the order of the positions that the IDs name. */
function indexesInOrder(rowIds: readonly string[]): number[] {
  const ids = rowIds.map(parseRowId)
  const order = ids.flatMap((id, index) => (id === null ? [] : [index]))
  return order.sort((left, right) => {
    const [one, other] = [ids[left], ids[right]]
    return (one?.extent ?? 0) - (other?.extent ?? 0) || (one?.slot ?? 0) - (other?.slot ?? 0)
  })
}

function distinct(ids: readonly string[], keysOf: (id: string) => readonly Bytes[]): Bytes[] {
  const keys = new Map<string, Bytes>()
  for (const id of ids) for (const key of keysOf(id)) keys.set(byteText(key), key)
  return [...keys.values()]
}
