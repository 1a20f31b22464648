// Goal: one order of operations, consistent with real time, explains what several processes see of one store: nothing
// is lost, torn, stale or duplicated, and each feed has each change once.
// Method: a process has a directory open, works on it with several callers and serves it to three others, which are
// clients. Each round draws its operations, faults and options. Processes are killed and paused, their clocks jump, and
// the store is restored from its backup. The output of all processes is one history, which is checked.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../support/free-port.js'
import { suiteSeed } from '../../support/ladder.js'
import { seeded } from '../../support/seeded.js'
import { type BuiltPrograms, buildPrograms } from '../crash/writer-process.js'
import { drawRound } from './draw-round.js'
import type { FaultName } from './history-job.js'
import type { Member } from './round.js'
import { roundsOf, runRounds } from './run-rounds.js'

const FAULTS: readonly FaultName[] = ['kill', 'pause', 'clock jump', 'restore']
const CLIENTS = 3
const OPERATIONS = { push: 400, deep: 2_500 }
const FEEDS = ['a', 'b', 'log', 'claims']

let programs: BuiltPrograms
let folder = ''

beforeAll(async () => {
  programs = await buildPrograms(['history-writer'], {
    smallBuffers: true,
    from: 'test/rungs/history',
  })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-history-'))
})

afterAll(async () => {
  await programs.remove()
})

test('one order explains what the owner of a directory and clients of its server see', {
  timeout: 14_400_000,
}, async () => {
  const { rounds, operations } = roundsOf({ push: 6, deep: 60 }, OPERATIONS)
  const seed = suiteSeed()
  let directory = join(folder, 'store')
  const port = await freePort()
  const wrong = await runRounds(
    'T27 history, directory',
    { rounds, seed, faults: FAULTS },
    (round) => {
      const random = seeded(seed * 31 + round)
      const swarm = drawRound(random, FAULTS, { orphanGraceMs: 5_000, stashesMax: 1_000_000 })
      const restoreTo = swarm.faults.includes('restore') ? join(folder, `store-${round}`) : null
      const owner: Member = {
        name: 'owner',
        place: { directory },
        callers: 8,
        port,
        follows: FEEDS,
      }
      const clients = Array.from({ length: CLIENTS }, (_, at): Member => {
        const place = { url: `http://127.0.0.1:${port}` }
        return {
          name: `client${at}`,
          place,
          callers: 1,
          port: null,
          follows: at === 0 ? FEEDS : [],
        }
      })
      directory = restoreTo ?? directory
      const program = programs.path('history-writer')
      const members = [owner, ...clients]
      const plan = { program, seed: seed + round, swarm, members, restoreTo, pauseMsMax: 1_000 }
      return { plan: { ...plan, operations }, random }
    },
  )

  expect(wrong).toEqual([])
  await rm(folder, { recursive: true }) // A failed one is kept for inspection.
})
