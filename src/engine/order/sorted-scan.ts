// Scans the rows of one generation in an order: the sorted list is made once and held, and the rows are read page after
// page.
import { checkNotAborted } from '../../base/signals.js'
import { checkScan } from '../arguments/find-arguments.js'
import type { TablePlace } from '../context/store-context.js'
import type { RunOnTable } from '../find/scan-rows.js'
import { pinGeneration } from '../read/generations.js'
import { decodePage } from '../read/page-walk.js'
import type { FindBounds, ScanOptions } from '../types/find-types.js'
import type { RowWithId } from '../types/read-types.js'
import type { PageBytes } from '../types/store-types.js'
import { type HeldList, type SortedRequest, sortedPage } from './sorted-pages.js'

/** Number of rows that are read together. It is large because the rows of each page may be anywhere in the table. */
const SCAN_ROWS = 10_000

/** Scans rows in the order of `orderBy`; see `scanRows`. */
export async function* scanSorted(
  run: RunOnTable,
  options: ScanOptions,
): AsyncGenerator<RowWithId, void> {
  const { numbers, limit } = checkScan('scan', options)
  const { generation, unpin } = await run(pinGeneration)
  try {
    for await (const page of sortedPages(run, options, limit, generation.nonce)) {
      yield* decodePage(page, numbers).rows
    }
  } finally {
    await unpin()
  }
}

/** @param pinned - The nonce of the generation to scan, which must stay pinned meanwhile. */
export async function* sortedPages(
  run: RunOnTable,
  {
    from,
    signal,
    ...wanted
  }: FindBounds & Pick<ScanOptions, 'signal'> & Pick<SortedRequest, 'form'>,
  limit: number,
  pinned: Uint8Array,
): AsyncGenerator<PageBytes, void> {
  const held: HeldList = { rows: limit }
  let left = limit
  let next: Readonly<{ continuation: string }> | undefined
  do {
    checkNotAborted('search', signal)
    const bounds = { ...(next ?? { from }), limit: Math.min(SCAN_ROWS, left) }
    const request = { ...wanted, signal, pinned, held, ...bounds }
    const page = await run((place: TablePlace) => sortedPage(place, request))
    yield page
    left -= page.rowCount
    next = page.continuation === undefined ? undefined : { continuation: page.continuation }
  } while (next !== undefined && left > 0)
}
