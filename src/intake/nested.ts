// Converts JSON rows with objects for tables: an object becomes columns of its members, or text.
//
// Invariants:
// - Each member has one column, and each column has the values of one member.
// - A row without objects does not change, nor does malformed JSON, which the reader of rows rejects.
import { concatBytes, fromUtf8, utf8 } from '../base/bytes.js'
import { optionError } from '../base/options.js'
import { SourceFault } from '../base/record-scanner.js'
import type { Advice } from './advice.js'

/** What happens to objects in rows, and to arrays that contain objects or arrays. */
export const NESTED_WAYS = ['flatten', 'text'] as const
export type Nested = (typeof NESTED_WAYS)[number]

/** @throws {StoreError} OPTION_NOT_ALLOWED if a value is given and not in `NESTED_WAYS`. */
export function checkNested(given: unknown): Nested | undefined {
  const way = NESTED_WAYS.find((known) => known === given)
  if (given === way) return way
  throw optionError('nested', 'must be flatten or text')
}

/** The maximum depth of nested objects whose members become columns. */
const DEPTH_MAX = 32

/** The maximum number of columns of a source with flattened objects. */
const COLUMNS_MAX = 10_000

/** The maximum number of characters of the name of a column made from a member. */
const NAME_CHARS_MAX = 256

type Rows = Readonly<{
  bytes: Uint8Array
  starts: readonly number[]
  ends: readonly number[]
  offsets: readonly number[]
}>

const ROW_COMMA = utf8(',')

/** Thrown for malformed JSON. */
class NoJson extends Error {}

export class NestedRows {
  /** What happens to objects; undefined: they stay as they are. */
  readonly #how: Nested | undefined
  readonly #omits: ReadonlySet<string>
  readonly #lineAt: (offset: number) => number
  /** The member of each column, by column name. */
  readonly #members = new Map<string, string>()
  readonly #objects = new Set<string>()
  #count = 0
  /** The first nested value. */
  #first: Readonly<{ column: string; line: number }> | undefined
  /** The offset of the current row. */
  #offset = 0
  /** The columns of the current row. */
  #seen = new Set<string>()
  /** Number of columns of the current row that were left out. */
  #omitted = 0

  /**
   * @param lineAt - Returns the line of an offset.
   * @param omits - The names of columns that are left out.
   */
  constructor(
    how: Nested | undefined,
    lineAt: (offset: number) => number,
    omits: readonly string[] = [],
  ) {
    this.#how = how
    this.#omits = new Set(omits)
    this.#lineAt = lineAt
  }

  /** The conversions so far. */
  get advice(): readonly Advice[] {
    return this.#first === undefined ? [] : [{ code: 'nested', ...this.#first, count: this.#count }]
  }

  /** @throws {SourceFault} for columns with equal names, too many columns, or too deeply nested objects */
  rewrite<Run extends Rows>(run: Run): Run {
    const pieces: Uint8Array[] = []
    const starts: number[] = []
    const ends: number[] = []
    let length = 0
    for (const [i, start] of run.starts.entries()) {
      this.#offset = run.offsets[i] ?? 0
      const row = this.#rowOf(run.bytes.subarray(start, run.ends[i]))
      if (i > 0) pieces.push(ROW_COMMA)
      length += i > 0 ? 1 : 0
      pieces.push(row)
      starts.push(length)
      length += row.length
      ends.push(length)
    }
    return { ...run, bytes: concatBytes(pieces), starts, ends }
  }

