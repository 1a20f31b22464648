// The columns of a table after a change that lists only some columns.
import { type Bytes, fromUtf8, utf8 } from '../../base/bytes.js'
import { isRecord, shown } from '../../base/options.js'
import { invalidArgument, isStoreError, StoreError } from '../../base/store-error.js'
import { ITEM_WORK, type Steps } from '../../base/time-slices.js'
import { lackedColumn } from '../../base/unknown-column.js'
import { convertToken, readSpans, renderKey } from '../../format/row-text.js'
import { parseBooleanCell } from '../../intake/cells.js'
import type { Column, TableSchema } from '../../schema/column-kind.js'
import { describeRule } from '../../schema/summarize.js'
import { parseTableSchema } from '../../schema/table-schema.js'
import { checkIfMatch } from '../arguments/if-match.js'
import { PROBLEMS_NAMED_MAX, refuseRows } from '../arguments/row-problems.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import { tooBusy } from '../commit/commit-until-accepted.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { PROBLEMS_MAX } from '../import/find-problems.js'
import { invalidValue } from '../import/row-object.js'
import { cellFits, toStoredToken } from '../import/stored-form.js'
import { readSchema } from '../read/generations.js'
import type { PreflightProblem, TablePreflightReport } from '../types/preflight-types.js'
import { openVersion } from './export-rows.js'
import { overwriteRows } from './overwrite-rows.js'
import { preflightTable } from './preflight.js'

/** Changes of some columns. The other columns stay. */
export type ColumnChanges = Readonly<{
  add: readonly Column[]
  drop: readonly string[]
  /** New display names by column ID. */
  rename: ReadonlyMap<string, string>
}>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_NOT_UNIQUE for an added column that exists */
export function changedColumns(
  { schema, columns }: IndexedSchema,
  { add, drop, rename }: ColumnChanges,
  columnsMax: number,
): TableSchema {
  for (const id of [...drop, ...rename.keys()]) {
    if (columns.has(id)) continue
    const details = { column: id }
    throw new StoreError('REQUEST_VALIDATION_ERROR', lackedColumn(columns, id), details)
  }
  const dropped = new Set(drop)
  const kept = schema.columns.flatMap((column) => {
    if (dropped.has(column.id)) return []
    const displayName = rename.get(column.id)
    return displayName === undefined ? column : { ...column, displayName }
  })
  return parseTableSchema({ columns: [...kept, ...add] }, columnsMax)
}

