// The pages of a scan, one after the other.
import type { Page } from '../api/store-types.js'

/**
 * @param read - Reads the page at a continuation.
 * @param isAhead - Whether a page is read while the rows of the one before are used. Then two are in memory.
 */
export async function* walkPages(
  read: (continuation: string) => Promise<Page>,
  first: string,
  isAhead: boolean,
): AsyncGenerator<Page['rows'], void> {
  let reading: Promise<Page> | undefined
  const begin = (continuation: string | undefined): void => {
    reading = continuation === undefined ? undefined : read(continuation)
    reading?.catch(() => undefined) // It fails the scan where its rows are needed.
  }
  try {
    for (begin(first); reading !== undefined; ) {
      const { rows, continuation }: Page = await reading
      reading = undefined
      if (isAhead) begin(continuation)
      yield rows
      if (!isAhead) begin(continuation)
    }
  } finally {
    await reading?.catch(() => undefined) // It ends before the scan does.
  }
}
