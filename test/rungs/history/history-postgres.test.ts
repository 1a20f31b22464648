// Goal: as in history.test.ts, for four processes that have one store open, on PostgreSQL and a folder or a bucket of
// objects.
// Method: with Debian's PostgreSQL through failovers: the primary is killed and its synchronous standby promoted, while
// connections are cut; otherwise on a server from npm. Processes are killed, and paused for up to five leases. Some reads of
// objects take so long that garbage collections run meanwhile.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCutProxy } from '../../support/cut-proxy.js'
import { reportSkip, suiteSeed } from '../../support/ladder.js'
import {
  findPrograms,
  type PostgresCluster,
  type PostgresNode,
  startCluster,
} from '../../support/postgres-cluster.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { findS3Server } from '../../support/s3-server.js'
import { seeded } from '../../support/seeded.js'
import { type BuiltPrograms, buildPrograms } from '../crash/writer-process.js'
import type { ObjectsPlace } from '../fleet/fleet-job.js'
import { drawRound } from './draw-round.js'
import { type FaultName, nowMicros } from './history-job.js'
import type { Member, Round } from './round.js'
import { roundsOf, runRounds } from './run-rounds.js'

const SUITE = 'T27 history, PostgreSQL'
const PROCESSES = 4
const OPERATIONS = { push: 300, deep: 1_500 }
const LEASE_MS = 1_000
const GRACE_MS = 60_000
const FEEDS = ['a', 'claims', 'log']
const CUT_MS_MAX = 1_400
const FAILOVER_MS_MAX = 4_000

const debian = findPrograms()

let programs: BuiltPrograms
let folder = ''
let server: PostgresServer | string = ''
let cluster: PostgresCluster | undefined

beforeAll(async () => {
  if (typeof debian === 'string') server = await startPostgres()
  else cluster = await startCluster(debian, { isDurable: true })
  programs = await buildPrograms(['history-writer'], {
    smallBuffers: false,
    from: 'test/rungs/history',
  })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-history-'))
})

afterAll(async () => {
  await programs.remove()
  await cluster?.stop()
  if (typeof server !== 'string') await server.stop()
})

async function objectsPlace(seed: number): Promise<ObjectsPlace> {
  const s3 = findS3Server()
  if (typeof s3 !== 'string') return { ...s3, keyPrefix: `history-${seed}-${Date.now()}/` }
  const objects = join(folder, 'objects')
  await mkdir(objects)
  return { folder: objects }
}

/** Repeats an action during a round. @returns a function that ends it */
function besides(step: () => Promise<void>): () => Promise<void> {
  let isOver = false
  const running = (async () => {
    while (!isOver) await step()
  })()
  return async () => {
    isOver = true
    await running
  }
}

type Sides = { primary: PostgresNode; standby: PostgresNode }

/** Kills the primary, promotes its standby, and makes the old primary follow it. */
async function failOver(sides: Sides, round: Round): Promise<void> {
  const { primary, standby } = sides
  const from = nowMicros()
  await primary.kill()
  await standby.promote()
  round.noteSpan({ name: 'failover', from, to: nowMicros() })
  await primary.follow(standby)
  Object.assign(sides, { primary: standby, standby: primary })
}

test('one order explains what four processes on one PostgreSQL see', {
  timeout: 14_400_000,
}, async (context) => {
  if (cluster === undefined && typeof server === 'string') {
    reportSkip(SUITE, server)
    return context.skip(server)
  }
  const { rounds, operations } = roundsOf({ push: 3, deep: 40 }, OPERATIONS)
  const seed = suiteSeed()
  const sockets = cluster
    ? [cluster.primary.socket, cluster.standby.socket]
    : [typeof server === 'string' ? '' : server.socket]
  const proxies = await Promise.all(sockets.map((socket) => openCutProxy(socket)))
  const urls = proxies.map(({ port }) => `postgres://rowstash@127.0.0.1:${port}/postgres`)
  const place = { urls, schema: 'history', objects: await objectsPlace(seed) }
  const sides = cluster && { primary: cluster.primary, standby: cluster.standby }
  const more: readonly FaultName[] = sides ? ['cut', 'failover', 'failover'] : ['cut']
  const faults: readonly FaultName[] = ['kill', 'pause', 'clock jump', 'slow read', ...more]
  const options = { jobLeaseMs: LEASE_MS, orphanGraceMs: GRACE_MS, stashesMax: 1_000_000 }
  const wrong = await runRounds(SUITE, { rounds, seed, faults }, (round) => {
    const random = seeded(seed * 37 + round)
    const swarm = drawRound(random, faults, options)
    const members = Array.from({ length: PROCESSES }, (_, at): Member => {
      return { name: `p${at}`, place, callers: 3, port: null, follows: at < 2 ? FEEDS : [] }
    })
    const beside = (running: Round) => {
      const endCuts = besides(async () => {
        await pause(random.below(CUT_MS_MAX))
        const from = nowMicros()
        if (!swarm.faults.includes('cut')) return
        for (const { cut } of proxies) cut()
        running.noteSpan({ name: 'cut', from, to: nowMicros() })
      })
      const endFailovers = besides(async () => {
        await pause(random.below(FAILOVER_MS_MAX))
        if (sides && swarm.faults.includes('failover')) await failOver(sides, running)
      })
      return async () => void (await Promise.all([endCuts(), endFailovers()]))
    }
    const program = programs.path('history-writer')
    const plan = { program, seed: seed + round, swarm, members, restoreTo: null, beside }
    return { plan: { ...plan, pauseMsMax: 5 * LEASE_MS, operations }, random }
  })

  for (const proxy of proxies) await proxy.close()
  expect(wrong).toEqual([])
  await rm(folder, { recursive: true })
})