/** The columns of the table with the wanted types, followed by the wanted columns that it lacks. */
export function ensuredColumns(
  { schema, columns }: IndexedSchema,
  wanted: TableSchema,
  columnsMax: number,
): TableSchema {
  const types = new Map(wanted.columns.map(({ id, type }) => [id, type]))
  const kept = schema.columns.map((column) => ({
    ...column,
    type: types.get(column.id) ?? column.type,
  }))
  const added = wanted.columns.filter(({ id }) => !columns.has(id))
  return parseTableSchema({ columns: [...kept, ...added] }, columnsMax)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkNewNames(given: unknown): ReadonlyMap<string, string> {
  const names = isRecord(given) ? Object.entries(given) : null
  const isText = (pair: [string, unknown]): pair is [string, string] => typeof pair[1] === 'string'
  if (names?.every(isText)) return new Map(names)
  throw invalidArgument(
    `rename must be an object of display names by column ID, not ${shown(given)}`,
  )
}

type Words = readonly [isTrue: string, isFalse: string] | undefined

/** A request to give a column another type, and to convert its cells to that type. */
export type Conversion = Readonly<{
  convert: Column
  /** The words for true and false. */
  booleans: Words
  ifMatch: number | bigint | undefined
  signal: AbortSignal | undefined
}>

/** Maximum number of attempts of a conversion while others change the table. */
const CONVERSIONS_MAX = 8

/**
 * Gives a column another type, and its cells the form of that type, in one commit. The rows are read at one version
 * and rewritten with their IDs. If a cell does not fit, nothing is changed.
 * @returns null: the column already has the type.
 * @throws {StoreError} as `Table.alter`
 */
export async function convertColumn(
  place: TablePlace,
  conversion: Conversion,
): Promise<Readonly<{ version: number }> | null> {
  return tryConversion(place, conversion, PROBLEMS_NAMED_MAX, async ({ version, overwrite }) => {
    if (overwrite === null) return null
    try {
      return await overwriteRows(place, { ...overwrite, ifMatch: version })
    } catch (failure) {
      overwrite.converter.check()
      throw failure
    }
  })
}

/** Reports the cells that `convertColumn` would refuse. */
export async function checkConversion(
  place: TablePlace,
  conversion: Conversion,
): Promise<TablePreflightReport> {
  return tryConversion(
    place,
    conversion,
    PROBLEMS_MAX,
    async ({ version, rowCount, schema, overwrite }) => {
      const report = { rows: rowCount ?? 0, schema, problems: [], problemCount: 0, version }
      if (overwrite === null) return report
      const { signal } = conversion
      const request = {
        ...overwrite,
        signal,
        operation: 'overwrite',
        comparesTable: false,
      } as const
      try {
        return await preflightTable(place, { ...request, ifMatch: version })
      } catch (failure) {
        const misfits = overwrite.converter.report()
        if (misfits === null) throw failure
        return { ...report, ...misfits }
      }
    },
  )
}

/** The conversion of one version of a table. */
type ConversionPlan = Readonly<{
  version: number
  rowCount: number | undefined
  schema: TableSchema
  /** null: the column already has the type. */
  overwrite:
    | (Omit<Parameters<typeof overwriteRows>[1], 'ifMatch'> &
        Readonly<{ converter: CellConverter }>)
    | null
}>

/** Repeats a conversion while others change the table. */
async function tryConversion<Result>(
  place: TablePlace,
  { convert, booleans, ifMatch, signal }: Conversion,
  problemsMax: number,
  use: (plan: ConversionPlan) => Promise<Result>,
): Promise<Result> {
  for (let tries = 0; tries < CONVERSIONS_MAX; tries++) {
    const rows = await openVersion(place, { format: 'ndjson', signal }, true)
    checkIfMatch('table', ifMatch, rows.version)
    const before = await readSchema(place)
    const column = before.columns.get(convert.id)
    if (column === undefined) throw invalidArgument(lackedColumn(before.columns, convert.id))
    const { version, rowCount } = rows
    if (JSON.stringify(column.type) === JSON.stringify(convert.type)) {
      return use({ version, rowCount, schema: before.schema, overwrite: null })
    }
    const changed = { ...column, type: convert.type }
    const columns = before.schema.columns.map((each) => (each === column ? changed : each))
    const converter = new CellConverter(place.team, changed, booleans, problemsMax)
    const overwrite = {
      rows: rowCount === 0 ? [] : { ndjson: converter.convert(rows.pieces) },
      readSchema: () => ({ columns }),
      onSchemaError: 'abort' as const,
      signal,
      converter,
    }
    try {
      return await use({ version, rowCount, schema: { columns }, overwrite })
    } catch (failure) {
      if (!isStoreError(failure) || failure.code !== 'PRECONDITION_FAILED') throw failure
    }
  }
  throw tooBusy('Others changed the table during each try to convert the column')
}

/** Converts the cells of one column in lines of JSON, and notes the cells that do not fit. */
class CellConverter {
  readonly #team: TeamContext
  readonly #column: Column
  readonly #problemsMax: number
  readonly #booleans: Words
  readonly #problems: StoreError[] = []
  #problemCount = 0
  #row = 0
  #isAtEnd = false

  constructor(team: TeamContext, column: Column, booleans: Words, problemsMax: number) {
    this.#booleans = booleans
    this.#team = team
    this.#column = column
    this.#problemsMax = problemsMax
  }

  /**
   * @param pieces - Whole lines. After a cell that does not fit, nothing more is yielded: the caller discards the
   *   result.
   */
  async *convert(pieces: AsyncIterable<Bytes>): AsyncGenerator<Bytes, void> {
    const slices = this.#team.slices.begin()
    for await (const piece of pieces) {
      const lines = await slices.run(this.#convertLines(fromUtf8(piece)))
      if (this.#problemCount === 0) yield utf8(lines)
    }
    this.#isAtEnd = true
    this.check()
  }

  /** @throws {StoreError} COLUMN_HAS_INVALID_VALUE with the first cells that do not fit, and the number of all */
  check(): void {
    refuseRows(this.#problems, this.#problemCount)
  }

  /** The cells that do not fit. null: every cell fits, or not all cells were read. */
  report(): Readonly<{ problems: readonly PreflightProblem[]; problemCount: number }> | null {
    if (this.#problemCount === 0 || !this.#isAtEnd) return null
    const problems = this.#problems.map(({ row = 0, value = '', rule = '' }) => {
      return { row, column: this.#column.id, value, rule }
    })
    return { problems, problemCount: this.#problemCount }
  }

  *#convertLines(text: string): Steps<string> {
    let converted = ''
    const key = renderKey(this.#column.id)
    for (let start = 0; start < text.length; this.#row++) {
      const end = text.indexOf('\n', start)
      const line = text.slice(start, end)
      converted += `${line.includes(key) ? yield* this.#convertLine(line) : line}\n`
      yield ITEM_WORK + line.length
      start = end + 1
    }
    return converted
  }

  *#convertLine(line: string): Steps<string> {
    const { id } = this.#column
    const row = line.slice(1, -1)
    const span = readSpans(row).find((each) => each.id === id)
    if (span === undefined) return line
    const token = row.slice(span.valueStart, span.end)
    const cell = yield* this.#convertCell(token)
    if (cell !== null) return `{${row.slice(0, span.valueStart)}${cell}${row.slice(span.end)}}`
    if (this.#problemCount++ < this.#problemsMax) {
      const rule = describeRule(this.#column.type, token.startsWith('"'))
      this.#problems.push(invalidValue(id, { row: this.#row, value: token, rule }))
    }
    return line
  }

  /**
   * The token of a cell after the conversion; null: the cell does not fit. An empty text fits only columns of text:
   * columns of other kinds would lose it.
   */
  *#convertCell(token: string): Steps<string | null> {
    const { type } = this.#column
    const rules = { formatChecks: this.#team.options.formatChecks, inferred: false }
    const isText = type.kind === 'string' || type.kind === 'markdown'
    if (token === '""' && !isText) return null
    const word = this.#booleans && parseBooleanCell(String(JSON.parse(token)), this.#booleans)
    if (word !== undefined) return word
    const shown = convertToken(token, type)
    if (yield* cellFits(rules, this.#column, shown, false)) return shown
    const fits = token.startsWith('"') && (yield* cellFits(rules, this.#column, token, true))
    return fits ? toStoredToken(token, type, true) : null
  }
}
