// The writers of a race with background work. Each changes the rows of its own group, in one commit.
import {
  isStoreError,
  type RowWithId,
  type Store,
  type Table,
  type Team,
  type TransactionTable,
} from '../../../src/index.js'
import { expectEqual } from '../model/operation.js'

/** A possible step of a transaction. */
export type Step = 'add' | 'take' | 'update' | 'delete' | 'read' | 'scan'

export type Row = Readonly<{ k: number; g: number; v: string }>

/** The rows of the stash: the group of the first writer that adds them. */
export const STASHED = 7
export const STASH: readonly Row[] = [0, 1, 2, 3, 4].map((i) => {
  return { k: 100 * STASHED + i, g: STASHED, v: 'stash' }
})

/** The content before the race. */
export type Past = Readonly<{
  tableId: string
  hasKey: boolean
  /** Rows with their IDs, in the order of the table. */
  rows: readonly (Row & Readonly<{ $rowID: string }>)[]
  /** The versions that were created. */
  versions: readonly number[]
}>

export type Writer =
  | 'transaction'
  | 'merge'
  | 'delete where'
  | 'update'
  | 'add stash'
  | 'give key'
  | 'job'
  | 'overwrite'

export type WriterPlace = Readonly<{ store: Store; team: Team; table: Table; past: Past }>

/** The rows of a group before and after the race. */
export type Group = {
  readonly before: readonly Row[]
  after: readonly Row[]
  readonly ids: readonly string[]
}

/** Failures of writers with too many conflicts. They changed nothing. */
const BUSY: ReadonlySet<string> = new Set(['TRANSACTION_CONFLICT', 'STORAGE_UNAVAILABLE'])

/** @param g - The group of the writer. @returns what it does; only one writer can add the stash. */
export function bindWriter(
  what: Writer,
  g: number,
  steps: readonly Step[],
  groups: ReadonlyMap<number, Group>,
): Readonly<{ what: Writer; run: (place: WriterPlace) => Promise<void> }> {
  const stashed = groups.get(STASHED)
  const own = what === 'add stash' && stashed?.after.length === 0 ? stashed : groups.get(g)
  if (own === undefined) throw new Error(`There is no group ${g}`)
  const isFirst = own === stashed
  if (isFirst) own.after = STASH
  const does = isFirst || what !== 'add stash' ? what : 'update'
  const run = async (place: WriterPlace) => {
    try {
      own.after = await write(does, place, own, g, steps)
    } catch (failure) {
      if (!isStoreError(failure) || !BUSY.has(failure.code)) throw failure
      expectEqual(`the outcome of ${what}`, failure.outcome, 'unchanged')
      own.after = own.before
    }
  }
  return { what: does, run }
}

/** @returns the rows of the group afterwards */
async function write(
  what: Writer,
  place: WriterPlace,
  own: Group,
  g: number,
  steps: readonly Step[],
): Promise<readonly Row[]> {
  const { team, table, past } = place
  const { before, ids } = own
  const [first = '', second = ''] = ids
  switch (what) {
    case 'transaction':
      return transact(place, own, g, steps)
    case 'merge': {
      const rows = [
        { k: 100 * g, g, v: 'merged' },
        { k: 100 * g + 50, g, v: 'merged' },
      ]
      await table.merge({ rows, key: ['k'] })
      return [...rows, ...before.slice(1)]
    }
    case 'delete where':
      expectEqual(
        'the deleted rows',
        (await table.deleteRows({ where: { g } })).deleted,
        before.length,
      )
      return []
    case 'update':
      await table.updateRows([first, second].map((rowId) => ({ rowId, cells: { v: 'updated' } })))
      return before.map((row) => ({ ...row, v: 'updated' }))
    case 'add stash':
      await table.addRows(team.stash('s'))
      return own.after
    case 'give key':
      await table.alter({ key: ['k'] })
      return before
    case 'overwrite':
      await table.overwrite({ rows: past.rows }) // the same rows, in other places
      return before
    case 'job':
      await team.startJob({ create: { name: `job ${g}`, rows: team.stash('s') } })
      return before
  }
}

/** The reads of each call of the function are checked, including repeated calls. */
function transact(
  { team, past }: WriterPlace,
  { before, ids }: Group,
  g: number,
  steps: readonly Step[],
): Promise<readonly Row[]> {
  return team.transaction(async (t) => {
    let own: readonly Row[] = before
    for (const [at, step] of steps.entries()) {
      own = await runStep(t.table(past.tableId), past, step, { own, ids, g, at })
    }
    return own
  })
}

type InTransaction = Readonly<{
  own: readonly Row[]
  ids: readonly string[]
  g: number
  /** The number of the step. */
  at: number
}>

/** @returns the rows of the group after the step */
async function runStep(
  table: TransactionTable,
  past: Past,
  step: Step,
  { own, ids, g, at }: InTransaction,
): Promise<readonly Row[]> {
  const [first = '', second = ''] = ids
  const still = past.rows.filter((row) => row.g === 0)
  switch (step) {
    case 'add': {
      const rows = [0, 1, 2, 3, 4].map((i) => ({ k: 1_000 * g + 10 * at + i, g, v: 'added' }))
      await table.addRows(rows)
      return [...own, ...rows]
    }
    case 'take': {
      const taken = { k: g - 1, g, v: 'taken' } // a key that an update has freed
      if (own.some(({ k }) => k === taken.k)) return own
      await table.addRows([taken])
      return [...own, taken]
    }
    case 'update':
      await table.updateRow(first, { v: `step ${at}` })
      return own.map((row) => (row.k === 100 * g ? { ...row, v: `step ${at}` } : row))
    case 'delete': {
      const left = own.filter(({ k }) => k !== 100 * g + 1)
      const { deleted } = await table.deleteRow(second)
      expectEqual('whether a row was there to delete', deleted, left.length < own.length)
      return left
    }
    case 'read': {
      const found = await table.getMany(still.map(({ $rowID }) => $rowID))
      expectEqual(
        'rows by their IDs in a transaction',
        found.map((one) => one?.row),
        still,
      )
      return own
    }
    case 'scan': {
      const rows: RowWithId[] = []
      for await (const row of table.scan()) rows.push(row)
      expectEqual(
        'the scanned rows of a transaction',
        rows.filter((row) => row['g'] === 0),
        still,
      )
      const found = rows.filter((row) => row['g'] === g).map(cellsOf)
      expectEqual('its own rows', found.toSorted(byKey), own.toSorted(byKey))
      return own
    }
  }
}

export function cellsOf(row: Readonly<Record<string, unknown>>): Row {
  return { k: Number(row['k']), g: Number(row['g']), v: String(row['v']) }
}

export function byKey(left: Row, right: Row): number {
  return left.k - right.k
}
