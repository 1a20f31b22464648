// The operations of a history: each runs on the store, and applies its outcome to the oracle.
import type {
  DeleteResult,
  RowIds,
  StoredFile,
  StoreError,
  Team,
  UploadTicket,
} from '../../../src/index.js'
import { Mismatch, show } from '../model/operation.js'
import type { SimJobs } from './jobs.js'
import type { ModelRow, ModelStash, ModelTable, Oracle, Outcome, TableState } from './oracle.js'
import { isUnique, type KeyColumn, rowsOfStash, showRows } from './oracle.js'
import type { SimWorld } from './world.js'

/** The place of an operation: one of the stores of a history. */
export type OperationPlace = Pick<SimWorld, 'team' | 'store'>

/** Tells whether a failure comes from the disk. */
export type DiskJudge = Pick<SimWorld, 'isOfDisk'>

export type SimOperation = Readonly<{
  text: string
  /** The table whose states it changes; null: none. */
  table: ModelTable | null
  run(place: OperationPlace): Promise<unknown>
  apply(state: TableState, outcome: Outcome): readonly TableState[]
  /** Applies the outcome of the operation to stashes and files. */
  settle?(outcome: Outcome): void
  /** Whether it reads objects, which two garbage collections without grace may delete meanwhile. */
  readsObjects?: boolean
  /** A chunk that it puts; `rows` null: the whole stash is deleted. */
  stashed?: Readonly<{ stash: ModelStash; serial: string | null; rows: readonly ModelRow[] | null }>
  /** It deletes everything: the parts delete each table and stash, each at its own moment. */
  parts?(): readonly SimOperation[]
}>

type Value = Readonly<{ version: number; rowIds?: RowIds; tableId?: string }>

export const SCHEMA = {
  columns: [
    { id: 'n', type: { kind: 'number' } },
    { id: 'v', type: { kind: 'string' } },
    { id: 'f', type: { kind: 'string' } },
  ],
} as const

export type RowsForm = 'objects' | 'json' | 'csv'

export function inputOf(rows: readonly ModelRow[], form: RowsForm) {
  if (form === 'csv') {
    const lines = rows.map(({ n, v, f }) => `${n},${v},${f ?? ''}\n`)
    return { csv: `n,v,f\n${lines.join('')}` }
  }
  const objects = rows.map(({ n, v, f }) => (f === null ? { n, v } : { n, v, f }))
  return form === 'json' ? { json: JSON.stringify(objects) } : objects
}

/** The rows of an operation: given ones, or whatever the stash may contain. */
export type RowsOf =
  | Readonly<{ rows: readonly ModelRow[]; form: RowsForm }>
  | Readonly<{ stash: ModelStash }>

function contentsOf(of: RowsOf): readonly (readonly ModelRow[])[] {
  return 'rows' in of ? [of.rows] : rowsOfStash(of.stash)
}

function argumentOf(team: Team, of: RowsOf) {
  return 'rows' in of ? inputOf(of.rows, of.form) : team.stash(of.stash.id)
}

function textOf(of: RowsOf): string {
  return 'rows' in of ? `${of.form} ${showRows(of.rows)}` : `stash ${of.stash.id}`
}

type Change = (rows: readonly ModelRow[]) => NonNullable<TableState>

/** Whether rows certainly name the column `f`: a table without it refuses them. */
function mustFail(of: RowsOf, rows: readonly ModelRow[]): boolean {
  const isNamed = 'form' in of && of.form === 'csv' && rows.length > 0
  return isNamed || rows.some(({ f }) => f !== null)
}

/** Whether some of the rows may name the column `f`. An empty CSV field does, too. */
export function mayNameFiles(of: RowsOf): boolean {
  if ('stash' in of) return contentsOf(of).some((rows) => rows.length > 0)
  return of.form === 'csv' || of.rows.some(({ f }) => f !== null)
}

function breaksKey({ key, rows }: NonNullable<TableState>): boolean {
  return !isUnique(key, rows)
}

/** The states after a change of rows, one for each possible content of its rows. */
function changed(
  of: RowsOf,
  outcome: Outcome,
  { hasFiles, change }: Readonly<{ hasFiles: boolean; change: Change }>,
): readonly TableState[] {
  const states: TableState[] = []
  for (const content of contentsOf(of)) {
    if ('stash' in of && content.length === 0) continue
    if (!hasFiles && mustFail(of, content)) continue
    if (breaksKey(change(content))) continue
    if (outcome.kind !== 'done') {
      states.push(change(content))
      continue
    }
    const { version, rowIds } = outcome.value as Value
    if (rowIds === undefined || rowIds.length !== content.length) continue
    const next = change(content.map((row, i) => ({ ...row, id: rowIds.at(i) ?? null })))
    if (next.version === version) states.push(next)
  }
  return states
}

