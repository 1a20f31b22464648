// The oracle: the content of a store of one team in plain lists, and the effect of each operation. It knows no
// segments, extents or records, only rows in order.
import { isDeepStrictEqual } from 'node:util'
import type { StoreErrorCode } from '../../../src/index.js'
import {
  type Cell,
  cellFits,
  fitsInferred,
  inferType,
  isEmpty,
  type ModelSchema,
  storedToken,
  type Type,
  widenType,
} from './cell-rules.js'
import type { InputChunk, InputRow } from './input.js'

/** A row is replaced, never changed, so that copies of a state may share it. */
export type ModelRow = Readonly<{
  id: string
  /** As they were written: see \`shownCells\`. */
  cells: readonly (readonly [column: string, token: string])[]
  version: number
  gone: boolean
}>

export type ModelGeneration = {
  rows: ModelRow[]
  schema: ModelSchema
  /** Set when an overwrite retired it: when, and the table's version before. */
  retired: Readonly<{ at: number; lastVersion: number }> | null
  /** Whether a garbage collection has dropped it. */
  dropped: boolean
}

export type ModelTable = {
  readonly id: string
  name: string
  version: number
  /** The columns of its key; null: no key. */
  key: readonly string[] | null
  /** The last one is the current one. */
  generations: ModelGeneration[]
}

export type ModelStash = {
  createdAt: number
  /** When its chunks expired; null: they exist. */
  expiredAt: number | null
  chunks: Map<string, Readonly<{ chunk: InputChunk; putAt: number }>>
}

/** The place where a walk of pages continues. */
export type ModelWalk = Readonly<{
  tableId: string
  generation: number
  /** Index of the next row in its generation. */
  at: number
  token: string
  /** IDs of the rows that existed when it began, and of those it returned. */
  before: readonly string[]
  seen: readonly string[]
}>

/** A running scan of an instance of the store, where its generation stays readable. */
export type ModelScan = Readonly<{
  instance: number
  tableId: string
  generation: number
  /** The next row after the last page; null: that was the last page. */
  at: number | null
  /** Rows that were read and not yet returned. */
  ahead: readonly string[]
}>

export type Limits = Readonly<{
  pageRowsMax: number
  pageBytesMax: number
  overwrittenRowsTtlMs: number
  overwrittenRowSetsMax: number
  historyRetentionMs: number
  stashTtlMs: number
  idempotencyTtlMs: number
}>

/** The result for a repeat with the same key. */
export type ModelRepeat = Readonly<{
  at: number
  /** A byte that identifies the request. */
  digest: number
  /** The table that got rows; null: one was created. */
  added: string | null
  tableId: string
  version: number
  ids: readonly string[]
}>

export type State = {
  tables: ModelTable[]
  /** Deleted tables that have generations not yet dropped. */
  dead: ModelTable[]
  repeats: Map<string, ModelRepeat>
  stashes: Map<string, ModelStash>
  walks: ModelWalk[]
  scans: ModelScan[]
}

/** The failure that an operation must have. */
export type Failure = Readonly<{
  code: StoreErrorCode
  row?: number
  column?: string
  chunk?: string
}>

export function emptyState(): State {
  return { tables: [], dead: [], repeats: new Map(), stashes: new Map(), walks: [], scans: [] }
}

export function copyState(state: State): State {
  const copied = (table: ModelTable): ModelTable => ({
    ...table,
    generations: table.generations.map((one) => ({ ...one, rows: [...one.rows] })),
  })
  return {
    tables: state.tables.map(copied),
    dead: state.dead.map(copied),
    repeats: new Map(state.repeats),
    stashes: new Map(
      [...state.stashes].map(([id, stash]) => [id, { ...stash, chunks: new Map(stash.chunks) }]),
    ),
    walks: [...state.walks],
    scans: [...state.scans],
  }
}

export function currentOf(table: Pick<ModelTable, 'generations'>): ModelGeneration {
  const generation = table.generations.at(-1)
  if (generation === undefined) throw new Error('a table has a generation')
  return generation
}

/** The chunks of an operation, in order. Only chunks of a stash have a serial. */
export type Source = readonly Readonly<{ serial?: string; chunk: InputChunk }>[]

/** The stash's chunks in order; null: it has none, or they have expired. */
export function stashSource(state: State, stashId: string): Source | null {
  const { chunks, expiredAt } = state.stashes.get(stashId) ?? NO_STASH
  if (chunks.size === 0 || expiredAt !== null) return null
  const serials = [...chunks.keys()].sort(serialOrder([...chunks.keys()]))
  return serials.flatMap((serial) => {
    const found = chunks.get(serial)
    return found === undefined ? [] : [{ serial, chunk: found.chunk }]
  })
}

const NO_STASH: ModelStash = { createdAt: 0, expiredAt: null, chunks: new Map() }

