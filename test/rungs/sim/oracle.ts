// The possible content: the states of each table that are possible after all answers, the rows that each chunk of a
// stash may contain, and the acknowledged files.
//
// An answer narrows the states, an operation without one widens them, and a read decides.
import type { StoreError } from '../../../src/index.js'
import type { SeenRows } from '../../support/replay-changes.js'
import { Mismatch } from '../model/operation.js'

export type ModelRow = Readonly<{
  /** No other row has this number. */
  n: number
  /** No other cell had this text when it was created. */
  v: string
  /** The ID of a file, or any text. */
  f: string | null
  /** null: nobody was told yet. */
  id: string | null
  /** The table version in which it last changed. */
  version: number
}>

/** null: the table does not exist. */
export type TableState = Readonly<{
  version: number
  rows: readonly ModelRow[]
  name: string
  /** Whether the table has the column `f`. */
  hasFiles: boolean
  /** The versions that adds created, by their idempotency keys. */
  adds: ReadonlyMap<string, number>
  /** The key column; null: none. */
  key: KeyColumn | null
}> | null

export type KeyColumn = 'n' | 'v' | 'f'

/** Whether all keys differ. A row with an empty key cell has no key. */
export function isUnique(key: KeyColumn | null, rows: readonly ModelRow[]): boolean {
  const values = rows.flatMap((row) => (key === null ? [] : (row[key] ?? [])))
  return new Set(values).size === values.length
}

export type ModelTable = {
  /** The name with which it was created. */
  readonly name: string
  /** null: nobody was told yet. */
  id: string | null
  /** Its rows at the last read, with the time and the version base; null: unknown. */
  seen: (SeenRows & Readonly<{ at: number; base: number }>) | null
  /** Its possible states: at first, one with nothing pending. */
  possible: readonly Possible[]
}

/** The rows of a chunk; null: it does not exist. */
export type ChunkState = readonly ModelRow[] | null

export type ModelStash = {
  readonly id: string
  readonly chunks: Map<string, readonly ChunkState[]>
  lastPutAt: number
  /** It may have begun before a loss, or have expired: then it counts as missing until it is deleted. */
  isDoubted: boolean
  /** A refused chunk has shown that it does. */
  isGone: boolean
}

export type ModelFile = {
  readonly id: string
  readonly content: string
  readonly completedAt: number
  /** Everything was deleted concurrently, or may have been. */
  readonly mayBeGone?: boolean
}

export type Outcome =
  | Readonly<{ kind: 'done'; value: unknown }>
  /** It had no effect. */
  | Readonly<{ kind: 'failed'; failure: StoreError }>
  /** It may have taken effect. */
  | Readonly<{ kind: 'unknown' }>

export class Oracle {
  readonly tables: ModelTable[] = []
  readonly stashes = new Map<string, ModelStash>()
  readonly files = new Map<string, ModelFile>()
  /** Growth of versions, in addition to the changes of their tables. */
  base = 0
  /** Whether everything is deleted while the operations run. */
  isWiping = false
  readonly #made = new Set<string>()
  readonly #contents = new Map<string, string>()
  readonly #rowOfId = new Map<string, number>()
  /** Every text that a row was ever given, by its number. */
  readonly #texts = new Map<number, Set<string>>()
  readonly #highest = new Map<string, number>()
  #numbers = 0

  nextNumber(): number {
    return this.#numbers++
  }

  newRows(count: number, file: string | null): ModelRow[] {
    return Array.from({ length: count }, () => {
      const n = this.nextNumber()
      return { n, v: this.newText(n), f: file, id: null, version: 0 }
    })
  }

  /** A text for a row that no other cell has. */
  newText(n: number): string {
    return this.shareText(n, `v${this.nextNumber()}`)
  }

  /** Gives a row a text that another row has. */
  shareText(n: number, text: string): string {
    this.#texts.set(n, (this.#texts.get(n) ?? new Set()).add(text))
    return text
  }

