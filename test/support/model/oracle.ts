// The oracle: what a store of one team holds, in plain lists, and what each operation does to it. It
// knows no segments, extents or records, only rows in order.
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
} from './cell-rules.js'
import type { InputChunk, InputRow } from './input.js'

/** A row is replaced, never changed, so that copies of a state may share it. */
export type ModelRow = Readonly<{
  id: string
  cells: readonly (readonly [column: string, token: string])[]
  version: number
  gone: boolean
}>

export type ModelGeneration = {
  rows: ModelRow[]
  schema: ModelSchema
  /** Set when an overwrite retired it: when, and the table's version before that. */
  retired: Readonly<{ at: number; lastVersion: number }> | null
  /** A sweep has dropped it. */
  dropped: boolean
}

export type ModelTable = {
  readonly id: string
  readonly name: string
  version: number
  /** The last one is the table's own. */
  generations: ModelGeneration[]
}

export type ModelStash = {
  createdAt: number
  chunks: Map<string, Readonly<{ chunk: InputChunk; putAt: number }>>
}

/** Where a walk of pages goes on. */
export type ModelWalk = Readonly<{
  tableId: string
  generation: number
  /** Index of the next row in its generation. */
  at: number
  token: string
  /** IDs of the rows that were there when it began, and of those it yielded. */
  before: readonly string[]
  seen: readonly string[]
}>

/** A scan that an instance of the store has under way: its generation stays readable there. */
export type ModelScan = Readonly<{
  instance: number
  tableId: string
  generation: number
  /** The next row after the page that was read; null: that was the last page. */
  at: number | null
  /** Rows that were read and not yet handed out. */
  ahead: readonly string[]
}>

export type Limits = Readonly<{
  pageRowsMax: number
  pageBytesMax: number
  retentionMs: number
  retiredGenerationsMax: number
  stashTtlMs: number
}>

export type State = {
  tables: ModelTable[]
  stashes: Map<string, ModelStash>
  walks: ModelWalk[]
  scans: ModelScan[]
}

/** What an operation must fail with. */
export type Failure = Readonly<{
  code: StoreErrorCode
  row?: number
  column?: string
  chunk?: string
}>

export function emptyState(): State {
  return { tables: [], stashes: new Map(), walks: [], scans: [] }
}

export function copyState(state: State): State {
  return {
    tables: state.tables.map((table) => ({
      ...table,
      generations: table.generations.map((one) => ({ ...one, rows: [...one.rows] })),
    })),
    stashes: new Map(
      [...state.stashes].map(([id, stash]) => [id, { ...stash, chunks: new Map(stash.chunks) }]),
    ),
    walks: [...state.walks],
    scans: [...state.scans],
  }
}

export function currentOf(table: ModelTable): ModelGeneration {
  const generation = table.generations.at(-1)
  if (generation === undefined) throw new Error('a table has a generation')
  return generation
}

/** The chunks of an operation, in order. Only those of a stash have a serial. */
export type Source = readonly Readonly<{ serial?: string; chunk: InputChunk }>[]

/** The stash's chunks in order; null: it holds none. */
export function stashSource(state: State, stashId: string): Source | null {
  const chunks = state.stashes.get(stashId)?.chunks
  if (chunks === undefined) return null
  const serials = [...chunks.keys()].sort(serialOrder([...chunks.keys()]))
  return serials.flatMap((serial) => {
    const found = chunks.get(serial)
    return found === undefined ? [] : [{ serial, chunk: found.chunk }]
  })
}

function serialOrder(serials: readonly string[]): (left: string, right: string) => number {
  const byText = (left: string, right: string): number => (left < right ? -1 : 1)
  if (!serials.every((serial) => /^\d+$/.test(serial))) return byText
  return (left, right) => {
    const difference = BigInt(left) - BigInt(right)
    return difference === 0n ? byText(left, right) : difference < 0n ? -1 : 1
  }
}

export function inferSchema(source: Source): ModelSchema {
  const cells = new Map<string, Cell[]>()
  for (const { chunk } of source) {
    for (const id of chunk.columns) if (!cells.has(id)) cells.set(id, [])
    for (const row of chunk.rows) for (const [id, cell] of row) cells.get(id)?.push(cell)
  }
  const columns = [...cells].map(([id, seen]) => ({ id, displayName: id, type: inferType(seen) }))
  return { columns }
}

