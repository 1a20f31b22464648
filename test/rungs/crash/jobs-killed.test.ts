// Goal: a job of a process that is killed at any moment ends once: with its whole effect, or failed without any.
// Method: processes start jobs and are killed at random moments, also while they open the directory. Each next one
// continues the remaining jobs. Then all jobs are awaited and compared with their plans, and with the results that a
// process was told.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDirectory } from '../../../adapters/open-directory.js'
import type { JobStatus, Store, Team } from '../../../src/index.js'
import { report, sizeOf, suiteSeed, tier } from '../../support/ladder.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import {
  endOf,
  JOB_OPTIONS,
  JOBS_TEAM,
  type JobLine,
  type PlannedJob,
  plannedJob,
} from './planned-jobs.js'
import { type BuiltPrograms, buildPrograms, startWriter } from './writer-process.js'

const TIMEOUT_MS = { push: 1_200_000, deep: 3_600_000 }[tier]

/** Job numbers reserved for one process. */
const JOBS_OF_PROCESS = 1_000

const TARGETS = 3

/** All jobs have ended this long after the last process was killed. */
const END_MS = 60_000

let programs: BuiltPrograms
let folder = ''

beforeAll(async () => {
  programs = await buildPrograms(['job-starter'], { smallBuffers: false })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-jobs-'))
})

afterAll(async () => {
  await programs.remove()
})

/** The output of the processes. */
class Said {
  readonly begun = new Set<number>()
  readonly started = new Map<number, string>()
  readonly ends = new Map<number, string>()
  readonly wrong: string[] = []
  /** The number of running jobs at each opening of the store, summed over the processes. */
  left = 0

  read(stdout: string): void {
    // An incomplete last line is ignored.
    for (const text of stdout.split('\n').slice(0, -1)) this.#take(JSON.parse(text) as JobLine)
  }

  #take(line: JobLine): void {
    if (line.say === 'open') this.left += line.left
    else if (line.say === 'begin') this.begun.add(line.job)
    else if (line.say === 'started') this.started.set(line.job, line.id)
    else if (line.say === 'ended') this.ends.set(line.job, line.end)
    else this.wrong.push(line.text)
  }
}

/** The moment is counted in lines of output: see `killOnce` of kill.test.ts. */
async function killOnce(given: object, random: Seeded, said: Said): Promise<void> {
  const process = startWriter(programs.path('job-starter'), given)
  if (random.once(6)) await pause(60 + random.below(200))
  else {
    await process.said(1 + random.below(random.once(4) ? 80 : 16))
    await pause(random.below(30))
  }
  process.child.kill('SIGKILL')
  const { stdout, signal, stderr } = await process.ended
  if (signal !== 'SIGKILL') said.wrong.push(`a process ended by itself: ${stderr}`)
  said.read(stdout)
}

async function makeTargets(directory: string): Promise<string[]> {
  const store = await openDirectory(directory, JOB_OPTIONS)
  const targets: string[] = []
  for (let target = 0; target < TARGETS; target++) {
    const name = `target ${target}`
    const { tableId } = await store
      .team(JOBS_TEAM)
      .createTable({ name, rows: [{ job: 0, k: 0, t: '' }] })
    targets.push(tableId)
  }
  await store.close()
  return targets
}

type EndedJob = Readonly<{ number: number; plan: PlannedJob; status: JobStatus }>

/** Waits for all jobs. Their ends are compared with what processes printed. */
async function endedJobs(team: Team, { begun, started, ends, wrong }: Said): Promise<EndedJob[]> {
  const endsAt = performance.now() + END_MS
  const ended = new Map<number, EndedJob>()
  for (const { id, note } of await team.jobs()) {
    const number = Number(note)
    const plan = plannedJob(number)
    const status = await team.job(id).wait(Math.max(0, endsAt - performance.now()))
    const end = endOf(status)
    const planned = plan.failsWith === undefined ? 'succeeded' : `failed ${plan.failsWith}`
    if (!end.startsWith(planned)) wrong.push(`job ${number}: ${end}, not ${planned}`)
    if (!begun.has(number)) wrong.push(`job ${number} was not begun`)
    if (ended.has(number)) wrong.push(`job ${number} is there twice`)
    const said = ends.get(number) ?? end
    if (said !== end) wrong.push(`job ${number}: ${end}, but its process was told: ${said}`)
    ended.set(number, { number, plan, status })
  }
  for (const [number, id] of started) {
    const found = ended.get(number)?.status.id
    if (found !== id) wrong.push(`job ${number} was acknowledged as ${id}, and is ${found}`)
  }
  return [...ended.values()]
}

