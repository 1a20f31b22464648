// Cuts the input of an import into chunks, always the same for the same input.
import { type Bytes, concatBytes, NO_BYTES, utf8 } from '../base/bytes.js'
import { type CutRun, cutRecords, partsOfRun } from '../base/record-cutter.js'
import { SourceFault } from '../base/record-scanner.js'
import {
  BODY_TYPE_OF_FORMAT,
  FORMAT_OF_TYPE,
  formatOfName,
  type SourceFormat,
} from '../base/source-format.js'
import { readWebStream } from '../base/web-stream.js'
import { ClientError } from './client-error.js'
import type { ImportInput, RowChunk } from './import-types.js'

/** Rows of a chunk, at most. */
const ROWS_MAX = 10_000

/** The longest row, in bytes of the input. */
const ROW_BYTES_MAX = 16 * 1024 * 1024

/** @throws {ClientError} if the format of a Blob is not known, or its content is not of it */
export function chunksOf(
  input: ImportInput,
  given: SourceFormat | undefined,
  chunkBytes: number,
): AsyncIterable<RowChunk> {
  if ('chunks' in input) return input.chunks
  if (!(input instanceof Blob)) return chunksOfRows(input, chunkBytes)
  const { name = '' } = input as Partial<File>
  const [type = ''] = input.type.split(';')
  const format = given ?? formatOfName(name) ?? FORMAT_OF_TYPE.get(type.trim().toLowerCase())
  if (format !== undefined) return chunksOfBlob(input, format, chunkBytes)
  throw new ClientError('The format of the rows is unknown: set `format`', 0)
}

async function* chunksOfBlob(
  blob: Blob,
  format: SourceFormat,
  bytesMax: number,
): AsyncGenerator<RowChunk> {
  const limits = { rowsMax: ROWS_MAX, bytesMax, rowBytesMax: ROW_BYTES_MAX }
  const pieces = readWebStream(blob.stream())
  try {
    for await (const run of cutRecords(pieces, format, limits)) yield chunkOf(run, format)
  } catch (failure) {
    if (!(failure instanceof SourceFault)) throw failure
    const { line, offset, message } = failure
    const where = line === undefined ? `byte ${offset ?? 0}` : `line ${line}`
    throw new ClientError(
      `The input is not valid ${format.toUpperCase()} at ${where}: ${message}`,
      0,
    )
  }
}

const COMMA = utf8(',')

async function* chunksOfRows(
  rows: Iterable<object> | AsyncIterable<object>,
  bytesMax: number,
): AsyncGenerator<RowChunk> {
  let parts: Bytes[] = []
  let starts: number[] = []
  let ends: number[] = []
  let number = 0
  const cut = (): RowChunk => {
    const bytes = concatBytes(parts.slice(0, -1)) // Without the comma after the last row.
    const chunk = chunkOf({ header: NO_BYTES, bytes, starts, ends }, 'json')
    parts = []
    starts = []
    ends = []
    return chunk
  }
  for await (const row of rows) {
    const text = jsonOf(row, number++)
    const at = (ends.at(-1) ?? -1) + 1
    if (starts.length > 0 && (at + text.length > bytesMax || starts.length === ROWS_MAX))
      yield cut()
    const start = (ends.at(-1) ?? -1) + 1
    parts.push(text, COMMA)
    starts.push(start)
    ends.push(start + text.length)
  }
  if (starts.length > 0 || number === 0) yield cut()
}

function jsonOf(row: object, number: number): Bytes {
  try {
    const text: string | undefined = JSON.stringify(row)
    if (text?.startsWith('{')) return utf8(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ClientError(`Row ${number} (counted from 0) cannot be sent as JSON: ${reason}`, 0)
  }
  throw new ClientError(`Row ${number} (counted from 0) is not an object of cells`, 0)
}

type Cut = Pick<CutRun, 'header' | 'bytes' | 'starts' | 'ends'>

/** Row i is the bytes from starts[i] up to ends[i]. */
function chunkOf({ header, bytes, starts, ends }: Cut, format: SourceFormat): RowChunk {
  return {
    rows: starts.length,
    bytes: bytes.length,
    type: BODY_TYPE_OF_FORMAT[format],
    body(first, limit) {
      const rows = bytes.subarray(starts[first] ?? 0, limit > first ? ends[limit - 1] : 0)
      return concatBytes(partsOfRun({ header, bytes: rows }, format)) as Uint8Array<ArrayBuffer>
    },
  }
}
