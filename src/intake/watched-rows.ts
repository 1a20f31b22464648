// Watches rows as they are passed on: lines shorter than their header, questionable column names, and the values of
// columns.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
  TAB,
} from '../base/ascii.js'
import { startsWith } from '../base/bytes.js'
import { isJson, type SourceFormat } from '../base/source-format.js'
import { skipSpaceBytes } from '../schema/json-byte-values.js'
import type { Advice } from './advice.js'
import type { Dialect } from './dialect.js'
import { fieldTexts, findFields } from './field-bounds.js'
import type { PassedLines } from './passed-lines.js'
import { textOfToken, WatchedValues } from './watched-values.js'

/** The maximum number of watched columns. Further columns are ignored. */
const COLUMNS_MAX = 4_096

/** The unit of work is a byte; each value adds `VALUE_WORK`. After `STEP_WORK`, other work has a turn. */
const STEP_WORK = 16 * 1024
const VALUE_WORK = 64

type Rows = Readonly<{
  format: SourceFormat
  header: Uint8Array
  bytes: Uint8Array
  starts: readonly number[]
  ends: readonly number[]
  offsets: readonly number[]
}>

/** The name of the row ID in an export, which is not a column. */
const ROW_ID = '$rowID'

export class WatchedRows {
  readonly #dialect: Dialect
  readonly #lines: PassedLines
  readonly #columns = new Map<string, WatchedValues>()
  /**
   * The watched columns: for CSV, `#fields` in field order; for JSON, `#order` in the order of the last row, with the
   * bytes of their names.
   */
  #fields: readonly (WatchedValues | undefined)[] = []
  readonly #order: Readonly<{ name: Uint8Array; column: WatchedValues | undefined }>[] = []
  readonly #bounds: number[] = []
  #header: Uint8Array | undefined
  #isJson = false
  #short: Readonly<{ count: number; line: number }> | undefined
  #rowIdLine: number | undefined

  constructor(dialect: Dialect, lines: PassedLines) {
    this.#dialect = dialect
    this.#lines = lines
  }

  /** Advice that does not depend on the table. */
  get adviceOfLines(): readonly Advice[] {
    return this.#short === undefined ? [] : [{ code: 'shortLines', ...this.#short }]
  }

  /** Advice for a table that gets its columns from these rows. */
  get adviceOfColumns(): readonly Advice[] {
    const line = this.#rowIdLine
    const spaced = [...this.#columns.keys()].filter((name) => /^ | $/.test(name))
    const [column] = spaced
    return [
      ...(line === undefined ? [] : [{ code: 'rowIDs', line } as const]),
      ...(column === undefined
        ? []
        : [{ code: 'spacedNames', column, count: spaced.length } as const]),
      ...[...this.#columns].flatMap(([name, values]) => {
        const { columns, decimal = columns?.[name]?.decimal } = this.#dialect
        return values.advice(this.#isJson, decimal !== undefined)
      }),
    ]
  }

  /** Watches the rows of a run. Yields the amount of work done since the last yield. */
  *add(run: Rows): Generator<number, void> {
    const { bytes, starts, ends, format } = run
    this.#isJson = isJson(format)
    const delimiter = format === 'tsv' ? TAB : COMMA
    if (!this.#isJson && run.header !== this.#header) this.#readHeader(run.header, delimiter)
    let work = 0
    for (const [i, start] of starts.entries()) {
      const end = ends[i] ?? start
      const lineOf = () => this.#lines.lineAt(run.offsets[i] ?? 0)
      const count = this.#isJson
        ? this.#addMembers(bytes, start, end, lineOf)
        : this.#addFields(bytes, start, end, delimiter, lineOf)
      work += end - start + VALUE_WORK * count
      if (work < STEP_WORK) continue
      yield work
      work = 0
    }
  }

  #readHeader(header: Uint8Array, delimiter: number): void {
    this.#header = header
    this.#fields = fieldTexts(header, delimiter).map((name) => this.#columnOf(name, () => 1))
  }

  /** The values of a column by its name; undefined: the column is not watched. */
  #columnOf(name: string, lineOf: () => number): WatchedValues | undefined {
    if (name === ROW_ID) this.#rowIdLine ??= lineOf()
    const known = this.#columns.get(name)
    if (known !== undefined || name === ROW_ID || this.#columns.size === COLUMNS_MAX) return known
    const column = new WatchedValues(name)
    this.#columns.set(name, column)
    return column
  }

  /**
   * @returns the number of fields. A line with too many is not watched, because it is unknown which of its fields are
   *   extra.
   */
  #addFields(
    bytes: Uint8Array,
    start: number,
    end: number,
    delimiter: number,
    lineOf: () => number,
  ): number {
    const fields = this.#fields
    const count = findFields(bytes, start, end, delimiter, this.#bounds)
    if (count > fields.length) return count
    if (count < fields.length) {
      const { count: before = 0, line = lineOf() } = this.#short ?? {}
      this.#short = { count: before + 1, line }
    }
    for (let i = 0; i < count; i++) {
      fields[i]?.addField(bytes, this.#bounds[2 * i] ?? 0, this.#bounds[2 * i + 1] ?? 0, lineOf)
    }
    return count
  }

  /** @returns the number of members. Malformed JSON is left to the reader of rows. */
  #addMembers(bytes: Uint8Array, start: number, end: number, lineOf: () => number): number {
    let at = skipSpaceBytes(bytes, start)
    if (bytes[at] !== OPEN_BRACE) return 0
    for (let place = 0; ; place++) {
      at = skipSpaceBytes(bytes, at + 1)
      if (bytes[at] !== QUOTE || at >= end) return place
      const endOfName = endOfString(bytes, at, end)
      const column = this.#memberOf(bytes, at, endOfName, place, lineOf)
      at = skipSpaceBytes(bytes, endOfName)
      if (bytes[at] !== COLON) return place
      const from = skipSpaceBytes(bytes, at + 1)
      const to = endOfValue(bytes, from, end)
      column?.addToken(bytes, from, to, lineOf)
      at = skipSpaceBytes(bytes, to)
      if (bytes[at] !== COMMA) return place + 1
    }
  }

  /** The column of a quoted name. Most rows repeat the previous row's names in order. */
  #memberOf(
    bytes: Uint8Array,
    from: number,
    to: number,
    place: number,
    lineOf: () => number,
  ): WatchedValues | undefined {
    const known = this.#order[place]
    const isKnown = known?.name.length === to - from && startsWith(bytes, from, to, known.name)
    if (isKnown) return known.column
    const name = bytes.slice(from, to)
    const column = this.#columnOf(textOfToken(bytes, from, to), lineOf)
    if (place < COLUMNS_MAX) this.#order[place] = { name, column }
    return column
  }
}

/** The position after a string's closing quote. */
function endOfString(bytes: Uint8Array, start: number, limit: number): number {
  let at = start + 1
  while (at < limit && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return Math.min(at + 1, limit)
}

/** The position after a value: a token, a string, or an object or array with its content. */
function endOfValue(bytes: Uint8Array, start: number, limit: number): number {
  let depth = 0
  let at = start
  while (at < limit) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) {
      at = endOfString(bytes, at, limit)
      if (depth === 0) return at
      continue
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth-- === 0) return at
      if (depth === 0) return at + 1
    } else if (depth === 0 && (byte === COMMA || byte <= SPACE)) return at
    at++
  }
  return limit
}
