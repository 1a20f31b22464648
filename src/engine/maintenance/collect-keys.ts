// Garbage collection of key indexes that no table uses: the indexes of overwritten rows and of changed keys.
//
// Invariant: the head of a table names its index from the commit that makes the index on, and never names an index
// again that it has ceased to name. So an index that one view shows as unused stays unused.
import { sameValue } from '../../base/bytes.js'
import {
  type IndexPlace,
  indexOfKey,
  KEY_ENTRIES_RANGE,
  KEY_INDEXES_RANGE,
  rangesOfIndex,
} from '../../format/key-index.js'
import { type TableKey, tableHeadKey } from '../../format/keys.js'
import { decodeTableHead } from '../../format/records.js'
import { prefixRange } from '../../kv/key-range.js'
import type { KeyRange, KvView } from '../../kv/kv.js'
import { deleteRanges } from '../commit/delete-records.js'
import { tablesOf } from './collect-generations.js'
import type { Visit } from './team-visits.js'

/** Number of bytes of a record key up to the end of the index's name. */
const INDEX_KEY_BYTES = 25

export async function collectKeyIndexes(visit: Visit): Promise<void> {
  const { partition } = visit
  const tables = tablesOf(visit)
  if (tables?.length === 0) return
  const unused = await partition.read((view) => unusedIndexes(view, tables))
  await deleteRanges(partition, unused.flatMap(rangesOfIndex))
}

/** Finds one index after the other, by reading one key of each. */
async function unusedIndexes(
  view: KvView,
  tables: readonly TableKey[] | null,
): Promise<readonly IndexPlace[]> {
  const unused: IndexPlace[] = []
  for (const range of [KEY_ENTRIES_RANGE, KEY_INDEXES_RANGE].flatMap((all) =>
    rangesOfTables(all, tables),
  )) {
    let { start } = range
    for (;;) {
      const [entry] = await view.scan({ start, limit: range.limit, count: 1, keysOnly: true })
      if (entry === undefined) break
      const place = indexOfKey(entry[0])
      const head = await view.get(tableHeadKey(place.table))
      const used = head === null ? null : decodeTableHead(head).generation.keyIndex
      if (!sameValue(used, place.index)) unused.push(place)
      start = prefixRange(entry[0].slice(0, INDEX_KEY_BYTES)).limit
    }
  }
  return unused
}

function rangesOfTables(all: KeyRange, tables: readonly TableKey[] | null): readonly KeyRange[] {
  if (tables === null) return [all]
  return tables.map((table) => prefixRange(Uint8Array.of(...all.start, ...table)))
}
