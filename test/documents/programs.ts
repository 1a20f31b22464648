// The programs in the documents, each with the names that it uses without defining them: their declarations for the
// compiler, and their values when it runs.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { MemoryLevel } from 'memory-level'
import { expect } from 'vitest'
import * as node from '../../adapters/node.js'
import * as core from '../../src/index.js'
import { createTestServer } from '../conformance/testing.js'
import { startPostgres } from '../support/postgres-server.js'
import { S3Double } from '../support/s3-double.js'
import { CHANGE_PROGRAMS } from './change-programs.js'
import { FIND_PROGRAMS } from './find-programs.js'
import { GUIDE_PROGRAMS } from './guide-programs.js'
import { HOSTING_PROGRAMS } from './hosting-programs.js'
import { memory, type Names, type Program, replaced, runModule, runPrinting } from './run-module.js'
import { TYPED_PROGRAMS } from './typed-programs.js'

const firstProgram: Program = {
  document: 'README.md',
  begins: "import { openDirectory } from 'rowstash/node'",
  async run({ text }, { folder }) {
    const printed: unknown[] = []
    await runModule(replaced(text, "'./data'", 'directory'), {
      directory: join(folder, 'data'),
      console: { log: (row: unknown) => printed.push(row) },
    })

    assert.deepEqual(
      printed.map((row) => ({ ...(row as core.RowWithId), $rowID: '' })),
      [
        { $rowID: '', id: 1, total: 34.5, paid: true },
        { $rowID: '', id: 2, total: 12, paid: false },
        { $rowID: '', id: 3, total: 7.25, paid: true },
      ],
    )
  },
}

const SCHEMA: core.SchemaInput = {
  columns: [
    { id: 'id', type: 'number' },
    { id: 'paid', type: 'boolean' },
  ],
}

const library: Program = {
  document: 'src/guides/START.md',
  begins: "import { isStoreError, openMemory, openStore } from 'rowstash'",
  declared: [
    "declare const store: import('rowstash').Store",
    "declare const team: import('rowstash').Team",
    'declare const name: string, idempotencyKey: string, continuation: string | undefined',
    "declare const schema: import('rowstash').SchemaInput",
    'declare const rows: { id: number; paid: boolean }[]',
  ].join(';'),
  async run({ text }, surroundings) {
    const store = await memory(surroundings)
    const team = store.team('acme')
    const printed: core.RowWithId[] = []
    await runModule(text, {
      store,
      team,
      name: 'Orders',
      schema: SCHEMA,
      rows: [1, 2, 3].map((id) => ({ id, paid: true })),
      idempotencyKey: 'a-random-text',
      continuation: undefined,
      console: { log: (row: core.RowWithId) => printed.push(row) },
    })

    const [made] = await team.tables()
    const page = await team.table(made?.id ?? '').page()
    assert.equal(made?.name, 'Paid orders')
    assert.deepEqual(
      page.rows.map(({ id }) => id),
      [2, 3, 1, 9],
    )
    assert.deepEqual(
      printed.map(({ id }) => id),
      [2, 3],
    )
  },
}

/** `error.row // 1` states the value of the expression. */
const CLAIM = /^(\s*)(error\.\w+) \/\/ (.+)$/gm

const failure: Program = {
  document: 'src/guides/ERRORS.md',
  begins: 'try {',
  declared: [
    "import { isStoreError } from 'rowstash'",
    "declare const table: import('rowstash').Table",
  ].join(';'),
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const { tableId } = await team.createTable({ name: 'Orders', rows: [{ total: 1 }] })
    const claims: unknown[] = []
    await runModule(text.replace(CLAIM, '$1claim($2, $3)'), {
      isStoreError: core.isStoreError,
      table: team.table(tableId),
      claim: (found: unknown, claimed: unknown) => claims.push([found, claimed]),
    })

    assert.equal(claims.length, 5)
    for (const claim of claims as [unknown, unknown][]) assert.equal(...claim)
  },
}