function serialOrder(serials: readonly string[]): (left: string, right: string) => number {
  const byText = (left: string, right: string): number => (left < right ? -1 : 1)
  if (!serials.every((serial) => /^\d+$/.test(serial))) return byText
  return (left, right) => {
    const difference = BigInt(left) - BigInt(right)
    return difference === 0n ? byText(left, right) : difference < 0n ? -1 : 1
  }
}

export type OnSchemaError = 'abort' | 'dropColumns' | 'updateSchema'

/** The rules for rows: the schema that the table has afterwards, and the treatment of misfits. */
export type Judge = Readonly<{
  schema: ModelSchema
  /** Whether the schema was inferred from these rows: then only values that fit no type are misfits. */
  inferred: boolean
  drops: boolean
}>

/** @param base - The existing schema; null: it is inferred. */
export function judgeOf(
  source: Source,
  base: ModelSchema | null,
  onSchemaError: OnSchemaError,
): Judge {
  const drops = onSchemaError === 'dropColumns'
  if (base !== null && onSchemaError !== 'updateSchema') {
    return { schema: base, inferred: false, drops }
  }
  const cells = new Map<string, Cell[]>()
  for (const { chunk } of source) {
    for (const id of chunk.columns) if (!cells.has(id)) cells.set(id, [])
    for (const row of chunk.rows) for (const [id, cell] of row) cells.get(id)?.push(cell)
  }
  const known = base?.columns ?? []
  const columns = known.map((column) => {
    return { ...column, type: widenType(column.type, cells.get(column.id) ?? []) }
  })
  for (const { id } of known) cells.delete(id)
  const added = [...cells].map(([id, seen]) => ({ id, displayName: id, type: inferType(seen) }))
  return { schema: { columns: [...columns, ...added] }, inferred: true, drops }
}

export type Judged =
  | Readonly<{ rows: readonly ModelRow['cells'][]; claims: readonly (string | null)[] }>
  | Readonly<{ failure: Failure }>

export function judgeSource(source: Source, judge: Judge): Judged {
  const types = typesOf(judge.schema)
  const rows: ModelRow['cells'][] = []
  const claims: (string | null)[] = []
  for (const { serial, chunk } of source) {
    const failure = judge.drops ? null : firstMisfit(chunk, types, judge)
    if (failure !== null) {
      return { failure: serial === undefined ? failure : { ...failure, chunk: serial } }
    }
    for (const [i, row] of chunk.rows.entries()) {
      rows.push(cellsOf(row, types, judge))
      claims.push(chunk.claims[i] ?? null)
    }
  }
  return { rows, claims }
}

function typesOf({ columns }: ModelSchema): ReadonlyMap<string, Type> {
  return new Map(columns.map(({ id, type }) => [id, type]))
}

/** Whether a column of the type accepts a nonempty cell. */
export function fits(type: Type, cell: Cell, { inferred }: Judge): boolean {
  return inferred ? fitsInferred(cell) : cellFits(type, cell)
}

function firstMisfit(
  { columns, rows }: InputChunk,
  types: ReadonlyMap<string, Type>,
  judge: Judge,
): Failure | null {
  const unknown = columns.filter((id) => !types.has(id))
  for (const [row, cells] of rows.entries()) {
    const misfit = cells.find(([id, cell]) => {
      const type = types.get(id)
      return !isEmpty(cell) && (type === undefined || !fits(type, cell, judge))
    })?.[0]
    // An empty cell of an unknown column stands where the column first came in the chunk.
    const empty = unknown.find((id) => cells.some(([other]) => other === id))
    if (misfit === undefined && empty === undefined) continue
    const column = columns.find((id) => id === misfit || id === empty) ?? ''
    const code = types.has(column) ? 'COLUMN_HAS_INVALID_VALUE' : 'COLUMN_ID_NOT_FOUND'
    return { code, row, column }
  }
  return null
}

function cellsOf(row: InputRow, types: ReadonlyMap<string, Type>, judge: Judge): ModelRow['cells'] {
  return row.flatMap(([id, cell]) => {
    const type = types.get(id)
    if (type === undefined || (!isEmpty(cell) && !fits(type, cell, judge))) return []
    const token = storedToken(type, cell)
    return token === null ? [] : [[id, token] as const]
  })
}

/** Gives a generation a new schema. If the type of a column changes, all rows change in that version. */
export function changeSchema(
  generation: ModelGeneration,
  schema: ModelSchema,
  version: number,
): void {
  const after = typesOf(schema)
  const retyped = [...typesOf(generation.schema)].some(([id, type]) => {
    return !isDeepStrictEqual(type, after.get(id))
  })
  generation.schema = schema
  if (retyped) generation.rows = generation.rows.map((row) => ({ ...row, version }))
}

