// The operations of a process that has the store open.
import type { RowWithId, Table, Team, TransactionTable } from '../../../src/index.js'
import type { Seeded } from '../../support/seeded.js'
import type { OperationName, RoundTables } from './history-job.js'
import { ACCOUNTS, type Account, appended, CLAIMS, objectOf } from './round-tables.js'
import type { Seen } from './seen.js'

/** What fails on purpose. */
export class GivenUp extends Error {}

/** A failure that does not tell what became of an operation. */
export class NotKnown extends Error {}

export type Place = Readonly<{ team: Team; tables: RoundTables; keyed: readonly string[] }>

/** Draws what it does, and plans its writes; the function that it returns does it. */
export type Plan = (place: Place, seen: Seen, random: Seeded) => () => Promise<void>

type Target = Readonly<{ name: string; row: number; id: string; object: string }>

const ROWS_OF_MANY = 3

function targetOf({ tables }: Place, random: Seeded): Target {
  const name = random.pick(ACCOUNTS)
  const { rows } = accountsOf(tables, name)
  const row = random.below(rows.length)
  return { name, row, id: rows[row] ?? '', object: objectOf(name, row) }
}

function targetsOf(place: Place, random: Seeded, count: number): readonly Target[] {
  const all = Array.from({ length: count }, () => targetOf(place, random))
  return [...new Map(all.map((target) => [target.object, target])).values()]
}

function accountsOf({ accounts }: RoundTables, name: string) {
  const found = accounts[name]
  if (found === undefined) throw new Error(`There are no accounts ${name}`)
  return found
}

const tableOf = ({ team, tables }: Place, name: string): Table => {
  return team.table(accountsOf(tables, name).id)
}

const LIMIT = 10_000

async function rowsOf(table: Pick<TransactionTable, 'scan'>): Promise<RowWithId[]> {
  const rows: RowWithId[] = []
  for await (const row of table.scan()) rows.push(row)
  return rows
}

/** Reads a row in one of several ways. */
async function readRow(
  table: Table | TransactionTable,
  { name, row, id }: Target,
  { keyed }: Place,
  way: number,
) {
  const byKey = keyed.includes(name)
  if (way === 0 && byKey) return (await table.get({ k: `r${row}` }))?.row
  if (way === 1) return (await table.getMany([id]))[0]?.row
  if (way === 2) return (await rowsOf(table)).find(({ $rowID }) => $rowID === id)
  return (await table.get(id))?.row
}

type TransactForm = 'plain' | 'twice' | 'fails' | 'overwrite' | 'add'

/** Reads some rows of several tables, and appends to some of them; money goes from the first to the last. */
function transact(form: TransactForm): Plan {
  return (place, seen, random) => {
    const written = targetsOf(place, random, 1 + random.below(3))
    const [whole] = form === 'overwrite' ? written : []
    const others = whole === undefined ? written : written.filter(({ name }) => name !== whole.name)
    const wholeRows = whole === undefined ? [] : accountsOf(place.tables, whole.name).rows
    const elements = new Map<string, readonly string[]>()
    const plan = (object: string) =>
      elements.set(object, seen.plan(object, form === 'twice' ? 2 : 1))
    for (const { object } of others) plan(object)
    for (const row of wholeRows.keys()) plan(objectOf(whole?.name ?? '', row))
    const added = form === 'add' ? seen.plan('log', 1 + random.below(3)) : []
    const read = targetsOf(place, random, random.below(4))
    const [way, amount, reads] = [random.below(6), random.below(9), random.once(2)]
    return () =>
      place.team.transaction(
        async (t) => {
          seen.reset()
          const at = (target: Target) => t.table(accountsOf(place.tables, target.name).id)
          const accounts = new Map<string, Account>()
          for (const target of [...others, ...read]) {
            if (accounts.has(target.object)) continue
            if (reads) seen.version(target.name, await at(target).version())
            const row = await readRow(at(target), target, place, way)
            accounts.set(target.object, seen.row(target.name, target.object, row))
          }
          if (whole !== undefined) await replaceAll(at(whole), whole.name, seen, elements)
          for (const [index, target] of others.entries()) {
            const ends =
              others.length < 2
                ? 0
                : index === 0
                  ? -amount
                  : index === others.length - 1
                    ? amount
                    : 0
            let account = accounts.get(target.object)
            for (const [each, element] of (elements.get(target.object) ?? []).entries()) {
              if (account === undefined) throw new Error(target.object)
              const cells = appended(account, [element], each === 0 ? ends : 0)
              account = { ...account, ...cells }
              const { version } = await at(target).updateRow(target.id, cells)
              seen.wrote(target.object, cells.n)
              seen.made(target.name, version)
            }
          }
          if (added.length > 0) {
            const rows = added.map((e) => ({ e }))
            seen.made('log', (await t.table(place.tables.log).addRows(rows)).version)
          }
          if (form === 'fails') throw new GivenUp()
        },
        { author: seen.id },
      )
  }
}

