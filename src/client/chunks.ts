// Cuts the input of an import into chunks. The same input always yields the same chunks.
import { type Bytes, bytesOf, concatBytes, NO_BYTES, utf8 } from '../base/bytes.js'
import { typeName } from '../base/options.js'
import { type CutLimits, cutRecords } from '../base/record-cutter.js'
import { SourceFault } from '../base/record-scanner.js'
import { FORMAT_OF_TYPE, formatOfName, type SourceFormat } from '../base/source-format.js'
import { readWebStream, streamPieces } from '../base/web-stream.js'
import type { ColumnKinds } from '../intake/conversions.js'
import type { Dialect } from '../intake/dialect.js'
import { DIALECT_NAMES } from '../intake/dialect.js'
import type { IntakeReport, IntakeRun } from '../intake/intake.js'
import { invalidCall } from './client-error.js'
import {
  type CountedChunk,
  type Cut,
  makeCountedChunk,
  placeOfFault,
  ROW_BYTES_MAX,
  ROWS_MAX,
} from './counted-chunk.js'
import type { ImportInput, OnSchemaError, RowChunk } from './import-types.js'
import { isBlob } from './own-realm.js'
import { BYTES_ADVICE, rowText } from './row-text.js'

export type ChunkSettings = Readonly<{
  /** The format of the input. Default: detected for a Blob; any other input is an iterable of objects. */
  format?: SourceFormat | undefined
  /** Maximum size of a chunk, in bytes. */
  chunkBytes: number
  /** Whether an input without content counts as no rows. Default: false; such an input is an error. */
  allowEmpty?: boolean | undefined
  /** What the server does with rows that do not fit the schema. Default: `abort`. */
  onSchemaError?: OnSchemaError | undefined
  /** Whether options that are not given are detected. Default: `detect` for a Blob, `plain` for a stream. */
  dialect?: 'plain' | 'detect' | undefined
  at?: string | undefined
  nested?: 'flatten' | 'text' | undefined
  /** The known kinds of columns. Default: none. */
  kindsOf?: () => Promise<ColumnKinds | undefined>
  /** Called with the report of the intake, but only if the intake reads the input. */
  onReport?: (report: IntakeReport) => void
}> &
  Dialect

/** @throws {ClientError} if the input has a wrong type, a Blob's format is unknown, or its content is malformed */
export function chunkInput(
  input: ImportInput,
  settings: ChunkSettings,
): AsyncIterable<RowChunk | CountedChunk> {
  const { format: given, chunkBytes, onSchemaError } = settings
  if (isBlob(input)) return chunksOfBlob(input, { dialect: 'detect', ...settings })
  const { chunks } = Object(input) as { chunks?: unknown }
  const chunked = streamPieces(chunks)
  if (chunked !== undefined) return chunked as AsyncIterable<RowChunk>
  const pieces = streamPieces(input)
  if (pieces !== undefined) {
    if (given === undefined) return chunksOfRows(pieces, chunkBytes, onSchemaError)
    return chunksOfBytes(pieces, given, settings)
  }
  const isList = typeof input === 'object' && input !== null && Symbol.iterator in input
  if (isList && !ArrayBuffer.isView(input)) return chunksOfRows(input, chunkBytes, onSchemaError)
  const advice = typeof input === 'string' || ArrayBuffer.isView(input) ? BYTES_ADVICE : ''
  const taken =
    'objects, as an array or iterable; a Blob; a stream of bytes with `format`; or { chunks }'
  throw invalidCall(`The input must be ${taken}, not ${typeName(input)}${advice}`)
}

function chunksOfBlob(blob: Blob, settings: ChunkSettings): AsyncIterable<RowChunk> {
  const { name = '' } = blob as Partial<File>
  const [type = ''] = blob.type.split(';')
  const format =
    settings.format ??
    formatOfName(name.replace(/\.gz$/i, '')) ??
    FORMAT_OF_TYPE.get(type.trim().toLowerCase())
  if (format !== undefined) return chunksOfBytes(readWebStream(blob.stream()), format, settings)
  throw invalidCall('The format of the rows is unknown: set `format`')
}

