// Goal: the HTTP contract holds over a real server, on a store in memory and on one in a directory.
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { hardenServer, nodeHandler, openDirectory, serverOptions } from '../../adapters/node.js'
import type { Clock, Store, StoreOptions } from '../../src/index.js'
import { openMemory } from '../../src/index.js'
import { Api } from './contract/api.js'
import type { ContractServer } from './contract-suite.js'
import { contractSuite } from './contract-suite.js'
import { contractSources as sources } from './fake-sources.js'

const KEY = 'a-key-of-the-first-team'
const OTHER_KEY = 'a-key-of-the-second-team'

/** The system's time and some more. */
class ForwardClock implements Clock {
  #ahead = 0

  now(): number {
    return Date.now() + this.#ahead
  }

  pass(milliseconds: number): void {
    this.#ahead += milliseconds
  }
}

async function serve(
  open: (options: StoreOptions) => Promise<Store>,
  basePath: string,
): Promise<ContractServer> {
  const clock = new ForwardClock()
  const store = await open({ clock })

  const server = createServer(
    serverOptions,
    nodeHandler(store, {
      basePath,
      keys: [
        { key: KEY, teamId: 'first' },
        { key: OTHER_KEY, teamId: 'second' },
      ],
      onFailure: (failure) => console.error(failure),
    }),
  )
  hardenServer(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${basePath}`,
    key: KEY,
    otherKey: OTHER_KEY,
    async later(milliseconds) {
      clock.pass(milliseconds)
      await store.sweep()
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      await closed
      await store.close()
    },
  }
}

describe('the contract over HTTP on a store in memory', () => {
  const open = (): Promise<ContractServer> =>
    serve((options) => openMemory({ ...options, sources }), '')
  for (const { name, run } of contractSuite(open)) test(name, run)
})

describe('the contract over HTTP on a directory, under a base path', () => {
  const folders: string[] = []
  afterAll(async () => {
    for (const folder of folders) await rm(folder, { recursive: true })
  })

  async function open(): Promise<ContractServer> {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-contract-'))
    folders.push(folder)
    const openStore = (options: StoreOptions): Promise<Store> =>
      openDirectory(join(folder, 'store'), { ...options, sources })
    return serve(openStore, '/api/v2')
  }

  for (const { name, run } of contractSuite(open)) test(name, run)

  test('what was acknowledged, and continuations, survive a restart of the server', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-contract-'))
    folders.push(folder)
    const openStore = (options: StoreOptions): Promise<Store> =>
      openDirectory(join(folder, 'store'), { ...options, sources })
    const open = async () => new Api(await serve(openStore, ''))

    const before = await open()
    const table = await before.createTable({ rows: [{ n: 1 }, { n: 2 }, { n: 3 }] })
    await before.putChunk('half', '0', [{ n: 4 }])
    const { continuation } = await before.pageOf(table, { limit: 1 })
    const version = await before.versionOf(table)
    await before.server.close()

    const after = await open()
    const rest = await after.pageOf(table, { continuation })
    expect(rest.data.map(({ n }) => n)).toEqual([2, 3])
    expect(await after.versionOf(table)).toBe(version)
    await after.putChunk('half', '1', [{ n: 5 }])
    await after.ok('POST', table.rows, { body: { $stashID: 'half' } })
    expect((await after.cellsOf(table)).map(({ n }) => n)).toEqual([1, 2, 3, 4, 5])
    await after.server.close()
  })
})