/** Appends to all rows of a table by a new generation, in which they keep their IDs. */
async function replaceAll(
  table: Table | TransactionTable,
  name: string,
  seen: Seen,
  elements: ReadonlyMap<string, readonly string[]>,
  options: Readonly<{ ifMatch?: number; author?: string }> = {},
): Promise<void> {
  const { rows, next } = nextRows(name, await rowsOf(table), seen, elements)
  const { version } = await table.overwrite({ rows, ...options })
  for (const [object, n] of next) seen.wrote(object, n)
  seen.made(name, version)
}

function nextRows(
  name: string,
  found: readonly RowWithId[],
  seen: Seen,
  elements: ReadonlyMap<string, readonly string[]>,
) {
  const next: (readonly [string, number])[] = []
  const rows = found.map((row) => {
    const object = objectOf(name, String(row['k']))
    const account = seen.row(name, object, row)
    const cells = appended(account, elements.get(object) ?? [])
    next.push([object, cells.n])
    return { ...row, ...cells }
  })
  const wanted = [...elements.keys()].filter((object) => object.startsWith(`${name}/`)).length
  if (rows.length !== wanted) throw new Error(`${name} has ${rows.length} rows, not ${wanted}`)
  return { rows, next }
}

const audit: Plan = (place, seen) => () =>
  place.team.transaction(async (t) => {
    seen.reset()
    let sum = 0
    for (const name of ACCOUNTS) {
      const table = t.table(accountsOf(place.tables, name).id)
      const { rows, version } = await table.page({ limit: LIMIT })
      seen.page(name, version, rows)
      for (const row of rows) sum += seen.row(name, objectOf(name, String(row['k'])), row).amount
    }
    const log = await t.table(place.tables.log).page({ limit: LIMIT })
    seen.page('log', log.version, log.rows)
    seen.sum = sum
  })

/** Inserts a key that is not there, and deletes it if it is. */
const transactClaim: Plan = (place, seen, random) => {
  const k = random.pick(CLAIMS)
  const target = targetOf(place, random)
  const elements = seen.plan(target.object)
  return () =>
    place.team.transaction(
      async (t) => {
        seen.reset()
        const claims = t.table(place.tables.claims)
        const found = await claims.get({ k })
        const accounts = t.table(accountsOf(place.tables, target.name).id)
        const account = seen.row(target.name, target.object, (await accounts.get(target.id))?.row)
        const made =
          found === null
            ? await claims.addRows([{ k, e: seen.id }])
            : await claims.deleteRow(found.row.$rowID)
        seen.made('claims', made.version)
        const cells = appended(account, elements)
        const { version } = await accounts.updateRow(target.id, cells)
        seen.wrote(target.object, cells.n)
        seen.made(target.name, version)
      },
      { author: seen.id },
    )
}

const update: Plan = (place, seen, random) => {
  const target = targetOf(place, random)
  const elements = seen.plan(target.object)
  return async () => {
    const table = tableOf(place, target.name)
    const found = await table.get(target.id)
    const account = seen.row(target.name, target.object, found?.row)
    const cells = appended(account, elements)
    const options = { ifMatch: found?.version ?? 0, author: seen.id }
    const { version } = await table.updateRow(target.id, cells, options)
    seen.wrote(target.object, cells.n)
    seen.made(target.name, version)
  }
}

