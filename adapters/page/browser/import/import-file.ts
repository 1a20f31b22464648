// A chosen file, and its first rows as the import reads them.
import { type Bytes, concatBytes } from '../../../../src/base/bytes.js'
import { type CutLimits, partsOfRun } from '../../../../src/base/record-cutter.js'
import { SourceFault } from '../../../../src/base/record-scanner.js'
import {
  BODY_TYPE_OF_FORMAT,
  formatOfName,
  isJson,
  type SourceFormat,
} from '../../../../src/base/source-format.js'
import { readWebStream } from '../../../../src/base/web-stream.js'
import { invalidCall } from '../../../../src/client/client-error.js'
import {
  type CountedChunk,
  makeCountedChunk,
  placeOfFault,
  ROW_BYTES_MAX,
  ROWS_MAX,
} from '../../../../src/client/counted-chunk.js'
import type { IntakeReport } from '../../../../src/client/import-types.js'
import type { ColumnKinds } from '../../../../src/intake/conversions.js'
import type { Dialect } from '../../../../src/intake/dialect.js'
import { resolveMarks, splitRecordFields } from '../../../../src/intake/fields.js'
import { type Intake, type IntakeRun, openCheckedIntake } from '../../../../src/intake/intake.js'
import type { Nested } from '../../../../src/intake/nested.js'
import { openTextBytes, unpackGzip } from '../../../../src/intake/text-bytes.js'
import { parseJson } from '../base/json-text.js'

export const FORMATS: readonly SourceFormat[] = ['csv', 'tsv', 'json', 'ndjson']

/** How a file is read: the choices of a person. Everything else is detected. */
export type Reading = Readonly<{
  format: SourceFormat
  dialect: Dialect
  /** The path to the array of rows in JSON. */
  at?: string
  nested?: Nested
  /** The columns that the import omits. */
  omits?: readonly string[]
}>

/** The choices made so far. */
export type GivenReading = Partial<Reading> & Pick<Reading, 'format'>

/** Limits of the sample of a file. */
const SAMPLE = { rowsMax: 50, bytesMax: 256 * 1024, rowBytesMax: 4 * 1024 * 1024 }

/** A file's name without the extensions of its format. */
export function plainName(name: string): string {
  return name.replace(/\.gz$/i, '').replace(/\.(?:csv|tsv|tab|txt|dat|json|ndjson|jsonl)$/i, '')
}

/** The format by the name of a file. */
export function formatOf({ name }: File): SourceFormat | undefined {
  return formatOfName(name.replace(/\.gz$/i, ''))
}

/** The first rows of a file: for people, and as the body of a request that checks them. */
export type Sample = Readonly<{
  columns: readonly string[]
  rows: readonly Readonly<Record<string, unknown>>[]
  type: string
  body: Uint8Array<ArrayBuffer>
  /** The line of each row in the file; empty for JSON. */
  lines: readonly number[]
  /** The report on these rows. */
  report: IntakeReport
}>

type KindsOf = () => Promise<ColumnKinds | undefined>

function open(
  file: Blob,
  { dialect, ...how }: Reading,
  limits: CutLimits,
  kindsOf: KindsOf,
  onRead: (bytes: number) => void = () => undefined,
): Promise<Intake> {
  const options = { ...how, dialect, detects: true, unpacks: true, limits, kindsOf }
  return openCheckedIntake(countedPieces(readWebStream(file.stream()), onRead), options)
}