/**
 * The state after a failure without effect, which must fit the state, unless it comes from the disk. Without a table,
 * the failure must say so.
 */
export function refused(
  world: DiskJudge,
  state: TableState,
  failure: StoreError,
  fits: (code: string) => boolean,
): readonly TableState[] {
  const isNoTable = state === null && failure.code === 'TABLE_NOT_FOUND'
  return world.isOfDisk(failure) || isNoTable || fits(failure.code) ? [state] : []
}

function isEmptyStash(of: RowsOf): boolean {
  if (!('stash' in of)) return false
  return of.stash.isDoubted || rowsOfStash(of.stash).some((rows) => rows.length === 0)
}

/** @param world - Judges its failures. With `jobs` it runs as a job, which has no key. */
export function createTable(
  world: DiskJudge,
  oracle: Oracle,
  of: RowsOf,
  { jobs = null, key = null }: Readonly<{ jobs?: SimJobs | null; key?: KeyColumn | null }> = {},
): SimOperation {
  const table: ModelTable = {
    name: `t${oracle.nextNumber()}`,
    id: null,
    seen: null,
    possible: [{ state: null, pending: [] }],
  }
  oracle.tables.push(table)
  return {
    text: `create ${table.name}${key === null ? '' : ` by ${key}`} of ${textOf(of)}${jobs === null ? '' : ' as a job'}`,
    table,
    readsObjects: 'stash' in of || jobs !== null,
    run: ({ team }) => {
      const create = { name: table.name, schema: SCHEMA, rows: argumentOf(team, of) }
      if (jobs !== null) return jobs.run(team, { create })
      return team.createTable({ ...create, ...(key !== null && { key: [key] }) })
    },
    apply: (state, outcome) => {
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          const isTwice = contentsOf(of).some((rows) => !isUnique(key, rows))
          if (code === 'KEY_NOT_UNIQUE') return isTwice
          return code === 'STASH_NOT_FOUND' && isEmptyStash(of)
        })
      }
      if (state !== null) return []
      const version = oracle.base + 1
      const { name } = table
      const made = { version, name, hasFiles: true, adds: NO_ADDS, key }
      const change: Change = (rows) => ({ ...made, rows: at(rows, version) })
      return changed(of, outcome, { hasFiles: true, change })
    },
    settle: (outcome) => {
      if (outcome.kind !== 'done') return
      table.id = (outcome.value as Value).tableId ?? null
      oracle.noteMade(table.id ?? '')
    },
  }
}

const NO_ADDS: ReadonlyMap<string, number> = new Map()

export type ChangeKind = 'add' | 'overwrite'

/** @param jobs - Runs an overwrite as a job; null: directly. */
export function changeTable(
  world: DiskJudge,
  kind: ChangeKind,
  table: ModelTable,
  of: RowsOf,
  options: Readonly<{ ifMatch?: number; idempotencyKey?: string }>,
  jobs: SimJobs | null = null,
): SimOperation {
  const { ifMatch, idempotencyKey } = options
  const change = (state: NonNullable<TableState>) => (rows: readonly ModelRow[]) => {
    const version = state.version + 1
    const added = at(rows, version)
    if (kind === 'overwrite') return { ...state, version, rows: added }
    if (rows.length === 0) return state
    const keyed = idempotencyKey === undefined ? [] : [[idempotencyKey, version] as const]
    const adds = new Map([...state.adds, ...keyed])
    return { ...state, version, rows: [...state.rows, ...added], adds }
  }
  const mayBreakKey = (state: NonNullable<TableState>): boolean => {
    return contentsOf(of).some((rows) => breaksKey(change(state)(rows)))
  }
  return {
    text: `${kind} ${table.name} of ${textOf(of)} ${show(options)}${jobs === null ? '' : ' as a job'}`,
    table,
    readsObjects: 'stash' in of || jobs !== null,
    run: ({ team }) => {
      const target = team.table(table.id ?? '')
      const rows = argumentOf(team, of)
      if (kind === 'overwrite') {
        const overwrite = { rows, ...(ifMatch !== undefined && { ifMatch }) }
        if (jobs === null) return target.overwrite(overwrite)
        return jobs.run(team, { overwrite: { ...overwrite, tableId: target.id } })
      }
      return target.addRows(rows, idempotencyKey === undefined ? {} : { idempotencyKey })
    },
    apply: (state, outcome) => {
      const isOver =
        state !== null && ifMatch !== undefined && kind === 'overwrite' && state.version > ifMatch
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          return (
            (code === 'STASH_NOT_FOUND' && isEmptyStash(of)) ||
            (code === 'KEY_NOT_UNIQUE' && state !== null && mayBreakKey(state)) ||
            (code === 'PRECONDITION_FAILED' && isOver) ||
            (code === 'COLUMN_ID_NOT_FOUND' && state?.hasFiles === false && mayNameFiles(of))
          )
        })
      }
      if (state === null || isOver) return []
      return changed(of, outcome, { hasFiles: state.hasFiles, change: change(state) })
    },
  }
}