const updateMany: Plan = (place, seen, random) => {
  const first = targetOf(place, random)
  const targets = targetsOf(place, random, ROWS_OF_MANY).filter(({ name }) => name === first.name)
  const all = [...new Map([first, ...targets].map((one) => [one.id, one])).values()]
  const elements = all.map(({ object }) => seen.plan(object))
  return async () => {
    const table = tableOf(place, first.name)
    const found = await table.getMany(all.map(({ id }) => id))
    const updates = all.map(({ id, object, name }, at) => {
      const account = seen.row(name, object, found[at]?.row)
      const cells = appended(account, elements[at] ?? [])
      return { rowId: id, cells, ifMatch: found[at]?.version ?? 0, object }
    })
    const sent = updates.map(({ rowId, cells, ifMatch }) => ({ rowId, cells, ifMatch }))
    const { version } = await table.updateRows(sent, { author: seen.id })
    for (const { object, cells } of updates) seen.wrote(object, cells.n)
    seen.made(first.name, version)
  }
}

/** Reads a table at a version, and changes all of it if it still has that. */
function changeAll(how: 'overwrite' | 'merge' | 'job'): Plan {
  return (place, seen, random) => {
    const name = random.pick(ACCOUNTS)
    const elements = new Map<string, readonly string[]>()
    for (const row of accountsOf(place.tables, name).rows.keys()) {
      const object = objectOf(name, row)
      elements.set(object, seen.plan(object))
    }
    return async () => {
      const table = tableOf(place, name)
      const page = await table.page({ limit: LIMIT })
      seen.page(name, page.version, page.rows)
      const { rows, next } = nextRows(name, page.rows, seen, elements)
      const request = { rows, ifMatch: page.version, author: seen.id }
      let version: number | undefined
      if (how === 'overwrite') version = (await table.overwrite(request)).version
      if (how === 'merge') version = await merge(table, request)
      if (how === 'job') version = await runJob(place, name, request)
      for (const [object, n] of next) seen.wrote(object, n)
      if (version !== undefined) seen.made(name, version)
    }
  }
}

type Request = Readonly<{ rows: readonly RowWithId[]; ifMatch: number; author: string }>

async function merge(table: Table, request: Request): Promise<number> {
  const rows = request.rows.map(({ $rowID: _, ...cells }) => cells)
  return (await table.merge({ ...request, rows, key: ['k'] })).version
}

async function runJob({ team, tables }: Place, name: string, request: Request): Promise<number> {
  const job = await team.startJob({
    overwrite: { ...request, tableId: accountsOf(tables, name).id },
  })
  const status = await job.wait().catch((cause: unknown) => {
    throw new NotKnown('', { cause }) // The job goes on.
  })
  if (status.status === 'succeeded') return status.result.version
  if (status.status === 'running') throw new NotKnown() // It has to end when no fault goes on.
  if (status.error.code === 'PRECONDITION_FAILED') throw new GivenUp()
  throw new Error(`A job failed: ${status.error.code} ${status.error.message}`)
}

const add: Plan = ({ team, tables }, seen, random) => {
  const rows = seen.plan('log', 1 + random.below(3)).map((e) => ({ e }))
  return async () =>
    seen.made('log', (await team.table(tables.log).addRows(rows, { author: seen.id })).version)
}

const addStash: Plan = ({ team, tables }, seen, random) => {
  const rows = seen.plan('log', 2 + random.below(8)).map((e) => ({ e }))
  return async () => {
    const stash = team.stash(`s-${seen.id}`)
    await stash.put('0', rows.slice(0, 1))
    await stash.put('1', rows.slice(1))
    seen.made('log', (await team.table(tables.log).addRows(stash, { author: seen.id })).version)
  }
}

const claim: Plan = ({ team, tables }, seen, random) => {
  const rows = [{ k: random.pick(CLAIMS), e: seen.id }]
  return async () =>
    seen.made(
      'claims',
      (await team.table(tables.claims).addRows(rows, { author: seen.id })).version,
    )
}

const release: Plan = ({ team, tables }, seen, random) => {
  const k = random.pick(CLAIMS)
  return async () => {
    const table = team.table(tables.claims)
    const found = await table.get({ k })
    if (found === null) throw new GivenUp()
    const { version, deleted } = await table.deleteRow(found.row.$rowID, { author: seen.id })
    if (deleted) seen.made('claims', version)
  }
}

const COLUMNS_MAX = 40