  #rowOf(bytes: Uint8Array): Uint8Array {
    const before = this.#count
    this.#seen = new Set()
    this.#omitted = 0
    try {
      const members: string[] = []
      const json = new JsonText(decodedRow(bytes))
      this.#addMembers(json, [], members)
      if (json.next !== '') return bytes
      const isChanged =
        this.#count > before || this.#omitted > 0 || members.length < this.#seen.size
      return isChanged ? utf8(`{${members.join(',')}}`) : bytes
    } catch (failure) {
      if (failure instanceof NoJson) return bytes
      throw failure
    }
  }

  #addMembers(json: JsonText, path: readonly string[], members: string[]): void {
    for (const name of json.members()) {
      const column = this.#columnOf([...path, name])
      const key = `${JSON.stringify(column)}:`
      const isObject = json.next === '{'
      if (isObject && this.#how === 'flatten') {
        if (path.length === DEPTH_MAX) {
          throw this.#fault(
            `column '${column}' has objects nested more than ${DEPTH_MAX} levels deep`,
          )
        }
        this.#objects.add(column)
        this.#note(column)
        this.#addMembers(json, [...path, name], members)
        continue
      }
      const { text, isNested } = json.value()
      if (this.#omits.has(column)) {
        this.#omitted++
        continue
      }
      // This null stands for an object: its members have columns, but it has none itself.
      if (text === 'null' && this.#objects.has(column)) continue
      const isText = isNested && this.#how !== undefined
      if (isText) this.#note(column)
      members.push(key + (isText ? JSON.stringify(text) : text))
    }
  }

  /** The name of the column of a member. */
  #columnOf(path: readonly string[]): string {
    const column = path.join('.')
    if (this.#how !== 'flatten') return column
    const member = JSON.stringify(path)
    const known = this.#members.get(column)
    if ((known ?? member) !== member || (path.length > 1 && this.#seen.has(column))) {
      throw this.#fault(`two members become the column '${column}'; use nested text`)
    }
    this.#seen.add(column)
    if (known !== undefined) return column
    if (path.length > 1 && column.length > NAME_CHARS_MAX) {
      throw this.#fault(`the name of a column has more than ${NAME_CHARS_MAX} characters`)
    }
    if (this.#members.size === COLUMNS_MAX) {
      throw this.#fault(`more than ${COLUMNS_MAX} columns; use nested text`)
    }
    this.#members.set(column, member)
    return column
  }

  #note(column: string): void {
    this.#count++
    this.#first ??= { column, line: this.#lineAt(this.#offset) }
  }

  #fault(problem: string): SourceFault {
    return new SourceFault(problem, { offset: this.#offset, line: this.#lineAt(this.#offset) })
  }
}

const BLANKS = ' \t\r\n'
const MARKS = ',:'
const ENDS = `${BLANKS}${MARKS}"{}[]`

/** Reads JSON text. */
class JsonText {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** The first character of the next token. */
  get next(): string {
    while (BLANKS.includes(this.#text[this.#at] ?? '-')) this.#at++
    return this.#text[this.#at] ?? ''
  }

  /** Yields the names of an object's members; the caller reads each value in between. */
  *members(): Generator<string> {
    this.#take('{')
    for (let isFirst = true; this.next !== '}'; isFirst = false) {
      if (!isFirst) this.#take(',')
      const name = this.#string()
      this.#take(':')
      yield name.includes('\\') ? String(parsed(name)) : name.slice(1, -1)
    }
    this.#take('}')
  }

  /** Reads a value. `isNested`: it has objects, or arrays within an array; its text is then without blanks. */
  value(): Readonly<{ text: string; isNested: boolean }> {
    const parts: string[] = []
    let depth = 0
    let isNested = false
    let begin: number | undefined
    do {
      const { next } = this
      const start = this.#at
      begin ??= start
      if (next === '"') this.#string()
      else if (next === '{' || next === '[') {
        depth++
        isNested ||= next === '{' || depth > 1
        this.#at++
      } else if (next === '}' || next === ']') {
        depth--
        this.#at++
      } else if (next === '' || (depth === 0 && MARKS.includes(next))) throw new NoJson()
      else this.#skipToken()
      parts.push(this.#text.slice(start, this.#at))
    } while (depth > 0)
    const text = this.#text.slice(begin, this.#at)
    if (depth < 0) throw new NoJson()
    if (isNested) parsed(text)
    return { text: isNested ? parts.join('') : text, isNested }
  }

  #skipToken(): void {
    this.#at++
    while (!ENDS.includes(this.#text[this.#at] ?? ' ')) this.#at++
  }

  #string(): string {
    if (this.next !== '"') throw new NoJson()
    const start = this.#at
    for (let at = this.#at + 1; ; at++) {
      const char = this.#text[at]
      if (char === undefined) throw new NoJson()
      if (char === '\\') at++
      else if (char === '"') {
        this.#at = at + 1
        return this.#text.slice(start, this.#at)
      }
    }
  }

  #take(char: string): void {
    if (this.next !== char) throw new NoJson()
    this.#at++
  }
}

/** @throws {NoJson} if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new NoJson()
  }
}

/** @throws {NoJson} if the bytes are not UTF-8. */
function decodedRow(bytes: Uint8Array): string {
  try {
    return fromUtf8(bytes)
  } catch {
    throw new NoJson()
  }
}