const tableLife: Program = {
  document: 'src/guides/TABLES.md',
  begins: "const orders = await team.tableByName('Orders')",
  declared: "declare const team: import('rowstash').Team",
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    for (const name of ['Other', 'Orders', 'Orders']) {
      await team.createTable({ name, rows: [{ total: 1 }] })
    }
    const printed: string[] = []
    await runModule(text, { team, console: { log: (line: string) => printed.push(line) } })

    assert.match(printed.join(), /^1 rows, [1-9][0-9]* bytes, since [0-9]+$/)
    assert.deepEqual(
      (await team.tableNames()).map(({ name }) => name),
      ['Other', 'Orders'],
    )
  },
}

const alteration: Program = {
  document: 'src/guides/TABLES.md',
  begins: 'await orders.alter({ add:',
  declared: "declare const orders: import('rowstash').Table",
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const { tableId } = await team.createTable({ name: 'Orders', rows: [{ total: 34.5 }] })
    const orders = team.table(tableId)
    await runModule(text, { orders })

    const { columns } = await orders.schema()
    assert.deepEqual(columns, [
      { id: 'total', displayName: 'Total in EUR', type: { kind: 'string' } },
    ])
    assert.deepEqual(
      (await orders.page()).rows.map(({ total }) => total),
      ['34.5'],
    )
  },
}

const rowsInAndOut: Program = {
  document: 'src/guides/IMPORTING.md',
  begins: "const { body } = new Response('id,total",
  declared: "declare const table: import('rowstash').Table",
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const { tableId } = await team.createTable({ name: 'x', rows: [{ id: 0, total: 7.25 }] })
    const printed: string[] = []
    const console = { log: (line: string) => printed.push(line) }
    await runModule(text, { table: team.table(tableId), console, Response, TextDecoder })

    assert.deepEqual(printed, ['id,total\n0,7.25\n1,34.50\n'])
  },
}

const preflight: Program = {
  document: 'src/guides/ERRORS.md',
  begins: 'const { rows: rowCount, problems, problemCount, schema } = await table.preflight',
  declared: [
    "declare const table: import('rowstash').Table",
    "declare const stash: import('rowstash').Stash",
  ].join(';'),
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const { tableId } = await team.createTable({ name: 'Orders', rows: [{ total: 1 }] })
    const stash = team.stash('s')
    await stash.put(1, [{ total: 3 }, { total: 'x' }])
    const printed: unknown[] = []
    const log = (line: unknown) => printed.push(line)
    await runModule(text, { table: team.table(tableId), stash, console: { log } })

    assert.deepEqual(printed, [
      '1 problems in 2 rows, 1 columns',
      'chunk 1, row 1, column total: "x" must be a finite number',
    ])
  },
}

const receipt: Program = {
  document: 'src/guides/IMPORTING.md',
  begins: 'const { version, receipt } = await table.addRows(rows, {',
  declared: [
    "declare const table: import('rowstash').Table",
    "declare const rows: import('rowstash').RowsInput",
  ].join(';'),
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const { tableId } = await team.createTable({ name: 'Orders', rows: [{ total: 1 }] })
    const printed: unknown[] = []
    const log = (line: unknown) => printed.push(line)
    const rows = [{ total: 3 }, { total: 'x' }]
    await runModule(text, { table: team.table(tableId), rows, console: { log } })

    assert.deepEqual(printed, [
      '1 values of column total were left out: they must be a finite number',
    ])
  },
}

const missingRow: Program = {
  document: 'src/guides/ERRORS.md',
  begins: 'const found = await table.get(rowId)',
  declared: "declare const table: import('rowstash').Table; declare const rowId: string",
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const made = await team.createTable({ name: 'Orders', rows: [{ total: 1 }] })
    const table = team.table(made.tableId)
    const rowId = made.rowIds.at(0)
    const printed: unknown[] = []
    const console = { log: (...values: unknown[]) => printed.push(values) }
    await runModule(text, { table, rowId, console })
    await runModule(text, { table, rowId, console })

    assert.deepEqual(printed, [[{ $rowID: rowId, total: 1 }, 1], ['it was gone before']])
  },
}

async function isClosed(store: core.Store | undefined): Promise<boolean> {
  const ended = await store
    ?.team('default')
    .tables()
    .catch(({ code }) => code)
  return ended === 'STORE_CLOSED'
}

