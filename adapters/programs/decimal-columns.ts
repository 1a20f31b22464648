// The columns of csv and tsv files whose decimal commas are sent as points: `rowstash import --decimal ,` and
// `--decimal COLUMN=,`.
//
// Invariants:
// - A column that is not of numbers is sent as it is. Where no schema says which those are, the files are read once more
//   in front, and a column is of numbers if all its values are.
// - No number with a point becomes a number: its point may separate thousands.
import type { TableSchema } from '../../src/index.js'
import { type DecimalMarks, markOf } from './decimal-commas.js'
import { canReadAgain } from './import-bytes.js'
import { placesAt, type RowRun, readFileRuns, type SourceFile, unitOf } from './import-source.js'
import { cellsOf, classOf, HeaderReader, offsetOf } from './import-values.js'
import { decimalOption, renderName } from './import-warnings.js'
import { checkNamed } from './named-columns.js'
import { ProgramFailure } from './program-failure.js'

/** What is known before the rows are read. */
type KnownTable = Readonly<{
  /** undefined: it is inferred from the rows. */
  schema: TableSchema | undefined
  /** Whether values that do not fit may make a column text, or add one. */
  isWidened: boolean
}>

type SentFiles = Readonly<{
  files: readonly SourceFile[]
  decimal: DecimalMarks
  chunkRowsMax: number
  signal: AbortSignal
}>

/** Where a number with a point is. */
type Pointed = Readonly<{ column: string; value: unknown; file: SourceFile; offset: number }>

/** The columns with decimal commas. @throws {ProgramFailure} for a column of numbers with a point in one */
export async function commaColumnsOf(
  sent: SentFiles,
  { schema, isWidened }: KnownTable,
): Promise<ReadonlySet<string>> {
  const kinds = new Map(schema?.columns.map(({ id, type }) => [id, type.kind]))
  if (schema !== undefined && !isWidened) {
    checkMarked(sent.decimal, kinds, 'the table does not have')
    const hasCommas = ([id, kind]: readonly [string, string]): boolean =>
      kind === 'number' && markOf(sent.decimal, id) === ','
    return new Set([...kinds].filter(hasCommas).map(([id]) => id))
  }
  for (const file of sent.files) {
    if (await canReadAgain(file)) continue
    const problem = `--decimal needs a --schema for ${file.path}, which can be read only once`
    throw new ProgramFailure('usage', problem)
  }
  const found = await judgedColumns(sent)
  checkMarked(sent.decimal, found, 'no header has')
  const columns = new Set<string>()
  for (const [column, { isNumeric, hasComma, pointed }] of found) {
    if (markOf(sent.decimal, column) === '.') continue
    if (!isNumeric || (kinds.get(column) ?? 'number') !== 'number') continue
    if (pointed !== undefined) throw await refusedPoint(pointed)
    if (hasComma) columns.add(column)
  }
  return columns
}

/** @throws {ProgramFailure} for a named column that is not there */
function checkMarked(
  { ofColumns }: DecimalMarks,
  known: ReadonlyMap<string, unknown>,
  lack: string,
): void {
  const named = ofColumns.map(([column]) => column)
  const problemOf = (column: string) => `--decimal names the column ${column}, which ${lack}`
  checkNamed(named, new Set(known.keys()), problemOf)
}

type Judged = { isNumeric: boolean; hasComma: boolean; pointed: Pointed | undefined }

async function judgedColumns({
  files,
  decimal,
  chunkRowsMax,
  signal,
}: SentFiles): Promise<ReadonlyMap<string, Judged>> {
  const found = new Map<string, Judged>()
  for (const file of files) {
    const headers = new HeaderReader()
    for await (const run of readFileRuns(file, chunkRowsMax)) {
      signal.throwIfAborted()
      const header = headers.read(run)
      for (const column of header) {
        if (!found.has(column)) {
          found.set(column, { isNumeric: true, hasComma: false, pointed: undefined })
        }
      }
      const isOpen = (column: string): boolean =>
        found.get(column)?.isNumeric === true && markOf(decimal, column) === ','
      for (let record = 0; record < run.starts.length; record++) {
        for (const { column, value } of cellsOf(run, header, record, isOpen)) {
          const judged = found.get(column)
          if (judged === undefined || value === '') continue
          if (classOf(value, true, ',') === 'number')
            judged.hasComma ||= String(value).includes(',')
          else if (classOf(value, true) !== 'number') judged.isNumeric = false
          else judged.pointed ??= { column, value, file, offset: offsetOf(run, record) }
        }
      }
    }
  }
  return found
}

/** Marks the fields of each run whose decimal commas become points. */
export class CommaFields {
  readonly #columns: ReadonlySet<string>
  readonly #headers = new HeaderReader()

  constructor(columns: ReadonlySet<string>) {
    this.#columns = columns
  }

  /** @throws {ProgramFailure} for a number with a point in one of the columns */
  async mark(run: RowRun, file: SourceFile): Promise<RowRun> {
    const header = this.#headers.read(run)
    const fields = header.flatMap((column, i) => (this.#columns.has(column) ? [i] : []))
    if (fields.length === 0) return run
    const isMarked = (column: string): boolean => this.#columns.has(column)
    for (let record = 0; record < run.starts.length; record++) {
      for (const { column, value } of cellsOf(run, header, record, isMarked)) {
        // As the server takes a number, with spaces around it.
        const text = String(value).trim()
        if (!text.includes('.') || classOf(text, true) !== 'number') continue
        throw await refusedPoint({ column, value, file, offset: offsetOf(run, record) })
      }
    }
    return { ...run, commaFields: new Set(fields) }
  }
}

async function refusedPoint({ column, value, file, offset }: Pointed): Promise<ProgramFailure> {
  const [line] = (await canReadAgain(file)) ? await placesAt(file, [offset]) : []
  const where = line === undefined ? file.path : `${file.path}, ${unitOf(file)} ${line}`
  const problem = `column '${renderName(column)}' has the number ${String(value)}, and with --decimal , a number has no point`
  const remedy = `remove separators of thousands, use ${decimalOption(column, '.')} if its points are decimal, or make the column string with --schema`
  return new ProgramFailure('failed', `${where}: ${problem}; ${remedy}`)
}
