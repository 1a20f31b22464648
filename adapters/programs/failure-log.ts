// What a server prints of requests that failed: each kind of failure at once when it appears, then only how often.
import { isStoreError, type StoreErrorCode } from '../../src/index.js'

/** Over which repeated failures are counted. */
const WINDOW_MS = 60_000

/** Kinds of failures that are told apart in one window; more are counted together. */
const KINDS_MAX = 100

/** Refusals that say what they are about: a stack would only hide them. */
const PLAIN_CODES: ReadonlySet<StoreErrorCode> = new Set<StoreErrorCode>([
  'STORAGE_UNAVAILABLE',
  'INSUFFICIENT_STORAGE',
  'STORE_CLOSED',
])

export class FailureLog {
  readonly #print: (line: string) => void
  /** By the line that was printed: how often it came again. */
  readonly #repeats = new Map<string, number>()
  #others = 0
  #timer: NodeJS.Timeout | undefined

  /** @param print - Writes a line, or several: a stack has some. */
  constructor(print: (line: string) => void) {
    this.#print = print
  }

  note(failure: unknown): void {
    const line = lineOf(failure)
    const repeats = this.#repeats.get(line)
    if (repeats !== undefined) this.#repeats.set(line, repeats + 1)
    else if (this.#repeats.size >= KINDS_MAX) this.#others++
    else {
      this.#repeats.set(line, 0)
      this.#print(line)
    }
    this.#timer ??= setTimeout(() => this.close(), WINDOW_MS).unref()
  }

  /** Prints what was only counted, and begins anew. */
  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const [line, repeats] of this.#repeats) {
      if (repeats > 0) this.#print(`${firstLine(line)} (${times(repeats)} more)`)
    }
    if (this.#others > 0) this.#print(`rowstash: ${this.#others} other failures`)
    this.#repeats.clear()
    this.#others = 0
  }
}

function lineOf(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure)
  if (!isStoreError(failure) || !PLAIN_CODES.has(failure.code)) {
    return failure.stack ?? failure.message
  }
  const { message, cause } = failure
  const reason = cause instanceof Error && cause.message !== '' ? `: ${cause.message}` : ''
  return `rowstash: ${oneLine(`${message}${reason}`)}`
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count.toLocaleString('en-US')} times`
}
