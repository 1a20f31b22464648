// The results of a CSV body on both paths: the exact one, and the byte scanner.
import { expect } from 'vitest'
import { BufferPool } from '../../../src/base/buffer-pool.js'
import { systemClock } from '../../../src/base/clock.js'
import { isStoreError } from '../../../src/base/store-error.js'
import { SliceTurns } from '../../../src/base/time-slices.js'
import { ChunkBuilder, type RowBatch } from '../../../src/engine/import/chunk-builder.js'
import type { BuilderLimits } from '../../../src/engine/import/columns-of-chunk.js'
import { endSegment, readCsvBytes, textsOfRows } from '../../../src/engine/import/read-csv-bytes.js'
import { TextBuffer } from '../../../src/format/text-buffer.js'
import { openCsv } from '../../../src/schema/scan-csv.js'
import { type CsvByteScanner, openCsvBytes } from '../../../src/schema/scan-csv-bytes.js'
import type { CsvBody } from './csv-row-bodies.js'

/** The rows of a body; null: it is refused. */
type Made = Readonly<{ segments: readonly RowBatch[]; chunk: unknown }>

function madeOf(builder: ChunkBuilder, segments: readonly RowBatch[]): Made {
  const { columns, firstLine, hasClaims, rowCount } = builder
  return { segments, chunk: { columns, firstLine, hasClaims, rowCount } }
}

export function readExactly({ bytes, delimiter }: CsvBody, limits: BuilderLimits): Made | null {
  const { columnsMax, rowBytesMax } = limits
  const segments: RowBatch[] = []
  try {
    const { header, rows } = openCsv(bytes, { delimiter }, { columnsMax, rowCharsMax: rowBytesMax })
    const builder = new ChunkBuilder(limits, header)
    for (const row of rows) {
      builder.add(row)
      if (builder.isFull) segments.push(builder.take())
    }
    segments.push(builder.take())
    return madeOf(builder, segments)
  } catch (failure) {
    if (isStoreError(failure)) return null
    throw failure
  }
}

export async function readQuickly(
  { bytes, delimiter }: CsvBody,
  limits: BuilderLimits,
): Promise<Made | null> {
  const scanner = openCsvBytes(bytes, delimiter, limits, BUFFERS)
  if (scanner === null) return null
  try {
    return await readAll(scanner, limits)
  } finally {
    scanner.release()
  }
}

/** The memory of scanners, which use it one after another. */
export const BUFFERS = new BufferPool(4 * 1_048_576)

async function readAll(scanner: CsvByteScanner, limits: BuilderLimits): Promise<Made | null> {
  const builder = new ChunkBuilder(limits, scanner.header)
  const segments: RowBatch[] = []
  let texts: string[] = []
  const writer = new TextBuffer()
  const slices = new SliceTurns(systemClock).begin()
  const sink = {
    add: () => expect.unreachable(),
    addRow(write: (writer: TextBuffer) => void) {
      const start = writer.length
      write(writer)
      texts.push(decoder.decode(writer.written(start)))
    },
    async end(batch: RowBatch) {
      segments.push({ ...batch, texts })
      texts = []
    },
  }
  if (!(await readCsvBytes(scanner, builder, sink, slices))) return null
  const last = builder.take()
  // Few rows are given as texts. The files test a whole segment.
  if (segments.length > 0) await endSegment(scanner, last, sink, slices)
  else segments.push({ ...last, texts: textsOfRows(scanner, last) })
  return madeOf(builder, segments)
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
