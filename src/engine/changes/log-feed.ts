// The log of a table as a feed: one entry per commit, whatever the size of the commit, even if the store keeps no
// history.
import { shown } from '../../base/options.js'
import { invalidArgument, StoreError } from '../../base/store-error.js'
import type { TableKey } from '../../format/keys.js'
import { decodeLogEntry, logRange, versionOfLogKey } from '../../format/log-records.js'
import type { TableHead } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import { checkArguments, checkSignal, checkSince } from '../arguments/arguments.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { readHead } from '../read/generations.js'
import type { ChangeEntry, LogPage, LogRequest, WatchRequest } from '../types/history-types.js'
import { type Found, followChanges, readFeedStart } from './follow-changes.js'
import { toChangeEntry } from './table-log.js'

/** Maximum number of entries of a page. */
export const LOG_PAGE_MAX = 1_000

/** Maximum number of bytes of entries that one query reads. A larger entry is read by itself. */
const LOG_PAGE_BYTES = 4 * 1024 * 1024

type Entries = readonly Found<ChangeEntry>[]

export async function readLogPage(place: TablePlace, request: LogRequest): Promise<LogPage> {
  checkArguments('log', request, ['since', 'limit'])
  const { since, limit = LOG_PAGE_MAX } = request
  if (since !== undefined) checkSince(since)
  if (!Number.isInteger(limit) || limit < 1) {
    throw invalidArgument(`limit must be a positive integer, not ${shown(limit)}`)
  }
  const { team, table } = place
  return team.partition.read(async (view) => {
    const { head, start } = await readFeedStart(place, view, since)
    const count = Math.min(limit, LOG_PAGE_MAX)
    const entries = await entriesAfter(team, view, table, head, start, count)
    return { version: head.version + versionBase(team), entries: entries.map(({ item }) => item) }
  })
}

/** The entries after a version, and the entries of all later changes as they are made. */
export async function* watchLog(
  place: () => TablePlace,
  request: WatchRequest,
): AsyncGenerator<ChangeEntry, void> {
  checkArguments('watchLog', request, ['since', 'signal'])
  const { since, signal } = request
  if (since !== undefined) checkSince(since)
  yield* followChanges(place, { since, signal: checkSignal(signal), follows: true }, LOG)
}

const LOG = {
  name: 'log',
  start: async () => undefined, // The first look checks the start.
  read: (place: () => TablePlace, since: number): Promise<Entries> => {
    const { team, table, tableId } = place()
    return team.partition.read(async (view) => {
      const head = await readHead(team, view, table, tableId)
      return entriesAfter(team, view, table, head, since, LOG_PAGE_MAX)
    })
  },
}

/** @param since - A version of the records. @throws {StoreError} HISTORY_GONE: if the next entry was deleted */
async function entriesAfter(
  team: TeamContext,
  view: KvView,
  table: TableKey,
  head: TableHead,
  since: number,
  count: number,
): Promise<Entries> {
  if (head.version <= since) return []
  const range = logRange(table, since + 1)
  const records = await view.scan({ ...range, count, bytesMax: LOG_PAGE_BYTES })
  const found: Found<ChangeEntry>[] = []
  for (const [key, value] of records) {
    const version = since + 1 + found.length
    if (versionOfLogKey(key) !== version) break
    const shown = version + versionBase(team)
    found.push({ version, item: toChangeEntry({ version: shown, entry: decodeLogEntry(value) }) })
  }
  if (found.length > 0) return found
  const kept = `The change after version ${since + versionBase(team)} is no longer kept`
  const advice = 'read the whole table again, and continue from there'
  throw new StoreError('HISTORY_GONE', `${kept}: ${advice}`)
}
