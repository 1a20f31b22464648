// A process that writes to a store until it is killed, and prints what it begins and what was acknowledged:
//
//     node writer.js '{"directory": …}'
//
// Several lanes work concurrently, each on its own table, stashes and files, so that each table has at most one change
// under way. All of them add to one shared table. Meanwhile several callers may ensure one table after another.
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { openDirectory } from '../../../adapters/open-directory.js'
import type { Store } from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import { Lane, TEAM } from './lane.js'
import { laneStoreOf } from './lane-store.js'
import { letLie } from './lie.js'
import { say } from './say.js'
import { resolveJob, SMALL_SIZES, type WriterJob } from './writer-job.js'

/** Finds or creates what the lanes work on, then runs them. */
async function work(store: Store, job: WriterJob): Promise<void> {
  let operations = job.firstOperation
  const nextOperation = (): number => {
    if (operations - job.firstOperation >= job.operationsMax) process.kill(process.pid, 'SIGKILL')
    return operations++
  }
  const lanes = Array.from({ length: job.lanes }, (_, index) => {
    return new Lane(laneStoreOf(store), {
      ...job,
      seed: job.seed * 31 + index,
      index,
      nextOperation,
      say,
    })
  })
  let isEnding = false
  const ensuring = job.ensures ? ensureTables(store, nextOperation, () => isEnding) : undefined
  await Promise.all(
    lanes.map(async (lane) => {
      await lane.start()
      await lane.run(job.operationsOfLane)
    }),
  )
  isEnding = true
  await ensuring
}

const ENSURING = ['a', 'b', 'c']
const ENSURE_EVERY_MS = 20

async function ensureTables(
  store: Store,
  nextOperation: () => number,
  isEnding: () => boolean,
): Promise<void> {
  const team = store.team(TEAM)
  while (!isEnding()) {
    const name = `ensured-${nextOperation()}`
    const ensuring = ENSURING.map(async (own) => {
      const columns = ['k', own]
      const op = nextOperation()
      say({ say: 'begin', op, change: { do: 'ensure', table: name, columns } })
      const schema = { columns: columns.map((id) => ({ id, type: 'string' as const })) }
      const { id } = await team.ensureTable({ name, schema, key: ['k'] })
      say({ say: 'done', op, table: id })
    })
    await Promise.all(ensuring)
    await pause(ENSURE_EVERY_MS)
  }
}

const job = resolveJob(JSON.parse(process.argv[2] ?? '{}'))
if (job.lie !== undefined) letLie(job.lie)
try {
  const store = await openDirectory(job.directory, SMALL_SIZES)
  say({ say: 'open' })
  await work(store, job)
  await store.close()
  say({ say: 'end' })
} catch (failure) {
  const code = isStoreError(failure) ? failure.code : 'none'
  const text = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure)
  say({ say: 'note', text: `${code} ${text}` })
  process.exitCode = 1
}
