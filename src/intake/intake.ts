// The only way for sources of rows into rowstash: determines their format, encoding and dialect, and returns their rows
// in the contract's form, with a report.
//
// Invariants:
// - The rows and the report depend only on the bytes and the options, not on how the bytes are divided into pieces.
// - Without options and detection, the bytes are passed on unchanged.
// - Memory is bounded by the sample and one run, whatever the size of the source.
import { NO_BYTES } from '../base/bytes.js'
import { optionError } from '../base/options.js'
import { type CutLimits, type CutRun, cutRecords } from '../base/record-cutter.js'
import { SourceFault } from '../base/record-scanner.js'
import { isJson, type SourceFormat } from '../base/source-format.js'
import type { Advice } from './advice.js'
import type { ColumnKinds } from './conversions.js'
import type { Dialect } from './dialect.js'
import { checkDialect, checkDialectColumns } from './dialect-rules.js'
import { openJson } from './json-source.js'
import { checkNested, type Nested, NestedRows } from './nested.js'
import { PassedLines } from './passed-lines.js'
import { type Plan, type PlanOptions, planIntake } from './plan.js'
import { openDialectScanner } from './record-bounds.js'
import { RowRewriter } from './rewritten-rows.js'
import type { Slices } from './sample.js'
import { allowedGuesses, openTextBytes, type TextBytes, unpackGzip } from './text-bytes.js'
import { WatchedRows } from './watched-rows.js'

/** Consecutive rows. Row i is the bytes from starts[i] up to ends[i]. */
export type IntakeRun = Readonly<{
  /** The format of the bytes. For NDJSON, rows are separated by commas, as in an array. */
  format: SourceFormat
  header: Uint8Array
  bytes: Uint8Array
  starts: readonly number[]
  ends: readonly number[]
  /** JSON only: the indexes of the rows that are the first in the source to name a column. */
  namingRecords: readonly number[]
  /** The offset of each row in the decoded source, without its byte order mark. */
  offsets: readonly number[]
}>

export type IntakeOptions = Readonly<{
  format: SourceFormat
  /** The stated dialect. Default: none. */
  dialect?: Dialect | undefined
  /** Whether the intake detects, from the first megabyte, what the options do not state. */
  detects: boolean
  /** Whether a gzip source is unpacked. Default: false: it is rejected. */
  unpacks?: boolean | undefined
  /** Yields to other work during long reads. Default: only while waiting for the source. */
  slices?: Slices | undefined
  limits: CutLimits
  /** Whether a blank source has no rows. Default: false: it is a fault. */
  allowEmpty?: boolean | undefined
  /** The path to the array of rows in a JSON object, such as `data` or `result.items`. Default: detected, or none. */
  at?: string | undefined
  /** What happens to objects in JSON rows. Default: they are passed on, and the reader of rows rejects them. */
  nested?: Nested | undefined
  /** The names of columns that are left out. Default: none. */
  omits?: readonly string[] | undefined
  /** The known kinds of columns; requested at most once, and only if necessary. Default: none. */
  kindsOf?: (() => Promise<ColumnKinds | undefined>) | undefined
}>

/** How an intake read its source, up to the last row returned. */
export type IntakeReport = Readonly<{
  /** The detected or given format. */
  format: 'csv' | 'tsv' | 'json' | 'ndjson'
  /** The name of its encoding, such as `utf-8`. */
  encoding: string
  /** The delimiter of a CSV or TSV source. */
  delimiter?: string
  /** The line of the header, from 1; undefined: there is none. */
  headerLine?: number | undefined
  /** Number of rows read. */
  rows: number
  /** What was detected, converted or left out. */
  advice: readonly Advice[]
}>

/** Runs, and the facts about the rows returned so far. */
type Opened = Readonly<{
  runs: AsyncIterable<IntakeRun>
  report: () => Omit<IntakeReport, 'rows'>
}>

