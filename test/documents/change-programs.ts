// The documents' programs that change many rows, or several tables.
import assert from 'node:assert/strict'
import { createClient } from '../../src/client/client.js'
import { fetchHandler, openMemory } from '../../src/index.js'
import { turns } from '../support/until.js'
import { memory, type Program, runModule, runPrinting } from './run-module.js'

const DECLARED = [
  "declare const team: import('rowstash').Team",
  "declare const table: import('rowstash').Table",
  'declare const rowId: string',
].join(';')

const manyRows: Program = {
  document: 'src/guides/TABLES.md',
  begins: 'const { rows } = await table.page({ limit: 100 })',
  declared: DECLARED,
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const paid = Array.from({ length: 120 }, () => ({ paid: false }))
    const { tableId } = await team.createTable({ name: 'Orders', rows: paid })
    const table = team.table(tableId)
    await runModule(text, { table })

    assert.equal((await table.page()).rows.length, 20)
    assert.equal(await table.version(), 3)
  },
}

const transaction: Program = {
  document: 'src/guides/TABLES.md',
  begins: "const made = await team.createTable({ name: 'Archive', rows: [] })",
  declared: DECLARED,
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const made = await team.createTable({ name: 'Orders', rows: [{ total: 1 }, { total: 2 }] })
    const table = team.table(made.tableId)
    await runModule(text, { team, table, rowId: made.rowIds.get(0) })

    const [, archive] = await team.tables()
    const { rows } = await team.table(archive?.id ?? '').page()
    assert.deepEqual(
      rows.map(({ total }) => total),
      [1],
    )
    assert.equal((await table.page()).rows.length, 1)
  },
}

const feed: Program = {
  document: 'src/guides/VERSIONS.md',
  begins: 'const { version: since } = await client.table(tableId).page({ limit: 1 })',
  declared: "declare const client: import('rowstash/client').Client; declare const tableId: string",
  async run({ text }, surroundings) {
    const store = await memory(surroundings)
    const handle = fetchHandler(store, { keys: [{ key: 'a-key', teamId: 'acme' }] })
    const { tableId } = await store.team('acme').createTable({ name: 'Orders', rows: [{ id: 1 }] })
    const client = createClient({
      url: 'http://localhost',
      key: 'a-key',
      fetch: async (url, init) => handle(new Request(url as string, init)),
    })
    const table = store.team('acme').table(tableId)
    const running = runPrinting(text, { client, tableId })
    let isOver = false
    void running.finally(() => {
      isOver = true
    })
    for (let n = 2; !isOver; n++) {
      await table.addRows([{ id: n }], { author: 'ann' })
      await turns()
      await table.rename(`Orders ${n}`)
    }

    assert.deepEqual((await running).slice(-2), [
      ['add', 'ann', 1],
      ['alter', undefined, 0],
    ])
  },
}

const merge: Program = {
  document: 'src/guides/IMPORTING.md',
  begins: 'const { added, changed, unchanged, removed } = await table.merge({',
  declared: DECLARED,
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const rows = [
      { email: 'a@example.com', plan: 'free' },
      { email: 'b@example.com', plan: 'pro' },
    ]
    const { tableId, rowIds } = await team.createTable({ name: 'Customers', rows })
    const table = team.table(tableId)
    await runModule(text, { table })

    assert.deepEqual((await table.page()).rows[0], {
      $rowID: rowIds.get(0),
      email: 'a@example.com',
      plan: 'pro',
    })
    assert.equal((await table.page()).rows.length, 2)
  },
}

const changes: Program = {
  document: 'src/guides/VERSIONS.md',
  begins: 'const { version } = await table.page({ limit: 1 })',
  declared: DECLARED,
  async run({ text }) {
    const store = await openMemory({ historyRetentionMs: 60_000 })
    const team = store.team('acme')
    const made = await team.createTable({ name: 'Orders', rows: [{ paid: false }] })
    const table = team.table(made.tableId)
    const rowId = made.rowIds.get(0)
    const printed = await runPrinting(text, { table, rowId })
    await store.close()

    assert.deepEqual(printed, [[2, 0, 1, 0], [{ $rowID: rowId, paid: true }]])
  },
}

const keys: Program = {
  document: 'src/guides/TABLES.md',
  begins: "await table.alter({ key: ['email'] })",
  declared: DECLARED,
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const rows = [{ email: 'b@example.com' }, { email: 'a@example.com' }]
    const { tableId, rowIds } = await team.createTable({ name: 'Customers', rows })
    const table = team.table(tableId)
    const printed = await runPrinting(text, { table })

    const found = printed.map(([row]) => row)
    assert.deepEqual(found, [{ $rowID: rowIds.get(1), email: 'a@example.com' }])
    await assert.rejects(table.addRows(rows), { code: 'KEY_NOT_UNIQUE' })
  },
}

const fromSqlite: Program = {
  document: 'src/guides/COMING-FROM.md',
  begins: "const made = await team.createTable({ name: 'Orders', rows: statement.iterate()",
  declared: [
    "declare const team: import('rowstash').Team",
    'declare const statement: { iterate(): Iterable<Record<string, unknown>> }',
  ].join(';'),
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const rows = [5, 7, 9].map((id) => ({ id, total: id * 2 }))
    const statement = { iterate: () => rows.values() }
    const printed = (await runPrinting(text, { team, statement })).map(([value]) => value)

    assert.deepEqual((printed[0] as { row: { total: number } }).row.total, 14)
    assert.equal(printed[1], 2)
  },
}

export const CHANGE_PROGRAMS: readonly Program[] = [
  manyRows,
  transaction,
  feed,
  merge,
  keys,
  changes,
  fromSqlite,
]
