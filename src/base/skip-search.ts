// Finds a run of bytes in longer ones. In most places it reads one byte per length of the run, like Horspool's
// search.
import type { Bytes } from './bytes.js'

/** Steps fit into a byte. */
const STEP_MAX = 255

/** Bytes at the beginning that a loose search compares. */
const BEGIN_BYTES = 4

const UPPER_A = 0x41
const UPPER_Z = 0x5a
const CASE_BIT = 0x20

const SAME = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const LOWER = SAME.map((byte) => (byte >= UPPER_A && byte <= UPPER_Z ? byte | CASE_BIT : byte))

export class SkipSearch {
  readonly #run: Bytes
  /** Number of leading bytes to compare. */
  readonly #compared: number
  readonly #form: Uint8Array
  /**
   * For each byte that may be at the place of the run's last byte: the distance to the next possible end of the run;
   * 0: the run may end here.
   */
  readonly #steps: Uint8Array
  /** The distance to the next possible end, if the run's last byte was found but does not end the run. */
  readonly #stepOfLast: number

  /**
   * @param run - Not empty.
   * @param isLoose - ASCII letters are compared in lower case (the run must be lower-case). Bytes that only begin and
   *   end like the run match too, which keeps the work linear in all cases.
   */
  constructor(run: Bytes, isLoose = false) {
    const last = run.length - 1
    this.#run = run
    this.#compared = isLoose ? Math.min(last, BEGIN_BYTES) : last
    this.#form = isLoose ? LOWER : SAME
    const steps = new Uint8Array(256).fill(Math.min(run.length, STEP_MAX))
    for (let at = Math.max(0, last - STEP_MAX); at < last; at++) steps[run[at] ?? 0] = last - at
    const end = run[last] ?? 0
    this.#stepOfLast = steps[end] ?? 0
    steps[end] = 0
    this.#steps = this.#form.map((byte) => steps[byte] ?? 0)
  }

  /** The position of the run between `start` and `limit`; -1: none. */
  find(bytes: Bytes, start: number, limit: number): number {
    const run = this.#run
    const form = this.#form
    const steps = this.#steps
    const compared = this.#compared
    const last = run.length - 1
    for (let at = start + last; at < limit; ) {
      const step = steps[bytes[at] ?? 0] ?? 0
      if (step > 0) {
        at += step
        continue
      }
      let same = 0
      while (same < compared && form[bytes[at - last + same] ?? 0] === run[same]) same++
      if (same === compared) return at - last
      at += this.#stepOfLast
    }
    return -1
  }
}
