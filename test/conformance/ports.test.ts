import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { Level } from 'level'
import { MemoryLevel } from 'memory-level'
import { afterAll, describe, test } from 'vitest'
import { openFsObjects } from '../../adapters/fs/fs-objects.js'
import { openS3Objects } from '../../adapters/s3/s3-objects.js'
import { kvObjects } from '../../src/engine/kv-objects.js'
import { openLevelKv } from '../../src/kv/level-kv.js'
import { memoryObjects } from '../../src/objects/memory-objects.js'
import type { ObjectStore } from '../../src/objects/objects.js'
import { objectsClosedBy } from '../support/objects-closed-by.js'
import { plainDatabase } from '../support/plain-database.js'
import { S3Double, type S3Fault } from '../support/s3-double.js'
import { seeded } from '../support/seeded.js'
import { sampleOf } from '../support/what-runs.js'
import type { ConformanceCase } from './case.js'
import { FaultDisk } from './faults/fault-disk.js'
import { kvSuite } from './kv/kv-suite.js'
import { objectsSuite } from './objects/objects-suite.js'
import { openSigningObjects } from './signing-objects.js'

const made: string[] = []

async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'rowstash-ports-'))
  made.push(directory)
  return directory
}

afterAll(async () => {
  for (const directory of made) await rm(directory, { recursive: true, force: true })
})

/** Runs a suite on a port. `npm test` takes a sample, except for the ports of a directory. */
function runCases(name: string, cases: readonly ConformanceCase[], isOfDirectory = false): void {
  describe(name, () => {
    for (const { name, skip, run } of isOfDirectory ? cases : sampleOf(cases, 5)) {
      test.skipIf(skip !== undefined)(name, run)
    }
  })
}

runCases(
  'a KvStore on memory-level',
  kvSuite(() => openLevelKv(new MemoryLevel())),
)
runCases(
  'a KvStore on classic-level',
  kvSuite(async () => openLevelKv(new ClassicLevel(await newDirectory()))),
  true,
)
runCases(
  'a KvStore on level',
  kvSuite(async () => openLevelKv(new Level(await newDirectory()))),
)
runCases(
  'a KvStore on memory-level that stores views',
  kvSuite(() => openLevelKv(new MemoryLevel({ storeEncoding: 'view' }))),
)
runCases(
  'a KvStore on a sublevel',
  kvSuite(() => openLevelKv(new MemoryLevel().sublevel('sub'))),
)
runCases(
  'a KvStore on a database without snapshots',
  kvSuite(() => openLevelKv(plainDatabase())),
)
for (const model of ['prefix', 'leveldb'] as const) {
  runCases(
    `a KvStore on a disk that could fail, in the model ${model}`,
    kvSuite(() =>
      openLevelKv(new FaultDisk({ model, logBytesMax: 200, getSync: model === 'prefix' }).level()),
    ),
  )
}
runCases(
  'an ObjectStore on a disk that could fail',
  objectsSuite(async () => new FaultDisk().objects()),
)
runCases(
  'an ObjectStore in memory',
  objectsSuite(async () => memoryObjects()),
)
runCases(
  'an ObjectStore in files',
  objectsSuite(async () => openFsObjects(await newDirectory())),
  true,
)
runCases(
  'an ObjectStore in a KvStore',
  objectsSuite(async () => kvObjects(await openLevelKv(new MemoryLevel()))),
)
runCases('an ObjectStore that signs for itself', objectsSuite(openSigningObjects))

async function openOnDouble(faultOf: S3Double['faultOf']): Promise<ObjectStore> {
  const double = await S3Double.start()
  const objects = await openS3Objects(double.options())
  double.faultOf = faultOf
  return objectsClosedBy(objects, async () => {
    await objects.close()
    await double.stop()
  })
}

runCases(
  'an ObjectStore in a bucket of S3',
  objectsSuite(() => openOnDouble(() => undefined)),
)

const FAULTS: readonly S3Fault[] = [
  { kind: 'error' },
  { kind: 'error', effect: true },
  { kind: 'slowDown' },
  { kind: 'reset' },
  { kind: 'reset', effect: true },
  { kind: 'cut' },
]
const random = seeded(17)
runCases(
  'an ObjectStore in a bucket of S3, a third of whose requests fail',
  objectsSuite(() =>
    openOnDouble(({ query }) => {
      const isOfClient = query.has('X-Amz-Signature') // It does not repeat failed requests.
      return !isOfClient && random.once(3) ? random.pick(FAULTS) : undefined
    }),
  ),
)
