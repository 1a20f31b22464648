// Reads a CSV or TSV body by the byte scanner, one segment at a time. All rows of a segment are judged before its first
// row is written, because all cells of a column together decide in which form they are stored.
import { sliceReader } from '../../base/platform.js'
import type { TimeSlices } from '../../base/time-slices.js'
import { CsvRowWriter } from '../../format/scanned-csv-text.js'
import { TextBuffer } from '../../format/text-buffer.js'
import type { CsvByteScanner } from '../../schema/scan-csv-bytes.js'
import { FieldSummarizer } from '../../schema/summarize-field-bytes.js'
import type { ChunkBuilder, RowBatch } from './chunk-builder.js'
import { workOfRow } from './columns-of-chunk.js'
import type { RowSink } from './read-json-bytes.js'

/**
 * Reads all rows, but does not end the last segment: `take` of the builder returns its rows, and the scanner has their
 * cells.
 * @returns false: the scanner is unsure of a row. Then the results so far do not count, and the exact path must read
 *   the whole body.
 */
export async function readCsvBytes(
  scanner: CsvByteScanner,
  builder: ChunkBuilder,
  sink: RowSink,
  slices: TimeSlices,
): Promise<boolean> {
  const summarizer = new FieldSummarizer(scanner.bytes)
  let work = 0
  for (;;) {
    const step = scanner.next()
    if (step !== 'row') return step === 'end'
    if (!builder.addScannedText(scanner, summarizer)) return false
    if (!builder.longValues.isEmpty) await slices.run(builder.longValues.judgeInSteps())
    if (builder.isFull) await endSegment(scanner, builder.take(), sink, slices)
    const isDue = slices.spend(builder.work - work)
    work = builder.work
    if (isDue) await slices.pause() // Awaits are not made for every row, because an await costs more than a row.
  }
}

/** Writes the rows that the scanner holds, and ends their segment. */
export async function endSegment(
  scanner: CsvByteScanner,
  batch: RowBatch,
  sink: RowSink,
  slices: TimeSlices,
): Promise<void> {
  const rows = new CsvRowWriter(scanner, batch.columns)
  let row = 0
  let work = 0
  const write = (texts: TextBuffer): void => {
    const start = texts.length
    rows.write(texts, row)
    work += workOfRow(texts.length - start)
  }
  for (; row < scanner.rowCount; row++) {
    sink.addRow(write)
    const isDue = slices.spend(work)
    work = 0
    if (isDue) await slices.pause()
  }
  scanner.clear()
  await sink.end(batch)
}

/** The texts of the rows that the scanner holds. Meant for few rows. */
export function textsOfRows(scanner: CsvByteScanner, { columns }: RowBatch): readonly string[] {
  const rows = new CsvRowWriter(scanner, columns)
  const writer = new TextBuffer()
  const bounds = [0]
  for (let row = 0; row < scanner.rowCount; row++) {
    rows.write(writer, row)
    bounds.push(writer.length)
  }
  const textOf = sliceReader(writer.finish())
  return bounds.slice(1).map((end, row) => textOf(bounds[row] ?? 0, end))
}