/** Repeats an add with the same key: it takes effect once, and returns the first result. */
export function repeatAdd(
  world: DiskJudge,
  table: ModelTable,
  of: Extract<RowsOf, { rows: unknown }>,
  idempotencyKey: string,
): SimOperation {
  const { rows } = of
  const first = changeTable(world, 'add', table, of, { idempotencyKey })
  return {
    ...first,
    text: `repeat ${first.text}`,
    apply: (state, outcome) => {
      const before = state?.adds.get(idempotencyKey)
      if (state === null || outcome.kind !== 'done' || before === undefined)
        return first.apply(state, outcome)
      const { version, rowIds } = outcome.value as Value
      // Its rows may have been deleted or changed since.
      const there = state.rows.find(({ n }) => n === rows[0]?.n)
      const isSame = (there?.id ?? null) === null || there?.id === rowIds?.at(0)
      return isSame && version === before ? [state] : []
    },
  }
}

export function updateRow(
  world: DiskJudge,
  oracle: Oracle,
  table: ModelTable,
  row: ModelRow,
  ifMatch: number | undefined,
  v = oracle.newText(row.n),
): SimOperation {
  const after = (state: TableState, there: ModelRow): NonNullable<TableState> => {
    if (state === null) throw new Error('a row has a table')
    const version = state.version + 1
    const rows = state.rows.map((one) => (one === there ? { ...one, v, version } : one))
    return { ...state, version, rows }
  }
  return {
    text: `update ${table.name} ${row.n} to ${v}${ifMatch === undefined ? '' : ` if ${ifMatch}`}`,
    table,
    readsObjects: true,
    run: ({ team }) => {
      const options = ifMatch === undefined ? {} : { ifMatch }
      return team.table(table.id ?? '').updateRow(row.id ?? '', { v }, options)
    },
    apply: (state, outcome) => {
      const there = state?.rows.find(({ id }) => id === row.id)
      const isOver = there !== undefined && ifMatch !== undefined && there.version > ifMatch
      if (outcome.kind === 'failed') {
        return refused(world, state, outcome.failure, (code) => {
          return there === undefined
            ? code === 'ROW_NOT_FOUND' && state !== null
            : (isOver && code === 'PRECONDITION_FAILED') ||
                (code === 'KEY_NOT_UNIQUE' && breaksKey(after(state, there)))
        })
      }
      if (state === null || there === undefined || isOver) return []
      const next = after(state, there)
      if (breaksKey(next)) return []
      const { version } = next
      if (outcome.kind === 'unknown') return [next]
      return (outcome.value as Value).version === version ? [next] : []
    },
  }
}

export function deleteRow(world: DiskJudge, table: ModelTable, row: ModelRow): SimOperation {
  return {
    text: `delete ${table.name} ${row.n}`,
    table,
    readsObjects: true,
    run: ({ team }) => team.table(table.id ?? '').deleteRow(row.id ?? ''),
    apply: (state, outcome) => {
      if (outcome.kind === 'failed') return refused(world, state, outcome.failure, () => false)
      if (state === null) return []
      const rows = state.rows.filter(({ id }) => id !== row.id)
      const deleted = rows.length < state.rows.length
      const version = state.version + (deleted ? 1 : 0)
      const next = { ...state, version, rows }
      if (outcome.kind === 'unknown') return [next]
      const result = outcome.value as DeleteResult
      return result.version === version && result.deleted === deleted ? [next] : []
    },
  }
}

