// Goal: the export from a hosted service, as COMING-FROM.md shows it, brings every cell and column, or nothing.
// Method: the built program, in a pipe of the shell, against a server of the contract.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import type { Table } from '../../src/index.js'
import { createTestServer, type TestServer } from '../conformance/testing.js'
import { type BuiltCli, buildCli } from '../support/built-cli.js'

const run = promisify(execFile)

/** Columns for which inference alone would choose other types, names or numbers. */
const SCHEMA = {
  columns: [
    { id: 'id', type: 'number' },
    { id: 'code', displayName: 'The "code", 税', type: 'string' },
    { id: 'link', type: 'imageURI' },
    { id: 'tags', type: { kind: 'array', items: { kind: 'string' } } },
    { id: 'unused', type: 'date' },
  ],
} as const

/** More rows than a page of an export. */
const COUNT = 1_200

let cli: BuiltCli
let folder: string
let server: TestServer
let orders: Table

beforeAll(async () => {
  cli = await buildCli()
})

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-service-'))
  server = await createTestServer()
  const team = server.store.team('test')
  const lines = Array.from({ length: COUNT }, (_, i) => {
    const tags = i % 3 === 0 ? '' : `,"tags":["a,${i}","\\n\\"'"]`
    return `{"id":${i}.50,"code":"00${i}","link":"https://example.com/${i}.png"${tags}}`
  })
  lines[7] = '{"id":12345678901234567890.10}'
  lines[8] = '{}'
  const json = `[${lines.join(',')}]`
  const { tableId } = await team.createTable({ name: 'Orders', schema: SCHEMA, rows: { json } })
  orders = team.table(tableId)
})

afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

/** Runs a line of the shell, with `rowstash` as the built program. @returns what it prints */
async function shell(line: string): Promise<string> {
  const program = `'${process.execPath}' '${cli.path}'`
  const command = line.replaceAll('rowstash ', `${program} `).replaceAll('SERVER', server.url)
  const env = { PATH: process.env['PATH'], ROWSTASH_KEY: server.key }
  return (await run('sh', ['-c', command], { cwd: folder, env })).stdout
}

const EXPORT = 'rowstash export - --url SERVER --table Orders --format json'
const IMPORT = 'rowstash import - --format json --directory data --table Orders'

/** Reads the tables of the directory, by name. */
async function imported<T>(use: (tables: readonly Table[]) => Promise<T>): Promise<T> {
  await using store = await openDirectory(join(folder, 'data'))
  const team = store.team('default')
  return await use((await team.tables()).map(({ id }) => team.table(id)))
}

async function cellsOf(table: Table | undefined): Promise<string> {
  return table === undefined ? '' : text(table.toNDJSON())
}

async function idsOf(table: Table | undefined): Promise<readonly string[]> {
  if (table === undefined) return []
  const ids: string[] = []
  for await (const { $rowID } of table.scan({ columns: ['id'] })) ids.push($rowID)
  return ids
}

test('a table has the same columns and cells, and new row IDs', async () => {
  await shell('rowstash schema --url SERVER --table Orders --json > orders.json')
  await shell(`${EXPORT} | ${IMPORT} --schema orders.json`)

  const before = await idsOf(orders)
  await imported(async ([table, ...others]) => {
    expect(others).toEqual([])
    expect(await table?.schema()).toEqual(await orders.schema())
    expect(await cellsOf(table)).toBe(await cellsOf(orders))
    const after = await idsOf(table)
    expect([after.length, before.filter((id) => after.includes(id))]).toEqual([COUNT, []])
  })
})

test('a service that does not describe its tables brings rows, and their columns are inferred', async () => {
  const path = /^\/tables\/[^/]+$/
  server.fail({ method: 'GET', path, fault: { status: 404, type: 'request_error' }, times: 99 })

  const schema = shell('rowstash schema --url SERVER --table Orders --json')
  await expect(schema).rejects.toThrow('The server does not describe its tables')
  await shell(`${EXPORT} | ${IMPORT}`)

  await imported(async ([table]) => {
    expect(await cellsOf(table)).toBe(await cellsOf(orders))
    const kinds = (await table?.schema())?.columns.map(({ id, type }) => [id, type.kind])
    expect(kinds).toEqual([
      ['id', 'number'],
      ['code', 'string'],
      ['link', 'string'],
      ['tags', 'array'],
    ])
  })
})

test('of an export that ends early nothing is imported', async () => {
  const fault = { status: 400 }
  server.fail({ method: 'GET', path: /\/rows$/, after: 1, fault })

  const cut = shell(`${EXPORT} | tee cut.json | ${IMPORT}`)
  await expect(cut).rejects.toMatchObject({ code: 1 })

  expect(await readFile(join(folder, 'cut.json'), 'utf8')).toMatch(/"id":999\.50/)
  await imported(async (tables) => expect(tables).toEqual([]))
})
