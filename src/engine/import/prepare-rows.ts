// Reads the rows of an operation into stored segments or, if they are few, into row texts that the operation writes
// itself. Memory is bounded by one segment, whatever the length of the input.
import type { Awaitable } from '../../base/awaitable.js'
import { type Bytes, bytesOf, utf8 } from '../../base/bytes.js'
import { isAsyncIterable, isIterable, shown } from '../../base/options.js'
import { StoreError } from '../../base/store-error.js'
import type { TimeSlices } from '../../base/time-slices.js'
import { isWellFormed } from '../../base/well-formed.js'
import type { ChunkColumn, StoredChunk } from '../../format/chunk-records.js'
import type { FileIds } from '../../format/file-references.js'
import { checkCsvRecord, openCsv } from '../../schema/scan-csv.js'
import { type CsvByteScanner, openCsvBytes } from '../../schema/scan-csv-bytes.js'
import { decodeJsonText, scanJsonRows } from '../../schema/scan-json.js'
import type { ScanLimits, ScannedRow } from '../../schema/scanned-row.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import type { TeamContext } from '../context/store-context.js'
import type { RowsInput, TextRows } from '../types/row-types.js'
import { ChunkBuilder, type RowBatch } from './chunk-builder.js'
import { withoutDialect } from './dialect-rows.js'
import { endSegment, readCsvBytes, textsOfRows } from './read-csv-bytes.js'
import { readJsonBytes } from './read-json-bytes.js'
import { scanRowObject } from './row-object.js'
import { SegmentSink, type SegmentTarget, storedSegments } from './segment-sink.js'
import { findRowStream, openStream } from './stream-rows.js'

/** Rows that were read. Their objects are pending until the operation releases them. */
export type PreparedRows = Readonly<{
  chunk: StoredChunk
  /** The rows themselves, if they are few enough to become row records; then no segment was written. */
  inline: RowBatch | null
  /** Files that the segments name. The commit that names the segments marks them. */
  files: FileIds
  /** Whether the reading ended early, because `areRefused` returned true. */
  isCut: boolean
}>

/** Whether an operation refuses rows with these columns, so that reading ends. */
export type AreRefused = (columns: readonly ChunkColumn[]) => Awaitable<boolean>

/** Approximate number of rows that are collected before they are added to the segment. */
const DRAIN_ROWS = 64

type Preparation = Readonly<{
  /** Whether few rows may become row records instead of a segment. */
  mayInline?: boolean
  /** Whether values without a JSON form are passed on; see `scanRowObject`. */
  drops?: boolean
  /** Where segments go. Default: the object store. */
  target?: SegmentTarget
  /**
   * Called once every few rows of an iterable or a stream. Default: all rows are read. Texts are read to their end: a
   * malformed one is refused before its values are (CONTRACT, section 1).
   */
  areRefused?: AreRefused | undefined
}>

/**
 * @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED, COLUMN_ID_NOT_UNIQUE, COLUMN_HAS_INVALID_VALUE
 *   (objects only: a value without a JSON token), STORAGE_…
 */
export async function prepareRows(
  team: TeamContext,
  given: RowsInput,
  { mayInline = false, drops = false, target = storedSegments(team), areRefused }: Preparation = {},
): Promise<PreparedRows> {
  const { options } = team
  const limits = { columnsMax: options.columnsMax, rowCharsMax: options.rowBytesMax }
  const input = withoutDialect(team, given)
  const stream = findRowStream(input)
  const quick = stream === null ? await prepareFast(team, input, mayInline, target) : null
  if (quick !== null) return quick
  const { header, rows } =
    stream === null ? openRows(input, limits, drops) : await openStream(stream, options, limits)
  const builder = new ChunkBuilder(options, header)
  const sink = new SegmentSink(team, target)
  const isInline = (): boolean => mayInline && isFew(options, builder, sink)
  try {
    const slices = team.slices.begin()
    const reading = { isInline, slices, areRefused: isTextRows(input) ? undefined : areRefused }
    const isCut = await readAll(rows, builder, sink, reading)
    const inline = isInline() ? builder.take() : null
    if (inline === null) await endExactly(builder, sink, slices)
    return { ...makePreparedRows(team, builder, sink, inline), isCut }
  } catch (failure) {
    sink.abandon()
    throw failure
  }
}

/** Whether the rows may become row records. */
function isFew(
  { inlineRowsMax, inlineBytesMax }: ResolvedOptions,
  { openSize: { rows, chars } }: ChunkBuilder,
  { segments }: SegmentSink,
): boolean {
  return segments.length === 0 && rows <= inlineRowsMax && chars <= inlineBytesMax
}

/**
 * Reads bytes by a byte scanner. null: the exact path must read the rows. It takes objects and strings, can make row
 * records of a small JSON body, and reports problems.
 */
