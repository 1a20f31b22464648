// The tables of a round, and how their rows show what was written to them.
import type { RowWithId, Team } from '../../../src/index.js'
import type { FeedRow, Read } from './history.js'
import type { RoundTables } from './history-job.js'

export const ACCOUNTS = ['a', 'b', 'c']
const ROWS = 5
export const AMOUNT = 100
export const SUM = ACCOUNTS.length * ROWS * AMOUNT

/** Enough to show the writes of operations whose outcome is unknown. */
const TAIL = 12

export const CLAIMS = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5']

const TEXT = { type: 'string' } as const
const COUNT = { type: 'number' } as const

export const ACCOUNT_COLUMNS = [
  { id: 'k', ...TEXT },
  { id: 'n', ...COUNT },
  { id: 'tail', ...TEXT },
  { id: 'amount', ...COUNT },
]

export async function createTables(team: Team, keyed: readonly string[]): Promise<RoundTables> {
  const accounts: Record<string, { id: string; rows: string[] }> = {}
  for (const name of ACCOUNTS) {
    const rows = Array.from({ length: ROWS }, (_, row) => ({
      k: `r${row}`,
      n: 0,
      tail: '',
      amount: AMOUNT,
    }))
    const key = keyed.includes(name) ? { key: ['k'] } : {}
    const made = await team.createTable({
      name,
      schema: { columns: ACCOUNT_COLUMNS },
      rows,
      ...key,
    })
    accounts[name] = { id: made.tableId, rows: [...made.rowIds] }
  }
  const log = await team.createTable({
    name: 'log',
    schema: { columns: [{ id: 'e', ...TEXT }] },
    rows: [],
  })
  const columns = [
    { id: 'k', ...TEXT },
    { id: 'e', ...TEXT },
  ]
  const claims = await team.createTable({
    name: 'claims',
    schema: { columns },
    rows: [],
    key: ['k'],
  })
  const tables = { accounts, log: log.tableId, claims: claims.tableId, first: {} }
  const first: Record<string, RoundTables['first'][string]> = {}
  for (const [name, id] of allTables(tables)) {
    const { version, rows } = await team.table(id).page()
    first[name] = { version, rows: rows.map(feedRowOf) }
  }
  return { ...tables, first }
}

/** The names and IDs of all tables. */
export function allTables({
  accounts,
  log,
  claims,
}: RoundTables): readonly (readonly [string, string])[] {
  const named = Object.entries(accounts).map(([name, { id }]) => [name, id] as const)
  return [...named, ['log', log], ['claims', claims]]
}

type Cells = Readonly<Record<string, unknown>>

export type Account = Readonly<{ k: string; n: number; tail: string; amount: number }>

export function accountOf(row: Cells): Account {
  const { k, n, tail = '', amount } = row
  return { k: String(k), n: Number(n), tail: String(tail), amount: Number(amount) }
}

/** The object that represents a row. */
export function objectOf(table: string, row: number | string): string {
  return `${table}/${typeof row === 'number' ? `r${row}` : row}`
}

export function readOf(table: string, { k, n, tail }: Account): Read {
  return { object: objectOf(table, k), length: n, tail: tail === '' ? [] : tail.split(' ') }
}

/** The cells of a row to which elements are appended. */
export function appended({ n, tail, amount }: Account, elements: readonly string[], more = 0) {
  const all = [...(tail === '' ? [] : tail.split(' ')), ...elements]
  return { n: n + elements.length, tail: all.slice(-TAIL).join(' '), amount: amount + more }
}

export function feedRowOf(row: RowWithId): FeedRow {
  const { $rowID: id, k, e, n, tail } = row
  const last =
    n === undefined
      ? String(e)
      : `${n}:${String(tail ?? '')
          .split(' ')
          .at(-1)}`
  return { id, key: String(k ?? e), last }
}