  /** A text that a row once had, or was to have; null: it never had another. */
  pastText({ n, v }: ModelRow): string | null {
    return [...(this.#texts.get(n) ?? [])].find((text) => text !== v) ?? null
  }

  wasText(n: unknown, text: unknown): boolean {
    return this.#texts.get(n as number)?.has(text as string) ?? false
  }

  stash(id: string): ModelStash {
    const stash = this.stashes.get(id) ?? {
      id,
      chunks: new Map(),
      lastPutAt: 0,
      isDoubted: false,
      isGone: false,
    }
    this.stashes.set(id, stash)
    return stash
  }

  /** Tables whose ID somebody knows. */
  knownTables(): ModelTable[] {
    return this.tables.filter((table) => table.id !== null && likelyState(table) !== null)
  }

  /** Files that some row names in a possible state of its table. */
  heldFiles(): ReadonlySet<string> {
    const held = new Set<string>()
    for (const { possible } of this.tables) {
      const [first, ...others] = possible.map(({ state }) => filesOf(state))
      for (const id of first ?? []) if (others.every((one) => one.has(id))) held.add(id)
    }
    return held
  }

  /** A version denotes one content, for ever. */
  note(table: ModelTable, version: number, content: string): void {
    this.#highest.set(table.name, Math.max(this.highest(table), version))
    const key = `${table.name} ${version}`
    const before = this.#contents.get(key)
    this.#contents.set(key, content)
    if (before === undefined || before === content) return
    throw new Mismatch(`version ${version} of ${table.name} was\n  ${before}\nand is\n  ${content}`)
  }

  /** The highest version of a table that anybody was shown. */
  highest({ name }: ModelTable): number {
    return this.#highest.get(name) ?? 0
  }

  /** An ID denotes one row, for ever. */
  noteRow({ id, n }: ModelRow): void {
    if (id === null) return
    const before = this.#rowOfId.get(id) ?? n
    this.#rowOfId.set(id, n)
    if (before !== n) throw new Mismatch(`The ID ${id} named row ${before} and names row ${n}`)
  }

  /** A table or a file was created: its ID is new. */
  noteMade(id: string): void {
    if (this.#made.has(id)) throw new Mismatch(`The ID ${id} comes again`)
    this.#made.add(id)
  }

  /** Files may have been deleted, whether rows name them or not. */
  doubtFiles(): void {
    for (const file of this.files.values()) this.files.set(file.id, { ...file, mayBeGone: true })
  }

  /** All versions of tables and rows have grown by this much, and earlier stashes are no longer used. */
  raiseVersions(by: number): void {
    this.base += by
    const raised = ({ state, pending }: Possible): Possible => {
      if (state === null) return { state, pending }
      const rows = state.rows.map((row) => ({ ...row, version: row.version + by }))
      const adds = new Map([...state.adds].map(([key, version]) => [key, version + by]))
      return { state: { ...state, version: state.version + by, rows, adds }, pending }
    }
    for (const table of this.tables) table.possible = table.possible.map(raised)
    for (const stash of this.stashes.values()) {
      stash.isDoubted ||= mayHoldChunks(stash)
      stash.chunks.clear()
    }
  }
}

/** One of the states, preferably with a table. */
export function likelyState({ possible }: ModelTable): TableState {
  return possible.find(({ state }) => state !== null)?.state ?? null
}

function filesOf(state: TableState): Set<string> {
  const files = new Set<string>()
  for (const { f } of state?.rows ?? []) if (f !== null) files.add(f)
  return files
}

export function mayHoldChunks({ chunks }: ModelStash): boolean {
  return [...chunks.values()].flat().some((rows) => rows !== null)
}

/** The possible rows of a stash, in the order of its serials. */
export function rowsOfStash({ chunks }: ModelStash): (readonly ModelRow[])[] {
  let combinations: (readonly ModelRow[])[] = [[]]
  const sorted = [...chunks].sort(([left], [right]) => Number(left) - Number(right))
  for (const [, states] of sorted) {
    combinations = combinations.flatMap((rows) =>
      states.map((state) => [...rows, ...(state ?? [])]),
    )
  }
  return combinations
}

export function withState(
  states: readonly ChunkState[],
  more: readonly ChunkState[],
): readonly ChunkState[] {
  return [...new Set([...states, ...more])]
}

/** An operation's effect on a table: the states after it, none if its outcome is impossible. */
export type Applied = Readonly<{
  text: string
  outcome: Outcome
  /** With an unknown outcome: the states after its effect. */
  apply(state: TableState, outcome: Outcome): readonly TableState[]
}>

/** A possible state of a table, and the operations without an answer that may still take effect. */
export type Possible = Readonly<{ state: TableState; pending: readonly Applied[] }>

const POSSIBLE_MAX = 500

/** The states that are possible after concurrent operations, in some order, with or without pending ones. */
export function applyInSomeOrder(
  before: readonly Possible[],
  operations: readonly Applied[],
): Possible[] {
  const left = new Map<string, Possible>()
  const walk = (state: TableState, due: readonly Applied[], open: readonly Applied[]): void => {
    if (due.length === 0) {
      const versions = state?.rows.map(({ version }) => version).join()
      const adds = [...(state?.adds ?? [])].join()
      const key = `${showState(state)} ${versions} ${adds} ${open.map(({ text }) => text).join()}`
      left.set(key, { state, pending: open })
    }
    for (const one of due) {
      for (const next of one.apply(state, one.outcome)) walk(next, without(due, one), open)
    }
    for (const one of open) {
      for (const next of one.apply(state, one.outcome)) walk(next, due, without(open, one))
    }
  }
  const isUnknown = ({ outcome }: Applied): boolean => outcome.kind === 'unknown'
  const due = operations.filter((one) => !isUnknown(one))
  const unknown = operations.filter(isUnknown)
  for (const { state, pending } of before) walk(state, due, [...pending, ...unknown])
  if (left.size > POSSIBLE_MAX) throw new Error('The oracle has lost count of what is possible')
  return [...left.values()]
}

function without<T>(list: readonly T[], item: T): readonly T[] {
  return list.filter((one) => one !== item)
}

export function showState(state: TableState): string {
  if (state === null) return 'none'
  const { version, name, hasFiles, rows, key } = state
  const columns = hasFiles ? '' : ' without f'
  return `${version} of ${name}${columns}${key === null ? '' : ` by ${key}`}: ${showRows(rows)}`
}

export function showRows(rows: readonly ModelRow[]): string {
  return rows
    .map(({ n, v, f, id }) => `${n}=${v}${f ?? ''}${id === null ? '' : `@${id.slice(-6)}`}`)
    .join(' ')
}