/** Adds a column, whose name is the element. */
const alter: Plan = (place, seen, random) => {
  const name = random.pick(ACCOUNTS)
  const [element = ''] = seen.plan(`${name}/columns`)
  return async () => {
    const table = tableOf(place, name)
    const { schema, version } = await table.info()
    seen.version(name, version)
    const columns = elementColumns(schema)
    seen.read({ object: `${name}/columns`, length: columns.length, tail: columns })
    if (columns.length >= COLUMNS_MAX) throw new GivenUp()
    const made = await table.alter({
      add: [{ id: element, type: 'string' }],
      ifMatch: version,
      author: seen.id,
    })
    seen.wrote(`${name}/columns`, columns.length + 1)
    seen.made(name, made.version)
  }
}

function elementColumns({
  columns,
}: Readonly<{ columns: readonly Readonly<{ id: string }>[] }>): readonly string[] {
  return columns.map(({ id }) => id).filter((id) => id.includes('.'))
}

const readOneRow: Plan = (place, seen, random) => {
  const target = targetOf(place, random)
  const way = random.below(6)
  return async () => {
    const row = await readRow(tableOf(place, target.name), target, place, way)
    seen.row(target.name, target.object, row)
  }
}

const readPage: Plan = (place, seen, random) => {
  const [name, id] = random.pick([
    ...ACCOUNTS.map((account) => [account, accountsOf(place.tables, account).id] as const),
    ['claims', place.tables.claims] as const,
  ])
  return async () => {
    const page = await place.team.table(id).page({ limit: LIMIT })
    seen.page(name, page.version, page.rows)
    if (name === 'claims') return
    for (const row of page.rows) seen.row(name, objectOf(name, String(row['k'])), row)
  }
}

const readLog: Plan =
  ({ team, tables }, seen) =>
  async () => {
    const page = await team.table(tables.log).page({ limit: LIMIT })
    seen.page('log', page.version, page.rows)
  }

const readSchema: Plan = (place, seen, random) => {
  const name = random.pick(ACCOUNTS)
  return async () => {
    const columns = elementColumns(await tableOf(place, name).schema())
    seen.read({ object: `${name}/columns`, length: columns.length, tail: columns })
  }
}

const readByKey: Plan = (place, seen, random) => {
  const target = targetOf(place, random)
  return async () => {
    const table = tableOf(place, target.name)
    const isKeyed = place.keyed.includes(target.name)
    const found = await table.get(isKeyed ? { k: `r${target.row}` } : target.id)
    seen.row(target.name, target.object, found?.row)
  }
}

/** A page of the past, which the feed must explain. */
const readPast: Plan = (place, seen, random) => {
  const name = random.pick(ACCOUNTS)
  const back = random.below(20)
  return async () => {
    const table = tableOf(place, name)
    const first = place.tables.first[name]?.version ?? 1
    const version = Math.max(first, (await table.version()) - back)
    const { rows } = await table.at(version).page({ limit: LIMIT })
    seen.page(name, version, rows)
    seen.reads.length = 0 // They are of a moment before the call.
  }
}

export const PLANS: Readonly<Record<OperationName, Plan>> = {
  transact: transact('plain'),
  'transact twice': transact('twice'),
  'transact and fail': transact('fails'),
  'transact overwrite': transact('overwrite'),
  'transact add': transact('add'),
  'transact claim': transactClaim,
  audit,
  update,
  'update many': updateMany,
  overwrite: changeAll('overwrite'),
  merge: changeAll('merge'),
  job: changeAll('job'),
  add,
  'add stash': addStash,
  claim,
  release,
  alter,
  'read row': readOneRow,
  'read page': readPage,
  'read log': readLog,
  'read schema': readSchema,
  'read by key': readByKey,
  'read past': readPast,
}

/** Reads everything at the end. */
export const readEverything: Plan = (place, seen, random) => {
  const whole = audit(place, seen, random)
  return async () => {
    await whole()
    const claims = await place.team.table(place.tables.claims).page({ limit: LIMIT })
    seen.page('claims', claims.version, claims.rows)
    for (const name of ACCOUNTS) {
      const columns = elementColumns(await tableOf(place, name).schema())
      seen.read({ object: `${name}/columns`, length: columns.length, tail: columns })
    }
  }
}
