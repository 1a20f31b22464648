// Goal: stores in several processes on one PostgreSQL do what the contract says, like one store.
// Method: as in model.test.ts, on two or three stores, each with separate connections and caches. Any store runs an
// operation or a race of several, and each must know at once what the others have done.
import { afterAll, test } from 'vitest'
import { openPostgresKv } from '../../../adapters/postgres/postgres-kv.js'
import { memoryObjects } from '../../../src/index.js'
import type { KvStore } from '../../../src/ports.js'
import { sizeOf, tier } from '../../support/ladder.js'
import { startPostgres } from '../../support/postgres-server.js'
import { checkRuns } from './model-runs.js'
import type { Medium } from './world.js'

const TIMEOUT_MS = { push: 600_000, deep: 3_600_000 }[tier]

const server = await startPostgres()

afterAll(async () => {
  if (typeof server !== 'string') await server.stop()
})

const CONNECTIONS = {
  viewConnectionsMax: 6,
  commitConnectionsMax: 4,
  onWarning: () => undefined,
} as const

let schemas = 0

/** A separate schema, and one handle for each store. */
function postgresMedium(url: string): Medium {
  const schema = `model_${++schemas}`
  const objects = memoryObjects()
  return {
    async open(instances) {
      const open = (): Promise<KvStore> => openPostgresKv({ urls: [url], schema, ...CONNECTIONS })
      const kv = await open()
      const otherKvs: KvStore[] = []
      while (otherKvs.length < instances - 1) otherKvs.push(await open())
      const close = async (): Promise<void> => {
        await Promise.all([kv, ...otherKvs].map((handle) => handle.close()))
      }
      return { kv, otherKvs, objects, close }
    },
    remove: async () => undefined, // All schemas are removed with the server.
  }
}

if (typeof server === 'string') test.skip(`PostgreSQL: ${server}`, () => undefined)
else {
  const { url } = server
  test('stores on PostgreSQL do what the oracle does', { timeout: TIMEOUT_MS }, async () => {
    await checkRuns({
      suite: ['T2p', 'PostgreSQL'],
      count: sizeOf({ push: 6, deep: 500 }),
      instances: [2, 3, 3],
      newMedium: async () => postgresMedium(url),
    })
  })
}