type WatchOptions = Pick<IntakeOptions, 'slices'> &
  Required<Pick<IntakeOptions, 'kindsOf' | 'dialect'>>

export class Intake {
  readonly runs: AsyncIterable<IntakeRun>
  readonly #opened: Opened
  readonly #lines: PassedLines
  readonly #watched: WatchedRows
  readonly #options: WatchOptions
  #rows = 0
  /** Whether the table gets its columns from these rows; undefined: not determined yet. */
  #areNew: boolean | undefined

  /** Created by `openIntake`. */
  constructor(opened: Opened, lines: PassedLines, options: WatchOptions) {
    this.#opened = opened
    this.#lines = lines
    this.#options = options
    this.#watched = new WatchedRows(options.dialect ?? {}, lines)
    this.runs = this.#watchedRuns()
  }

  async *#watchedRuns(): AsyncGenerator<IntakeRun> {
    const { slices, kindsOf } = this.#options
    for await (const run of this.#opened.runs) {
      this.#rows += run.starts.length
      for (const work of this.#watched.add(run)) if (slices?.spend(work)) await slices.pause()
      if (this.#areNew === undefined && this.#watched.adviceOfColumns.length > 0) {
        this.#areNew = (await kindsOf?.()) === undefined
      }
      yield run
    }
  }

  /** The line, from 1, of an offset in the last run or of a fault after the run. */
  lineAt(offset: number): number {
    return this.#lines.lineAt(offset)
  }

