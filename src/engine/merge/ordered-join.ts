// The join of a table and an input that are both ordered by key, as a nightly export is. Both are read once, in
// parallel, without an index. Runs of equal rows are compared as bytes.
//
// Invariants:
// - The join is valid only if the keys of the whole input ascend: then no key occurs twice.
// - The result for an extent is valid only if the keys of the table ascend up to its end. The join ends before the
//   first extent whose keys do not ascend or whose rows must be converted.
import type { TimeSlices } from '../../base/time-slices.js'
import { OrderedKey, OrderedKeyReader, UNORDERED } from '../../format/ordered-key.js'
import type { Generation } from '../../format/records.js'
import type { TablePlace } from '../context/store-context.js'
import type { IncomingRows } from './incoming-rows.js'
import {
  isToBeRewritten,
  type JoinedExtent,
  MAY_DIFFER,
  NO_PARTNER,
  newJoined,
} from './joined-extent.js'
import { emptyKey } from './key-errors.js'
import type { MergeRules, StoredRow } from './merged-row.js'
import { type RowPiece, type RowTexts, workOfPiece } from './packed-texts.js'
import { sameRows } from './same-rows.js'
import { checkAllLaid, type OrderedPiece, type SeenExtent, type TableRows } from './table-rows.js'

export type JoinParts = Readonly<{
  place: TablePlace
  rules: MergeRules
  incoming: IncomingRows
  rows: TableRows
  /** Throws if the caller has aborted. */
  checkGoesOn: () => void
  /** The new form of a row with the key of an input row; null: the row stays. */
  merge: (stored: StoredRow, incoming: string) => StoredRow | null
}>

/** Thrown if the keys of the input do not ascend, or have no order. */
class NotInOrder extends Error {
  override readonly name = 'NotInOrder'
}

export class OrderedJoin {
  readonly #parts: JoinParts
  readonly #slices: TimeSlices
  readonly #keys: OrderedKeyReader
  readonly #input: InputCursor
  /** The key of the current row of the table. `#last`: that of the last row before it that has a key. */
  #key = new OrderedKey()
  #last = new OrderedKey()
  #keptChars = 0
  /** Changed rows of the current extent; null: they are too many, so the extent will be read again and rewritten. */
  #changes: Map<number, StoredRow> | null = null
  readonly #extents: JoinedExtent[] = []

  constructor(parts: JoinParts) {
    this.#parts = parts
    this.#slices = parts.place.team.slices.begin()
    this.#keys = new OrderedKeyReader(parts.rules.key)
    this.#input = new InputCursor(parts, this.#slices)
  }

  /**
   * @param generationNonce - The generation to read.
   * @param first - The first extent to join.
   * @param limit - The extent after the last one to join.
   * @returns the joined extents, from `first` on, without a gap. They may end before `limit`.
   */
  async run(generationNonce: Uint8Array, first: number, limit: number): Promise<JoinedExtent[]> {
    try {
      await this.#input.checkFirst()
      await this.#joinExtents(generationNonce, first, limit)
      if (this.#extents.length > 0) await this.#input.passAll()
      return this.#extents
    } catch (failure) {
      if (failure instanceof NotInOrder) return []
      throw failure
    } finally {
      await this.#input.close()
    }
  }

  async #joinExtents(generationNonce: Uint8Array, first: number, limit: number): Promise<void> {
    for (let next = first; next < limit; ) {
      const read = await this.#parts.rows.see(generationNonce, next, limit)
      next = read.next
      for (const seen of read.extents) {
        this.#parts.checkGoesOn()
        const joined = await this.#joinExtent(seen, read.generation)
        if (joined === null) return
        this.#extents.push(joined)
      }
    }
  }