export type Judged =
  | Readonly<{ rows: readonly ModelRow['cells'][] }>
  | Readonly<{ failure: Failure }>

/** @param inferred - The schema was inferred from these rows. */
export function judgeSource(source: Source, schema: ModelSchema, inferred: boolean): Judged {
  const types = new Map(schema.columns.map(({ id, type }) => [id, type]))
  const rows: ModelRow['cells'][] = []
  for (const { serial, chunk } of source) {
    const failure = firstMisfit(chunk, types, inferred)
    if (failure !== null) {
      return { failure: serial === undefined ? failure : { ...failure, chunk: serial } }
    }
    for (const row of chunk.rows) rows.push(cellsOf(row, types))
  }
  return { rows }
}

function firstMisfit(
  { columns, rows }: InputChunk,
  types: ReadonlyMap<string, Type>,
  inferred: boolean,
): Failure | null {
  // A column of which only an empty cell has come yet is named after the row's other misfits.
  const unknown = columns.filter((id) => !types.has(id))
  for (const [row, cells] of rows.entries()) {
    for (const [column, cell] of cells) {
      if (isEmpty(cell)) continue
      const type = types.get(column)
      if (type === undefined) return { code: 'COLUMN_ID_NOT_FOUND', row, column }
      if (!(inferred ? fitsInferred(cell) : cellFits(type, cell))) {
        return { code: 'COLUMN_HAS_INVALID_VALUE', row, column }
      }
    }
    const column = unknown.find((id) => cells.some(([other]) => other === id))
    if (column !== undefined) return { code: 'COLUMN_ID_NOT_FOUND', row, column }
  }
  return null
}

function cellsOf(row: InputRow, types: ReadonlyMap<string, Type>): ModelRow['cells'] {
  return row.flatMap(([id, cell]) => {
    const type = types.get(id)
    const token = type === undefined ? null : storedToken(type, cell)
    return token === null ? [] : [[id, token] as const]
  })
}

export function rowTextOf({ cells }: Pick<ModelRow, 'cells'>): string {
  return cells.map(([id, token]) => `${JSON.stringify(id)}:${token}`).join(',')
}

export function rowJsonOf(row: ModelRow): string {
  const text = rowTextOf(row)
  return `{"$rowID":"${row.id}"${text === '' ? '' : ','}${text}}`
}

/** The rows of a page of a generation, and where the next one begins; null: no row follows. */
export function pageOf(
  { rows }: ModelGeneration,
  from: number,
  limits: Readonly<{ rows: number; chars: number }>,
): { rows: ModelRow[]; next: number | null } {
  const page: ModelRow[] = []
  let chars = 0
  for (let at = from; at < rows.length; at++) {
    const row = rows[at]
    if (row === undefined || row.gone) continue
    chars += rowTextOf(row).length
    if (page.length === limits.rows || (page.length > 0 && chars > limits.chars)) {
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
  const newer = generations.length - 2 - generation // Retired ones, without the table's own.
  const at = generations[generation]?.retired?.at ?? now
  return newer < limits.retiredGenerationsMax && now - at <= limits.retentionMs
}

function isPinned(state: State, { id }: ModelTable, generation: number, instance: number): boolean {
  return state.scans.some(
    (scan) => scan.tableId === id && scan.generation === generation && scan.instance === instance,
  )
}

/** What a sweep of an instance ends. */
export function sweep(
  state: State,
  place: Readonly<{ instance: number; now: number; limits: Limits }>,
): { generations: number; stashes: number } {
  const { now, limits } = place
  let generations = 0
  for (const table of state.tables) {
    for (const [index, generation] of table.generations.entries()) {
      if (generation.dropped || isReadable(state, table, index, place)) continue
      generation.dropped = true
      generations++
    }
  }
  let stashes = 0
  for (const [id, { createdAt, chunks }] of state.stashes) {
    const times = [createdAt, ...[...chunks.values()].map(({ putAt }) => putAt)]
    if (now - Math.max(...times) < limits.stashTtlMs) continue
    state.stashes.delete(id)
    stashes++
  }
  return { generations, stashes }
}
