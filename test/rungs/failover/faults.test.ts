// Goal: while S3 fails a third of all requests and connections to PostgreSQL are cut, nothing acknowledged is lost,
// duplicated or out of order, nothing remains unused, and an unknown outcome is reported as such.
// Method: the lanes of T6 import, add, update, delete and put files in two stores on one PostgreSQL and one bucket. One
// of the stores gives up soon, so that some of its operations fail for good. At the end the journal of the lanes is
// compared with the content.
import { afterAll, expect, test } from 'vitest'
import { openPostgresKv } from '../../../adapters/postgres.js'
import { openS3Objects } from '../../../adapters/s3/s3-objects.js'
import type { S3Options } from '../../../adapters/s3/s3-options.js'
import { isStoreError, openStore, type Store, type StoreOptions } from '../../../src/index.js'
import type { Clock } from '../../../src/ports.js'
import { type CutProxy, openCutProxy } from '../../support/cut-proxy.js'
import { fixedSizeOf, report, reportSkip, suiteSeed } from '../../support/ladder.js'
import { joinedMaintenance } from '../../support/maintenance.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { S3Double } from '../../support/s3-double.js'
import { seeded } from '../../support/seeded.js'
import { auditStore, describe } from '../crash/audit.js'
import { findLeaksIn, sharedRemains } from '../crash/leaks.js'
import { SMALL_SIZES } from '../crash/writer-job.js'
import { cutOften } from './cuts.js'
import { FaultyLanes } from './faulty-lanes.js'

const SUITE = 'T20 faults of S3 and PostgreSQL'

/** The length of a run. */
const SECONDS = fixedSizeOf({ push: 5, deep: 300 })
const TIMEOUT_MS = SECONDS * 1_000 + 300_000

/** How two stores retry S3: one repeats a request until it succeeds, the other one gives up soon. */
const PATIENCE: readonly Partial<S3Options>[] = [
  { attemptsMax: 10, idleTimeoutMs: 300 },
  { attemptsMax: 3, idleTimeoutMs: 300 },
]

const OPTIONS: StoreOptions = {
  ...SMALL_SIZES,
  compression: 'none',
  jobLeaseMs: 1_000,
  orphanGraceMs: 2_000,
  maintenance: joinedMaintenance(SMALL_SIZES.maintenance, {
    garbageCollectionIntervalMs: 700,
    compactionIntervalMs: 700,
    fileCollectionIntervalMs: 2_000,
  }),
  uploadsOpenMax: 10_000, // A failed one may stay open.
}

/** Garbage collections after which nothing may remain of failed operations. */
const RUNS = 3

const server = await startPostgres()

afterAll(async () => {
  if (typeof server !== 'string') await server.stop()
})

class World {
  readonly s3: S3Double
  readonly proxy: CutProxy
  readonly #wrong: string[] = []

  private constructor(s3: S3Double, proxy: CutProxy) {
    this.s3 = s3
    this.proxy = proxy
  }

  static async start({ socket }: PostgresServer): Promise<World> {
    return new World(await S3Double.start(), await openCutProxy(socket))
  }

  async stop(): Promise<void> {
    await this.proxy.close()
    await this.s3.stop()
  }

  /** Failures that background work must not have. */
  get wrong(): readonly string[] {
    return this.#wrong
  }

  async openPorts(patience: Partial<S3Options> = {}) {
    const kv = await openPostgresKv({
      urls: [`postgres://rowstash@127.0.0.1:${this.proxy.port}/postgres`],
      viewConnectionsMax: 5,
      commitConnectionsMax: 5,
      onWarning: () => undefined,
    })
    const objects = await openS3Objects(this.s3.options(patience))
    const close = async (): Promise<void> => {
      await kv.close()
      await objects.close()
    }
    return { kv, objects, close }
  }

  async openStore(options: StoreOptions, patience: Partial<S3Options> = {}): Promise<Store> {
    const { kv, objects } = await this.openPorts(patience)
    return openStore({
      ...options,
      kv,
      objects,
      onBackgroundFailure: (failure, task) => {
        const isOfStorage = isStoreError(failure) && failure.code === 'STORAGE_UNAVAILABLE'
        if (!isOfStorage) this.#wrong.push(`${task}: ${describe(failure)}`)
      },
    })
  }
}

/** Runs the lanes under faults. */
async function live(world: World, lanes: FaultyLanes, seed: number): Promise<void> {
  world.s3.failOften(seeded(seed))
  const endCuts = cutOften([world.proxy])
  try {
    await lanes.run(SECONDS * 1_000)
  } finally {
    endCuts()
    world.s3.recover()
  }
}

/** Compares the content with the journal. */
async function examine(world: World, { ledger }: FaultyLanes): Promise<string[]> {
  const open = (options: StoreOptions = {}) => world.openStore({ ...SMALL_SIZES, ...options })
  const report = await open()
  for (let runs = 0; runs < RUNS; runs++) await report.maintain()
  await report.close()
  const wrong = await auditStore(open, ledger)
  const place = {
    open: (clock: Clock) => open({ clock, clockSkewMs: Number.MAX_SAFE_INTEGER }),
    remains: () => sharedRemains(() => world.openPorts(), open),
  }
  return [...world.wrong, ...wrong, ...(await findLeaksIn(place, ledger))]
}

test('nothing is lost while S3 fails and connections to PostgreSQL are cut', {
  timeout: TIMEOUT_MS,
}, async (context) => {
  if (typeof server === 'string') {
    reportSkip(SUITE, server)
    return context.skip(server)
  }
  const seed = suiteSeed()
  const startedAt = performance.now()
  const world = await World.start(server)
  try {
    const opening = PATIENCE.map((patience) => world.openStore(OPTIONS, patience))
    const stores = await Promise.all(opening)
    const lanes = new FaultyLanes(stores, seed)
    await lanes.start()
    world.s3.asked.length = 0
    await live(world, lanes, seed)
    const asked = world.s3.asked.length
    for (const store of stores) await store.close()
    const wrong = await examine(world, lanes)

    const seconds = (performance.now() - startedAt) / 1_000
    report({ suite: SUITE, seed, runs: SECONDS, seconds, violations: wrong.length })
    console.log(`${world.s3.faults} of ${asked} requests to S3 failed`)
    for (const line of lanes.summary()) console.log(line)
    expect(wrong).toEqual([])
    expect(lanes.ledger.acknowledged).toBeGreaterThan(SECONDS)
    expect(world.s3.faults).toBeGreaterThan(SECONDS / 2)
  } finally {
    await world.stop()
  }
})
