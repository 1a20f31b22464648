// A process that starts jobs until it is killed, and continues those that earlier processes left:
//
//     node job-starter.js '{"directory": …}'
import process from 'node:process'
import { openDirectory } from '../../../adapters/open-directory.js'
import { type Job, StoreError, type Team } from '../../../src/index.js'
import {
  endOf,
  JOB_OPTIONS,
  JOBS_TEAM,
  type JobLine,
  type JobStarterArguments,
  requestOf,
} from './planned-jobs.js'
import { say } from './say.js'

/** Lanes that start jobs concurrently. */
const LANES = 3

/** Most unfinished jobs of a lane. */
const OPEN_MAX = 3

const given = JSON.parse(process.argv[2] ?? '{}') as JobStarterArguments
const tell = (line: JobLine): void => say(line)
let nextJob = given.firstJob

async function tellEnd(number: number, job: Job): Promise<void> {
  const status = await job.wait()
  if (status.status !== 'running')
    tell({ say: 'ended', job: number, id: job.id, end: endOf(status) })
}

async function runLane(team: Team): Promise<never> {
  const open: Promise<void>[] = []
  for (;;) {
    const number = nextJob++
    tell({ say: 'begin', job: number })
    const job = await team.startJob(requestOf(number, given.targets))
    tell({ say: 'started', job: number, id: job.id })
    open.push(tellEnd(number, job))
    if (open.length >= OPEN_MAX) await open.shift()
  }
}

try {
  const store = await openDirectory(given.directory, JOB_OPTIONS)
  const team = store.team(JOBS_TEAM)
  const left = (await team.jobs()).filter(({ status }) => status === 'running')
  tell({ say: 'open', left: left.length })
  await Promise.all(Array.from({ length: LANES }, () => runLane(team)))
} catch (failure) {
  const code = failure instanceof StoreError ? `${failure.code} ` : ''
  const text = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure)
  tell({ say: 'note', text: `${code}${text}` })
  process.exitCode = 1
}
