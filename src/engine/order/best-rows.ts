// Finds the first rows of an order among the rows that a walk offers: the wanted number of rows, or as many as fit into
// memory.
//
// Invariants:
// - The held rows are exactly the first of the offered rows after the previous pass. An offered row that is not held
//   comes after all held rows.
// - Rows with equal keys are in the order of their positions, so no two rows have the same place.
import { sortSteps } from '../../base/sort-steps.js'
import { ITEM_WORK, type Steps } from '../../base/time-slices.js'
import type { FoundRows } from '../find/find-walk.js'
import type { Run } from '../read/page-reader.js'
import type { FrameRows } from '../segments/frame-runs.js'
import type { SortColumn } from './order-by.js'
import { KeyBytes, SortKeys } from './sort-keys.js'

/**
 * The limits of one sort: the number of rows, and the bytes of their keys. The memory of a sort is then about 64 MiB,
 * including the arrays beside the keys and the two copies of the keys while rows are dropped. At least one row is held,
 * however long its key.
 */
export const HELD_ROWS_MAX = 1_048_576
export const HELD_KEY_BYTES_MAX = 16 * 1024 * 1024

/** Number of slots per extent, to convert a position to one number. */
const SLOTS = 65_536

/** Rows are held up to twice the wanted number plus this number; then all but the wanted ones are dropped. */
const SPARE_ROWS = 8_192

/** Number of rows that are copied in one step. */
const COPIES_AT_ONCE = 1_024

/** Number of bytes of a key that are compared as one number. */
const PREFIX_BYTES = 6

/** Estimated memory of a text besides its UTF-16 units, in bytes. */
const TEXT_BYTES = 32

export class BestRows implements FoundRows {
  /** Number of rows that were offered. */
  offered = 0
  isFull = false
  readonly #keys: SortKeys
  readonly #rowsMax: number
  /** Number of groups of bytes in a key: the number of texts with a locale, plus one. */
  readonly #groups: number
  #held: Held
  /** Number of rows of `#held` from before this pass: 1 (the last row of the previous pass) or 0. */
  readonly #base: number
  /** The rows in their order at the last sort. */
  #order: Uint32Array = new Uint32Array(0)
  /** The last held row, if rows after it were dropped; -1: no rows were dropped. */
  #last = -1

  /**
   * @param rowsMax - Maximum number of rows wanted.
   * @param before - The sorted rows of the previous pass: only rows after all these rows are held.
   */
  constructor(columns: readonly SortColumn[], rowsMax: number, before?: BestRows) {
    this.#keys = new SortKeys(columns)
    this.#groups = this.#keys.collated.length + 1
    this.#rowsMax = rowsMax
    this.#base = before === undefined ? 0 : 1
    this.#held = new Held(this.#groups)
    if (before !== undefined) this.#held.copy(before.#held, before.#order.at(-1) ?? 0)
  }

  /** The number of held rows. */
  get count(): number {
    return this.#held.count - this.#base
  }

