// Changes of one table that are committed together, each planned on the head that the one before it makes.
import { type Bytes, sameValue } from '../../base/bytes.js'
import { byteText } from '../../base/platform.js'
import type { KvCheck, KvCommit } from '../../kv/kv.js'
import type { Change } from './table-writer.js'

/** Maximum number of changes in one commit. */
const CHANGES_MAX = 256

/** Maximum size of the records of joined changes, in bytes. A larger change gets a commit of its own. */
const BYTES_MAX = 1024 * 1024

type Settle = Readonly<{ resolve(isAccepted: boolean): void; reject(failure: unknown): void }>

export class JoinedCommit {
  /** Grows with each commit of a queue. */
  readonly number: number
  /** The head that the commit checks. */
  readonly before: Bytes
  /** Whether the commit was accepted. */
  readonly outcome: Promise<boolean>
  readonly #headKey: Bytes
  readonly #settle: Settle
  #head: Bytes | null
  #isDurable = false
  #changes = 0
  #bytes = 0
  readonly #checks: KvCheck[] = []
  /** The values that records must have by a check, or get by a later change, by the texts of their keys. */
  readonly #expected = new Map<string, Bytes | null>()
  readonly #written = new Map<string, readonly [key: Bytes, value: Bytes | null]>()

  constructor(number: number, headKey: Bytes, before: Bytes) {
    this.number = number
    this.#headKey = headKey
    this.before = before
    this.#head = before
    let settle: Settle = { resolve: ignore, reject: ignore }
    this.outcome = new Promise<boolean>((resolve, reject) => {
      settle = { resolve, reject }
    })
    this.#settle = settle
    this.outcome.catch(() => undefined) // Each change awaits the outcome, perhaps later.
  }

  get isDurable(): boolean {
    return this.#isDurable
  }

  /** Bytes of the records that the commit writes. */
  get bytes(): number {
    return this.#bytes
  }

  /** What the commit writes besides the head, by the texts of keys. */
  get sideWrites(): ReadonlyMap<string, readonly [key: Bytes, value: Bytes | null]> {
    return this.#written
  }

  /**
   * Adds a change.
   * @param head - The head that the change makes; null: it deletes the table.
   * @returns false: the change must go into another commit. The first change always fits.
   */
  add(change: Change, head: Bytes | null): boolean {
    const { checks = [], puts, deletes = [] } = change
    const bytes = puts.reduce((sum, [key, value]) => sum + key.length + value.length, 0)
    const isFirst = this.#changes === 0
    if (!isFirst && (this.#changes >= CHANGES_MAX || this.#bytes + bytes > BYTES_MAX)) return false
    const fresh: [text: string, check: KvCheck][] = []
    for (const check of checks) {
      const text = byteText(check.key)
      const expected = this.#expected.get(text)
      if (expected === undefined) fresh.push([text, check])
      else if (!sameValue(expected, check.equals)) return false
    }
    for (const [text, check] of fresh) {
      this.#checks.push(check)
      this.#expected.set(text, check.equals)
    }
    for (const [key, value] of puts) this.#write(key, value)
    for (const key of deletes) this.#write(key, null)
    this.#changes++
    this.#bytes += bytes
    this.#head = head
    return true
  }

  #write(key: Bytes, value: Bytes | null): void {
    const text = byteText(key)
    this.#expected.set(text, value)
    this.#written.set(text, [key, value])
  }

  commit(): KvCommit {
    const puts: [Bytes, Bytes][] = []
    const deletes: Bytes[] = []
    for (const [key, value] of this.#written.values()) {
      if (value === null) deletes.push(key)
      else puts.push([key, value])
    }
    if (this.#head === null) deletes.push(this.#headKey)
    else puts.push([this.#headKey, this.#head])
    return { checks: [{ key: this.#headKey, equals: this.before }, ...this.#checks], puts, deletes }
  }

  accept(): void {
    this.#isDurable = true
    this.#settle.resolve(true)
  }

  /** The commit was refused: it wrote nothing. */
  refuse(): void {
    this.#settle.resolve(false)
  }

  fail(failure: unknown): void {
    this.#settle.reject(failure)
  }
}

function ignore(): void {
  // A placeholder until the promise exists: its `resolve` and `reject` take its place.
}
