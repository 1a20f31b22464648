// The possible content: the states of each table that are possible after all that was answered, the rows
// that each chunk of a stash may hold, and the files that were acknowledged.
//
// An answer narrows the states, an operation without one widens them, and a read decides.
import type { StoreError } from '../../../src/index.js'
import type { SeenRows } from '../../support/replay-changes.js'
import { Mismatch } from '../model/operation.js'

export type ModelRow = Readonly<{
  /** No other row has this number. */
  n: number
  /** No other cell was given this text when it was made. */
  v: string
  /** The ID of a file, or any text. */
  f: string | null
  /** null: nobody was told yet. */
  id: string | null
  /** The table version in which it changed last. */
  version: number
}>

/** null: there is no such table. */
export type TableState = Readonly<{
  version: number
  rows: readonly ModelRow[]
  name: string
  /** Whether the table has the column `f`. */
  hasFiles: boolean
  /** The versions that adds have made, by their idempotency keys. */
  adds: ReadonlyMap<string, number>
  /** The column that is the key; null: none is. */
  key: KeyColumn | null
}> | null

export type KeyColumn = 'n' | 'v' | 'f'

/** Whether no two rows have the same key. A row with an empty cell in it has none. */
export function isUnique(key: KeyColumn | null, rows: readonly ModelRow[]): boolean {
  const values = rows.flatMap((row) => (key === null ? [] : (row[key] ?? [])))
  return new Set(values).size === values.length
}

export type ModelTable = {
  /** The one it was created with. */
  readonly name: string
  /** null: nobody was told yet. */
  id: string | null
  /** Its rows as they were read last, when, and under which version base; null: they are not known. */
  seen: (SeenRows & Readonly<{ at: number; base: number }>) | null
  /** Its possible states: at first, one without anything pending. */
  possible: readonly Possible[]
}

/** The rows of a chunk; null: it is not there. */
export type ChunkState = readonly ModelRow[] | null

export type ModelStash = {
  readonly id: string
  readonly chunks: Map<string, readonly ChunkState[]>
  lastPutAt: number
  /** It may have been begun before a loss, or have expired: then it counts as missing until it was deleted. */
  isDoubted: boolean
  /** A chunk was refused, so it does. */
  isGone: boolean
}

export type ModelFile = {
  readonly id: string
  readonly content: string
  readonly completedAt: number
  /** Everything was deleted beside it, or perhaps. */
  readonly mayBeGone?: boolean
}

export type Outcome =
  | Readonly<{ kind: 'done'; value: unknown }>
  /** It had no effect. */
  | Readonly<{ kind: 'failed'; failure: StoreError }>
  /** It may have had its effect. */
  | Readonly<{ kind: 'unknown' }>

export class Oracle {
  readonly tables: ModelTable[] = []
  readonly stashes = new Map<string, ModelStash>()
  readonly files = new Map<string, ModelFile>()
  /** The growth of versions beside the changes of their tables. */
  base = 0
  /** Whether everything is deleted beside the operations that run. */
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

  /** A row is to have a text that another row has. */
  shareText(n: number, text: string): string {
    this.#texts.set(n, (this.#texts.get(n) ?? new Set()).add(text))
    return text
  }

  /** A text that a row had, or was to have, and has no more; null: it never had another. */
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

  /** Tables that somebody knows the ID of. */
  knownTables(): ModelTable[] {
    return this.tables.filter((table) => table.id !== null && likelyState(table) !== null)
  }

  /** Files that some row names in whatever state its table is. */
  heldFiles(): ReadonlySet<string> {
    const held = new Set<string>()
    for (const { possible } of this.tables) {
      const [first, ...others] = possible.map(({ state }) => filesOf(state))
      for (const id of first ?? []) if (others.every((one) => one.has(id))) held.add(id)
    }
    return held
  }

  /** A version names one content, for ever. */
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

  /** An ID names one row, for ever. */
  noteRow({ id, n }: ModelRow): void {
    if (id === null) return
    const before = this.#rowOfId.get(id) ?? n
    this.#rowOfId.set(id, n)
    if (before !== n) throw new Mismatch(`The ID ${id} named row ${before} and names row ${n}`)
  }

  /** A table or a file was made: nothing had its ID before. */
  noteMade(id: string): void {
    if (this.#made.has(id)) throw new Mismatch(`The ID ${id} comes again`)
    this.#made.add(id)
  }

  /** Files may have been deleted, whether rows name them or not. */
  doubtFiles(): void {
    for (const file of this.files.values()) this.files.set(file.id, { ...file, mayBeGone: true })
  }

  /** All versions of tables and rows have grown by so much, and stashes from before are not used any more. */
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

/** One of the states, if it may be there at all. */
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

/** All that a stash may hold, in the order of its serials. */
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

/** One operation as a table meets it: the states that it leaves, none if its outcome cannot be. */
export type Applied = Readonly<{
  text: string
  outcome: Outcome
  /** With an unknown outcome: the states after its effect. */
  apply(state: TableState, outcome: Outcome): readonly TableState[]
}>

/** A possible state of a table, and the operations without an answer that may still have their effect. */
export type Possible = Readonly<{ state: TableState; pending: readonly Applied[] }>

const POSSIBLE_MAX = 500

/** The states that are possible after operations that ran at once, in some order, with or without pending ones. */
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
