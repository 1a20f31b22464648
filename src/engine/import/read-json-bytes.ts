// Reads a JSON body row by row: by the byte scanner, and by the exact path wherever the scanner is unsure.
import { type Bytes, fromUtf8, plainView } from '../../base/bytes.js'
import { isUtf8, sliceReader } from '../../base/platform.js'
import { isStoreError } from '../../base/store-error.js'
import type { TimeSlices } from '../../base/time-slices.js'
import { writeRowText } from '../../format/scanned-row-text.js'
import type { TextBuffer } from '../../format/text-buffer.js'
import { scanJsonRows } from '../../schema/scan-json.js'
import { JsonByteScanner } from '../../schema/scan-json-bytes.js'
import type { ChunkBuilder, RowBatch } from './chunk-builder.js'
import type { BuilderLimits } from './columns-of-chunk.js'

/** Receives the texts of rows, in order. */
export interface RowSink {
  add(texts: readonly string[]): void
  /** @param scanned - The scanner, positioned at the row, if a scanner read the row. */
  addRow(write: (texts: TextBuffer) => void, scanned?: JsonByteScanner): void
  /** Adds the rows of `batch` that were not added yet, then ends the segment. */
  end(batch: RowBatch): Promise<void>
}

/**
 * Reads all rows. The rows that `builder` still holds at the end are then returned by its `take`.
 * @returns false: a row is refused, or the body cannot be read by rows. Then the results so far do not count, and the
 *   exact path must read the whole body to report the problem.
 */
export async function readJsonBytes(
  body: Bytes,
  limits: BuilderLimits,
  builder: ChunkBuilder,
  sink: RowSink,
  slices: TimeSlices,
): Promise<boolean> {
  if (!isUtf8(body)) return false
  const bytes = plainView(body)
  const textOf = sliceReader(bytes)
  const scanner = new JsonByteScanner(bytes, limits, textOf)
  const write = (texts: TextBuffer): void => writeRowText(texts, scanner)
  let work = 0
  for (;;) {
    const step = scanner.next()
    if (step === 'end') return true
    if (step === 'stop') return false
    if (step === 'row' && addAsScanned(scanner, textOf, builder)) sink.addRow(write, scanner)
    else if (addExactly(scanner, limits, builder)) sink.add(builder.drain())
    else return false
    if (!builder.longValues.isEmpty) await slices.run(builder.longValues.judgeInSteps())
    if (builder.isFull) await sink.end(builder.take())
    const isDue = slices.spend(Math.max(builder.work - work, scanner.readBytes))
    work = builder.work
    if (isDue) await slices.pause() // Awaits are not made for every row, because an await costs more than a row.
  }
}

/** Adds the scanner's row in place. @returns false: the row is refused, for example because of a column too many */
function addAsScanned(
  scanner: JsonByteScanner,
  textOf: (from: number, to: number) => string,
  builder: ChunkBuilder,
): boolean {
  try {
    return builder.addScanned(scanner, textOf)
  } catch (failure) {
    if (isStoreError(failure)) return false
    throw failure
  }
}

/** Adds the scanner's row by the exact path. @returns false: the row is refused */
function addExactly(
  { bytes, rowStart, rowEnd }: JsonByteScanner,
  { columnsMax, rowBytesMax }: BuilderLimits,
  builder: ChunkBuilder,
): boolean {
  const text = `[${fromUtf8(bytes.subarray(rowStart, rowEnd))}]`
  try {
    for (const row of scanJsonRows(text, { columnsMax, rowCharsMax: rowBytesMax })) builder.add(row)
    return true
  } catch (failure) {
    if (isStoreError(failure)) return false
    throw failure
  }
}