async function* checkedStream(
  pieces: AsyncIterable<unknown>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Bytes> {
  for await (const piece of pieces) {
    const bytes = bytesOf(piece)
    if (bytes !== undefined) {
      onRead(bytes.length)
      yield bytes
    } else
      throw invalidCall(`With \`format\`, a stream must be of Uint8Array, not ${typeName(piece)}`)
  }
}

async function* chunksOfBytes(
  pieces: AsyncIterable<unknown>,
  format: SourceFormat,
  settings: ChunkSettings,
): AsyncGenerator<RowChunk> {
  const { chunkBytes, allowEmpty } = settings
  const limits = { rowsMax: ROWS_MAX, bytesMax: chunkBytes, rowBytesMax: ROW_BYTES_MAX }
  let bytesRead = 0
  let bytesTold = 0
  const source = checkedStream(pieces, (bytes) => {
    bytesRead += bytes
  })
  let isEmpty = true
  const isPlain = isPlainSource(settings)
  try {
    const runs: AsyncIterable<Cut> = isPlain
      ? cutRecords(source, format, limits, { allowEmpty })
      : runsOfIntake(source, format, limits, settings)
    for await (const run of runs) {
      isEmpty = false
      const chunk = makeCountedChunk(run, run.format ?? format)
      // If the input was unpacked, decoded or converted, `bytes` counts the bytes that were read from the source.
      yield isPlain ? chunk : { ...chunk, bytes: bytesRead - bytesTold }
      bytesTold = bytesRead
    }
    if (isEmpty) yield* chunksOfRows([], chunkBytes)
  } catch (failure) {
    if (!(failure instanceof SourceFault)) throw failure
    if (failure.isEmpty) {
      throw invalidCall('The input is empty; set allowEmpty: true if that is intended')
    }
    throw invalidCall(`The input is not valid ${format.toUpperCase()}${placeOfFault(failure)}`)
  }
}

/** Whether a source is plain: it has the stated format, and no option that only the intake handles. */
function isPlainSource({ dialect, at, nested, ...settings }: ChunkSettings): boolean {
  const isSaid = (at ?? nested) !== undefined
  return dialect !== 'detect' && !isSaid && saidOf(settings) === undefined
}

function saidOf(settings: Dialect): Dialect | undefined {
  const said = DIALECT_NAMES.filter((name) => settings[name] !== undefined)
  if (said.length === 0) return undefined
  return Object.fromEntries(said.map((name) => [name, settings[name]]))
}

/** The runs of rows that the intake reads. The intake is loaded on first use. */
async function* runsOfIntake(
  source: AsyncIterable<Bytes>,
  format: SourceFormat,
  limits: CutLimits,
  settings: ChunkSettings,
): AsyncGenerator<IntakeRun> {
  const { dialect, at, nested, allowEmpty, kindsOf, onReport } = settings
  const { openIntake } = await import('../intake/intake.js')
  const said = { dialect: saidOf(settings), detects: dialect === 'detect', at, nested, allowEmpty }
  const intake = await openIntake(source, { format, ...said, unpacks: true, limits, kindsOf })
  yield* intake.runs
  onReport?.(intake.report)
}

const COMMA = utf8(',')

async function* chunksOfRows(
  rows: Iterable<unknown> | AsyncIterable<unknown>,
  bytesMax: number,
  onSchemaError?: OnSchemaError,
): AsyncGenerator<RowChunk> {
  let parts: Bytes[] = []
  let starts: number[] = []
  let ends: number[] = []
  let number = 0
  let chunks = 0
  const cut = (): RowChunk => {
    const bytes = concatBytes(parts.slice(0, -1)) // Leaves out the comma after the last row.
    const chunk = makeCountedChunk({ header: NO_BYTES, bytes, starts, ends }, 'json')
    parts = []
    starts = []
    ends = []
    chunks++
    return chunk
  }
  for await (const row of rows) {
    const place = { chunk: chunks, row: starts.length, inputRow: number }
    const text = utf8(rowText(row, `Row ${number++} (counted from 0)`, onSchemaError, place))
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