async function prepareFast(
  team: TeamContext,
  input: RowsInput,
  mayInline: boolean,
  target: SegmentTarget,
): Promise<PreparedRows | null> {
  if (!isTextRows(input)) return null
  if ('json' in input) {
    const json = bytesOf(input.json)
    if (json === undefined) return null
    if (mayInline && json.length <= team.options.inlineBytesMax) return null
    return prepareJson(team, json, target)
  }
  const { bytes, delimiter } = checkCsv(input)
  const scanner = openCsvBytes(bytes, delimiter, team.options, team.buffers)
  if (scanner !== null) return prepareCsv(team, scanner, { delimiter, mayInline, target })
  await team.slices.begin().admit(bytes.length) // The header may be as long as the whole body.
  return null
}

async function prepareJson(
  team: TeamContext,
  json: Bytes,
  target: SegmentTarget,
): Promise<PreparedRows | null> {
  const builder = new ChunkBuilder(team.options, null)
  const sink = new SegmentSink(team, target)
  try {
    const slices = team.slices.begin()
    if (!(await readJsonBytes(json, team.options, builder, sink, slices))) {
      sink.abandon()
      return null
    }
    await sink.end(builder.take())
    return makePreparedRows(team, builder, sink, null)
  } catch (failure) {
    sink.abandon()
    throw failure
  }
}

type CsvPreparation = Pick<CsvBody, 'delimiter'> &
  Readonly<{ mayInline: boolean; target: SegmentTarget }>

async function prepareCsv(
  team: TeamContext,
  scanner: CsvByteScanner,
  { delimiter, mayInline, target }: CsvPreparation,
): Promise<PreparedRows | null> {
  const builder = new ChunkBuilder(team.options, scanner.header)
  const sink = new SegmentSink(team, target)
  const slices = team.slices.begin()
  try {
    if (!(await readCsvBytes(scanner, builder, sink, slices))) {
      const { bytes, rowStart: at, line, fieldCount } = scanner
      const { columnsMax, rowBytesMax: rowCharsMax } = team.options
      const place = { at, line, row: builder.rowCount }
      await slices.admit(bytes.length - at)
      checkCsvRecord(bytes, { delimiter }, { columnsMax, rowCharsMax }, place, fieldCount)
      sink.abandon()
      return null
    }
    const inline = mayInline && isFew(team.options, builder, sink)
    const batch = builder.take()
    if (inline) {
      const texts = textsOfRows(scanner, batch)
      return makePreparedRows(team, builder, sink, { ...batch, texts })
    }
    await endSegment(scanner, batch, sink, slices)
    return makePreparedRows(team, builder, sink, null)
  } catch (failure) {
    sink.abandon()
    throw failure
  } finally {
    scanner.release()
  }
}

function makePreparedRows(
  { activity }: TeamContext,
  { rowCount, firstLine, hasClaims, columns }: ChunkBuilder,
  { segments, files }: SegmentSink,
  inline: RowBatch | null,
): PreparedRows {
  activity.rowsIn += rowCount
  const namesFiles = !files.isEmpty
  const chunk = { rowCount, firstLine, hasClaims, namesFiles, columns, segments }
  return { chunk, inline, files, isCut: false }
}

type OpenedRows = Readonly<{
  /** null: the rows name their columns themselves. */
  header: readonly string[] | null
  rows: Iterable<ScannedRow> | AsyncIterable<ScannedRow>
}>

/** Opens rows that are not a stream. */
function openRows(input: RowsInput, limits: ScanLimits, drops: boolean): OpenedRows {
  if (isTextRows(input)) return openTextRows(input, limits)
  if (isAsyncIterable(input)) return { header: null, rows: scanAsync(input, drops) }
  if (isIterable(input)) return { header: null, rows: scanSync(input, drops) }
  throw noRows('an object that is none of these')
}

function isTextRows(input: RowsInput): input is TextRows {
  if (typeof input === 'string')
    throw noRows('a string: use { json }, { ndjson }, { csv } or { tsv }')
  if (ArrayBuffer.isView(input)) throw noRows('bytes: use { json }, { ndjson }, { csv } or { tsv }')
  if (typeof input !== 'object' || input === null) throw noRows(shown(input))
  const form = TEXT_FORMS.find((name) => Object.hasOwn(input, name))
  if (form !== undefined) checkMembers(input, form)
  return form !== undefined
}

const TEXT_FORMS = ['json', 'csv', 'tsv'] as const

