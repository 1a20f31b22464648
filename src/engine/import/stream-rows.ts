// Rows that callers give as a stream of text: recognised among the forms of rows, and scanned run by run for callers
// that take row after row. Memory is bounded by a run.
import { type Bytes, bytesOf, concatBytes, utf8 } from '../../base/bytes.js'
import { dataError, shiftPlace } from '../../base/data-error.js'
import { isAsyncIterable, isIterable, shown, typeName } from '../../base/options.js'
import { utf8StringLength, yieldToEventLoop } from '../../base/platform.js'
import { type CutLimits, type CutRun, cutRecords, partsOfRun } from '../../base/record-cutter.js'
import { countLineBreaks, SourceFault } from '../../base/record-scanner.js'
import { isJson, SOURCE_FORMATS, type SourceFormat } from '../../base/source-format.js'
import { StoreError } from '../../base/store-error.js'
import { streamPieces } from '../../base/web-stream.js'
import { openCsv } from '../../schema/scan-csv.js'
import { decodeJsonText, scanJsonRows } from '../../schema/scan-json.js'
import type { ScanLimits, ScannedRow } from '../../schema/scanned-row.js'
import { checkFlag } from '../arguments/arguments.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import type { TextRows } from '../types/row-types.js'

/** A stream of rows, and its format. It is read once. */
export type GivenStream = Readonly<{
  pieces: AsyncIterable<Bytes>
  format: SourceFormat
  allowEmpty: boolean
}>

/**
 * Maximum number of rows and bytes of a run. Memory holds a run about four times: in the window of the source, as a cut
 * run, as scanned rows, and as a segment.
 */
const RUN_ROWS_MAX = 65_536
const RUN_BYTES_MAX = 8 * 1024 * 1024

/** A row may be this many times as long in its source: each character may be an escape there, such as `\u0061`. */
const ROW_BYTES_FACTOR = 6

/** The limits at which a source of rows is cut. */
export function runLimits({ rowBytesMax }: Pick<ResolvedOptions, 'rowBytesMax'>): CutLimits {
  return {
    rowsMax: RUN_ROWS_MAX,
    bytesMax: RUN_BYTES_MAX,
    rowBytesMax: Math.max(RUN_BYTES_MAX, ROW_BYTES_FACTOR * rowBytesMax),
  }
}

/**
 * The rows as a stream; null: they are given in another form.
 * @param readBy - Wraps the pieces of the caller.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function findRowStream(
  rows: unknown,
  readBy = (pieces: AsyncIterable<unknown>) => pieces,
): GivenStream | null {
  if (typeof rows !== 'object' || rows === null) return null
  const format = SOURCE_FORMATS.find((name) => Object.hasOwn(rows, name))
  if (format === undefined) return null
  const content: unknown = Reflect.get(rows, format)
  const allowEmpty = checkFlag('allowEmpty', Reflect.get(rows, 'allowEmpty'))
  const isText = typeof content === 'string'
  if (isText && looksLikePath(content)) throw pathForText(content, format)
  const whole = isText ? utf8(content) : bytesOf(content)
  const isStreamed = format === 'ndjson' || allowEmpty || (isText && BLANK_TEXT.test(content))
  if (whole !== undefined && !isStreamed) return null
  const stream = whole === undefined ? streamPieces(content) : piecesOfBytes(whole)
  if (stream === undefined && format !== 'ndjson') return null
  if (stream === undefined) {
    throw invalidRowsInput(
      `ndjson must be a text, bytes or a stream of bytes, not ${typeName(content)}`,
    )
  }
  const other = Object.keys(rows).find((name) => name !== format && name !== 'allowEmpty')
  if (other !== undefined) throw invalidRowsInput(`rows accept no ${shown(other)} beside a stream`)
  return { pieces: checkedPieces(readBy(stream)), format, allowEmpty }
}

/**
 * Texts given as chunks; null: the rows are given in another form.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function chunksOf(rows: unknown): AsyncIterable<TextRows> | null {
  if (typeof rows !== 'object' || rows === null || !Object.hasOwn(rows, 'chunks')) return null
  if (isIterable(rows) || isAsyncIterable(rows)) return null
  const { chunks, ...others } = rows as { chunks: unknown }
  const [other] = Object.keys(others)
  if (other !== undefined) throw invalidRowsInput(`rows accept no ${shown(other)} beside chunks`)
  if (typeof chunks === 'object' && chunks !== null && isAsyncIterable(chunks)) {
    return chunks as AsyncIterable<TextRows>
  }
  throw invalidRowsInput(`chunks must be an async iterable of texts, not ${typeName(chunks)}`)
}

/**
 * A text that has no rows in any format. Bytes of CSV and TSV are not tested for this: the scanner judges them, as it
 * judges bodies of HTTP.
 */
const BLANK_TEXT = /^\ufeff?[ \t\r\n]*$/

function pathForText(text: string, format: SourceFormat): StoreError {
  const problem = `the text of rows ${shown(text)} looks like a path or a URL`
  const advice = `pass the content, such as { ${format}: createReadStream(path) } or the body of a response`
  return invalidRowsInput(`${problem}: ${advice}; end a header without rows with a line break`)
}

/** Number of bytes of a text that are scanned for ends of rows in one turn of the event loop. */
const PIECE_BYTES = 256 * 1024

export async function* piecesOfBytes(bytes: Bytes): AsyncGenerator<Bytes, void> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (at > 0) await yieldToEventLoop()
    yield bytes.subarray(at, at + PIECE_BYTES)
  }
}

