// A process that writes to a store until it is killed, and says on its standard output what it begins and
// what was acknowledged:
//
//     node writer.js '{"directory": …}'
//
// Several lanes work at the same time, each on its own table, stashes and files, so that of each table
// one change at most is under way; and all of them add to one shared table.
import process from 'node:process'
import { openDirectory } from '../../../adapters/open-directory.js'
import type { Store } from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import { Lane } from './lane.js'
import { laneStoreOf } from './lane-store.js'
import { letLie } from './lie.js'
import { say } from './say.js'
import { resolveJob, SMALL_SIZES, type WriterJob } from './writer-job.js'

/** Finds, or makes, what the lanes work on; then lets them work. */
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
  await Promise.all(
    lanes.map(async (lane) => {
      await lane.start()
      await lane.run(job.operationsOfLane)
    }),
  )
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