/** Reads a page, concurrently with others: it shows one state, never a mix of two. */
export function readBeside(world: DiskJudge, table: ModelTable): SimOperation {
  return {
    text: `read ${table.name}`,
    table,
    readsObjects: true,
    run: ({ team }) => team.table(table.id ?? '').page(),
    apply: (state, outcome) => {
      if (outcome.kind === 'unknown') return []
      if (outcome.kind === 'failed') return refused(world, state, outcome.failure, () => false)
      const { version, rows } = outcome.value as { version: number; rows: readonly StoredCells[] }
      const isIt = state?.version === version && matchRows(state.rows, rows) !== null
      return isIt ? [state] : []
    },
  }
}

/** Compactions, recompressions and garbage collections, which change nothing that can be read. */
export function maintainBeside(): SimOperation {
  return {
    text: 'garbageCollection',
    table: null,
    run: ({ store }) => store.maintain(),
    apply: (state) => [state],
  }
}

export function putChunk(
  stash: ModelStash,
  serial: string,
  rows: readonly ModelRow[],
  form: RowsForm,
): SimOperation {
  return {
    text: `put chunk ${serial} of stash ${stash.id}: ${form} ${showRows(rows)}`,
    table: null,
    run: ({ team }) => team.stash(stash.id).put(serial, inputOf(rows, form)),
    apply: (state) => [state],
    stashed: { stash, serial, rows },
  }
}

export function deleteStash(stash: ModelStash): SimOperation {
  return {
    text: `delete stash ${stash.id}`,
    table: null,
    run: ({ team }) => team.stash(stash.id).delete(),
    apply: (state) => [state],
    stashed: { stash, serial: null, rows: null },
  }
}

export function putFile(world: DiskJudge, oracle: Oracle, isUpload: boolean): SimOperation {
  const content = `file ${oracle.nextNumber()}`
  const about = { fileName: 'a.txt', contentType: 'text/plain' }
  return {
    text: `${isUpload ? 'upload' : 'put'} ${content}`,
    table: null,
    run: ({ team, store }) =>
      isUpload ? upload(store, team, content) : team.files.put(content, about),
    apply: (state) => [state],
    settle: (outcome) => {
      if (outcome.kind === 'failed' && !world.isOfDisk(outcome.failure)) {
        // Nothing is left of an upload, or of the upload of a location.
        if (oracle.isWiping && outcome.failure.code.startsWith('UPLOAD_')) return
        throw new Mismatch(`A file was refused: ${show(outcome.failure)}`)
      }
      if (outcome.kind !== 'done') return
      const { id, completedAt } = outcome.value as { id: string; completedAt: number }
      oracle.noteMade(id)
      oracle.files.set(id, { id, content, completedAt })
    },
  }
}

async function upload(
  store: OperationPlace['store'],
  team: Team,
  content: string,
): Promise<StoredFile> {
  const ticket = await team.files.createUpload({ fileName: 'a.txt', contentType: 'text/plain' })
  return receiveAndComplete(store, team, ticket, content)
}

/** The rest of an upload, with plain text as content. */
export async function receiveAndComplete(
  store: OperationPlace['store'],
  team: Team,
  { target, uploadId }: UploadTicket,
  content: string,
): Promise<StoredFile> {
  const bytes = new TextEncoder().encode(content)
  const [, query = ''] = target.split('?')
  const request = { uploadId, query, contentType: 'text/plain', contentLength: bytes.length }
  await store.files.receive({ ...request, body: piecesOf(bytes) })
  return team.files.completeUpload(uploadId)
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const middle = bytes.length >>> 1
  yield bytes.subarray(0, middle)
  yield bytes.subarray(middle)
}

export type StoredCells = Readonly<Record<string, unknown>>

/** The rows of a state with their IDs; null: the stored rows differ. */
export function matchRows(
  rows: readonly ModelRow[],
  stored: readonly StoredCells[],
): ModelRow[] | null {
  if (rows.length !== stored.length) return null
  const matched: ModelRow[] = []
  for (const [i, row] of rows.entries()) {
    const { $rowID: id, n, v, f = null } = stored[i] ?? {}
    if (n !== row.n || v !== row.v || f !== row.f || typeof id !== 'string') return null
    if (row.id !== null && row.id !== id) return null
    matched.push({ ...row, id })
  }
  return matched
}

function at(rows: readonly ModelRow[], version: number): ModelRow[] {
  return rows.map((row) => ({ ...row, version }))
}