const server: Program = {
  document: 'README.md',
  begins: "import { openDirectory, startServer } from 'rowstash/node'",
  async run({ text }, { folder, onEnd }) {
    const started: node.StartedServer[] = []
    const stores: core.Store[] = []
    const key = 'a-long-random-text-of-the-host'
    const own = {
      ...node,
      async openDirectory(...given: Parameters<typeof node.openDirectory>) {
        const store = await node.openDirectory(...given)
        stores.push(store)
        return store
      },
      async startServer(...given: Parameters<typeof node.startServer>) {
        const made = await node.startServer(...given)
        started.push(made)
        return made
      },
    }
    onEnd(async () => {
      for (const made of started) await made.close(0)
      for (const store of stores) await store.close()
    })
    const program = replaced(replaced(text, "'./data'", 'directory'), 'port: 8080', 'port: 0')
    const process = Object.assign(new EventEmitter(), { env: {} })
    const run = (env: Names): Promise<void> =>
      runModule(
        program,
        { directory: join(folder, 'data'), process: Object.assign(process, { env }) },
        { 'rowstash/node': own },
      )

    await assert.rejects(run({}), /API_KEY/)
    await run({ API_KEY: key })

    const [listening] = started
    assert(listening !== undefined)
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(`${listening.url}/tables`, { headers })
    assert.deepEqual([answer.status, await answer.json()], [200, { data: [] }])
    assert.match(listening.url, /\/api$/)

    process.emit('SIGTERM')
    await expect.poll(() => isClosed(stores[0])).toBe(true)
    assert.equal(listening.server.listening, false)
  },
}

const memoryGauge: Program = {
  document: 'src/guides/OPERATIONS.md',
  begins: 'const { cacheBytes, cacheBytesMax, bufferBytes, caches } = store.memory()',
  declared: "declare const store: import('rowstash').Store",
  async run({ text }, surroundings) {
    const store = await memory(surroundings)
    const printed = await runPrinting(text, { store })

    const { cacheBytesMax, caches } = store.memory()
    assert.match(String(printed[0]), new RegExp(`^caches: \\d+ of ${cacheBytesMax} bytes`))
    assert.equal(printed.length, 1 + caches.length)
  },
}

const files: Program = {
  document: 'src/guides/FILES.md',
  begins: 'const file = await team.files.put(stream',
  declared: [
    "declare const team: import('rowstash').Team",
    'declare const stream: ReadableStream<Uint8Array>',
  ].join(';'),
  async run({ text }, surroundings) {
    const { files } = (await memory(surroundings)).team('acme')
    const printed: unknown[] = []
    const stream = new Blob(['a picture of a cat']).stream()
    await runModule(text, {
      team: { files },
      stream,
      console: { log: (bytes: unknown) => printed.push(bytes) },
    })

    assert.deepEqual(printed, ['a picture of a cat'.length])
  },
}

const job: Program = {
  document: 'src/guides/IMPORTING.md',
  begins: 'const job = await team.startJob(',
  declared: [
    "declare const team: import('rowstash').Team",
    "declare const stash: import('rowstash').Stash",
  ].join(';'),
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const stash = team.stash('orders')
    await stash.put('0', [{ n: 1 }])
    await runModule(text, { team, stash })

    const [made] = await team.tables()
    assert.deepEqual(await team.jobs().then((jobs) => jobs.map(({ tableId }) => tableId)), [
      made?.id,
    ])
  },
}

/** A call of `nodeHandler` with other options. */
const hosting = (begins: string): Program => ({
  document: 'src/guides/HOSTING.md',
  begins,
  declared: [
    "import { loadParquet, nodeHandler } from 'rowstash/node'",
    "declare const store: import('rowstash').Store",
    "declare const keys: import('rowstash').ContractKey[]",
  ].join(';'),
  async run({ text }, surroundings) {
    const store = await memory(surroundings)
    let made: node.NodeHandler | undefined
    await runModule(text, {
      store,
      keys: [{ key: 'a-long-random-text-of-the-host', teamId: 'acme' }],
      loadParquet: node.loadParquet,
      nodeHandler: (...given: Parameters<typeof node.nodeHandler>) => {
        made = node.nodeHandler(...given)
        return made
      },
    })

    assert.equal(typeof made, 'function')
  },
})

