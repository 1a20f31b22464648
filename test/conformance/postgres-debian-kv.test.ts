// The suites of both ports on the PostgreSQL server that the environment names, with a synchronous standby, and through
// PgBouncer in transaction mode. `node test/postgres-debian.mjs` runs them.
import { afterAll, test } from 'vitest'
import { openCutProxy } from '../support/cut-proxy.js'
import { findPrograms, startCluster } from '../support/postgres-cluster.js'
import { kvSuite } from './kv/kv-suite.js'
import { objectsSuite } from './objects/objects-suite.js'
import { openEmpty, openObjects, openSecond, runCases, urlOfPort } from './postgres-stores.js'

/** Closes what was opened, in reverse order. */
const closings: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of closings.reverse()) await close()
})

const programs = findPrograms()
if (typeof programs === 'string') {
  test.skip(`PostgreSQL with a standby and PgBouncer: ${programs}`, () => undefined)
} else {
  const cluster = await startCluster(programs)
  closings.push(cluster.stop)
  const bouncer = await cluster.startBouncer()
  const server = `PostgreSQL ${cluster.version}`
  const ways = [
    { way: server, socket: cluster.primary.socket, pgBouncer: false },
    { way: `${server} through PgBouncer`, socket: bouncer.socket, pgBouncer: true },
  ]
  for (const { way, socket, pgBouncer } of ways) {
    const proxy = await openCutProxy(socket)
    closings.push(proxy.close)
    const openKv = () => openEmpty(urlOfPort(proxy.port), { pgBouncer })
    const abilities = { openSecond, cutConnections: proxy.cut }
    runCases(`a KvStore on ${way}`, kvSuite(openKv, abilities))
    const open = () => openObjects(urlOfPort(proxy.port), { pgBouncer })
    runCases(`an ObjectStore on ${way}`, objectsSuite(open))
  }
}
