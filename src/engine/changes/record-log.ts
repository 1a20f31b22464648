// What a commit adds to the log of its table.
import { sameBytes, startsWith } from '../../base/bytes.js'
import { decodeRowKey, KEY_SPACE, type TableKey } from '../../format/keys.js'
import {
  encodeLogEntry,
  LOG_ENTRIES_MAX,
  logKey,
  type RowCounts,
} from '../../format/log-records.js'
import { isTombstone, type TableHead } from '../../format/records.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import type { Change } from '../commit/table-writer.js'
import type { WriterPlace } from '../commit/table-writers.js'
import { versionBase } from '../context/public-versions.js'
import type { StoreContext } from '../context/store-context.js'
import { comparePositions, endOf } from './generation-end.js'

type LogContext = Readonly<{
  kv: Pick<StoreContext['kv'], 'versionBase'>
  options: Pick<ResolvedOptions, 'clock' | 'historyRetentionMs'>
}>

/** @param before - The head that the change was planned on; null: the change creates the table. */
export function loggedChange(
  { kv, options }: LogContext,
  { table, by }: Pick<WriterPlace, 'table' | 'by'>,
  before: TableHead | null,
  change: Change,
): Change {
  const { next, operation, receipt = null } = change
  if (next === null) return change // The log ends with the table.
  const version = (before?.version ?? 0) + 1
  const entry = encodeLogEntry({
    operation,
    at: options.clock.now(),
    base: versionBase({ kv }),
    counts: change.counts ?? countChangedRows(table, before, next, change.puts),
    author: by?.author ?? null,
    note: by?.note ?? null,
    detail: receipt,
  })
  const over = version - LOG_ENTRIES_MAX
  const isFull = over > 0 && options.historyRetentionMs === 0
  // The change is not spread: in V8 of Node 20 the spread alone takes as long as making the whole log entry.
  return {
    next,
    checks: change.checks ?? [],
    puts: [...change.puts, [logKey(table, version), entry]],
    deletes: isFull ? [...(change.deletes ?? []), logKey(table, over)] : (change.deletes ?? []),
    operation,
  }
}

/**
 * The rows that a change adds, changes and removes, by its records. The records do not show the rows of rewritten
 * extents.
 */
function countChangedRows(
  table: TableKey,
  before: TableHead | null,
  next: TableHead['generation'],
  puts: Change['puts'],
): RowCounts {
  const old = before?.generation
  if (old === undefined || !sameBytes(old.nonce, next.nonce)) {
    return { added: next.liveRows, changed: 0, removed: old?.liveRows ?? 0 }
  }
  const end = endOf(old)
  let [changed, removed] = [0, 0]
  for (const [key, value] of puts) {
    if (key[0] !== KEY_SPACE.row || !startsWith(key, 1, key.length, table)) continue
    if (comparePositions(decodeRowKey(key), end) >= 0) continue // This commit adds the row.
    if (isTombstone(value)) removed++
    else changed++
  }
  return { added: next.liveRows - old.liveRows + removed, changed, removed }
}
