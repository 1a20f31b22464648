// Rows as text whose caller says how it is written, or wants that detected: read through the intake.
import { type Bytes, bytesOf, utf8 } from '../../base/bytes.js'
import { checkFunctionOption, isRecord, optionError } from '../../base/options.js'
import { yieldToEventLoop } from '../../base/platform.js'
import { partsOfRun } from '../../base/record-cutter.js'
import { isJson, SOURCE_FORMATS, type SourceFormat } from '../../base/source-format.js'
import { streamPieces } from '../../base/web-stream.js'
import type { ColumnKinds } from '../../intake/conversions.js'
import type { Dialect } from '../../intake/dialect.js'
import { DIALECT_NAMES } from '../../intake/dialect.js'
import { type Intake, openIntake } from '../../intake/intake.js'
import { checkFlag } from '../arguments/arguments.js'
import type { DialectOptions, RowsInput } from '../types/row-types.js'
import { piecesOfBytes } from './stream-rows.js'

/** Rows and bytes that are rewritten in one turn of the event loop. */
const TURN_ROWS_MAX = 4_096
const TURN_BYTES_MAX = 256 * 1024

/** The text of a row, at most: more is refused where rows are read. */
const ROW_BYTES_MAX = 64 * 1024 * 1024

const OTHER_NAMES = ['dialect', 'at', 'onReport'] as const satisfies (keyof DialectOptions)[]

/**
 * The rows as the formats of bodies have them; rows of which nothing is said as they are.
 * @param kindsOf - The kinds of the columns that are known.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function withoutDialect(
  rows: RowsInput,
  kindsOf?: () => Promise<ColumnKinds | undefined>,
): RowsInput {
  const given: unknown = rows
  if (!isRecord(given)) return rows
  const format = SOURCE_FORMATS.find((name) => Object.hasOwn(given, name))
  const isSaid = [...DIALECT_NAMES, ...OTHER_NAMES].some((name) => given[name] !== undefined)
  if (format === undefined || !isSaid) return rows
  const content = given[format]
  const whole = typeof content === 'string' ? utf8(content) : bytesOf(content)
  const pieces = whole === undefined ? streamPieces(content) : piecesOfBytes(whole)
  if (pieces === undefined) return rows
  const how = parseRowsOptions(given, format)
  const source = { pieces: pieces as AsyncIterable<Bytes>, format, kindsOf, ...how }
  // Of a run of tsv the records have commas.
  return (
    isJson(format)
      ? { json: bytesOfRows(source) }
      : { csv: bytesOfRows(source), allowEmpty: how.allowEmpty }
  ) as RowsInput
}

type How = Readonly<{
  dialect: Dialect
  detects: boolean
  at: string | undefined
  allowEmpty: boolean
  onReport: DialectOptions['onReport']
}>

function parseRowsOptions(rows: Readonly<Record<string, unknown>>, format: SourceFormat): How {
  const { [format]: _, dialect: how = 'plain', at, onReport, allowEmpty, ...said } = rows
  if (how !== 'plain' && how !== 'detect') throw optionError('dialect', 'must be plain or detect')
  if (at !== undefined && (typeof at !== 'string' || format !== 'json')) {
    throw optionError('at', 'must be a path, and is of json only')
  }
  const [first] = Object.keys(said)
  if (isJson(format) && first !== undefined && first !== 'encoding') {
    throw optionError(first, `is of csv and tsv only, not of ${format}`)
  }
  checkFunctionOption('onReport', onReport)
  return {
    dialect: said,
    detects: how === 'detect',
    at: at as string | undefined,
    allowEmpty: checkFlag('allowEmpty', allowEmpty),
    onReport: onReport as DialectOptions['onReport'],
  }
}

type Source = How &
  Readonly<{
    pieces: AsyncIterable<Bytes>
    format: SourceFormat
    kindsOf: (() => Promise<ColumnKinds | undefined>) | undefined
  }>

async function* bytesOfRows({
  pieces,
  onReport,
  kindsOf,
  ...how
}: Source): AsyncGenerator<Bytes, void> {
  const limits = { rowsMax: TURN_ROWS_MAX, bytesMax: TURN_BYTES_MAX, rowBytesMax: ROW_BYTES_MAX }
  const isTabbed = how.format === 'tsv'
  // TSV as CSV whose delimiter is a tab, so that its rows are written with commas as all others are.
  const format = isTabbed ? 'csv' : how.format
  const dialect = isTabbed ? { delimiter: '\t', ...how.dialect } : how.dialect
  const read = { ...how, format, dialect, limits }
  const intake: Intake = await openIntake(pieces, { ...read, kindsOf })
  let isFirst = true
  for await (const run of intake.runs) {
    yield* isJson(run.format)
      ? partsOfArray(run.bytes, isFirst)
      : partsOfRun(isFirst ? run : { ...run, header: NO_HEADER }, run.format)
    isFirst = false
    await yieldToEventLoop()
  }
  if (isJson(how.format)) yield isFirst ? EMPTY_ARRAY : END_OF_ARRAY
  onReport?.({ ...intake.report, format: how.format })
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
