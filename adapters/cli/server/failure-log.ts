// Logs failed requests of a server: the first failure of a kind at once, later ones only as a count.
import type { StoreErrorCode } from '../../../src/index.js'

/** Window in which repeated failures are counted, in milliseconds. */
const WINDOW_MS = 60_000

/** The maximum number of kinds of failures that a window counts separately. Further kinds are counted together. */
const KINDS_MAX = 100

/** Codes whose message is sufficient, so that no stack is printed. */
const PLAIN_CODES: ReadonlySet<unknown> = new Set<StoreErrorCode>([
  'STORAGE_UNAVAILABLE',
  'INSUFFICIENT_STORAGE',
  'STORE_CLOSED',
  'DATA_LOSS',
])

export class FailureLog {
  readonly #print: (line: string) => void
  /** Number of repeats, by printed text without the stack. */
  readonly #repeats = new Map<string, number>()
  #others = 0
  #timer: NodeJS.Timeout | undefined

  /** @param print - Writes one or more lines; a stack has several. */
  constructor(print: (line: string) => void) {
    this.#print = print
  }

  note(failure: unknown): void {
    const { kind, text } = describeFailure(failure)
    const repeats = this.#repeats.get(kind)
    if (repeats !== undefined) this.#repeats.set(kind, repeats + 1)
    else if (this.#repeats.size >= KINDS_MAX) this.#others++
    else {
      this.#repeats.set(kind, 0)
      this.#print(text)
    }
    this.#timer ??= setTimeout(() => this.close(), WINDOW_MS).unref()
  }

  /** Prints the counts of repeated failures, and resets them. */
  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const [kind, repeats] of this.#repeats) {
      if (repeats > 0) this.#print(`${kind} (${times(repeats)} more)`)
    }
    if (this.#others > 0) this.#print(`rowstash: ${this.#others} other failures`)
    this.#repeats.clear()
    this.#others = 0
  }
}

/** The line that identifies a failure, and its full printed text. */
function describeFailure(failure: unknown): Readonly<{ kind: string; text: string }> {
  if (!(failure instanceof Error)) return same(faultText(failure))
  const { message, cause } = failure
  if (!('code' in failure) || !PLAIN_CODES.has(failure.code)) {
    return { kind: oneLine(String(failure)), text: faultText(failure) }
  }
  const reason =
    cause instanceof Error && !message.includes(cause.message) ? `: ${cause.message}` : ''
  return same(`rowstash: ${oneLine(`${message}${reason}`)}`)
}

/** A fault with the places of its stack. Its message becomes one line. */
export function faultText(failure: unknown): string {
  if (!(failure instanceof Error)) return oneLine(String(failure))
  const places = (failure.stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line))
  return [oneLine(String(failure)), ...places].join('\n')
}

function same(text: string): Readonly<{ kind: string; text: string }> {
  return { kind: text, text }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count.toLocaleString('en-US')} times`
}
