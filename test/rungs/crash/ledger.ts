// The required content of a store after its writer died, from the writer's log.
//
// The ledger has every possible state of each table: one while all operations were acknowledged, and one more for each
// operation with an unknown outcome. The audit finds out which state is real.
import type { Change, LogLine, RowsFrom, TableChange } from './log-lines.js'
import { type ExpectedRow, expectedRows, mergedRows, type RowsSpec } from './rows.js'

/** Version 0: the table does not exist. */
export type TableState = Readonly<{ version: number; rows: readonly ExpectedRow[] }>

/** The possible contents of one serial; null: no chunk. */
export type ChunkStates = readonly (RowsSpec | null)[]

/** A table by its name: the ID that callers were told, and the columns that they wanted or were told. */
export type EnsuredTable = { id?: string; readonly wanted: Set<string>; readonly told: Set<string> }

const NO_TABLE: TableState = { version: 0, rows: [] }

/** Codes that a full or failing disk excuses. Any other failure is a bug of the store. */
const STORAGE_CODES: ReadonlySet<string> = new Set(['STORAGE_UNAVAILABLE', 'INSUFFICIENT_STORAGE'])

const CONTENTS_MAX = 1_024

export class Ledger {
  readonly tables = new Map<string, readonly TableState[]>()
  readonly stashes = new Map<string, Map<string, ChunkStates>>()
  readonly files = new Map<string, Readonly<{ tag: string; bytes: number }>>()
  /** Adds to the shared table: those that an earlier read found, in their order; and all that began. */
  settledShares: string[] = []
  readonly begunShares = new Map<string, RowsSpec>()
  readonly doneShares = new Map<string, number>()
  /** Ensured tables. */
  readonly ensured = new Map<string, EnsuredTable>()
  /** Numbers of the counter: acknowledged ones, and those that may have been set. */
  readonly counted = new Set<number>()
  readonly perhapsCounted = new Set<number>()
  /** Errors of the writer itself. */
  readonly violations: string[] = []
  acknowledged = 0
  failures = 0
  readonly #begun = new Map<number, Change>()

  read(lines: readonly LogLine[]): void {
    for (const line of lines) {
      if (line.say === 'open')
        this.end() // a new writer: the previous one is gone
      else if (line.say === 'begin') this.#begin(line.op, line.change)
      else if (line.say === 'done') this.#done(line)
      else if (line.say === 'failed') this.#failed(line)
      else if (line.say === 'seen') this.#seen(line.table, line.version)
    }
  }

  /** The writer is gone: operations that it had begun may have happened or not. */
  end(): void {
    for (const op of [...this.#begun.keys()]) this.#unknown(op)
  }

  tableStates(table: string): readonly TableState[] {
    return this.tables.get(table) ?? [NO_TABLE]
  }

  #begin(op: number, change: Change): void {
    this.#begun.set(op, change)
    if (change.do === 'share') this.begunShares.set(change.rows.tag, change.rows)
    if (change.do !== 'ensure') return
    const ensured = this.ensured.get(change.table) ?? { wanted: new Set(), told: new Set() }
    for (const column of change.columns) ensured.wanted.add(column)
    this.ensured.set(change.table, ensured)
  }

  #done({ op, version, file, table = '' }: Extract<LogLine, { say: 'done' }>): void {
    const change = this.#take(op)
    this.acknowledged++
    if (change.do === 'share') this.doneShares.set(change.rows.tag, version ?? 0)
    else if (change.do === 'putChunk') this.#setChunk(change, [change.rows])
    else if (change.do === 'deleteStash') this.stashes.delete(change.stash)
    else if (change.do === 'putFile') this.files.set(file ?? '', change)
    else if (change.do === 'count') this.#count(change.to)
    else if (change.do === 'ensure') this.#ensure(change, table)
    else if (change.do !== 'garbageCollection') {
      const after = this.#after(op, change).filter((state) => state.version === version)
      if (after.length === 0) {
        this.violations.push(`${change.do} of ${change.table} answered with version ${version}`)
      }
      this.tables.set(change.table, after)
    }
  }

