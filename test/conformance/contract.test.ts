// Goal: the HTTP contract holds over a real server, on a store in a directory. openapi.test.ts runs it in memory.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import type { Store, StoreOptions } from '../../src/index.js'
import { OpenApiProof } from '../support/openapi-proof.js'
import { sampleOf } from '../support/what-runs.js'
import { Api } from './contract/api.js'
import { serveContract as serve } from './contract-server.js'
import type { ContractServer } from './contract-suite.js'
import { contractSuite } from './contract-suite.js'
import { contractSources as sources } from './fake-sources.js'

describe('the contract over HTTP on a directory, under a base path', () => {
  const proof = new OpenApiProof()
  const folders: string[] = []
  afterAll(async () => {
    for (const folder of folders) await rm(folder, { recursive: true })
  })

  async function open(): Promise<ContractServer> {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-contract-'))
    folders.push(folder)
    const openStore = (options: StoreOptions): Promise<Store> =>
      openDirectory(join(folder, 'store'), { ...options, sources })
    return serve(openStore, { basePath: '/api/v2', proof })
  }

  for (const { name, run } of sampleOf(contractSuite(open))) test(name, run)

  test('what was acknowledged, and continuations, survive a restart of the server', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-contract-'))
    folders.push(folder)
    const openStore = (options: StoreOptions): Promise<Store> =>
      openDirectory(join(folder, 'store'), { ...options, sources })
    const open = async () => new Api(await serve(openStore, { proof }))

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
