// Reads a CSV or TSV body by the byte scanner, a segment at a time: all rows of a segment are judged before
// the first is written, as all cells of a column decide in which form they are stored.
import { sliceReader, yieldToEventLoop } from '../base/platform.js'
import { ByteWriter } from '../format/byte-writer.js'
import { CsvRowWriter } from '../format/scanned-csv-text.js'
import { FieldJudge } from '../schema/judge-field-bytes.js'
import type { CsvByteScanner } from '../schema/scan-csv-bytes.js'
import type { ChunkBuilder, RowBatch } from './chunk-builder.js'
import type { RowSink } from './read-json-bytes.js'

/** Other work of the process gets its turn after so much text. */
const SLICE_BYTES = 256 * 1024

/** A row costs as much as so many bytes, at least. */
const ROW_WORK = 16

/**
 * Reads all rows but those of the last segment: `take` of the builder tells of them, and the scanner has
 * their cells.
 *
 * @returns false: something of the body is not sure. Then nothing of it counts, and the exact path must read
 *   all of it.
 */
export async function readCsvBytes(
  scanner: CsvByteScanner,
  builder: ChunkBuilder,
  sink: RowSink,
): Promise<boolean> {
  const judge = new FieldJudge(scanner.bytes)
  let yieldAt = SLICE_BYTES
  for (;;) {
    const step = scanner.next()
    if (step !== 'row') return step === 'end'
    if (!builder.addScannedText(scanner, judge)) return false
    if (builder.isFull) await endSegment(scanner, builder.take(), sink)
    if (builder.work < yieldAt) continue
    await yieldToEventLoop() // Not for every row: an await costs more than a row.
    yieldAt = builder.work + SLICE_BYTES
  }
}

/** Writes the rows that the scanner has kept, and ends their segment. */
export async function endSegment(
  scanner: CsvByteScanner,
  batch: RowBatch,
  sink: RowSink,
): Promise<void> {
  const rows = new CsvRowWriter(scanner, batch.columns)
  let row = 0
  let work = 0
  const write = (texts: ByteWriter): void => {
    const start = texts.length
    rows.write(texts, row)
    work += texts.length - start + ROW_WORK
  }
  for (; row < scanner.rowCount; row++) {
    sink.addRow(write)
    if (work < SLICE_BYTES) continue
    await yieldToEventLoop()
    work = 0
  }
  scanner.clear()
  await sink.end(batch)
}

/** The texts of the rows that the scanner has kept; for few of them. */
export function textsOfRows(scanner: CsvByteScanner, { columns }: RowBatch): readonly string[] {
  const rows = new CsvRowWriter(scanner, columns)
  const writer = new ByteWriter()
  const bounds = [0]
  for (let row = 0; row < scanner.rowCount; row++) {
    rows.write(writer, row)
    bounds.push(writer.length)
  }
  const textOf = sliceReader(writer.finish())
  return bounds.slice(1).map((end, row) => textOf(bounds[row] ?? 0, end))
}
