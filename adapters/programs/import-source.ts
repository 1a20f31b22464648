// Reads a file of rows as runs that become the chunks of a stash. `adapters/base/records` cuts them; when a run is sent,
// delimiters other than comma and tab become commas.
import type { RowChunk } from '../../src/client/client.js'
import { COMMA, TAB } from '../base/ascii.js'
import {
  BODY_TYPE_OF_FORMAT,
  type CutRun,
  cutRecords,
  formatOfName,
  isJson,
  partsOfRun,
  SOURCE_FORMATS,
  SourceFault,
  type SourceFormat,
  withoutByteOrderMark,
} from '../base/records.js'
import { detectDelimiter, parseDelimiter, type Quotes, withCommas } from './csv-fields.js'
import { DECIMAL_POINTS, type DecimalMarks, pointedField } from './decimal-commas.js'
import { type FileBytes, lineAt, linesAt, openFileBytes } from './import-bytes.js'
import { readParquetRuns } from './parquet-read.js'
import { ProgramFailure } from './program-failure.js'
import { isQuoteProblem, RELAXED_HINT, RelaxedScanner } from './relaxed-quotes.js'

/** Bytes of the body that a run makes, brackets or header included. The server takes twice as much. */
export const RUN_BYTES_MAX = 8 * 1024 * 1024

/** The formats of files. */
export const FILE_FORMATS = [...SOURCE_FORMATS, 'parquet'] as const

export type FileFormat = (typeof FILE_FORMATS)[number]

/** A file, and how it is read. */
export type SourceFile = FileBytes &
  Readonly<{
    format: FileFormat
    /** Of csv and tsv. Default: strict. */
    quotes?: Quotes
    /** The byte between the fields of a csv or tsv file. Default: as the header of a csv file shows; a tab of tsv. */
    delimiter?: number
    /** Of the numbers of csv and tsv. Default: a point. */
    decimal?: DecimalMarks
    /** Whether a file of nothing but blanks has no rows. Default: false, it is refused. */
    allowEmpty?: boolean
  }>

/** Rows that follow each other in a source. Row i is the bytes from starts[i] up to ends[i]. */
export type RowRun = CutRun &
  Readonly<{
    format: SourceFormat
    /** Of csv and tsv. */
    quotes: Quotes
    /** `offset` is the number of the first row, from 0, as in Parquet, and not that of its first byte. */
    isNumbered: boolean
    /** The byte between fields of csv and tsv. */
    delimiter: number
    /** Where in the source the header begins. Default: 0. */
    headerOffset?: number
    /** The delimiter is another than the format's, which the header shows. */
    isDetected: boolean
    /** Of the numbers of csv and tsv. */
    decimal: DecimalMarks
    /** The fields of csv and tsv, from 0, whose decimal commas are sent as points. Default: none. */
    commaFields?: ReadonlySet<number>
  }>

/** The format that a file's name announces. */
export function formatOfPath(path: string): FileFormat {
  if (/\.parquet$/i.test(path)) return 'parquet'
  const format = formatOfName(path.replace(/\.(?:gz|zst)$/i, ''))
  if (format !== undefined) return format
  throw new ProgramFailure(
    'usage',
    `The name "${path}" does not show the format; use --format ${FILE_FORMATS.join(', ')}`,
  )
}

export function contentTypeOf(run: RowRun): string {
  if (isJson(run.format)) return BODY_TYPE_OF_FORMAT[run.format]
  const isTabbed = run.delimiter === TAB && !isWrittenAnew(run)
  return `${BODY_TYPE_OF_FORMAT[isTabbed ? 'tsv' : 'csv']}; charset=utf-8`
}

/** Whether the records of a run are sent otherwise than they are. */
function isWrittenAnew({ format, delimiter, quotes, commaFields }: RowRun): boolean {
  if (isJson(format)) return false
  const isPlain = delimiter === COMMA || delimiter === TAB
  return quotes === 'relaxed' || !isPlain || commaFields !== undefined
}

/** The body of a request with the rows from `first` up to `limit` of a run. */
export function bodyOf(run: RowRun, first: number, limit: number): Uint8Array<ArrayBuffer> {
  const bytes = run.bytes.subarray(run.starts[first] ?? 0, limit > first ? run.ends[limit - 1] : 0)
  const parts = partsOfRun({ header: run.header, bytes }, run.format)
  if (!isWrittenAnew(run)) return Buffer.concat(parts)
  const { delimiter, quotes, commaFields } = run
  return Buffer.concat(
    parts.map((part) => {
      if (part === run.header || commaFields === undefined)
        return withCommas(part, delimiter, quotes)
      return withCommas(part, delimiter, quotes, (field, from, to) => {
        return commaFields.has(field) ? pointedField(part, from, to) : undefined
      })
    }),
  )
}

/** A run as a chunk of the client. */
export function chunkOf(run: RowRun): RowChunk {
  return {
    rows: run.starts.length,
    bytes: run.bytes.length,
    type: contentTypeOf(run),
    body: (first, limit) => bodyOf(run, first, limit),
  }
}

/** Reads the runs of a file from disk. @throws {ProgramFailure} that names the file, and the line if it is known. */
export async function* readFileRuns(
  file: SourceFile,
  rowsMax: number,
  onRead?: (bytes: number) => void,
): AsyncGenerator<RowRun> {
  const { path, format } = file
  try {
    if (format === 'parquet') yield* parquetRuns(path, rowsMax, onRead)
    else yield* cutRuns(openFileBytes(file, onRead), format, rowsMax, file)
  } catch (failure) {
    const reason = `${failure instanceof Error ? failure.message : String(failure)}${hintFor(failure, file)}`
    const offset = failure instanceof SourceFault ? failure.offset : undefined
    const line = offset === undefined ? null : await lineAt(file, offset)
    const where = line === null ? path : `${path}, line ${line}`
    throw new ProgramFailure('failed', `${where}: ${reason}`, { cause: failure })
  }
}

