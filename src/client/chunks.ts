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

/** Rows of a chunk, at most. */
const ROWS_MAX = 10_000

/** The longest row, in bytes of the input. */
const ROW_BYTES_MAX = 16 * 1024 * 1024

/** Rows that are sent together. Row i is the bytes from starts[i] up to ends[i]. */
export type Chunk = Readonly<{ format: SourceFormat }> &
  Pick<CutRun, 'header' | 'bytes' | 'starts' | 'ends'>

/** @throws {ClientError} if the format of a Blob is not known, or its content is not of it */
export function chunksOf(
  input: Iterable<object> | AsyncIterable<object> | Blob,
  given: SourceFormat | undefined,
  chunkBytes: number,
): AsyncGenerator<Chunk> {
  if (!(input instanceof Blob)) return chunksOfRows(input, chunkBytes)
  const { name = '' } = input as Partial<File>
  const [type = ''] = input.type.split(';')
  const format = given ?? formatOfName(name) ?? FORMAT_OF_TYPE.get(type.trim().toLowerCase())
  if (format !== undefined) return chunksOfBlob(input, format, chunkBytes)
  throw new ClientError('The format of the rows is not known: give `format`', 0)
}

async function* chunksOfBlob(
  blob: Blob,
  format: SourceFormat,
  bytesMax: number,
): AsyncGenerator<Chunk> {
  const limits = { rowsMax: ROWS_MAX, bytesMax, rowBytesMax: ROW_BYTES_MAX }
  const pieces = readWebStream(blob.stream())
  try {
    for await (const run of cutRecords(pieces, format, limits)) yield { format, ...run }
  } catch (failure) {
    if (!(failure instanceof SourceFault)) throw failure
    const { line, offset, message } = failure
    const where = line === undefined ? `byte ${offset ?? 0}` : `line ${line}`
    throw new ClientError(`The input is no ${format.toUpperCase()} at ${where}: ${message}`, 0)
  }
}

const COMMA = utf8(',')

async function* chunksOfRows(
  rows: Iterable<object> | AsyncIterable<object>,
  bytesMax: number,
): AsyncGenerator<Chunk> {
  let parts: Bytes[] = []
  let starts: number[] = []
  let ends: number[] = []
  let number = 0
  const cut = (): Chunk => {
    const bytes = concatBytes(parts.slice(0, -1)) // Without the comma after the last row.
    const chunk: Chunk = { format: 'json', header: NO_BYTES, bytes, starts, ends }
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
  throw new ClientError(`Row ${number} (counted from 0) is not an object with cells`, 0)
}

/** The body of a request with the rows of a chunk, and its media type. */
export function bodyOf(chunk: Chunk): Readonly<{ type: string; body: Uint8Array<ArrayBuffer> }> {
  const { format } = chunk
  const body = concatBytes(partsOfRun(chunk, format)) as Uint8Array<ArrayBuffer>
  return { type: BODY_TYPE_OF_FORMAT[format], body }
}

/** The halves of a chunk; null: it has one row. */
export function halvesOf({ starts, ends, bytes, ...rest }: Chunk): readonly [Chunk, Chunk] | null {
  const middle = starts.length >> 1
  const at = starts[middle] ?? 0
  if (middle === 0) return null
  const left = { ...rest, bytes: bytes.slice(0, ends[middle - 1]) }
  const shift = (place: number): number => place - at
  return [
    { ...left, starts: starts.slice(0, middle), ends: ends.slice(0, middle) },
    {
      ...rest,
      bytes: bytes.slice(at),
      starts: starts.slice(middle).map(shift),
      ends: ends.slice(middle).map(shift),
    },
  ]
}
