// The operations of a process that is a client of a server.
import type { Client, ClientTable } from '../../../src/client/client.js'
import type { Seeded } from '../../support/seeded.js'
import type { CLIENT_OPERATIONS, RoundTables } from './history-job.js'
import { GivenUp } from './library-operations.js'
import { ACCOUNTS, appended, CLAIMS, objectOf } from './round-tables.js'
import type { Seen } from './seen.js'

type Place = Readonly<{ client: Client; tables: RoundTables; keyed: readonly string[] }>

type Plan = (place: Place, seen: Seen, random: Seeded) => () => Promise<void>

const ROWS_OF_MANY = 3

type Accounts = Readonly<{ name: string; table: ClientTable; rows: readonly string[] }>

function pickAccounts({ client, tables }: Place, random: Seeded): Accounts {
  const name = random.pick(ACCOUNTS)
  const { id, rows } = tables.accounts[name] ?? { id: '', rows: [] }
  return { name, table: client.table(id), rows }
}

const update: Plan = (place, seen, random) => {
  const { name, table, rows } = pickAccounts(place, random)
  const row = random.below(rows.length)
  const object = objectOf(name, row)
  const elements = seen.plan(object)
  return async () => {
    const found = await table.get(rows[row] ?? '')
    const cells = appended(seen.row(name, object, found?.row), elements)
    const { version } = await table.updateRow(rows[row] ?? '', cells, { ifMatch: found?.version })
    seen.wrote(object, cells.n)
    seen.made(name, Number(version))
  }
}

const updateMany: Plan = (place, seen, random) => {
  const { name, table, rows } = pickAccounts(place, random)
  const numbers = [
    ...new Set(Array.from({ length: ROWS_OF_MANY }, () => random.below(rows.length))),
  ]
  const elements = numbers.map((row) => seen.plan(objectOf(name, row)))
  return async () => {
    const page = await table.page() // Other rows may change before the update.
    const updates = numbers.map((row, at) => {
      const object = objectOf(name, row)
      const found = page.rows.find(({ $rowID }) => $rowID === rows[row])
      const cells = appended(seen.row(name, object, found), elements[at] ?? [])
      return { object, update: { rowId: rows[row] ?? '', cells, ifMatch: page.version } }
    })
    const { version } = await table.updateRows(updates.map((one) => one.update))
    for (const {
      object,
      update: { cells },
    } of updates)
      seen.wrote(object, cells.n)
    seen.made(name, Number(version))
  }
}

const add: Plan = ({ client, tables }, seen, random) => {
  const rows = seen.plan('log', 1 + random.below(3)).map((e) => ({ e }))
  return async () =>
    seen.made('log', Number((await client.table(tables.log).addRows(rows)).version))
}

const claim: Plan = ({ client, tables }, seen, random) => {
  const rows = [{ k: random.pick(CLAIMS), e: seen.id }]
  return async () =>
    seen.made('claims', Number((await client.table(tables.claims).addRows(rows)).version))
}

/** The answer to a delete does not tell whether the row existed, so its version may belong to another operation. */
const release: Plan = ({ client, tables }, _, random) => {
  const k = random.pick(CLAIMS)
  return async () => {
    const found = await client.table(tables.claims).get({ k })
    if (found === null) throw new GivenUp()
    await client.table(tables.claims).deleteRow(found.row.$rowID)
  }
}

function readRow(byKey: boolean): Plan {
  return (place, seen, random) => {
    const { name, table, rows } = pickAccounts(place, random)
    const row = random.below(rows.length)
    const isByKey = byKey && place.keyed.includes(name)
    return async () => {
      const found = await table.get(isByKey ? { k: `r${row}` } : (rows[row] ?? ''))
      seen.row(name, objectOf(name, row), found?.row)
    }
  }
}

const readPage: Plan = (place, seen, random) => {
  const { name, table } = pickAccounts(place, random)
  return async () => {
    const { version, rows } = await table.page()
    seen.page(name, Number(version), rows)
    for (const row of rows) seen.row(name, objectOf(name, String(row['k'])), row)
  }
}

const readLog: Plan =
  ({ client, tables }, seen) =>
  async () => {
    const { version, rows } = await client.table(tables.log).page()
    seen.page('log', Number(version), rows)
  }

export const CLIENT_PLANS: Readonly<Record<(typeof CLIENT_OPERATIONS)[number], Plan>> = {
  update,
  'update many': updateMany,
  add,
  claim,
  release,
  'read row': readRow(false),
  'read page': readPage,
  'read log': readLog,
  'read by key': readRow(true),
}