  /** Joins an extent. null: its rows are not in order, or must be converted. */
  async #joinExtent(seen: SeenExtent, generation: Generation): Promise<JoinedExtent | null> {
    checkAllLaid(seen)
    const { rows } = this.#parts
    if (rows.converts(seen, generation)) return null
    const joined = newJoined(seen, null)
    this.#changes = new Map()
    for await (const pieces of rows.inOrder(seen, generation)) {
      for (const piece of pieces) {
        for (let row = piece.first; row < piece.limit; ) {
          if (!this.#input.hasRow) await this.#input.next()
          row = this.#joinRows(joined, piece, row, generation.schemaNumber)
          if (row === UNORDERED) return null
        }
        if (this.#slices.spend(workOfPiece(piece))) await this.#slices.pause()
      }
    }
    joined.changes = this.#changes
    return joined
  }

  /**
   * Joins the rows of a piece from `from` on, up to the key of the last input row in memory. If the input has ended,
   * joins all rows.
   * @returns the row to continue with; `UNORDERED`: the rows of the table are not in order.
   */
  #joinRows(joined: JoinedExtent, piece: OrderedPiece, from: number, schemaNumber: number): number {
    const { frame, first, limit, slot } = piece
    const input = this.#input
    let hasKey = false
    for (let row = from; row < limit; ) {
      if (!hasKey && input.hasRow) {
        const same = sameRows(frame, row, input.frame, input.row, Math.min(limit - row, input.left))
        if (same > 0) {
          const at = slot + row - first
          if (!this.#passSame(frame, row, same)) return UNORDERED
          for (let i = 0; i < same; i++) joined.partners[at + i] = input.number + i
          input.passRead(same, this.#last)
          row += same
          continue
        }
      }
      if (!input.hasRow && !input.hasEnded) return row
      const at = slot + row - first
      if (!hasKey) {
        const read = this.#keys.read(frame.texts, frame.endOf(row - 1), frame.endOf(row), this.#key)
        if (read === UNORDERED) return UNORDERED
        if (read >= 0) {
          joined.partners[at] = NO_PARTNER
          row++
          continue
        }
        if (this.#key.compare(this.#last) <= 0) return UNORDERED
        hasKey = true
      }
      const order = input.hasRow ? this.#key.compare(input.key()) : -1
      if (order > 0) {
        input.pass()
        continue
      }
      if (order < 0) joined.partners[at] = NO_PARTNER
      else {
        this.#pair(joined, at, storedRow(this.#parts.rows, piece, row, schemaNumber))
        input.pass()
      }
      this.#swapKeys()
      hasKey = false
      row++
    }
    return limit
  }

  /** Reads the keys of rows of the table that equal input rows. @returns whether the keys ascend */
  #passSame(frame: RowTexts, first: number, count: number): boolean {
    const { texts } = frame
    let from = frame.endOf(first - 1)
    for (let row = first; row < first + count; row++) {
      const end = frame.endOf(row)
      const read = this.#keys.read(texts, from, end, this.#key)
      if (read >= 0) throw this.#input.emptyKey(row - first, read)
      if (read === UNORDERED) throw new NotInOrder()
      if (row === first) this.#input.checkAfterLast(this.#key)
      if (this.#key.compare(this.#last) <= 0) return false
      this.#swapKeys()
      from = end
    }
    return true
  }

  #swapKeys(): void {
    const last = this.#last
    this.#last = this.#key
    this.#key = last
  }

  /** Pairs the current rows of table and input, which have the same key and different texts. */
  #pair(joined: JoinedExtent, slot: number, stored: () => StoredRow): void {
    const input = this.#input
    joined.partners[slot] = input.number
    if (this.#changes !== null) {
      const merged = this.#parts.merge(stored(), input.text())
      if (merged === null) return
      this.#changes.set(slot, merged)
      this.#keptChars += merged.text.length
    }
    joined.partners[slot] = input.number | MAY_DIFFER
    joined.mayDiffer++
    if (this.#changes === null || !isToBeRewritten(joined, this.#keptChars)) return
    for (const { text } of this.#changes.values()) this.#keptChars -= text.length
    this.#changes = null
  }
}

function storedRow(
  rows: TableRows,
  { frame, record }: OrderedPiece,
  row: number,
  schemaNumber: number,
): () => StoredRow {
  return () => {
    // If rows of a segment have cells of dropped columns, they must be converted, and so are not joined here.
    if (record?.text == null) return { text: frame.rowText(row), schemaNumber }
    return {
      text: rows.shown(record.text, record.version),
      schemaNumber: record.schemaNumber,
    }
  }
}

/** The position of the join in the input. */
class InputCursor {
  readonly #parts: JoinParts
  readonly #slices: TimeSlices
  readonly #keys: OrderedKeyReader
  readonly #batches: AsyncGenerator<readonly RowPiece[]>
  #pieces: readonly RowPiece[] = []
  #nextPiece = 0
  #piece: RowPiece | undefined
  #row = 0
  #limit = 0
  #key = new OrderedKey()
  #last = new OrderedKey()
  #hasKey = false
  hasEnded = false

  constructor(parts: JoinParts, slices: TimeSlices) {
    this.#parts = parts
    this.#slices = slices
    this.#keys = new OrderedKeyReader(parts.rules.key)
    this.#batches = parts.incoming.pieces()
  }

  get hasRow(): boolean {
    return this.#row < this.#limit
  }

  /** Number of rows in memory from the current one on. */
  get left(): number {
    return this.#limit - this.#row
  }

  get row(): number {
    return this.#row
  }

  get frame(): RowTexts {
    return this.#current.frame
  }

  /** The number of the current row. */
  get number(): number {
    const { slot, first } = this.#current
    return slot + this.#row - first
  }

  get #current(): RowPiece {
    if (this.#piece === undefined) throw new Error('The input has a row at hand')
    return this.#piece
  }

  /**
   * Reads the keys of the first rows ahead, so that an unordered input is recognised before much of the table is read.
   * @throws {NotInOrder}
   */
  async checkFirst(): Promise<void> {
    await this.next()
    if (!this.hasRow) return
    const row = this.#row
    while (this.hasRow) {
      this.key()
      this.pass()
    }
    this.#row = row
    this.#last = new OrderedKey()
  }

  /** If no row in memory is left, reads the next rows of the input. */
  async next(): Promise<void> {
    while (!this.hasRow && !this.hasEnded) {
      const piece = this.#pieces[this.#nextPiece++]
      if (piece !== undefined) {
        this.#piece = piece
        this.#row = piece.first
        this.#limit = piece.limit
        if (this.#slices.spend(workOfPiece(piece))) await this.#slices.pause()
        continue
      }
      this.#parts.checkGoesOn()
      const batch = await this.#batches.next()
      this.hasEnded = batch.done === true
      this.#pieces = batch.done ? [] : batch.value
      this.#nextPiece = 0
    }
  }

  /** The key of the current row. @throws {NotInOrder} */
  key(): OrderedKey {
    if (this.#hasKey) return this.#key
    const { texts } = this.frame
    const read = this.#keys.read(
      texts,
      this.frame.endOf(this.#row - 1),
      this.frame.endOf(this.#row),
      this.#key,
    )
    if (read >= 0) throw this.emptyKey(0, read)
    if (read === UNORDERED) throw new NotInOrder()
    this.checkAfterLast(this.#key)
    this.#hasKey = true
    return this.#key
  }

  text(): string {
    return this.frame.rowText(this.#row)
  }

  /** @throws {NotInOrder} */
  checkAfterLast(key: OrderedKey): void {
    if (key.compare(this.#last) <= 0) throw new NotInOrder()
  }

  /** Passes the current row, whose key was read. */
  pass(): void {
    const last = this.#last
    this.#last = this.#key
    this.#key = last
    this.#hasKey = false
    this.#row++
  }

  /** Passes rows whose keys were read elsewhere. @param last - The key of the last of these rows. */
  passRead(count: number, last: OrderedKey): void {
    this.#last.set(last)
    this.#hasKey = false
    this.#row += count
  }

  /** Passes all remaining rows. @throws {NotInOrder} */
  async passAll(): Promise<void> {
    for (await this.next(); this.hasRow; await this.next()) {
      while (this.hasRow) {
        this.key()
        this.pass()
      }
    }
  }

  /** @param ahead - Number of rows from the current row to the row with the empty cell. */
  emptyKey(ahead: number, column: number): Error {
    const { incoming, rules } = this.#parts
    return emptyKey(incoming, this.number + ahead, rules.key[column] ?? '')
  }

  async close(): Promise<void> {
    await this.#batches.return(undefined)
  }
}