  get report(): IntakeReport {
    const { advice, ...report } = this.#opened.report()
    const ofColumns = this.#areNew === true ? this.#watched.adviceOfColumns : []
    const all = [...advice, ...this.#watched.adviceOfLines, ...ofColumns]
    return { ...report, rows: this.#rows, advice: all }
  }
}

/**
 * Opens a source. Reads only its beginning.
 * @throws {SourceFault} if it is not text, or contradicts the options; also while its runs are read
 * @throws {StoreError} OPTION_NOT_ALLOWED for an invalid dialect
 */
export async function openIntake(
  source: AsyncIterable<Uint8Array>,
  options: IntakeOptions,
): Promise<Intake> {
  const dialect = checkDialect(options.dialect ?? {})
  const { format } = options
  if (checkNested(options.nested) !== undefined && !isJson(format)) {
    throw optionError('nested', `is only for json and ndjson, not ${format}`)
  }
  const checkHeader = (columns: readonly string[]) => checkDialectColumns(dialect, columns)
  return openCheckedIntake(source, { ...options, dialect, checkHeader })
}

/** `openIntake` for a caller with valid options. @throws {SourceFault} in the cases of `openIntake` */
export async function openCheckedIntake(
  source: AsyncIterable<Uint8Array>,
  options: IntakeOptions & Pick<PlanOptions, 'checkHeader'>,
): Promise<Intake> {
  const { format, detects, unpacks, dialect = {} } = options
  const bytes = unpacks === true ? unpackGzip(source) : source
  const begun = await openTextBytes(bytes, dialect.encoding, allowedGuesses(format, detects))
  const lines = new PassedLines()
  const text = { ...begun, all: lines.watch(begun.all) }
  const guessed: Advice = { code: 'encoding', example: text.encoding }
  const ofText = text.isGuessed ? [guessed] : []
  const known = { ...options, dialect, kindsOf: onceAsked(options.kindsOf) }
  const opened = isJson(format)
    ? openJsonRuns(text, lines, ofText, known)
    : await openLineRuns(text, lines, ofText, known)
  return new Intake(opened, lines, known)
}

/** Wraps `kindsOf` so that it is called at most once. */
function onceAsked(kindsOf: IntakeOptions['kindsOf']): () => Promise<ColumnKinds | undefined> {
  let asked: Promise<ColumnKinds | undefined> | undefined
  return () => {
    asked ??= kindsOf?.() ?? Promise.resolve(undefined)
    return asked
  }
}

function openJsonRuns(
  text: TextBytes,
  lines: PassedLines,
  ofText: readonly Advice[],
  options: IntakeOptions,
): Opened {
  const { format, bytes, shift, advice } = openJson(text, options)
  const { nested: how, omits = [] } = options
  const isRewritten = how !== undefined || omits.length > 0
  const nested = isRewritten && new NestedRows(how, (offset) => lines.lineAt(offset), omits)
  async function* runs(): AsyncGenerator<IntakeRun> {
    const { limits, allowEmpty } = options
    for await (const run of cutRecords(bytes, format, limits, { allowEmpty })) {
      const moved = run.starts.map((start) => run.offset + start)
      const offsets = moved.map((offset) => offset + shift(offset))
      lines.forget(offsets[0] ?? 0)
      const placed = { ...run, format, offsets }
      yield nested ? nested.rewrite(placed) : placed
    }
  }
  const { encoding } = text
  const adviceNow = () => [...ofText, ...advice, ...(nested ? nested.advice : [])]
  return { runs: runs(), report: () => ({ format, encoding, advice: adviceNow() }) }
}

async function openLineRuns(
  text: TextBytes,
  lines: PassedLines,
  ofText: readonly Advice[],
  options: IntakeOptions & Pick<PlanOptions, 'dialect' | 'kindsOf' | 'checkHeader'>,
): Promise<Opened> {
  const { slices, limits, allowEmpty } = options
  const said = options.format === 'tsv' ? 'tsv' : 'csv'
  const sample = { bytes: text.start, isWhole: text.isWhole }
  const plan = await planIntake(sample, { ...options, format: said })
  const isTabbed = said === 'tsv' && plan.isPlain
  const format = isTabbed ? 'tsv' : 'csv'
  const rewriter = new RowRewriter(plan, isTabbed, lines)
  async function* runs(): AsyncGenerator<IntakeRun> {
    const scanner = openDialectScanner(plan.marks, plan.comment)
    const records = skipToRecords(text.all, plan.skippedBytes)
    const header = plan.hasHeader ? undefined : NO_BYTES // The rewriter writes the names.
    const cut = cutRecords(records, 'csv', limits, { scanner, header, allowEmpty })
    for await (const run of placedIn(cut, plan)) {
      for (const step of rewriter.rewrite(run)) {
        if (typeof step !== 'number') yield { ...step, format, namingRecords: [] }
        else if (slices?.spend(step)) await slices.pause()
      }
    }
  }
  const { encoding } = text
  const { marks, hasHeader } = plan
  const report = (): ReturnType<Opened['report']> => ({
    format: said,
    encoding,
    delimiter: marks.delimiter,
    headerLine: hasHeader ? plan.skippedLines + 1 : undefined,
    advice: [...ofText, ...plan.advice, ...rewriter.advice],
  })
  return { runs: runs(), report }
}

/** Yields the runs unchanged. A fault in them names its place in the whole source, not its place after the header. */
async function* placedIn(
  runs: AsyncIterable<CutRun>,
  { skippedBytes, skippedLines }: Plan,
): AsyncGenerator<CutRun> {
  try {
    yield* runs
  } catch (failure) {
    if (!(failure instanceof SourceFault) || failure.offset === undefined) throw failure
    const { message, line } = failure
    const offset = failure.offset + skippedBytes
    const place = line === undefined ? {} : { line: line + skippedLines }
    throw new SourceFault(message, { offset, ...place })
  }
}

/** The bytes of the records, without the bytes before the header. */
async function* skipToRecords(
  bytes: AsyncIterable<Uint8Array>,
  skipped: number,
): AsyncGenerator<Uint8Array> {
  let left = skipped
  for await (const piece of bytes) {
    const from = Math.min(left, piece.length)
    left -= from
    if (from < piece.length) yield piece.subarray(from)
  }
}