  /** The positions of the sorted rows, each as one number; see `positionOf`. */
  positions(): Float64Array {
    return Float64Array.from(this.#order, (row) => this.#held.positions[row] ?? 0)
  }

  /** Whether rows have been dropped because enough other rows come before them. */
  get isCut(): boolean {
    return this.#last >= 0
  }

  take({ extent }: Run['extent'], { frame, first, limit, slot }: FrameRows): number {
    const { texts } = frame
    for (let row = first; row < limit; row++) {
      const position = SLOTS * extent + slot + row - first
      this.#offer(position, texts, frame.endOf(row - 1), frame.endOf(row))
      if (this.isFull) return row + 1 - first
    }
    return limit - first
  }

  #offer(position: number, bytes: Uint8Array, from: number, to: number): void {
    const held = this.#held
    this.offered++
    this.#keys.putFirst(held.keys, bytes, from, to)
    if (this.#last >= 0 && held.isBehind(this.#last)) return
    this.#keys.putOthers(held.keys)
    const row = held.add(position, this.#keys)
    const isWanted =
      (this.#base === 0 || this.#compare(row, 0) > 0) &&
      (this.#last < 0 || this.#compare(row, this.#last) < 0)
    if (!isWanted) held.dropLast()
    else if (this.count > 1) this.isFull = this.#isOverMax()
  }

  #isOverMax(): boolean {
    const { keys, textBytes } = this.#held
    if (keys.length + textBytes >= HELD_KEY_BYTES_MAX) return true
    return this.count >= Math.min(HELD_ROWS_MAX, 2 * this.#rowsMax + SPARE_ROWS)
  }

  /** Sorts the rows, and drops the last ones if memory is full. */
  *sort(): Steps<void> {
    const base = this.#base
    const order = new Uint32Array(this.count).map((_, at) => at + base)
    yield* sortSteps(order, (left, right) => this.#compare(left, right))
    this.#order = order
    if (!this.isFull) return
    const kept = order.subarray(0, Math.min(this.#rowsMax, Math.ceil(order.length / 2)))
    const held = new Held(this.#groups)
    if (base > 0) held.copy(this.#held, 0)
    for (const [at, row] of kept.entries()) {
      held.copy(this.#held, row)
      if (at % COPIES_AT_ONCE === COPIES_AT_ONCE - 1) yield ITEM_WORK * COPIES_AT_ONCE
    }
    this.#held = held
    this.#last = held.count - 1
    this.isFull = false
  }

  #compare(left: number, right: number): number {
    const held = this.#held
    const { prefixes } = held
    const difference = (prefixes[left] ?? 0) - (prefixes[right] ?? 0)
    if (difference !== 0) return difference
    const groups = this.#groups
    for (let group = 0; group < groups; group++) {
      const order = held.compareGroup(left, right, group)
      if (order !== 0) return order
      if (group === groups - 1) break
      const collated = this.#keys.collated[group]
      const one = held.textOf(left, group)
      const other = held.textOf(right, group)
      if (one === undefined || other === undefined || one === other) continue
      const texts = collated?.collator?.compare(one, other) ?? 0
      if (texts !== 0) return collated?.isDescending === true ? -texts : texts
    }
    return (held.positions[left] ?? 0) - (held.positions[right] ?? 0)
  }
}

/** The position that a number stands for. */
export function positionOf(place: number): Readonly<{ extent: number; slot: number }> {
  return { extent: Math.floor(place / SLOTS), slot: place % SLOTS }
}

/** Rows and their keys. */
class Held {
  count = 0
  readonly keys = new KeyBytes()
  /** For each row, the first bytes of its key as a number. */
  prefixes = new Float64Array(64)
  positions = new Float64Array(64)
  textBytes = 0
  readonly #groups: number
  /** For each row and group, the end of the group's bytes. */
  #ends: Uint32Array
  /** For each row and column with a locale, the text of the cell. */
  #texts: (string | undefined)[] = []

  constructor(groups: number) {
    this.#groups = groups
    this.#ends = new Uint32Array(64 * groups)
  }

  /** Adds the row of the last key. @returns its number */
  add(position: number, { groupEnds, texts }: Pick<SortKeys, 'groupEnds' | 'texts'>): number {
    const row = this.count++
    if (row >= this.positions.length) this.#grow()
    const groups = this.#groups
    this.positions[row] = position
    this.#ends[row * groups + groups - 1] = this.keys.length
    for (let group = 0; group < groups - 1; group++) {
      this.#ends[row * groups + group] = groupEnds[group] ?? 0
      const text = texts[group]
      this.#texts.push(text)
      this.textBytes += text === undefined ? 0 : 2 * text.length + TEXT_BYTES
    }
    this.prefixes[row] = this.#prefixOf(row)
    return row
  }

  dropLast(): void {
    const row = --this.count
    this.keys.length = this.#startOf(row)
    for (let group = 0; group < this.#groups - 1; group++) {
      const text = this.#texts.pop()
      this.textBytes -= text === undefined ? 0 : 2 * text.length + TEXT_BYTES
    }
  }

  /**
   * The bytes after the last key are the beginning of a new key. Whether they already make it greater than a row's key.
   * If so, removes them.
   */
  isBehind(row: number): boolean {
    const { bytes, length } = this.keys
    const start = this.#startOf(this.count)
    let at = this.#startOf(row)
    const end = this.#ends[row * this.#groups] ?? 0
    for (let other = start; other < length && at < end; other++, at++) {
      const difference = (bytes[other] ?? 0) - (bytes[at] ?? 0)
      if (difference < 0) return false
      if (difference > 0) {
        this.keys.length = start
        return true
      }
    }
    return false
  }

  textOf(row: number, group: number): string | undefined {
    return this.#texts[row * (this.#groups - 1) + group]
  }

  compareGroup(left: number, right: number, group: number): number {
    const { bytes } = this.keys
    const leftIndex = left * this.#groups + group
    const rightIndex = right * this.#groups + group
    let at = leftIndex === 0 ? 0 : (this.#ends[leftIndex - 1] ?? 0)
    let other = rightIndex === 0 ? 0 : (this.#ends[rightIndex - 1] ?? 0)
    const end = this.#ends[leftIndex] ?? 0
    const otherEnd = this.#ends[rightIndex] ?? 0
    for (; at < end && other < otherEnd; at++, other++) {
      const difference = (bytes[at] ?? 0) - (bytes[other] ?? 0)
      if (difference !== 0) return difference
    }
    return end - at - (otherEnd - other)
  }

  /** Adds a row of another set. */
  copy(from: Held, row: number): void {
    const start = from.#startOf(row)
    const shift = this.keys.length - start
    const groups = this.#groups
    this.keys.append(from.keys.bytes, start, from.#ends[(row + 1) * groups - 1] ?? 0)
    const groupEnds: number[] = []
    const texts: (string | undefined)[] = []
    for (let group = 0; group < groups - 1; group++) {
      groupEnds.push((from.#ends[row * groups + group] ?? 0) + shift)
      texts.push(from.textOf(row, group))
    }
    this.add(from.positions[row] ?? 0, { groupEnds, texts })
  }

  #startOf(row: number): number {
    return row === 0 ? 0 : (this.#ends[row * this.#groups - 1] ?? 0)
  }

  /**
   * The first bytes of the first group as a number: bytes of later groups must not be included, because a text with a
   * locale is compared before them.
   */
  #prefixOf(row: number): number {
    const { bytes } = this.keys
    const start = this.#startOf(row)
    const end = this.#ends[row * this.#groups] ?? 0
    let prefix = 0
    for (let at = start; at < start + PREFIX_BYTES; at++) {
      prefix = 256 * prefix + (at < end ? (bytes[at] ?? 0) : 0)
    }
    return prefix
  }

  #grow(): void {
    const length = 2 * this.positions.length
    this.positions = grown(this.positions, new Float64Array(length))
    this.prefixes = grown(this.prefixes, new Float64Array(length))
    this.#ends = grown(this.#ends, new Uint32Array(length * this.#groups))
  }
}

function grown<A extends Float64Array | Uint32Array>(from: A, to: A): A {
  to.set(from)
  return to
}
