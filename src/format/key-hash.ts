// The hash of a row's key, that is, of the values of its key columns, whatever their notation (FORMAT.md, section 4).
import { COMMA, QUOTE } from '../base/ascii.js'
import { type Bytes, utf8 } from '../base/bytes.js'
import { sha256Now, sliceText } from '../base/platform.js'
import type { ColumnKind } from '../schema/column-kind.js'
import { KEY_HASH_BYTES } from './key-index.js'
import { RowCells } from './row-cells.js'
import { renderKey } from './row-text.js'
import { canonicalToken, cellsOf } from './row-values.js'

/** A column of a key. */
export type KeyColumn = Readonly<{ id: string; kind: ColumnKind }>

/** Whether a column of this kind may once have been a number or boolean column, whose stored cells lack quotes. */
export function isTextKind(kind: ColumnKind): boolean {
  return kind !== 'number' && kind !== 'boolean'
}

export class KeyHasher {
  readonly #columns: readonly KeyColumn[]
  readonly #cells: RowCells

  constructor(columns: readonly KeyColumn[]) {
    this.#columns = columns
    this.#cells = new RowCells(columns.map(({ id }) => id))
  }

  /**
   * The hash of the key of the row text from `from` to `to` (exclusive), in stored or converted form.
   * @returns null: a cell of the key is empty.
   */
  ofRow(bytes: Bytes, from: number, to: number): Bytes | null {
    const cells = this.#cells
    cells.read(bytes, from, to)
    if (cells.count < this.#columns.length) return null
    return hashOfTokens(
      this.#columns,
      this.#columns.map((_, at) => sliceText(bytes, cells.from[at] ?? 0, cells.to[at] ?? 0)),
    )
  }

  ofText(text: string): Bytes | null {
    const bytes = utf8(text)
    return this.ofRow(bytes, 0, bytes.length)
  }
}

/** The hash, `KEY_HASH_BYTES` long. @param tokens - The tokens of the key columns, in their order. */
export function hashOfTokens(columns: readonly KeyColumn[], tokens: readonly string[]): Bytes {
  return hashOfValues(valuesOfTokens(columns, tokens))
}

/** The values of a key, for comparisons: its tokens, converted to the kinds of their columns, in canonical form. */
export function valuesOfTokens(
  columns: readonly KeyColumn[],
  tokens: readonly string[],
): readonly string[] {
  return columns.map(({ kind }, at) => {
    const token = tokens[at] ?? ''
    const isBare = isTextKind(kind) && token.charCodeAt(0) !== QUOTE
    return canonicalToken(isBare ? `"${token}"` : token)
  })
}

export function hashOfValues(values: readonly string[]): Bytes {
  const text = values.map((value) => `${value}\0`).join('')
  return sha256Now(utf8(text)).subarray(0, KEY_HASH_BYTES)
}

/**
 * Whether a row text has the values of a key.
 * @param values - The result of `valuesOfTokens`.
 */
export function hasValues(
  text: string,
  columns: readonly KeyColumn[],
  values: readonly string[],
): boolean {
  if (columns.every(({ id }, at) => hasCell(text, id, values[at] ?? ''))) return true
  const cells = cellsOf(text)
  if (!columns.every(({ id }) => cells.has(id))) return false
  const found = valuesOfTokens(
    columns,
    columns.map(({ id }) => cells.get(id) ?? ''),
  )
  return found.every((value, at) => value === values[at])
}

/** A quote before a letter, a digit or `_` begins a text or a key: after a closing quote comes a punctuation mark. */
const BEGINS_WITH_WORD = /^\w/

/**
 * Whether the first match of `"id":token` in a row text is a whole cell; false also if this is unsure. After a comma,
 * the quote has no backslash. Before a word, it begins a text, and a text before a colon is a column ID.
 */
function hasCell(text: string, id: string, token: string): boolean {
  const cell = `${renderKey(id)}:${token}`
  const at = text.indexOf(cell)
  if (at < 0 || !BEGINS_WITH_WORD.test(id)) return false
  const end = at + cell.length
  const isWhole = end === text.length || text.charCodeAt(end) === COMMA
  return isWhole && (at === 0 || text.charCodeAt(at - 1) === COMMA)
}