async function* checkedPieces(stream: AsyncIterable<unknown>): AsyncGenerator<Bytes, void> {
  for await (const piece of stream) {
    const bytes = bytesOf(piece)
    if (bytes === undefined) {
      throw invalidRowsInput(`a stream of rows must yield Uint8Array, not ${typeName(piece)}`)
    }
    yield bytes
  }
}

function invalidRowsInput(problem: string): StoreError {
  const phrase = problem.charAt(0).toUpperCase() + problem.slice(1)
  return new StoreError('REQUEST_VALIDATION_ERROR', phrase)
}

export type StreamedRows = Readonly<{
  /** null: the rows name their columns themselves. */
  header: readonly string[] | null
  rows: AsyncIterable<ScannedRow>
}>

/** Reads a stream up to and including its header. @throws {StoreError} as the scanners; what the stream throws */
export async function openStream(
  { pieces, format, allowEmpty }: GivenStream,
  options: ResolvedOptions,
  limits: ScanLimits,
): Promise<StreamedRows> {
  const runs = cutRecords(pieces, format, runLimits(options), { allowEmpty })
  const first = await nextRun(runs)
  const rows = scanRuns(runs, first, format, limits)
  if (first === undefined || isJson(format)) return { header: null, rows }
  return { header: openRun(first, format, limits).header, rows }
}

async function nextRun(runs: AsyncGenerator<CutRun>): Promise<CutRun | undefined> {
  try {
    const { value, done } = await runs.next()
    return done ? undefined : value
  } catch (failure) {
    throw failure instanceof SourceFault ? makeFaultError(failure) : failure
  }
}

async function* scanRuns(
  runs: AsyncGenerator<CutRun>,
  first: CutRun | undefined,
  format: SourceFormat,
  limits: ScanLimits,
): AsyncGenerator<ScannedRow, void> {
  const before = { rows: 0, lines: 0 }
  const place = new CharacterPlace()
  try {
    for (let run = first; run !== undefined; run = await nextRun(runs)) {
      try {
        for (const row of openRun(run, format, limits, place.of(run)).rows) {
          yield row.line === undefined ? row : { ...row, line: row.line + before.lines }
        }
      } catch (failure) {
        throw shiftPlace(failure, before)
      }
      before.rows += run.starts.length
      if (isJson(format)) place.pass(run)
      else before.lines += countLineBreaks(run.bytes)
    }
  } finally {
    await runs.return(undefined)
  }
}

function openRun(
  run: CutRun,
  format: SourceFormat,
  limits: ScanLimits,
  charsBefore = 0,
): Readonly<{ header: readonly string[] | null; rows: Iterable<ScannedRow> }> {
  const text = textOfRun(run, format, charsBefore)
  if ('json' in text) {
    const json = typeof text.json === 'string' ? text.json : decodeJsonText(text.json)
    return { header: null, rows: scanJsonRows(json, limits, text.offset) }
  }
  const [bytes, delimiter] =
    'csv' in text ? ([text.csv, ','] as const) : ([text.tsv, '\t'] as const)
  return openCsv(typeof bytes === 'string' ? utf8(bytes) : bytes, { delimiter }, limits)
}

/** The place in a JSON source where the next run begins, in characters of a string, as messages count them. */
export class CharacterPlace {
  /**
   * The number of bytes minus the number of characters of the rows so far. Between rows each character has one byte.
   */
  #moreBytes = 0

  of({ offset }: CutRun): number {
    return offset - this.#moreBytes
  }

  /** @param run - A run whose rows have been read, so that they are valid UTF-8. */
  pass({ bytes }: CutRun): void {
    this.#moreBytes += bytes.length - utf8StringLength(bytes)
  }
}

/** The rows of a run as one body. @param charsBefore - The number of characters of a JSON source before the run. */
export function textOfRun(run: CutRun, format: SourceFormat, charsBefore: number): TextRows {
  const whole = concatBytes(partsOfRun(run, format))
  if (isJson(format)) return { json: whole, offset: charsBefore - 1 } // A bracket is put before the run.
  return format === 'csv' ? { csv: whole } : { tsv: whole }
}

/** @param canAllow - Whether the caller can declare an empty text as intended. */
export function makeFaultError({ message, line, isEmpty }: SourceFault, canAllow = true): unknown {
  const meant = 'the text of rows is empty; pass allowEmpty: true beside it if that is intended'
  const problem = isEmpty && canAllow ? meant : message
  const phrase = problem.charAt(0).toUpperCase() + problem.slice(1)
  return dataError('REQUEST_VALIDATION_ERROR', phrase, line === undefined ? {} : { line })
}

/** The beginnings of URLs, absolute paths and explicit relative paths. */
const BEGINNING = /^(?:[a-z][a-z\d+.-]*:[\\/]|(?:blob|data|file):|(?:\.{1,2}|~)?[\\/])/i
const EXTENSION = /\.(?:csv|tsv|tab|txt|json|ndjson|jsonl|parquet|xlsx?|gz|zst|zip)$/i
/** The beginnings of JSON and of quoted fields. */
const CONTENT = /^["[{]/

/**
 * Whether a text of rows is probably a path or a URL, from a caller who meant the content of the file. A text with a
 * line end is never taken for one.
 */
function looksLikePath(text: string): boolean {
  if (text.length > PATH_CHARS_MAX || /[\r\n]/.test(text)) return false
  const trimmed = text.trim()
  return !CONTENT.test(trimmed) && (BEGINNING.test(trimmed) || EXTENSION.test(trimmed))
}

/** Maximum number of characters of a path in most file systems. */
const PATH_CHARS_MAX = 4_096
