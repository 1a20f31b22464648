// Rows as text in a dialect that the caller names or wants detected, read through the intake.
import { type Bytes, bytesOf, utf8 } from '../../base/bytes.js'
import { checkFunctionOption, isRecord, optionError } from '../../base/options.js'
import { partsOfRun } from '../../base/record-cutter.js'
import { isJson, SOURCE_FORMATS, type SourceFormat } from '../../base/source-format.js'
import type { TimeSlices } from '../../base/time-slices.js'
import { streamPieces } from '../../base/web-stream.js'
import type { ColumnKinds } from '../../intake/conversions.js'
import type { Dialect } from '../../intake/dialect.js'
import { DIALECT_NAMES } from '../../intake/dialect.js'
import { checkDialect } from '../../intake/dialect-rules.js'
import { openIntake } from '../../intake/intake.js'
import { checkNested, type Nested } from '../../intake/nested.js'
import { checkFlag } from '../arguments/arguments.js'
import type { TeamContext } from '../context/store-context.js'
import type { DialectOptions, RowsInput } from '../types/row-types.js'
import { keepLines, SourceLines } from './source-lines.js'
import { piecesOfBytes, runLimits } from './stream-rows.js'

/** Maximum number of rows, and of bytes, that are rewritten in one turn of the event loop. */
const TURN_ROWS_MAX = 4_096
const TURN_BYTES_MAX = 256 * 1024

const OTHER_NAMES = [
  'dialect',
  'at',
  'nested',
  'onReport',
] as const satisfies (keyof DialectOptions)[]

/** The names of the dialect options that may be given beside rows. */
export const DIALECT_OPTION_NAMES = [...DIALECT_NAMES, ...OTHER_NAMES]

/**
 * The rows in the formats of bodies. Rows without dialect options are returned as they are.
 * @param kindsOf - The kinds of the known columns.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function withoutDialect(
  team: IntakeTeam,
  rows: RowsInput,
  kindsOf?: () => Promise<ColumnKinds | undefined>,
): RowsInput {
  const given: unknown = rows
  if (!isRecord(given)) return rows
  const format = SOURCE_FORMATS.find((name) => Object.hasOwn(given, name))
  const isSaid = DIALECT_OPTION_NAMES.some((name) => given[name] !== undefined)
  if (format === undefined || !isSaid) return rows
  const content = given[format]
  const whole = typeof content === 'string' ? utf8(content) : bytesOf(content)
  const pieces = whole === undefined ? streamPieces(content) : piecesOfBytes(whole)
  if (pieces === undefined) return rows
  const { [format]: _, allowEmpty: isEmptyAllowed, ...options } = given
  const said = parseDialectOptions(options)
  const foreign = foreignOption(said, format)
  if (foreign !== undefined) throw optionError(foreign.name, foreign.problem)
  const allowEmpty = checkFlag('allowEmpty', isEmptyAllowed)
  const source = { pieces: pieces as AsyncIterable<Bytes>, format, allowEmpty, kindsOf }
  const { pieces: plain, lines } = readDialect(team, source, said)
  if (lines === undefined) return { json: plain } as RowsInput
  return keepLines({ csv: plain, allowEmpty } as RowsInput & object, lines)
}

/** The part of a team that reading a source needs: turns of the event loop, and the maximum length of a row. */
export type IntakeTeam = Readonly<{
  slices: TeamContext['slices']
  options: Pick<TeamContext['options'], 'rowBytesMax'>
}>

/** The dialect options of rows. */
export type SaidOfRows = Readonly<{
  dialect: Dialect
  detects: boolean
  at: string | undefined
  nested: Nested | undefined
  onReport: DialectOptions['onReport']
}>

/** @throws {StoreError} OPTION_NOT_ALLOWED */
export function parseDialectOptions(given: Readonly<Record<string, unknown>>): SaidOfRows {
  const { dialect: how = 'plain', at, nested, onReport, ...said } = given
  if (how !== 'plain' && how !== 'detect') throw optionError('dialect', 'must be plain or detect')
  if (at !== undefined && typeof at !== 'string') throw optionError('at', 'must be a path')
  checkFunctionOption('onReport', onReport)
  return {
    dialect: checkDialect(said),
    detects: how === 'detect',
    at,
    nested: checkNested(nested),
    onReport: onReport as DialectOptions['onReport'],
  }
}