const hooks: Program = {
  document: 'src/guides/HOSTING.md',
  begins: 'nodeHandler(store, {\n  keys,\n  rateLimit:',
  declared: [
    "import { nodeHandler } from 'rowstash/node'",
    "declare const store: import('rowstash').Store",
    "declare const keys: import('rowstash').ContractKey[]",
    'declare const limiter: { take(key: string): boolean }',
    'declare const plans: { of(team: string): Promise<{ isPaid: boolean }> }',
    "declare const records: { append(event: import('rowstash').AuditEvent): Promise<void> }",
  ].join(';'),
  async run({ text }, surroundings) {
    const store = await memory(surroundings)
    const key = 'a-long-random-text-of-the-host'
    const told: { operation: string }[] = []
    let [isFree, isPaid] = [true, true]
    let options: Parameters<typeof node.nodeHandler>[1] | undefined
    await runModule(text, {
      store,
      keys: [{ key, teamId: 'acme' }],
      limiter: { take: () => isFree },
      plans: { of: async () => ({ isPaid }) },
      records: { append: async (event: { operation: string }) => void told.push(event) },
      nodeHandler: (_: core.Store, given: Parameters<typeof node.nodeHandler>[1]) => {
        options = given
      },
    })
    assert(options !== undefined)
    const contract = core.createContract(store, options)
    const statusOf = async (): Promise<number> => {
      const { status } = await contract.handle({
        method: 'POST',
        path: '/tables',
        query: 'name=x',
        headers: [
          ['authorization', `Bearer ${key}`],
          ['content-type', 'application/json'],
        ],
        body: new Blob(['[]']).stream() as unknown as AsyncIterable<Uint8Array>,
      })
      return status
    }

    assert.equal(await statusOf(), 201)
    isPaid = false
    assert.equal(await statusOf(), 402)
    isFree = false
    assert.equal(await statusOf(), 429)
    assert.deepEqual(
      told.map(({ operation }) => operation),
      ['POST /tables'],
    )
  },
}

const inBrowser: Program = {
  document: 'src/guides/BROWSER.md',
  begins: "import { Level } from 'level'",
  async run({ text }, { folder, onEnd }) {
    class Level extends ClassicLevel {
      constructor(name: string) {
        super(join(folder, name))
      }
    }
    let pages = 0
    const use = async (store: core.Store): Promise<void> => {
      onEnd(() => store.close())
      const team = store.team('acme')
      const { tableId } = await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
      pages = (await team.table(tableId).page()).rows.length
    }
    await runModule(`${text}\nawait use(store)`, { use }, { level: { Level } })

    assert.equal(pages, 1)
  },
}

const inPostgres: Program = {
  document: 'src/guides/SHARED-STORES.md',
  begins: "import { openStore } from 'rowstash'\nimport { openPostgresKv }",
  declared: "declare const objects: import('rowstash/ports').ObjectStore",
  async run({ text }, { onEnd }) {
    const server = await startPostgres()
    if (typeof server === 'string') return console.warn(`A program was not run: ${server}`)
    onEnd(() => server.stop())
    const fitting = [
      ['postgres://rowstash@db1.internal/rows', 'postgres://rowstash@127.0.0.1:1/rows'],
      ['postgres://rowstash@db2.internal/rows', server.url],
    ].reduce((program, [from = '', to = '']) => replaced(program, `'${from}'`, `'${to}'`), text)
    const use = async (store: core.Store): Promise<void> => {
      const team = store.team('acme')
      await team.createTable({ name: 'Orders', rows: [{ id: 1 }] })
      assert.equal((await team.tables()).length, 1)
      await store.close()
    }
    await runModule(`${fitting}\nawait use(store)`, { use, objects: core.memoryObjects() })
  },
}

