// The hash of the key of a row: of the values of its key columns, in whatever form they were written (FORMAT.md, section 4).
import { QUOTE } from '../base/ascii.js'
import { type Bytes, utf8 } from '../base/bytes.js'
import { sha256Now, sliceText } from '../base/platform.js'
import type { ColumnKind } from '../schema/column-kind.js'
import { KEY_HASH_BYTES } from './key-index.js'
import { RowCells } from './row-cells.js'
import { canonicalToken } from './row-values.js'

/** A column of a key. */
export type KeyColumn = Readonly<{ id: string; kind: ColumnKind }>

/** Whether stored tokens of a column's cells may lack their quotes, because it was widened. */
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
   * The hash of the key of the row whose text is from `from` to `to` (not included), as it is stored or as it reads.
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

/** The hash, of `KEY_HASH_BYTES`. @param tokens - Those of the key columns, in their order. */
export function hashOfTokens(columns: readonly KeyColumn[], tokens: readonly string[]): Bytes {
  const parts = columns.map(({ kind }, at) => {
    const token = tokens[at] ?? ''
    const isBare = isTextKind(kind) && token.charCodeAt(0) !== QUOTE
    return `${canonicalToken(isBare ? `"${token}"` : token)}\0`
  })
  return sha256Now(utf8(parts.join(''))).subarray(0, KEY_HASH_BYTES)
}
