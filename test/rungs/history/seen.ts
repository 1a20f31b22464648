// What one operation reads and writes.
import type { RowWithId } from '../../../src/index.js'
import { versionsOf } from './check-feeds.js'
import { type Page, pageText, type Read, type Write } from './history.js'
import { accountOf, feedRowOf, readOf } from './round-tables.js'

export class Seen {
  readonly id: string
  readonly reads: Read[] = []
  readonly pages: Page[] = []
  readonly doubles: string[] = []
  sum: number | undefined
  /** All its writes, in the order of the plan. */
  readonly #writes: Write[] = []
  /** The lengths of the objects to which it has written. */
  readonly #lengths = new Map<string, number>()
  #elements = 0

  constructor(id: string) {
    this.id = id
  }

  /** Plans, before the call, that it will append elements to an object. @returns the elements */
  plan(object: string, count = 1): readonly string[] {
    const elements = Array.from({ length: count }, () => `${this.id}.${this.#elements++}`)
    this.#writes.push({ object, elements })
    return elements
  }

  planned(): readonly Write[] {
    return this.#writes
  }

  /** Forgets what the function of a transaction has read, before it is called again. */
  reset(): void {
    for (const list of [this.reads, this.pages, this.doubles]) list.length = 0
    this.sum = undefined
    this.#lengths.clear()
  }

  read(read: Read): void {
    this.reads.push(read)
  }

  /** Records a row of accounts; null: it was missing, which must not happen. */
  row(table: string, object: string, row: Readonly<Record<string, unknown>> | null | undefined) {
    if (row === null || row === undefined) {
      this.reads.push({ object, length: -1, tail: [] })
      throw new Error(`${object} is not there`)
    }
    const account = accountOf(row)
    this.reads.push(readOf(table, account))
    return account
  }

  version(table: string, length: number): void {
    this.reads.push({ object: versionsOf(table), length, tail: [] })
  }

  /** Records all rows of a table at a version. */
  page(table: string, version: number, rows: readonly RowWithId[]): void {
    this.version(table, version)
    const told = rows.map(feedRowOf)
    this.pages.push({ table, version, text: pageText(told) })
    if (table === 'log') {
      this.read(logRead(rows))
      return
    }
    const keys = told.map(({ key }) => key)
    this.doubles.push(...keys.filter((key, at) => keys.indexOf(key) !== at))
  }

  /** Records that the plan for an object was carried out, and the object's length. */
  wrote(object: string, length: number): void {
    this.#lengths.set(object, length)
  }

  made(table: string, version: number): void {
    this.#lengths.set(versionsOf(table), version)
  }

  writes(): readonly Write[] {
    const known = new Map(this.#lengths)
    const planned = this.#writes.map((write) => {
      const length = known.get(write.object)
      known.delete(write.object)
      return length === undefined ? write : { ...write, length }
    })
    return [...planned, ...[...known].map(([object, length]) => ({ object, elements: [], length }))]
  }
}

export function logRead(rows: readonly RowWithId[]): Read {
  const elements = rows.map(({ e }) => String(e))
  return { object: 'log', length: elements.length, tail: elements }
}
