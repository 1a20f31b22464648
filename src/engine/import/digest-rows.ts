// The digests of the rows of an operation, chunk by chunk, as the table will return the rows.
import { utf8 } from '../../base/bytes.js'
import { openHash } from '../../base/platform.js'
import type { TimeSlices } from '../../base/time-slices.js'
import type { ReceiptChunk } from '../../format/log-records.js'
import { convertRowText } from '../../format/row-text.js'
import type { Column } from '../../schema/column-kind.js'
import type { TeamContext } from '../context/store-context.js'
import { CHUNK_WORK, type LinkableRows, type OperationRows } from './rows-reader.js'

/** Number of rows that are hashed together. */
const ROWS_AT_ONCE = 64

/**
 * @param source - The rows as they were given. Its chunks say how many of `rows` belong together: no row is added or
 *   dropped.
 * @param rows - The rows as they are linked. Their segments are read.
 * @param columns - The columns of the table, which convert rows stored in another form.
 */
export async function digestChunks(
  team: TeamContext,
  { chunks }: OperationRows,
  rows: LinkableRows,
  columns: ReadonlyMap<string, Column>,
  slices: TimeSlices,
): Promise<ReceiptChunk[]> {
  const digests: ReceiptChunk[] = []
  const texts = readLinkableTexts(team, rows, columns)
  let waiting: readonly string[] = []
  for (const { chunk, serial = null } of chunks) {
    if (slices.spend(CHUNK_WORK)) await slices.pause()
    const hash = openHash('sha256')
    for (let left = chunk.rowCount; left > 0; ) {
      if (waiting.length === 0) {
        const next = await texts.next()
        if (next.done) break
        waiting = next.value
      }
      const taken = waiting.slice(0, Math.min(left, ROWS_AT_ONCE))
      waiting = waiting.slice(taken.length)
      left -= taken.length
      const lines = taken.map((text) => `{${text}}\n`).join('')
      hash.update(utf8(lines))
      if (slices.spend(lines.length)) await slices.pause()
    }
    digests.push({ serial, rows: chunk.rowCount, digest: hash.digest() })
  }
  return digests
}

async function* readLinkableTexts(
  { segments }: TeamContext,
  rows: LinkableRows,
  columns: ReadonlyMap<string, Column>,
): AsyncGenerator<readonly string[], undefined> {
  if ('texts' in rows) {
    yield rows.texts
    return
  }
  for (const { ref, needsQuoting } of rows.segments) {
    for await (const texts of segments.rowTexts(ref, 0, ref.rowCount)) {
      yield needsQuoting ? texts.map((text) => convertRowText(text, columns)) : texts
    }
  }
}
