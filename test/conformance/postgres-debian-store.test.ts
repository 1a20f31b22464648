// The store and contract suites on the PostgreSQL server that the environment names, with a synchronous standby. `node
// test/postgres-debian.mjs` runs them. With `--s3`, objects are in the bucket that the environment names; otherwise
// they are in memory and in files.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, test } from 'vitest'
import { openFsObjects } from '../../adapters/fs/fs-objects.js'
import type { Store, StoreOptions } from '../../src/index.js'
import { memoryObjects, openStore } from '../../src/index.js'
import type { ObjectStore } from '../../src/ports.js'
import { OpenApiProof } from '../support/openapi-proof.js'
import { findPrograms, startCluster } from '../support/postgres-cluster.js'
import { findS3Server, openUnsignedBucket } from '../support/s3-server.js'
import { serveContract } from './contract-server.js'
import { contractSuite } from './contract-suite.js'
import { contractSources } from './fake-sources.js'
import { openEmpty, runCases } from './postgres-stores.js'
import { storeSuite } from './store-suite.js'

const programs = findPrograms()
if (typeof programs === 'string') {
  test.skip(`PostgreSQL with a standby: ${programs}`, () => undefined)
} else {
  const cluster = await startCluster(programs)
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-objects-'))
  afterAll(async () => {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const open = async (objects: ObjectStore, options: StoreOptions = {}): Promise<Store> => {
    return openStore({ ...options, kv: await openEmpty(cluster.primary.url), objects })
  }
  const s3 = findS3Server()
  const isBucket = typeof s3 !== 'string'
  const server = `PostgreSQL ${cluster.version}`

  runCases(
    `a store on ${server} with objects in ${isBucket ? 'S3' : 'memory'}`,
    storeSuite(async (options) => {
      return open(isBucket ? await openUnsignedBucket(s3) : memoryObjects(), options)
    }),
  )

  const proof = new OpenApiProof()
  const serve = async (options: StoreOptions): Promise<Store> => {
    const objects = isBucket ? openUnsignedBucket(s3) : openFsObjects(folder)
    return open(await objects, { ...options, sources: contractSources })
  }
  runCases(
    `the contract on ${server} with objects in ${isBucket ? 'S3' : 'files'}`,
    contractSuite(() => serveContract(serve, { proof })),
  )
}