/** The name of a given option that belongs to other formats; undefined: there is no such option. */
export function foreignOption(
  { dialect, at, nested }: SaidOfRows,
  format: SourceFormat,
): Readonly<{ name: string; problem: string }> | undefined {
  if (nested !== undefined && !isJson(format)) {
    return { name: 'nested', problem: `is only for json and ndjson, not ${format}` }
  }
  if (at !== undefined && format !== 'json') {
    return { name: 'at', problem: `is only for json, not ${format}` }
  }
  const name = isJson(format)
    ? DIALECT_NAMES.find((known) => known !== 'encoding' && dialect[known] !== undefined)
    : undefined
  return name && { name, problem: `is only for csv and tsv, not ${format}` }
}

/** A source of rows, with its format. */
export type DialectSource = Readonly<{
  pieces: AsyncIterable<Bytes>
  format: SourceFormat
  /** Whether a blank source counts as a source without rows; otherwise it is a fault. Default: false. */
  allowEmpty?: boolean
  /** The kinds of the known columns. Default: none are known. */
  kindsOf?: (() => Promise<ColumnKinds | undefined>) | undefined
}>

/** The rows of a source in the formats of bodies. @throws {SourceFault} while they are read */
export function readDialect(
  team: IntakeTeam,
  source: DialectSource,
  said: SaidOfRows,
): Readonly<{ pieces: AsyncIterable<Bytes>; format: 'csv' | 'json'; lines?: SourceLines }> {
  if (isJson(source.format)) return { pieces: bytesOfRows(team, source, said), format: 'json' }
  const lines = new SourceLines()
  return { pieces: bytesOfRows(team, source, said, lines), format: 'csv', lines } // Rows of TSV get commas.
}

async function* bytesOfRows(
  { slices, options }: IntakeTeam,
  { pieces, format: given, allowEmpty, kindsOf }: DialectSource,
  { dialect: said, detects, at, nested, onReport }: SaidOfRows,
  lines?: SourceLines,
): AsyncGenerator<Bytes, void> {
  const { rowBytesMax } = isJson(given) ? runLimits(options) : recordLimit(options)
  const limits = { rowsMax: TURN_ROWS_MAX, bytesMax: TURN_BYTES_MAX, rowBytesMax }
  const isTabbed = given === 'tsv'
  // TSV is read as CSV with tabs as delimiters, so that its rows are written with commas, as all other rows are.
  const format = isTabbed ? 'csv' : given
  const dialect = isTabbed ? { delimiter: '\t', ...said } : said
  const turns = slices.begin()
  const intake = await openIntake(pacedPieces(pieces, turns), {
    format,
    dialect,
    detects,
    at,
    nested,
    limits,
    slices: turns,
    allowEmpty,
    kindsOf,
  })
  let isFirst = true
  for await (const run of intake.runs) {
    if (lines !== undefined) for (const at of run.offsets) lines.note(intake.lineAt(at))
    yield* isJson(run.format)
      ? partsOfArray(run.bytes, isFirst)
      : partsOfRun(isFirst ? run : { ...run, header: NO_HEADER }, run.format)
    isFirst = false
  }
  if (isJson(given)) yield isFirst ? EMPTY_ARRAY : END_OF_ARRAY
  onReport?.(isTabbed ? { ...intake.report, format: given } : intake.report)
}

/** The pieces of a source, with pauses in between for other work of the process. */
async function* pacedPieces(
  pieces: AsyncIterable<Bytes>,
  turns: TimeSlices,
): AsyncGenerator<Bytes, void> {
  for await (const piece of pieces) {
    yield piece
    if (turns.spend(piece.length)) await turns.pause()
  }
}

/** A record may be this many times as long as its row: each character may be a quote, which is doubled. */
const RECORD_BYTES_FACTOR = 2

/** The maximum size of a record of CSV or TSV, in bytes. */
function recordLimit({ rowBytesMax }: IntakeTeam['options']): Readonly<{ rowBytesMax: number }> {
  return { rowBytesMax: Math.max(TURN_BYTES_MAX, RECORD_BYTES_FACTOR * rowBytesMax) }
}

const NO_HEADER = new Uint8Array(0)
const [EMPTY_ARRAY, END_OF_ARRAY, BEGIN_OF_ARRAY, COMMA] = ['[]', ']', '[', ','].map(utf8) as [
  Bytes,
  Bytes,
  Bytes,
  Bytes,
]

function partsOfArray(bytes: Bytes, isFirst: boolean): readonly Bytes[] {
  return bytes.length === 0
    ? isFirst
      ? [BEGIN_OF_ARRAY]
      : []
    : [isFirst ? BEGIN_OF_ARRAY : COMMA, bytes]
}
