// The input rows by the fingerprints of their keys: a hash table in a typed array, without an object per row. Keys are
// looked up in batches, because most of the time is spent waiting for memory (PERFORMANCE.md, P44).
import { freeLargeArray } from '../../base/platform.js'
import { FINGERPRINT, FINGERPRINTS_MAX } from '../../format/row-fingerprint.js'

/**
 * An entry has three words of the key's fingerprint, two of the text's, and the number of the row plus 1, where 0 means
 * that the slot is free.
 */
const ENTRY_WORDS = 6
const TEXT = 3
const ROW = 5

/** Maximum share of occupied slots. */
const FULL = 0.8

const SLOTS_MIN = 1_024

/** Maximum memory of a row, in bytes, except while the array grows. */
export const INDEXED_ROW_BYTES = Math.ceil((1.02 * 4 * ENTRY_WORDS) / FULL)

export class HashTable {
  #count = 0
  #slots: number
  #entries: Uint32Array
  /** A digest of the touched slots, so that the reads are not optimised away. */
  #touched = 0

  /** @param rows - The expected number of rows. */
  constructor(rows: number) {
    this.#slots = Math.max(SLOTS_MIN, Math.ceil(rows / FULL))
    this.#entries = new Uint32Array(ENTRY_WORDS * this.#slots)
  }

  /** Reads the slots of several fingerprints, so that the processor waits for all these slots together. */
  touch(words: Uint32Array, count: number): void {
    const entries = this.#entries
    let touched = this.#touched
    for (let at = 0; at < count * FINGERPRINT.words; at += FINGERPRINT.words) {
      touched ^= entries[this.#homeOf(words[at] ?? 0)] ?? 0
    }
    this.#touched = touched
  }

  /**
   * Adds a row.
   * @param words - Fingerprints.
   * @param at - The offset of the row's own fingerprint in `words`.
   * @returns the row that already has this key, which stays in the table; -1: there is no such row, and the row was
   *   added.
   */
  add(words: Uint32Array, at: number, row: number): number {
    if (this.#count >= FULL * this.#slots) this.#grow()
    const entry = this.#entryOf(words, at)
    const entries = this.#entries
    const known = entries[entry + ROW] ?? 0
    if (known > 0) return known - 1
    this.#count++
    for (let word = 0; word < TEXT; word++) entries[entry + word] = words[at + word] ?? 0
    entries[entry + TEXT] = words[at + FINGERPRINT.text] ?? 0
    entries[entry + TEXT + 1] = words[at + FINGERPRINT.text + 1] ?? 0
    entries[entry + ROW] = row + 1
    return -1
  }

  /** The entry of a key; -1: there is none. @param at - The offset of the key's fingerprint in `words` */
  find(words: Uint32Array, at: number): number {
    const entry = this.#entryOf(words, at)
    return this.#entries[entry + ROW] === 0 ? -1 : entry
  }

  rowOf(entry: number): number {
    return (this.#entries[entry + ROW] ?? 0) - 1
  }

  /** Whether the text of an entry has the same fingerprint as the text of the row at `at`. */
  hasText(entry: number, words: Uint32Array, at: number): boolean {
    const entries = this.#entries
    return (
      entries[entry + TEXT] === words[at + FINGERPRINT.text] &&
      entries[entry + TEXT + 1] === words[at + FINGERPRINT.text + 1]
    )
  }

  /** Frees the memory. The table must not be used again. */
  free(): void {
    freeLargeArray(this.#entries)
  }

  /**
   * The entry at which the search for a key begins. Its index increases with the first word of the key's fingerprint.
   */
  #homeOf(word: number): number {
    return ENTRY_WORDS * Math.floor((word / 2 ** 32) * this.#slots)
  }

  /** The entry of the key at `at`, or the free entry for it. */
  #entryOf(words: Uint32Array, at: number): number {
    const k0 = words[at] ?? 0
    const k1 = words[at + 1] ?? 0
    const k2 = words[at + 2] ?? 0
    const entries = this.#entries
    for (let entry = this.#homeOf(k0); ; ) {
      if (entries[entry + ROW] === 0) return entry
      if (entries[entry] === k0 && entries[entry + 1] === k1 && entries[entry + 2] === k2) {
        return entry
      }
      entry += ENTRY_WORDS
      if (entry === entries.length) entry = 0
    }
  }

  #grow(): void {
    const before = this.#entries
    this.#slots *= 2
    this.#entries = new Uint32Array(ENTRY_WORDS * this.#slots)
    for (let at = 0; at < before.length; at += ENTRY_WORDS) {
      if (before[at + ROW] === 0) continue
      this.#entries.set(before.subarray(at, at + ENTRY_WORDS), this.#entryOf(before, at))
    }
    freeLargeArray(before)
  }
}

/** Rows whose fingerprints are added to a hash table, or looked up, together. */
export class FingerprintBatch {
  /** For each fingerprint, the number of its input row, or the slot of its row of the table. */
  readonly rows = new Uint32Array(FINGERPRINTS_MAX)
  count = 0

  get isFull(): boolean {
    return this.count === FINGERPRINTS_MAX
  }

  /**
   * Adds all rows to a hash table, and empties the batch.
   * @returns the first two rows with the same key; null: all keys differ.
   */
  addTo(index: HashTable, words: Uint32Array): [first: number, second: number] | null {
    const { rows, count } = this
    this.count = 0
    index.touch(words, count)
    for (let i = 0; i < count; i++) {
      const row = rows[i] ?? 0
      const known = index.add(words, FINGERPRINT.words * i, row)
      if (known >= 0) return [known, row]
    }
    return null
  }
}
