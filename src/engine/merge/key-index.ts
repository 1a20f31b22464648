// The rows of an input by the fingerprints of their keys: a hash table in typed arrays, without an object for a row.
import type { RowFingerprints } from '../../format/row-fingerprint.js'

/** Memory that a row takes, at most, but for the moments in which the arrays grow. */
export const INDEXED_ROW_BYTES = 48

const KEY_WORDS = 4
const TEXT_WORDS = 2

/** The share of the slots that may be taken. */
const FULL = 0.7

const SLOTS_MIN = 1_024

export class KeyIndex {
  #count = 0
  #rows: Uint32Array
  #keys: Uint32Array
  #texts: Uint32Array
  /** Numbers of entries plus 1; 0: the slot is free. */
  #slots: Uint32Array
  #mask: number

  /** @param rows - How many there will be, about. */
  constructor(rows: number) {
    this.#rows = new Uint32Array(rows)
    this.#keys = new Uint32Array(KEY_WORDS * rows)
    this.#texts = new Uint32Array(TEXT_WORDS * rows)
    const slots = slotsFor(rows)
    this.#slots = new Uint32Array(slots)
    this.#mask = slots - 1
  }

  /**
   * Adds the row that was read last.
   * @returns the row that is there with its key, which stays; -1: there was none.
   */
  add({ key, text }: RowFingerprints, row: number): number {
    if (this.#count === this.#rows.length) this.#grow()
    const slot = this.#slotOf(key)
    const known = this.#slots[slot] ?? 0
    if (known > 0) return this.#rows[known - 1] ?? 0
    const entry = this.#count++
    this.#rows[entry] = row
    this.#keys.set(key, KEY_WORDS * entry)
    this.#texts.set(text, TEXT_WORDS * entry)
    this.#slots[slot] = entry + 1
    return -1
  }

  /** The entry of the key that was read last; -1: there is none. */
  find({ key }: RowFingerprints): number {
    return (this.#slots[this.#slotOf(key)] ?? 0) - 1
  }

  rowOf(entry: number): number {
    return this.#rows[entry] ?? 0
  }

  /** Whether the text of an entry has the same fingerprint as that which was read last. */
  hasText(entry: number, { text }: RowFingerprints): boolean {
    const at = TEXT_WORDS * entry
    return this.#texts[at] === text[0] && this.#texts[at + 1] === text[1]
  }

  /** The slot of a key, or the free one where it would be. */
  #slotOf(key: Uint32Array): number {
    const [k0 = 0, k1 = 0, k2 = 0, k3 = 0] = key
    const keys = this.#keys
    for (let slot = k0 & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const known = this.#slots[slot] ?? 0
      if (known === 0) return slot
      const at = KEY_WORDS * (known - 1)
      const isSame = keys[at] === k0 && keys[at + 1] === k1
      if (isSame && keys[at + 2] === k2 && keys[at + 3] === k3) return slot
    }
  }

  #grow(): void {
    const count = Math.max(SLOTS_MIN, 2 * this.#count)
    const old = { rows: this.#rows, keys: this.#keys, texts: this.#texts }
    this.#rows = new Uint32Array(count)
    this.#rows.set(old.rows)
    this.#keys = new Uint32Array(KEY_WORDS * count)
    this.#keys.set(old.keys)
    this.#texts = new Uint32Array(TEXT_WORDS * count)
    this.#texts.set(old.texts)
    const slots = slotsFor(count)
    this.#mask = slots - 1
    this.#slots = new Uint32Array(slots)
    for (let entry = 0; entry < this.#count; entry++) {
      const at = KEY_WORDS * entry
      this.#slots[this.#slotOf(this.#keys.subarray(at, at + KEY_WORDS))] = entry + 1
    }
  }
}

function slotsFor(rows: number): number {
  let slots = SLOTS_MIN
  while (FULL * slots < rows) slots *= 2
  return slots
}