  #failed({ op, code, outcome, message }: Extract<LogLine, { say: 'failed' }>): void {
    this.failures++
    const { do: what } = this.#begun.get(op) ?? { do: 'an operation' }
    const isOvertaken = what === 'count' && code === 'PRECONDITION_FAILED'
    if (!STORAGE_CODES.has(code) && !isOvertaken) {
      this.violations.push(`${what} failed with ${code}: ${message}`)
    }
    if (outcome === 'unchanged') this.#take(op)
    else this.#unknown(op)
  }

  #seen(table: string, version: number): void {
    const states = this.tableStates(table)
    const left = states.filter((state) => state.version === version)
    if (left.length > 0) this.tables.set(table, left)
    else this.violations.push(`${table} is at version ${version}, not ${versionsOf(states)}`)
  }

  #unknown(op: number): void {
    const change = this.#take(op)
    if (change.do === 'putChunk') {
      this.#setChunk(change, [...this.#chunk(change.stash, change.serial), change.rows])
    } else if (change.do === 'deleteStash') {
      const chunks = this.stashes.get(change.stash) ?? new Map<string, ChunkStates>()
      // Either all of its chunks are there or none, as for a stash as a whole. Judging each by itself finds the same.
      for (const [serial, states] of chunks) chunks.set(serial, [...states, null])
    } else if (change.do === 'count') this.perhapsCounted.add(change.to)
    else if (
      change.do !== 'share' &&
      change.do !== 'putFile' &&
      change.do !== 'ensure' &&
      change.do !== 'garbageCollection'
    ) {
      const before = this.tableStates(change.table)
      this.tables.set(change.table, [...before, ...this.#after(op, change)])
    }
  }

  #ensure({ table, columns }: Extract<Change, { do: 'ensure' }>, id: string): void {
    const ensured = this.ensured.get(table)
    if (ensured === undefined) return
    const { id: known = id, told } = ensured
    if (known !== id) this.violations.push(`two callers were told two tables ${table}`)
    ensured.id = known
    for (const column of columns) told.add(column)
  }

  #count(to: number): void {
    if (this.counted.has(to)) this.violations.push(`two updates were told that they made ${to}`)
    this.counted.add(to)
  }

  #take(op: number): Change {
    const change = this.#begun.get(op)
    if (change === undefined) throw new Error(`Operation ${op} was never begun`)
    this.#begun.delete(op)
    return change
  }

  /** The states to which a change leads from the possible ones. */
  #after(op: number, change: TableChange): TableState[] {
    return this.tableStates(change.table).flatMap(({ version, rows }) =>
      this.#rowsAfter(rows, op, change).map((after) => ({ version: version + 1, rows: after })),
    )
  }

  /** None if the change is impossible on these rows: the writer saw other rows. */
  #rowsAfter(
    rows: readonly ExpectedRow[],
    op: number,
    change: TableChange,
  ): (readonly ExpectedRow[])[] {
    if (change.do === 'create' || change.do === 'overwrite') return this.#contents(change.rows)
    if (change.do === 'add') return this.#contents(change.rows).map((more) => [...rows, ...more])
    if (change.do === 'rewrite') return [rows]
    if (change.do === 'merge')
      return [[...mergedRows(rows, op, change), ...expectedRows(change.rows)]]
    const row = rows[change.index]
    if (row === undefined) return []
    if (change.do === 'delete') return [rows.filter((_, index) => index !== change.index)]
    return [rows.with(change.index, { ...row, n: op, f: change.file ?? row.f })]
  }

  #contents(given: RowsFrom): ExpectedRow[][] {
    return 'stash' in given ? this.stashContents(given.stash) : [expectedRows(given)]
  }

  /** The possible rows of a stash. */
  stashContents(stash: string): ExpectedRow[][] {
    let contents: ExpectedRow[][] = [[]]
    const chunks = [...(this.stashes.get(stash) ?? [])]
    for (const [, states] of chunks.sort(([left], [right]) => Number(left) - Number(right))) {
      contents = contents.flatMap((before) =>
        states.map((chunk) => (chunk === null ? before : [...before, ...expectedRows(chunk)])),
      )
      if (contents.length > CONTENTS_MAX) throw new Error(`Stash ${stash} is too unsure`)
    }
    return contents
  }

  #chunk(stash: string, serial: string): ChunkStates {
    return this.stashes.get(stash)?.get(serial) ?? [null]
  }

  #setChunk(
    { stash, serial }: Readonly<{ stash: string; serial: string }>,
    states: ChunkStates,
  ): void {
    const chunks = this.stashes.get(stash) ?? new Map<string, ChunkStates>()
    chunks.set(serial, states)
    this.stashes.set(stash, chunks)
  }
}

export function versionsOf(states: readonly TableState[]): string {
  return states.map(({ version }) => version).join(' or ')
}
