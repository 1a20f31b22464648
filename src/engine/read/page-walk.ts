// The pages of a scan, one after the other.
import { fromUtf8 } from '../../base/bytes.js'
import { type NumberForm, parseRendered } from '../../schema/parse-rendered.js'
import type { RowWithId } from '../types/read-types.js'
import type { Page, PageBytes } from '../types/store-types.js'

export function decodePage({ json, rowCount: _, ...rest }: PageBytes, numbers: NumberForm): Page {
  return { rows: parseRendered(fromUtf8(json), numbers) as RowWithId[], ...rest }
}

/**
 * @param read - Reads the page at a continuation.
 * @param isAhead - Whether the next page is read while the caller uses the rows of the current one. If so, two pages
 *   are in memory.
 */
export async function* walkPages<First extends string | undefined>(
  read: (continuation: First | string) => Promise<Page>,
  first: First,
  isAhead: boolean,
): AsyncGenerator<Page['rows'], void> {
  let reading: Promise<Page> | undefined
  const begin = (continuation: First | string): void => {
    reading = read(continuation)
    reading.catch(() => undefined) // If the read fails, the scan fails only when these rows are needed.
  }
  try {
    for (begin(first); reading !== undefined; ) {
      const { rows, continuation }: Page = await reading
      reading = undefined
      if (isAhead && continuation !== undefined) begin(continuation)
      yield rows
      if (!isAhead && continuation !== undefined) begin(continuation)
    }
  } finally {
    await reading?.catch(() => undefined) // The read must end before the scan ends.
  }
}
