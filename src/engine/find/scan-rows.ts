// Scans and counts: they read the rows of one generation page after page. The generation is pinned meanwhile.
import type { Awaitable } from '../../base/awaitable.js'
import { checkNotAborted } from '../../base/signals.js'
import { StoreError } from '../../base/store-error.js'
import { type Continuation, renderContinuation } from '../../format/continuation-token.js'
import { checkCount, checkScan } from '../arguments/find-arguments.js'
import { checkGroups } from '../arguments/groups-arguments.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { pinGeneration } from '../read/generations.js'
import { openPage, readPage } from '../read/open-page.js'
import { decodePage, walkPages } from '../read/page-walk.js'
import type { CountOptions, GroupsRequest, ScanOptions, Where } from '../types/find-types.js'
import type { RowWithId } from '../types/read-types.js'
import type { Page } from '../types/store-types.js'
import { countRows, type FoundGroups, findPage, groupFound, startAtRow } from './find-rows.js'
import type { RowGroups } from './group-rows.js'

/** Number of rows that a scan reads together. */
const SCAN_ROWS = 1_000

/** Runs an operation on the table, unless the store is closed. */
export type RunOnTable = <T>(operation: (place: TablePlace) => Awaitable<T>) => Promise<T>

/** All rows, or the matching rows. @param run - Runs each page as an operation of its own. */
export async function* scanRows(
  team: TeamContext,
  run: RunOnTable,
  options: ScanOptions,
): AsyncGenerator<RowWithId, void> {
  const { numbers, limit } = checkScan('scan', options)
  const { where, search, columns, from = 0, signal } = options
  const { start, unpin } = await run(pinStart)
  try {
    const first = (await run((place) => startAtRow(place, start, from))) ?? start
    const pinned = start.generation
    let left = limit
    const read = async (continuation: string): Promise<Page> => {
      checkNotAborted('search', signal)
      const bounds = { continuation, limit: Math.min(SCAN_ROWS, left) }
      const found = await run(async (place) => {
        return where === undefined && search === undefined && columns === undefined
          ? readPage(await openPage(place, bounds, pinned), undefined)
          : findPage(place, { ...bounds, where, search, columns, signal, pinned })
      })
      left -= found.rowCount
      const { continuation: next, ...page } = decodePage(found, numbers)
      return next === undefined || left === 0 ? page : { ...page, continuation: next }
    }
    const { requestCostBytes = 0 } = team.objects
    const begin = renderContinuation(first, versionBase(team))
    for await (const rows of walkPages(read, begin, requestCostBytes > 0)) yield* rows
  } finally {
    await unpin()
  }
}

/** The number of matching rows. @param run - See `scanRows`. */
export async function countMatches(
  run: RunOnTable,
  where: Where | undefined,
  options: CountOptions,
): Promise<number> {
  checkCount(where, options)
  const { start, liveRows, unpin } = await run(pinStart)
  try {
    const { search, signal } = options
    if (where === undefined && search === undefined) return liveRows
    let count = 0
    for (let rest: Continuation | null = start; rest !== null; ) {
      const from: Continuation = rest
      const counted = await run((place) => countRows(place, from, { where, search }, signal))
      count += counted.count
      rest = counted.rest
    }
    return count
  } finally {
    await unpin()
  }
}

/** Maximum number of times that the groups of a scan are begun anew because columns were changed meanwhile. */
const GROUPS_BEGUN_MAX = 8

/**
 * The groups of the matching rows, as JSON.
 * @param run - See `scanRows`.
 * @param more - Names of further members that the request may have. They are checked elsewhere.
 */
export async function groupRows(
  run: RunOnTable,
  request: GroupsRequest,
  more: readonly string[],
): Promise<string> {
  const checked = checkGroups(request, more)
  const { where, search, signal } = request
  const bounds = { ...checked, where, search }
  const { start, unpin } = await run(pinStart)
  try {
    let groups: RowGroups | null = null
    let begun = 1
    for (let rest: Continuation | null = start; rest !== null; ) {
      const from: Continuation = rest
      const known: RowGroups | null = groups
      const add = (place: TablePlace): Promise<FoundGroups | null> =>
        groupFound(place, from, known, bounds, signal)
      const found: FoundGroups | null = await run(add)
      if (found === null && ++begun > GROUPS_BEGUN_MAX) {
        const message = 'The columns of the table keep changing; try again'
        throw new StoreError('TRANSACTION_CONFLICT', message, { outcome: 'unchanged' })
      }
      rest = found === null ? start : found.rest
      groups = found?.groups ?? null
    }
    return groups?.json() ?? '[]'
  } finally {
    await unpin()
  }
}

type PinnedStart = Readonly<{
  start: Continuation
  liveRows: number
  unpin: () => Awaitable<void>
}>

/** The start of a table's rows in its current generation, which is pinned until `unpin` is called. */
async function pinStart(place: TablePlace): Promise<PinnedStart> {
  const { generation, unpin } = await pinGeneration(place)
  const { nonce, firstExtent, liveRows } = generation
  const position = { extent: firstExtent, slot: 0 }
  return { start: { table: place.table, generation: nonce, position }, liveRows, unpin }
}
