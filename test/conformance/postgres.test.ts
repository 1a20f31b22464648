// The suites of both ports and of a store on PostgreSQL. Each case has a schema of its own on one server.
import { afterAll, describe, expect, test } from 'vitest'
import { openPostgresKv } from '../../adapters/postgres/postgres-kv.js'
import { openPostgresObjects } from '../../adapters/postgres/postgres-objects.js'
import type { CommitMode, PostgresKvOptions } from '../../adapters/postgres/postgres-options.js'
import { openStore } from '../../src/engine/store.js'
import type { KvStore } from '../../src/kv/kv.js'
import type { ObjectStore } from '../../src/objects/objects.js'
import { openCutProxy } from '../support/cut-proxy.js'
import { startPostgres } from '../support/postgres-server.js'
import type { ConformanceCase } from './case.js'
import { kvSuite } from './kv/kv-suite.js'
import { objectsSuite } from './objects/objects-suite.js'
import { storeSuite } from './store-suite.js'

const server = await startPostgres()
const proxy = typeof server === 'string' ? undefined : await openCutProxy(server.socket)

afterAll(async () => {
  await proxy?.close()
  if (typeof server !== 'string') await server.stop()
})

const SMALL = { viewConnectionsMax: 3, commitConnectionsMax: 3, onWarning: () => undefined }

let schemas = 0
const optionsOf = new WeakMap<KvStore, PostgresKvOptions>()

async function open(options: PostgresKvOptions): Promise<KvStore> {
  const kv = await openPostgresKv(options)
  optionsOf.set(kv, options)
  return kv
}

function openEmpty(mode: CommitMode, url: string): Promise<KvStore> {
  return open({ ...SMALL, urls: [url], schema: `s${++schemas}`, mode })
}

function openSecond(first: KvStore): Promise<KvStore> {
  const options = optionsOf.get(first)
  if (options === undefined) throw new Error('a second store needs a first one')
  return open(options)
}

function openObjects(url: string): Promise<ObjectStore> {
  const options = { connectionsMax: 3, onWarning: () => undefined }
  return openPostgresObjects({ ...options, urls: [url], schema: `s${++schemas}` })
}

function runCases(name: string, cases: readonly ConformanceCase[]): void {
  describe(name, () => {
    for (const { name, skip, run } of cases) test.skipIf(skip !== undefined)(name, run)
  })
}

if (typeof server === 'string' || proxy === undefined) {
  test.skip(`PostgreSQL: ${server}`, () => undefined)
} else {
  const { url } = server
  const throughProxy = `postgres://rowstash@127.0.0.1:${proxy.port}/postgres`
  for (const mode of ['statement', 'portable'] as const) {
    runCases(
      `a KvStore on PostgreSQL, in the mode ${mode}`,
      kvSuite(() => openEmpty(mode, throughProxy), { openSecond, cutConnections: proxy.cut }),
    )
  }
  runCases(
    'an ObjectStore on PostgreSQL',
    objectsSuite(() => openObjects(throughProxy)),
  )
  runCases(
    'a store on PostgreSQL, its objects too',
    storeSuite(async (options = {}) => {
      const kv = await openEmpty('statement', url)
      return openStore({ ...options, kv, objects: await openObjects(url) })
    }),
  )

  test('no case is skipped for want of a capability', () => {
    const cases = kvSuite(() => openEmpty('statement', url), {
      openSecond,
      cutConnections: proxy.cut,
    })
    expect(cases.filter(({ skip }) => skip !== undefined)).toEqual([])
  })
}
