// Records what was acknowledged, and checks that all of it is there: chains of records to which several writers append,
// and a table to which rows are added.

import type { Table } from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import type { KvPartition, KvView } from '../../../src/ports.js'

/** Chains of records, each with two writers. */
export const CHAINS = 4
const ENTRIES_AT_ONCE = 1_000
const ENTRY_NUMBER_DIGITS = 8

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const headKey = (chain: number): Uint8Array => encoder.encode(`head/${chain}`)

function entryKey(chain: number, number: number): Uint8Array {
  return encoder.encode(`entry/${chain}/${String(number).padStart(ENTRY_NUMBER_DIGITS, '0')}`)
}

/** After the keys of all entries of a chain: `0` follows `/`. */
const chainEnd = (chain: number): Uint8Array => encoder.encode(`entry/${chain}0`)

/** When operations were acknowledged, and how long they took. */
export class Pace {
  /** The longest request to the store: a commit, or the add of a row. */
  longestMs = 0
  /** The longest time without an acknowledgement. */
  longestGapMs = 0
  #gapMs = 0
  #last = performance.now()

  /** Records that a request begun at `began` was acknowledged. */
  note(began: number): void {
    const now = performance.now()
    this.longestMs = Math.max(this.longestMs, now - began)
    this.#gapMs = Math.max(this.#gapMs, now - this.#last)
    this.longestGapMs = Math.max(this.longestGapMs, this.#gapMs)
    this.#last = now
  }

  /** The longest time without an acknowledgement since the last call. */
  takeGap(): number {
    const gap = Math.max(this.#gapMs, performance.now() - this.#last)
    this.#gapMs = 0
    return gap
  }
}

type Fate = 'acknowledged' | 'unchanged' | 'unknown'

/** An operation that was sent: an append to a chain. */
type Entry = { chain: number; number: number; fate: Fate }

export class Journal {
  readonly pace = new Pace()
  readonly violations: string[] = []
  readonly #entries = new Map<string, Entry>()
  /** The numbers of the last acknowledged entries. */
  readonly #acknowledged: number[] = Array.from({ length: CHAINS }, () => 0)
  readonly #rows = new Set<string>()
  #rowsRepeated = 0

  /** Appends to a chain until it is told to stop. */
  async append(
    partition: KvPartition,
    { writer, chain }: Readonly<{ writer: string; chain: number }>,
    isOver: () => boolean,
  ): Promise<void> {
    for (let count = 0; !isOver(); count++) {
      await this.#appendOne(partition, `${writer}-${count}`, chain)
    }
  }

  /** Adds rows to a table until it is told to stop. A failed add is repeated with its key. */
  async add(table: Table, writer: string, isOver: () => boolean): Promise<void> {
    let version = 0
    for (let count = 0; !isOver(); count++) {
      const op = `${writer}-${count}`
      const began = performance.now()
      for (let isDone = false; !isDone; ) {
        isDone = await table.addRows([{ op }], { idempotencyKey: op }).then(
          (added) => {
            if (added.version <= version) {
              this.violations.push(
                `the add ${op} has version ${added.version}, not above ${version}`,
              )
            }
            version = added.version
            return true
          },
          (failure: unknown) => {
            if (!isStoreError(failure) || failure.outcome === undefined) throw failure
            this.#rowsRepeated++
            return false
          },
        )
      }
      this.pace.note(began)
      this.#rows.add(op)
    }
  }

  /** Compares everything with the current content. */
  async check(partition: KvPartition, table: Table): Promise<void> {
    const found = new Map<string, Entry>()
    for (let chain = 0; chain < CHAINS; chain++) {
      const entries = await partition.read((view) => this.#readChain(view, chain))
      entries.forEach((op, index) => {
        if (found.has(op)) this.violations.push(`${op} is there twice`)
        found.set(op, { chain, number: index + 1, fate: 'acknowledged' })
      })
    }
    for (const [op, { chain, number, fate }] of this.#entries) {
      const there = found.get(op)
      const isThere = there?.chain === chain && there.number === number
      if (fate === 'acknowledged' && !isThere) this.violations.push(`${op} was lost`)
      if (fate === 'unchanged' && there !== undefined) this.violations.push(`${op} was done anyway`)
    }
    for (const op of found.keys()) {
      if (!this.#entries.has(op)) this.violations.push(`nobody sent ${op}`)
    }
    await this.#checkRows(table)
  }

  summary(): string {
    const fates = { acknowledged: 0, unchanged: 0, unknown: 0 }
    for (const { fate } of this.#entries.values()) fates[fate]++
    const { acknowledged, unchanged, unknown } = fates
    const rows = `${this.#rows.size} rows added, ${this.#rowsRepeated} adds repeated`
    return `${acknowledged} commits acknowledged, ${unchanged} not written, ${unknown} unknown; ${rows}`
  }

  async #appendOne(partition: KvPartition, op: string, chain: number): Promise<void> {
    let began = 0
    let number = 0
    try {
      for (let isDone = false; !isDone; ) {
        began = performance.now()
        const floor = this.#acknowledged[chain] ?? 0
        const head = await partition.read((view) => view.get(headKey(chain)))
        const last = head === null ? 0 : Number(decoder.decode(head))
        if (last < floor) this.violations.push(`chain ${chain} went back from ${floor} to ${last}`)
        number = last + 1
        const result = await partition.commit({
          checks: [
            { key: headKey(chain), equals: head },
            { key: entryKey(chain, number), equals: null },
          ],
          puts: [
            [headKey(chain), encoder.encode(String(number))],
            [entryKey(chain, number), encoder.encode(op)],
          ],
        })
        isDone = result.ok
      }
      this.#entries.set(op, { chain, number, fate: 'acknowledged' })
      this.#acknowledged[chain] = Math.max(this.#acknowledged[chain] ?? 0, number)
      this.pace.note(began)
    } catch (failure) {
      if (!isStoreError(failure)) throw failure
      const fate = failure.outcome === 'unknown' ? 'unknown' : 'unchanged'
      this.#entries.set(op, { chain, number, fate })
    }
  }

  /** The entries of a chain. Their number must equal that in its head. */
  async #readChain(view: KvView, chain: number): Promise<string[]> {
    const head = await view.get(headKey(chain))
    const count = head === null ? 0 : Number(decoder.decode(head))
    const entries: string[] = []
    for (let found = ENTRIES_AT_ONCE; found === ENTRIES_AT_ONCE; ) {
      const start = entryKey(chain, entries.length + 1)
      const scan = { start, limit: chainEnd(chain), count: ENTRIES_AT_ONCE }
      const records = await view.scan(scan)
      found = records.length
      for (const [key, value] of records) {
        const expected = decoder.decode(entryKey(chain, entries.length + 1))
        if (decoder.decode(key) !== expected) {
          this.violations.push(`${decoder.decode(key)} is there, where ${expected} must be`)
        }
        entries.push(decoder.decode(value))
      }
    }
    if (entries.length !== count) {
      this.violations.push(`chain ${chain} has ${entries.length} entries, its head says ${count}`)
    }
    return entries
  }

  async #checkRows(table: Table): Promise<void> {
    const counts = new Map<string, number>()
    let continuation: string | undefined
    do {
      const page = await table.page({
        limit: ENTRIES_AT_ONCE,
        ...(continuation && { continuation }),
      })
      for (const { op } of page.rows) counts.set(String(op), (counts.get(String(op)) ?? 0) + 1)
      continuation = page.continuation
    } while (continuation !== undefined)
    for (const op of this.#rows) {
      const count = counts.get(op) ?? 0
      if (count !== 1) this.violations.push(`the row ${op} is there ${count} times`)
    }
    if (counts.size !== this.#rows.size)
      this.violations.push('the table has rows that nobody added')
  }
}