/** Cells as their columns show them now. Widening a column changes the form of earlier values. */
export function shownCells(
  { cells }: Pick<ModelRow, 'cells'>,
  schema: ModelSchema,
): ModelRow['cells'] {
  const row = cells.map(([id, token]) => [id, { token }] as const)
  return cellsOf(row, typesOf(schema), { schema, inferred: true, drops: false })
}

function rowTextOf(row: ModelRow, schema: ModelSchema): string {
  const cells = shownCells(row, schema)
  return cells.map(([id, token]) => `${JSON.stringify(id)}:${token}`).join(',')
}

export function rowJsonOf(row: ModelRow, { schema }: ModelGeneration): string {
  const text = rowTextOf(row, schema)
  return `{"$rowID":"${row.id}"${text === '' ? '' : ','}${text}}`
}

/** The rows of a page of a generation, and where the next one begins; null: no row follows. */
export function pageOf(
  { rows, schema }: ModelGeneration,
  from: number,
  limits: Readonly<{ rows: number; bytes: number }>,
): { rows: ModelRow[]; next: number | null } {
  const page: ModelRow[] = []
  let bytes = 0
  for (let at = from; at < rows.length; at++) {
    const row = rows[at]
    if (row === undefined || row.gone) continue
    bytes += Buffer.byteLength(rowTextOf(row, schema))
    if (page.length === limits.rows || (page.length > 0 && bytes > limits.bytes)) {
      return { rows: page, next: at }
    }
    page.push(row)
  }
  return { rows: page, next: null }
}

/** Whether walks of an instance may still read a generation. */
export function isReadable(
  state: State,
  table: ModelTable,
  generation: number,
  place: Readonly<{ instance: number; now: number; limits: Limits }>,
): boolean {
  const found = table.generations[generation]
  if (found === undefined) return false
  if (found.retired === null) return true
  if (found.dropped) return false
  return isRetained(table, generation, place) || isPinned(state, table, generation, place.instance)
}

function isRetained(
  { generations }: ModelTable,
  generation: number,
  { now, limits }: Readonly<{ now: number; limits: Limits }>,
): boolean {
  if (currentOf({ generations }).retired !== null) return false // The table was deleted.
  const newer = generations.length - 2 - generation // retired ones, without the current one
  const at = generations[generation]?.retired?.at ?? now
  return newer < limits.overwrittenRowSetsMax && now - at <= limits.overwrittenRowsTtlMs
}

/** Whether the history of a table needs overwritten rows. */
function isOfHistory(
  { generations }: ModelTable,
  generation: number,
  { now, limits }: Readonly<{ now: number; limits: Limits }>,
): boolean {
  if (currentOf({ generations }).retired !== null || limits.historyRetentionMs === 0) return false
  const at = generations[generation]?.retired?.at ?? now
  return now - at <= limits.historyRetentionMs
}

/** @param instance - null: a scan of any instance pins it. */
function isPinned(
  state: State,
  { id }: ModelTable,
  generation: number,
  instance: number | null,
): boolean {
  return state.scans.some(
    (scan) =>
      scan.tableId === id &&
      scan.generation === generation &&
      (instance === null || scan.instance === instance),
  )
}

type MaintenancePlace = Readonly<{ instance: number; now: number; limits: Limits }>

/** Ends what a garbage collection of an instance ends: first generations, then stashes. */
export function maintain(
  state: State,
  place: MaintenancePlace,
): { generations: number; stashes: number } {
  const generations = maintainGenerations(state, place)
  return { generations, stashes: maintainStashes(state, place) }
}

export function maintainGenerations(state: State, place: MaintenancePlace): number {
  let ended = 0
  for (const table of [...state.tables, ...state.dead]) {
    for (const [index, generation] of table.generations.entries()) {
      if (generation.dropped || generation.retired === null) continue
      if (isRetained(table, index, place) || isPinned(state, table, index, null)) continue
      if (isOfHistory(table, index, place)) continue
      generation.dropped = true
      ended++
    }
  }
  state.dead = state.dead.filter(({ generations }) => generations.some(({ dropped }) => !dropped))
  return ended
}

/** How long the expiry of a stash is remembered. */
export const EXPIRED_KEPT_MS = 30 * 24 * 3_600_000

export function maintainStashes(state: State, { now, limits }: MaintenancePlace): number {
  let ended = 0
  for (const [id, stash] of state.stashes) {
    const { createdAt, expiredAt, chunks } = stash
    const times = [createdAt, ...[...chunks.values()].map(({ putAt }) => putAt)]
    if (expiredAt !== null) {
      if (now - expiredAt >= EXPIRED_KEPT_MS) state.stashes.delete(id)
    } else if (now - Math.max(...times) >= limits.stashTtlMs) {
      state.stashes.set(id, { createdAt, expiredAt: now, chunks: new Map() })
      ended++
    }
  }
  return ended
}