async function* parquetRuns(
  path: string,
  rowsMax: number,
  onRead?: (bytes: number) => void,
): AsyncGenerator<RowRun> {
  const how = {
    format: 'json',
    quotes: 'strict',
    delimiter: COMMA,
    isDetected: false,
    decimal: DECIMAL_POINTS,
  } as const
  for await (const run of readParquetRuns(path, { rowsMax, bytesMax: RUN_BYTES_MAX }, onRead)) {
    yield { ...run, ...how, isNumbered: true }
  }
}

/** What to do about a file that is not of its format. */
function hintFor(failure: unknown, { format, quotes }: SourceFile): string {
  if (!(failure instanceof SourceFault)) return ''
  if (failure.isEmpty) return '; --allow-empty imports it as no rows'
  if (failure.isObject) return '; use --format ndjson for one object per line'
  if (format !== 'csv' && format !== 'tsv') return ''
  // A quote that opens a field too many takes all that follows, until the row is too large.
  const mayBeQuotes = isQuoteProblem(failure.message) || failure.message.startsWith('this row is')
  return mayBeQuotes && quotes !== 'relaxed' ? RELAXED_HINT : ''
}

/** As `linesAt`; of a file whose runs are numbered, the numbers of the rows from 1. */
export async function placesAt(file: SourceFile, offsets: readonly number[]): Promise<number[]> {
  if (file.format === 'parquet') return offsets.map((offset) => offset + 1)
  return linesAt(file, offsets)
}

/** What the numbers of `placesAt` count. */
export function unitOf({ format }: SourceFile): 'line' | 'row' {
  return format === 'parquet' ? 'row' : 'line'
}

/** How a text is read, and the fields of csv and tsv. */
type ReadOptions = Readonly<{
  delimiter?: number | undefined
  quotes?: Quotes | undefined
  decimal?: DecimalMarks | undefined
  allowEmpty?: boolean | undefined
}>

/**
 * Cuts a source into runs of `rowsMax` rows, or fewer where RUN_BYTES_MAX asks for it. A source
 * without rows makes one run without rows.
 *
 * @throws {SourceFault} if the source is not of this format, or has a row that no body can hold.
 */
export async function* cutRuns(
  source: AsyncIterable<Uint8Array>,
  format: SourceFormat,
  rowsMax: number,
  { delimiter, quotes = 'strict', decimal = DECIMAL_POINTS, allowEmpty }: ReadOptions = {},
): AsyncGenerator<RowRun> {
  const limits = { rowsMax, bytesMax: RUN_BYTES_MAX, rowBytesMax: RUN_BYTES_MAX }
  const { line, separator, skipped, bytes } = isJson(format)
    ? { line: undefined, separator: undefined, skipped: 0, bytes: source }
    : await beginningOf(withoutByteOrderMark(source))
  let known = delimiter ?? separator ?? (format === 'tsv' ? TAB : undefined)
  let isDetected = false
  let scanner: RelaxedScanner | undefined
  if (quotes === 'relaxed' && line !== undefined) {
    isDetected = known === undefined && detectDelimiter(line, quotes) !== COMMA
    known ??= detectDelimiter(line, quotes)
    scanner = new RelaxedScanner(known)
  }
  try {
    for await (const run of cutRecords(bytes, format, limits, { scanner, allowEmpty })) {
      if (known === undefined) {
        known = isJson(format) ? COMMA : detectDelimiter(run.header)
        isDetected = known !== COMMA
      }
      const how = { format, quotes, isNumbered: false, delimiter: known, isDetected, decimal }
      const shift = skipped > 0 ? { offset: run.offset + skipped, headerOffset: skipped } : {}
      yield { ...run, ...how, ...shift }
    }
  } catch (failure) {
    const isBehind = failure instanceof SourceFault && failure.offset !== undefined && skipped > 0
    throw isBehind
      ? new SourceFault(failure.message, { offset: failure.offset + skipped })
      : failure
  }
}

/** Bytes of the first line of a file that its delimiter is found in, at most. */
const FIRST_LINE_BYTES_MAX = 1024 * 1024

/** How a csv or tsv file begins. */
type Beginning = Readonly<{
  /** The first line, as far as it is needed to see its delimiter. */
  line: Uint8Array
  /** The delimiter that the first line says, as Excel writes it; it is then no header. */
  separator: number | undefined
  /** The bytes of that line. */
  skipped: number
  /** All bytes behind it. */
  bytes: AsyncIterable<Uint8Array>
}>

async function beginningOf(source: AsyncIterable<Uint8Array>): Promise<Beginning> {
  const rest = source[Symbol.asyncIterator]()
  let begun = Buffer.alloc(0)
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
    begun = Buffer.concat([begun, next.value])
    // A CR at the end may be followed by a LF.
    if (/\n|\r./s.test(begun.toString('latin1')) || begun.length > FIRST_LINE_BYTES_MAX) break
  }
  const [first = '', lineBreak = ''] = begun.toString('latin1').split(/(\r\n|\r|\n)/, 2)
  const said = /^"?sep=(.)"?$/i.exec(first)?.[1]
  const separator = said === undefined ? undefined : parseDelimiter(said)
  const skipped = separator === undefined ? 0 : first.length + lineBreak.length
  async function* behind(): AsyncGenerator<Uint8Array> {
    try {
      if (begun.length > skipped) yield begun.subarray(skipped)
      yield* { [Symbol.asyncIterator]: () => rest }
    } finally {
      await rest.return?.()
    }
  }
  return { line: begun.subarray(0, first.length), separator, skipped, bytes: behind() }
}