const inBucket: Program = {
  document: 'src/guides/SHARED-STORES.md',
  begins: "import { openStore } from 'rowstash'\nimport { openS3Objects }",
  declared: [
    "declare const kv: import('rowstash/ports').KvStore",
    'declare const accessKeyId: string, secretAccessKey: string',
  ].join(';'),
  async run({ text }, { onEnd }) {
    const double = await S3Double.start()
    onEnd(() => double.stop())
    const { endpoint, region = '', bucket, credentials } = double.options()
    const fitting = [
      ['https://s3.eu-central-1.amazonaws.com', String(endpoint)],
      ['eu-central-1', region],
      ['my-rows', bucket],
    ].reduce((program, [from = '', to = '']) => replaced(program, `'${from}'`, `'${to}'`), text)
    const use = async (store: core.Store): Promise<void> => {
      onEnd(() => store.close())
      await store.team('acme').files.put('text', { fileName: 'a.txt', contentType: 'text/plain' })
    }
    const kv = await core.openLevelKv(new MemoryLevel())
    await runModule(`${fitting}\nawait use(store)`, { use, kv, ...credentials })

    const [key] = double.bucket.objects.keys()
    assert.match(key ?? '', /^orders\/[0-9a-f]{32}$/)
  },
}

const suites: Program = {
  document: 'src/guides/PORTS.md',
  begins: "import { test } from 'node:test'",
  declared: "declare const openMyKvStore: () => Promise<import('rowstash/ports').KvStore>",
  async run({ text }) {
    const tests: [string, () => Promise<void>][] = []
    await runModule(
      text,
      { openMyKvStore: () => core.openLevelKv(new MemoryLevel()) },
      { 'node:test': { test: (...added: [string, () => Promise<void>]) => tests.push(added) } },
    )

    assert(tests.length > 20)
    for (const [, run] of tests.slice(0, 5)) await run()
  },
}

const client: Program = {
  document: 'src/guides/CLIENT.md',
  begins: "import { createClient } from 'rowstash/client'",
  declared: [
    'declare const url: string',
    'declare const key: string',
    'declare const file: File',
  ].join(';'),
  async run({ text }, surroundings) {
    const server = await createTestServer()
    surroundings.onEnd(() => server.close())
    const file = new File(['id,paid,reminders\n1,true,\n2,false,3\n3,false,\n'], 'orders.csv')
    await runModule(text, { url: server.url, key: server.key, file })

    const [table] = await server.store.team('test').tablesByName('Orders')
    const { rows } = (await table?.page()) ?? { rows: [] }
    assert.deepEqual(
      rows.map(({ reminders }) => reminders),
      [undefined, 4, 1],
    )
  },
}

const testServer: Program = {
  document: 'src/guides/TESTING.md',
  begins: "import { createTestServer } from 'rowstash/testing'",
  declared: 'declare const importOrders: (url: string, key: string) => Promise<void>',
  async run({ text }) {
    const lines: unknown[] = []
    let answers = 0
    const importOrders = async (url: string, key: string): Promise<void> => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'text/csv' }
      const init = { method: 'POST', headers, body: 'id\n1\n' }
      const create = () => fetch(`${url}/tables?name=Orders`, init).then(() => answers++)
      await create().catch(create)
    }
    await runModule(text, { importOrders, console: { log: (line: unknown) => lines.push(line) } })

    assert.equal(answers, 1)
    const [requests, tables] = lines as [string[], { name: string }[]]
    assert.deepEqual(requests, Array(2).fill('POST /tables?name=Orders'))
    assert.deepEqual(
      tables.map(({ name }) => name),
      ['Orders', 'Orders'],
    )
  },
}

export const PROGRAMS: readonly Program[] = [
  firstProgram,
  library,
  failure,
  tableLife,
  alteration,
  rowsInAndOut,
  preflight,
  receipt,
  missingRow,
  ...CHANGE_PROGRAMS,
  ...FIND_PROGRAMS,
  ...GUIDE_PROGRAMS,
  ...TYPED_PROGRAMS,
  memoryGauge,
  server,
  ...HOSTING_PROGRAMS,
  files,
  job,
  hosting('nodeHandler(store, { keys, baseUrl:'),
  hosting('nodeHandler(store, { keys, cors:'),
  hosting('nodeHandler(store, { keys, page: true, parquet:'),
  hooks,
  inBrowser,
  inPostgres,
  inBucket,
  suites,
  testServer,
  client,
]