async function* countedPieces(
  pieces: AsyncIterable<Bytes>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Bytes> {
  for await (const piece of pieces) {
    onRead(piece.length)
    yield piece
  }
}

/**
 * The rows of a file in chunks, always the same for the same file.
 * @throws {ClientError} if its content does not match
 */
export async function* chunksOfFile(
  file: Blob,
  reading: Reading,
  bytesMax: number,
  kindsOf: KindsOf,
  onReport: (report: IntakeReport) => void,
): AsyncGenerator<CountedChunk> {
  const limits = { rowsMax: ROWS_MAX, bytesMax, rowBytesMax: ROW_BYTES_MAX }
  let untold = 0
  const onRead = (bytes: number): void => {
    untold += bytes
  }
  try {
    const intake = await open(file, reading, limits, kindsOf, onRead)
    for await (const run of intake.runs) {
      yield { ...makeCountedChunk(run, run.format), bytes: untold }
      untold = 0
    }
    onReport(intake.report)
  } catch (failure) {
    if (!(failure instanceof SourceFault)) throw failure
    throw invalidCall(`${reading.format.toUpperCase()}${placeOfFault(failure)}`)
  }
}

/** Reads a sample. @throws {Error} if the beginning of the file cannot be read in this way */
export async function readSample(file: Blob, reading: Reading, kindsOf: KindsOf): Promise<Sample> {
  try {
    const intake = await open(file, reading, SAMPLE, kindsOf)
    for await (const run of intake.runs) {
      const lines = isJson(run.format) ? [] : run.offsets.map((at) => intake.lineAt(at))
      return sampleOf(run, lines, intake.report)
    }
    throw new SourceFault('the file is empty')
  } catch (failure) {
    if (!(failure instanceof SourceFault)) throw failure
    const { line, offset, message } = failure
    const isOfFile = line === undefined && offset === undefined
    throw new Error(isOfFile ? message : `${reading.format.toUpperCase()}${placeOfFault(failure)}`)
  }
}

function sampleOf(run: IntakeRun, lines: Sample['lines'], report: IntakeReport): Sample {
  const { columns, rows } = isJson(run.format) ? jsonRows(run) : fieldRows(run)
  const body = concatBytes(partsOfRun(run, run.format)) as Uint8Array<ArrayBuffer>
  return { columns, rows, type: BODY_TYPE_OF_FORMAT[run.format], body, lines, report }
}

function textsOfRun({ bytes, starts, ends }: IntakeRun): readonly string[] {
  const decoder = new TextDecoder()
  return starts.map((start, index) => decoder.decode(bytes.subarray(start, ends[index])))
}

type Rows = Pick<Sample, 'columns' | 'rows'>

function jsonRows(run: IntakeRun): Rows {
  const rows = textsOfRun(run).map((text) => Object(parseJson(text)) as Record<string, unknown>)
  return { columns: [...new Set(rows.flatMap((row) => Object.keys(row)))], rows }
}

function fieldRows(run: IntakeRun): Rows {
  const marks = resolveMarks({}, run.format === 'tsv' ? '\t' : ',')
  const textsOf = (record: string) =>
    splitRecordFields(record.replace(/^[\r\n]+/, ''), marks).map(({ text }) => text)
  const columns = textsOf(new TextDecoder().decode(run.header))
  const rows = textsOfRun(run).map((record) => {
    const fields = textsOf(record)
    return Object.fromEntries(columns.map((name, index) => [name, fields[index]]))
  })
  return { columns, rows }
}

/** Bytes of text that are read to guess a file's format. */
const GUESS_BYTES_MAX = 64 * 1024

/** The format of a file, by its name or its beginning. A file that is not text is reported when it is read. */
export async function findFormat(file: File): Promise<SourceFormat> {
  const named = formatOf(file)
  if (named !== undefined) return named
  const bytes = unpackGzip(readWebStream(file.stream()))
  const opened = await openTextBytes(bytes, undefined, 'all').catch(() => undefined)
  if (opened === undefined) return 'csv'
  const begin = new TextDecoder().decode(opened.start.subarray(0, GUESS_BYTES_MAX)).trimStart()
  await opened.all[Symbol.asyncIterator]().return?.()
  if (begin.startsWith('[')) return 'json'
  if (!begin.startsWith('{')) return 'csv'
  return /^\{.*\}[ \t]*\r?\n\s*\{/.test(begin) ? 'ndjson' : 'json'
}