/** Compares a table with the rows of a job; `rowIds` come from its result. */
async function checkRows(
  team: Team,
  { number, plan, status }: EndedJob,
  said: Said,
): Promise<void> {
  const { wrong } = said
  if (status.status !== 'succeeded') return
  const { tableId, rowIds } = status.result
  let at = 0
  for await (const { $rowID, job, k, t } of team.table(tableId).scan()) {
    const row = plan.rows[at]
    if (
      row === undefined ||
      job !== number ||
      k !== row.k ||
      t !== row.t ||
      $rowID !== rowIds.at(at)
    ) {
      wrong.push(`job ${number}: row ${at} is not its row, or not the one of its result`)
      return
    }
    at++
  }
  if (at !== plan.rows.length) wrong.push(`job ${number}: ${at} rows, not ${plan.rows.length}`)
}

async function checkTables(team: Team, jobs: readonly EndedJob[], said: Said): Promise<void> {
  const { wrong } = said
  const names = new Map((await team.tables()).map(({ id, name }) => [id, name]))
  const made = jobs.filter(({ plan, status }) => {
    return plan.kind !== 'overwrite' && status.status === 'succeeded'
  })
  const count = (await team.tables()).length
  if (count !== made.length + TARGETS) wrong.push(`${count} tables of ${made.length} jobs`)
  for (const job of made) {
    const { tableId } = job.status
    if (names.get(tableId) !== job.plan.name) wrong.push(`${job.plan.name} made another table`)
    const version = await team.table(tableId).version()
    if (version !== 1) wrong.push(`the table of ${job.plan.name} is at version ${version}`)
    await checkRows(team, job, said)
  }
}

/** Each overwrite made one version, and a table has the rows of its last one. */
async function checkTargets(
  team: Team,
  targets: readonly string[],
  jobs: readonly EndedJob[],
  said: Said,
): Promise<void> {
  for (const tableId of targets) {
    const versions = new Map<number, EndedJob>()
    for (const job of jobs) {
      const { status } = job
      if (job.plan.kind !== 'overwrite' || status.status !== 'succeeded') continue
      if (status.tableId === tableId) versions.set(status.result.version, job)
    }
    const version = await team.table(tableId).version()
    const expected = Array.from({ length: version - 1 }, (_, at) => at + 2).join()
    const found = [...versions.keys()].sort((left, right) => left - right).join()
    if (found !== expected) said.wrong.push(`versions 2 to ${version}, and jobs made ${found}`)
    const last = versions.get(version)
    if (last !== undefined) await checkRows(team, last, said)
  }
}

async function audit(store: Store, targets: readonly string[], said: Said): Promise<number> {
  const team = store.team(JOBS_TEAM)
  const jobs = await endedJobs(team, said)
  await checkTables(team, jobs, said)
  await checkTargets(team, targets, jobs, said)
  const { findings } = await store.verify({ full: true })
  for (const { severity, kind, message } of findings) {
    if (severity === 'damage') said.wrong.push(`verify: ${kind}: ${message}`)
  }
  return jobs.length
}

test('a job ends once, however often its process is killed', { timeout: TIMEOUT_MS }, async () => {
  const kills = sizeOf({ push: 50, deep: 500 })
  const seed = suiteSeed()
  const random = seeded(seed)
  const directory = join(folder, 'store')
  const startedAt = performance.now()
  const targets = await makeTargets(directory)
  const said = new Said()

  for (let kill = 0; kill < kills; kill++) {
    const firstJob = (seed % 1_000) * 1_000_000 + 1 + kill * JOBS_OF_PROCESS
    await killOnce({ directory, firstJob, targets }, random, said)
  }
  const store = await openDirectory(directory, JOB_OPTIONS)
  const jobs = await audit(store, targets, said)
  await store.close()

  const seconds = (performance.now() - startedAt) / 1_000
  const suite = `T6j jobs, ${jobs} jobs, ${said.left} times gone on with`
  report({ suite, seed, runs: kills, seconds, violations: said.wrong.length })
  expect(said.wrong).toEqual([])
  // Some processes are killed before they have started a job.
  expect(said.left).toBeGreaterThan(kills / 5)
  await rm(folder, { recursive: true }) // A failed one is kept for inspection.
})