/** Refuses two texts, and a text with an unknown option: otherwise a part of the request would be ignored silently. */
function checkMembers(input: object, form: (typeof TEXT_FORMS)[number]): void {
  const known: readonly string[] = [form, 'offset', 'allowEmpty']
  const other = Object.keys(input).find((name) => !known.includes(name))
  if (other === undefined) return
  const message = `rows accept no ${shown(other)} beside "${form}"; use exactly one of { json }, { ndjson }, { csv } and { tsv }`
  throw new StoreError('REQUEST_VALIDATION_ERROR', message)
}

function openTextRows(input: TextRows, limits: ScanLimits): OpenedRows {
  if ('json' in input) {
    const text = checkRowsText(input.json)
    const decoded = typeof text === 'string' ? text : decodeJsonText(text)
    return { header: null, rows: scanJsonRows(decoded, limits, input.offset) }
  }
  const { bytes, delimiter } = checkCsv(input)
  return openCsv(bytes, { delimiter }, limits)
}

const ROWS_INPUTS =
  'an iterable or async iterable of objects, a stash, { json }, { ndjson }, { csv } or { tsv }'

function noRows(instead: string): StoreError {
  const message = `rows must be ${ROWS_INPUTS}, not ${instead}`
  return new StoreError('REQUEST_VALIDATION_ERROR', message)
}

type CsvBody = Readonly<{ bytes: Bytes; delimiter: ',' | '\t' }>

function checkCsv(input: Exclude<TextRows, { json: unknown }>): CsvBody {
  const [source, delimiter] =
    'csv' in input ? ([input.csv, ','] as const) : ([input.tsv, '\t'] as const)
  const text = checkRowsText(source)
  return { bytes: typeof text === 'string' ? utf8(text) : text, delimiter }
}

/** Refuses a string with a lone surrogate, which could not be stored unchanged. */
function checkRowsText(text: unknown): Bytes | string {
  const bytes = bytesOf(text)
  if (bytes !== undefined) return bytes
  if (typeof text !== 'string')
    throw invalidText(`must be a string or a Uint8Array, not ${shown(text)}`)
  if (!isWellFormed(text)) throw invalidText('has a lone surrogate')
  return text
}

function invalidText(problem: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', `The text of rows ${problem}`)
}

function* scanSync(rows: Iterable<unknown>, drops: boolean): Generator<ScannedRow> {
  let index = 0
  for (const row of rows) yield scanRowObject(row, drops, index++)
}

async function* scanAsync(
  rows: AsyncIterable<unknown>,
  drops: boolean,
): AsyncGenerator<ScannedRow> {
  let index = 0
  for await (const row of rows) yield scanRowObject(row, drops, index++)
}

/** Ends a segment of the exact path. All rows of the segment are written before it returns. */
async function endExactly(
  builder: ChunkBuilder,
  sink: SegmentSink,
  slices: TimeSlices,
): Promise<void> {
  await sink.end(await slices.run(builder.takeInSteps((texts) => sink.add(texts))))
}

/** `isInline`: while it is true, the rows stay with the builder. */
type Reading = Readonly<{
  isInline: () => boolean
  areRefused: AreRefused | undefined
  slices: TimeSlices
}>

/** @returns whether reading ended early, because the rows are refused */
async function readAll(
  rows: Iterable<ScannedRow> | AsyncIterable<ScannedRow>,
  builder: ChunkBuilder,
  sink: SegmentSink,
  { isInline, areRefused, slices }: Reading,
): Promise<boolean> {
  const { longValues } = builder
  let work = 0
  let judgedWork = 0
  let isOver = false
  // A check takes longer the more columns there are. It is made only when the rows since the last check took as long.
  const isJudged = (): boolean =>
    areRefused !== undefined &&
    (builder.isFull ||
      (builder.rowCount % DRAIN_ROWS === 0 && builder.work - judgedWork >= builder.workOfColumns))
  const endsAfterRow = async (): Promise<boolean> => {
    if (!longValues.isEmpty) await slices.run(longValues.judgeInSteps())
    if (isJudged()) {
      judgedWork = builder.work
      if (await areRefused?.(builder.columnsOfSegment)) return true
    }
    if (builder.isFull) await endExactly(builder, sink, slices)
    else if (isOver) await slices.pause()
    return false
  }
  const isDue = (): boolean => {
    if (builder.openSize.rows % DRAIN_ROWS === 0 && !isInline()) sink.add(builder.drain())
    isOver = slices.spend(builder.work - work)
    work = builder.work
    return isOver || builder.isFull || !longValues.isEmpty || isJudged()
  }
  if (Symbol.iterator in rows) {
    for (const row of rows) {
      builder.add(row)
      // Awaits are not made for every row, because an await costs more than a row.
      if (isDue() && (await endsAfterRow())) return true
    }
    return false
  }
  for await (const row of rows) {
    builder.add(row)
    if (isDue() && (await endsAfterRow())) return true
  }
  return false
}
