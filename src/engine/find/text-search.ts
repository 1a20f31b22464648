// Finds which of many texts a longer text contains, in one pass over its bytes, whatever the texts are. This is the
// automaton of Aho and Corasick. A search per text would take the product of both lengths if texts were chosen for that
// purpose.
//
// States are numbered by depth, and the children of a state consecutively, by their bytes.
import { type Bytes, compareBytes, NO_BYTES } from '../../base/bytes.js'

const ROOT = 0
const NONE = -1

export class TextSearch {
  readonly #needles: readonly Bytes[]
  #automaton: Automaton | undefined

  /** @param needles - Not empty texts. */
  constructor(needles: readonly Bytes[]) {
    this.#needles = needles
  }

  /** Searches the bytes from `from` to `to` (not included). */
  search(bytes: Bytes, from: number, to: number): void {
    this.#automaton ??= new Automaton(this.#needles)
    this.#automaton.search(bytes, from, to)
  }

  /** Whether the last search found a needle. */
  has(needle: number): boolean {
    return this.#automaton?.has(needle) === true
  }
}

class Automaton {
  /** By needle: the state at its end. */
  readonly #ends: Int32Array
  /** The number of states at which a needle ends. */
  #endCount = 0
  /** By state: its first child, the number of its children, and the byte that leads to it. */
  readonly #firstChild: Int32Array
  readonly #childCount: Uint16Array
  readonly #byte: Uint8Array
  /** By byte: the child of the root; 0: none. */
  readonly #ofRoot = new Int32Array(256)
  /** By state: the state of its longest proper suffix. */
  readonly #suffix: Int32Array
  /**
   * By state: the state itself if it ends a needle, otherwise its longest suffix that ends a needle; 0: there is none.
   */
  readonly #end: Int32Array
  /** By state: the number of the last search that found the needle that ends at the state. */
  readonly #foundIn: Uint32Array
  #searches = 0

  constructor(needles: readonly Bytes[]) {
    const sorted = Array.from(needles.keys()).sort((left, right) =>
      compareBytes(needles[left] ?? NO_BYTES, needles[right] ?? NO_BYTES),
    )
    const states = needles.reduce((sum, { length }) => sum + length, 1)
    this.#ends = new Int32Array(needles.length)
    this.#firstChild = new Int32Array(states)
    this.#childCount = new Uint16Array(states)
    this.#byte = new Uint8Array(states)
    this.#suffix = new Int32Array(states)
    this.#end = new Int32Array(states)
    this.#foundIn = new Uint32Array(states)
    this.#build(needles, sorted)
  }

  /** Each state stands for the sorted needles that begin with the bytes on its path. */
  #build(needles: readonly Bytes[], sorted: readonly number[]): void {
    const states = this.#byte.length
    const first = new Int32Array(states)
    const limit = new Int32Array(states)
    const depth = new Int32Array(states)
    limit[ROOT] = sorted.length
    let count = 1
    for (let state = ROOT; state < count; state++) {
      const level = depth[state] ?? 0
      this.#firstChild[state] = count
      let child = NONE
      for (let at = first[state] ?? 0; at < (limit[state] ?? 0); at++) {
        const needle = sorted[at] ?? 0
        const byte = needles[needle]?.[level]
        if (byte === undefined) {
          this.#ends[needle] = state
          if (this.#end[state] !== state) this.#endCount++
          this.#end[state] = state
          continue
        }
        if (child === NONE || this.#byte[child] !== byte) {
          child = count++
          first[child] = at
          depth[child] = level + 1
          this.#byte[child] = byte
          this.#childCount[state] = (this.#childCount[state] ?? 0) + 1
          if (state === ROOT) this.#ofRoot[byte] = child
          else this.#suffix[child] = this.#next(this.#suffix[state] ?? ROOT, byte)
        }
        limit[child] = at + 1
      }
      // The suffix has a lower number, so its `#end` is already set.
      if (this.#end[state] !== state) this.#end[state] = this.#end[this.#suffix[state] ?? ROOT] ?? 0
    }
  }

  search(bytes: Bytes, from: number, to: number): void {
    const search = ++this.#searches
    let left = this.#endCount
    let state = ROOT
    for (let at = from; at < to; at++) {
      if (state === ROOT) {
        while (at < to && this.#ofRoot[bytes[at] ?? 0] === ROOT) at++
        if (at === to) return
      }
      state = this.#next(state, bytes[at] ?? 0)
      // If a suffix was already found in this search, all shorter suffixes were found, too.
      for (let end = this.#end[state] ?? 0; end > 0 && this.#foundIn[end] !== search; ) {
        this.#foundIn[end] = search
        if (--left === 0) return
        end = this.#end[this.#suffix[end] ?? ROOT] ?? 0
      }
    }
  }

  has(needle: number): boolean {
    return this.#foundIn[this.#ends[needle] ?? ROOT] === this.#searches
  }

  /** The state after a byte. */
  #next(from: number, byte: number): number {
    for (let state = from; state !== ROOT; state = this.#suffix[state] ?? ROOT) {
      const child = this.#childOf(state, byte)
      if (child !== NONE) return child
    }
    return this.#ofRoot[byte] ?? ROOT
  }

  #childOf(state: number, byte: number): number {
    let low = this.#firstChild[state] ?? 0
    let high = low + (this.#childCount[state] ?? 0)
    while (low < high) {
      const middle = (low + high) >>> 1
      const difference = (this.#byte[middle] ?? 0) - byte
      if (difference === 0) return middle
      if (difference < 0) low = middle + 1
      else high = middle
    }
    return NONE
  }
}
