// A program that uses the contract without a server: client and handler in one page, on a store in IndexedDB that the
// page never closes.
import { Level } from 'level'
import { createClient } from '../../../src/client/client.js'
import { fetchHandler, kvObjects, openLevelKv, openStore } from '../../../src/index.js'

const KEY = 'a-long-random-text-of-the-page'
const FILE = new Uint8Array(300_000).map((_, at) => (at * 7) % 256)

async function open() {
  const kv = await openLevelKv(new Level<Uint8Array, Uint8Array>('rows'))
  const objects = kvObjects(await openLevelKv(new Level<Uint8Array, Uint8Array>('objects')))
  const store = await openStore({ kv, objects })
  const handler = fetchHandler(store, { keys: [{ key: KEY, teamId: 'acme' }], basePath: '/api' })
  const ask: typeof fetch = (input, init) => handler(new Request(input, init))
  return {
    store,
    ask,
    client: createClient({ url: `${location.origin}/api`, key: KEY, fetch: ask }),
  }
}

const opened = open()

/** @returns the table, and the ID of the row that names the file. */
async function fill() {
  const { client } = await opened
  const lines = Array.from({ length: 2_000 }, (_, at) => `${at},${at}.50,name ${at}`)
  const csv = new File([['id,total,name', ...lines].join('\n')], 'orders.csv')
  const { tableId, rows } = await client.importRows(csv, { name: 'Orders', chunkBytes: 10_000 })
  const table = client.table(tableId)
  const { url } = await client.upload(new File([FILE], 'a.bin'), { appId: 'app' })
  const added = await table.addRows([{ id: 2_000, name: url }])
  const [rowId = ''] = added.rowIds
  await table.updateRow(rowId, (row) => ({ total: Number(row['id']) / 4 }))
  const { rows: first } = await table.page({ limit: 1 })
  await table.deleteRow(first[0]?.$rowID ?? '')
  const version = await table.version()
  const refused = await table.updateRow(rowId, { total: 0 }, { ifMatch: added.version }).then(
    () => 0,
    (failure: { status: number }) => failure.status,
  )
  return { tableId, rowId, rows, version, refused }
}

/** Reads what another visit of the page finds. */
async function read({ tableId, rowId }: { tableId: string; rowId: string }) {
  const { client, ask } = await opened
  const table = client.table(tableId)
  const ids: unknown[] = []
  for await (const { id } of table.scan()) ids.push(id)
  const row = (await table.get(rowId))?.row
  const file = new Uint8Array(await (await ask(String(row?.['name']))).arrayBuffer())
  return {
    names: (await client.tables()).map(({ name }) => name),
    count: ids.length,
    sum: ids.reduce((total: number, id) => total + Number(id), 0),
    total: row?.['total'],
    isFileWhole: file.length === FILE.length && file.every((byte, at) => byte === FILE[at]),
    version: await table.version(),
  }
}

/** Adds one row after another until the page ends, and prints the number of each acknowledged row. */
async function addForever() {
  const { client } = await opened
  const { tableId } = await client.importRows([{ n: 0 }], { name: 'Log' })
  console.log(`table ${tableId}`)
  for (let n = 1; ; n++) {
    await client.table(tableId).addRows([{ n }])
    console.log(`row ${n}`)
  }
}

async function numbersIn(tableId: string) {
  const { client, store } = await opened
  const numbers: unknown[] = []
  for await (const { n } of client.table(tableId).scan()) numbers.push(n)
  const { ok, damageCount } = await store.verify({ full: true })
  return { numbers, ok, damageCount }
}

Object.assign(globalThis, { offline: { fill, read, addForever, numbersIn } })
