// The results of a JSON body on both paths: the exact one, and the byte scanner.
import { systemClock } from '../../../src/base/clock.js'
import { isStoreError } from '../../../src/base/store-error.js'
import { SliceTurns } from '../../../src/base/time-slices.js'
import { ChunkBuilder, type RowBatch } from '../../../src/engine/import/chunk-builder.js'
import { readJsonBytes } from '../../../src/engine/import/read-json-bytes.js'
import { TextBuffer } from '../../../src/format/text-buffer.js'
import { decodeJsonText, scanJsonRows } from '../../../src/schema/scan-json.js'

export const LIMITS = {
  columnsMax: 6,
  rowBytesMax: 2_000,
  segmentRowsMax: 65_536,
  segmentBytesMax: 1e9,
}

/** The rows of a body, or its refusal. */
type Made = Readonly<{
  texts: readonly string[]
  columns: unknown
  segments: unknown
  rows: number
}>

function madeOf(
  builder: ChunkBuilder,
  texts: readonly string[],
  segments: readonly RowBatch[],
): Made {
  const columns = builder.columns.map(({ summary, firstRow }) => ({ ...summary, firstRow }))
  const told = segments.map((batch) => ({ columns: batch.columns, claims: batch.claims }))
  return { texts, columns, segments: told, rows: builder.rowCount }
}

export function readExactly(bytes: Uint8Array, segmentRowsMax: number): Made | null {
  const { columnsMax, rowBytesMax } = LIMITS
  const builder = new ChunkBuilder({ ...LIMITS, segmentRowsMax }, null)
  const texts: string[] = []
  const segments: RowBatch[] = []
  try {
    const rows = scanJsonRows(decodeJsonText(bytes), { columnsMax, rowCharsMax: rowBytesMax })
    for (const row of rows) {
      builder.add(row)
      texts.push(...builder.drain())
      if (builder.isFull) segments.push(builder.take())
    }
  } catch (failure) {
    if (isStoreError(failure)) return null
    throw failure
  }
  return madeOf(builder, texts, [...segments, builder.take()])
}

export async function readQuickly(bytes: Uint8Array, segmentRowsMax: number): Promise<Made | null> {
  const limits = { ...LIMITS, segmentRowsMax }
  const builder = new ChunkBuilder(limits, null)
  const texts: string[] = []
  const segments: RowBatch[] = []
  const slices = new SliceTurns(systemClock).begin()
  const sink = {
    add: (more: readonly string[]) => void texts.push(...more),
    addRow(write: (writer: TextBuffer) => void) {
      const writer = new TextBuffer()
      write(writer)
      texts.push(new TextDecoder().decode(writer.finish()))
    },
    end: async (batch: RowBatch) => void segments.push(batch),
  }
  if (!(await readJsonBytes(bytes, limits, builder, sink, slices))) return null
  return madeOf(builder, texts, [...segments, builder.take()])
}
