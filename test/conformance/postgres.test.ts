// The suites of both ports and of a store on PostgreSQL. Each case has a separate schema on one server.
import { afterAll, expect, test } from 'vitest'
import { openStore } from '../../src/engine/store.js'
import { openCutProxy } from '../support/cut-proxy.js'
import { startPostgres } from '../support/postgres-server.js'
import { kvSuite } from './kv/kv-suite.js'
import { objectsSuite } from './objects/objects-suite.js'
import { openEmpty, openObjects, openSecond, runCases, urlOfPort } from './postgres-stores.js'
import { storeSuite } from './store-suite.js'

const server = await startPostgres()
const proxy = typeof server === 'string' ? undefined : await openCutProxy(server.socket)

afterAll(async () => {
  await proxy?.close()
  if (typeof server !== 'string') await server.stop()
})

if (typeof server === 'string' || proxy === undefined) {
  test.skip(`PostgreSQL: ${server}`, () => undefined)
} else {
  const { url } = server
  const throughProxy = urlOfPort(proxy.port)
  runCases(
    'a KvStore on PostgreSQL',
    kvSuite(() => openEmpty(throughProxy), { openSecond, cutConnections: proxy.cut }),
  )
  runCases(
    'an ObjectStore on PostgreSQL',
    objectsSuite(() => openObjects(throughProxy)),
  )
  runCases(
    'a store on PostgreSQL, its objects too',
    storeSuite(async (options = {}) => {
      const kv = await openEmpty(url)
      return openStore({ ...options, kv, objects: await openObjects(url) })
    }),
  )

  test('no case is skipped for want of a capability', () => {
    const cases = kvSuite(() => openEmpty(url), { openSecond, cutConnections: proxy.cut })
    expect(cases.filter(({ skip }) => skip !== undefined)).toEqual([])
  })
}
