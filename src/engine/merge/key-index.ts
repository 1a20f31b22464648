// The rows of an input by the fingerprints of their keys: a hash table in typed arrays, without an object for a row.
import { freeLargeArray } from '../../base/platform.js'
import type { RowFingerprints } from '../../format/row-fingerprint.js'

/** Memory that a row takes, at most, but for the moments in which the arrays grow. */
export const INDEXED_ROW_BYTES = 36

/** An entry is three words of the key, two of the text, and the number of the row. */
const ENTRY_WORDS = 6
const TEXT = 3
const ROW = 5

/** The share of the slots that may be taken. */
const FULL = 0.7

const SLOTS_MIN = 1_024

export class KeyIndex {
  #count = 0
  #entries: Uint32Array
  /** Numbers of entries plus 1; 0: the slot is free. */
  #slots: Uint32Array
  #mask: number

  /** @param rows - How many there will be, about. */
  constructor(rows: number) {
    this.#entries = new Uint32Array(ENTRY_WORDS * rows)
    const slots = slotsFor(rows)
    this.#slots = new Uint32Array(slots)
    this.#mask = slots - 1
  }

  /**
   * Adds the row that was read last.
   * @returns the row that is there with its key, which stays; -1: there was none.
   */
  add({ key, text }: RowFingerprints, row: number): number {
    if (ENTRY_WORDS * this.#count === this.#entries.length) this.#grow()
    const slot = this.#slotOf(key, 0)
    const known = this.#slots[slot] ?? 0
    if (known > 0) return this.rowOf(known - 1)
    const at = ENTRY_WORDS * this.#count++
    const entries = this.#entries
    entries[at] = key[0] ?? 0
    entries[at + 1] = key[1] ?? 0
    entries[at + 2] = key[2] ?? 0
    entries[at + TEXT] = text[0] ?? 0
    entries[at + TEXT + 1] = text[1] ?? 0
    entries[at + ROW] = row
    this.#slots[slot] = this.#count
    return -1
  }

  /** The entry of the key that was read last; -1: there is none. */
  find({ key }: RowFingerprints): number {
    return (this.#slots[this.#slotOf(key, 0)] ?? 0) - 1
  }

  rowOf(entry: number): number {
    return this.#entries[ENTRY_WORDS * entry + ROW] ?? 0
  }

  /** Whether the text of an entry has the same fingerprint as that which was read last. */
  hasText(entry: number, { text }: RowFingerprints): boolean {
    const at = ENTRY_WORDS * entry + TEXT
    return this.#entries[at] === text[0] && this.#entries[at + 1] === text[1]
  }

  /** Gives its memory back. Nobody may use it any more. */
  free(): void {
    freeLargeArray(this.#entries)
    freeLargeArray(this.#slots)
  }

  /** The slot of the key that stands at `from`, or the free one where it would be. */
  #slotOf(key: Uint32Array, from: number): number {
    const k0 = key[from] ?? 0
    const k1 = key[from + 1] ?? 0
    const k2 = key[from + 2] ?? 0
    const entries = this.#entries
    const slots = this.#slots
    const mask = this.#mask
    for (let slot = k0 & mask; ; slot = (slot + 1) & mask) {
      const known = slots[slot] ?? 0
      if (known === 0) return slot
      const at = ENTRY_WORDS * (known - 1)
      if (entries[at] === k0 && entries[at + 1] === k1 && entries[at + 2] === k2) return slot
    }
  }

  #grow(): void {
    const rows = Math.max(SLOTS_MIN, 2 * this.#count)
    const before = this.#entries
    this.#entries = new Uint32Array(ENTRY_WORDS * rows)
    this.#entries.set(before)
    const slots = slotsFor(rows)
    this.#mask = slots - 1
    this.#slots = new Uint32Array(slots)
    for (let entry = 0; entry < this.#count; entry++) {
      this.#slots[this.#slotOf(this.#entries, ENTRY_WORDS * entry)] = entry + 1
    }
  }
}

function slotsFor(rows: number): number {
  let slots = SLOTS_MIN
  while (FULL * slots < rows) slots *= 2
  return slots
}
