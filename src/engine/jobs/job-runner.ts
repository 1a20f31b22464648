// Works on the jobs of a store: on jobs that were started here, and on jobs that another engine or an earlier opening
// has abandoned.
//
// Invariants:
// - Only the holder of a lease works on its job, and every commit of the work checks the lease (commit/job-guard). So
//   an engine that has lost its lease to another engine changes nothing, whatever it still does.
// - A lease is abandoned when its bytes have not changed for `jobLeaseMs` while this engine watched. Two clocks are
//   never compared: engines with different clocks decide alike.
// - A job is entered in the list of open jobs before its record exists, so that every opening finds it.
import { type Bytes, sameBytes, toHex } from '../../base/bytes.js'
import { monotonicMs } from '../../base/clock.js'
import { every, waitAtMost } from '../../base/platform.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import {
  decodeJob,
  decodeLease,
  encodeJob,
  encodeLease,
  type JobLease,
  type JobRecord,
  OWNER_BYTES,
} from '../../format/job-records.js'
import {
  decodeOpenJobKey,
  type JobKey,
  jobKey,
  jobLeaseKey,
  OPEN_JOBS_RANGE,
  openJobKey,
} from '../../format/keys.js'
import { EMPTY_RECORD } from '../../format/records.js'
import { renderTableId } from '../../format/table-id.js'
import type { KvCheck, KvCommit, KvView } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import { commitUntilAccepted, REFUSED } from '../commit/commit-until-accepted.js'
import { type JobCommit, type JobGuard, type JobResult, readJobGuard } from '../commit/job-guard.js'
import { LeaseLost } from '../commit/lease.js'
import { hintOfLifetime } from '../commit/work-hints.js'
import type { StoreContext, TeamContext } from '../context/store-context.js'
import { TransferLimit } from '../limits/transfer-limit.js'
import type { JobOutcome } from '../types/event-types.js'
import type { JobProgress } from '../types/job-types.js'
import { HeldLease } from './held-lease.js'
import { isPassing, toJobError } from './job-failure.js'
import { jobNoteOf } from './job-note.js'
import { doJob, dropOwnRows, parseRequest } from './job-request.js'

/** Maximum number of jobs of one team that an engine holds, including those that wait for their turn. */
const TEAM_JOBS_MAX = 100

/** Maximum number of jobs of all teams that an engine holds. */
const JOBS_MAX = 1_000

/** Number of renewals per duration of a lease. */
const RENEWALS = 3

/**
 * A job fails if it was begun this many times, each time by another engine or opening of the store, and never ended: it
 * may be the job that makes them crash.
 */
const EPOCHS_MAX = 100

/**
 * Time after which an entry of the list without a job is deleted, in milliseconds, if other processes can start jobs.
 */
const DANGLING_MS = 600_000

const NO_OWNER: Bytes = new Uint8Array(OWNER_BYTES)

/** `holder`: the key that began the job, if that key is limited to tables. */
type HeldJob = Readonly<{ teamId: string; holder: string | undefined }>

type OpenJob = HeldJob &
  Readonly<{
    progress: () => JobProgress
    /** Settles when this engine does nothing more for the job. Never rejects. */
    ended: Promise<void>
  }>

/** The bytes of a lease, and the monotonic time at which they were first seen. */
type Seen = Readonly<{ bytes: Bytes | null; since: number }>

export class JobRunner {
  readonly #context: StoreContext
  readonly #teamOf: (teamId: string) => TeamContext
  readonly #owner: Bytes
  readonly #turns: TransferLimit
  readonly #jobs = new Map<string, OpenJob>()
  /** Jobs whose records are being written. */
  readonly #starting = new Map<string, HeldJob>()
  #seen: ReadonlyMap<string, Seen> = new Map()
  #looking: Promise<void> | undefined

  constructor(context: StoreContext, teamOf: (teamId: string) => TeamContext) {
    this.#context = context
    this.#teamOf = teamOf
    this.#owner = context.options.random.bytes(OWNER_BYTES)
    this.#turns = new TransferLimit(context.options.jobsInFlightMax)
  }

  /** Finds abandoned jobs, and takes them over. Concurrent calls share a search. */
  look(): Promise<void> {
    this.#looking ??= this.#lookAtAll().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  /** Number of jobs that this engine works on, including jobs that wait for their turn. */
  get runningCount(): number {
    return this.#jobs.size
  }

  /** The progress of a job; undefined: this engine does not work on it. */
  progressOf(job: JobKey): JobProgress | undefined {
    return this.#jobs.get(toHex(job))?.progress()
  }

  /** Waits until this engine has finished a job, if it works on it. */
  async wait(job: JobKey, milliseconds: number): Promise<void> {
    const open = this.#jobs.get(toHex(job))
    if (open !== undefined) await waitAtMost(open.ended, milliseconds)
  }

  /** @throws {StoreError} RATE_LIMITED */
  checkRoom(job: HeldJob): void {
    if (hasRoom([...this.#starting.values(), ...this.#jobs.values()], job)) return
    throw new StoreError('RATE_LIMITED', 'Too many jobs are in progress; try again later')
  }

  /** Makes a job durable, and starts it. */
  async start(team: TeamContext, job: JobKey, record: JobRecord): Promise<void> {
    const id = toHex(job)
    const held = heldJob(team, record)
    this.checkRoom(held)
    this.#starting.set(id, held)
    try {
      const system = this.#context.kv.partition('')
      await system.commit({ puts: [[openJobKey(job, team.teamId), EMPTY_RECORD]] })
      const lease = this.#newLease(1)
      const { clock, jobTtlMs } = team.options
      const [key, bytes] = [jobKey(job), encodeJob(record)]
      await team.partition.commit({
        checks: [{ key, equals: null }],
        puts: [
          [key, bytes],
          [jobLeaseKey(job), encodeLease(lease)],
          ...hintOfLifetime(team, 'job', job, clock.now() + jobTtlMs),
        ],
      })
      this.#begin(team, job, record, lease)
    } finally {
      this.#starting.delete(id)
    }
  }

  #newLease(epoch: number): JobLease {
    const { clock, jobLeaseMs } = this.#context.options
    const until = clock.now() + jobLeaseMs
    return { owner: this.#owner, epoch, until, beat: 0, rows: 0, bytes: 0 }
  }

  #begin(team: TeamContext, job: JobKey, record: JobRecord, lease: JobLease): void {
    const id = toHex(job)
    const held = new HeldLease(team, job, lease)
    let tellEnd: () => void = () => undefined
    const ended = new Promise<void>((resolve) => {
      tellEnd = resolve
    })
    this.#jobs.set(id, { ...heldJob(team, record), progress: () => held.progress, ended })
    const began = monotonicMs()
    let outcome: JobOutcome = 'left'
    const work = async (): Promise<void> => {
      outcome = await this.#work(team, job, record, held, tellEnd)
    }
    const { background, activity } = this.#context
    void background.settle('jobs', work).then(() => {
      this.#jobs.delete(id)
      tellEnd()
      const ms = monotonicMs() - began
      activity.jobEnded({ teamId: team.teamId, jobId: renderTableId(job), outcome, ms })
    })
  }

  /** @param tellEnd - Called when the job has ended, before the cleaning up that remains. */
  async #work(
    team: TeamContext,
    job: JobKey,
    record: JobRecord,
    held: HeldLease,
    tellEnd: () => void,
  ): Promise<JobOutcome> {
    let outcome: JobOutcome = 'succeeded'
    const { options, background, lifecycle } = this.#context
    const guard: JobGuard = { job, record, lease: held.lease, clock: options.clock }
    const renew = (): void => background.run('jobs', () => held.renew())
    const stopRenewing = every(Math.ceil(options.jobLeaseMs / RENEWALS), renew)
    try {
      const request = parseRequest(record)
      const work = { record, request, guard, onProgress: (at: JobProgress) => held.note(at) }
      checkEpoch(held.lease)
      const doWork = async (): Promise<void> => endIfOpen(team, guard, await doJob(team, work))
      // A close ends the wait of jobs for their turn. The next opening continues these jobs.
      await lifecycle.untilClosed((closing) => this.#turns.run(team.teamId, doWork, closing))
    } catch (failure) {
      outcome = await this.#fail(team, guard, held, failure)
    } finally {
      tellEnd()
      stopRenewing()
      await held.end()
    }
    await this.#forgetEnded(team, job)
    return outcome
  }

  async #fail(
    team: TeamContext,
    guard: JobGuard,
    held: HeldLease,
    failure: unknown,
  ): Promise<JobOutcome> {
    if (failure instanceof LeaseLost) return 'left' // Another engine continues the job, or the job has ended.
    if (isPassing(failure) && held.lease.epoch < EPOCHS_MAX) {
      await held.giveBack()
      return 'left'
    }
    if (!isStoreError(failure)) this.#context.background.report('jobs', failure)
    try {
      await endJob(team, guard, (commit) => commit.fail(JSON.stringify(toJobError(failure))))
    } catch (later) {
      if (!(later instanceof LeaseLost)) throw later
      return 'left'
    }
    return 'failed'
  }

  async #forgetEnded(team: TeamContext, job: JobKey): Promise<void> {
    const bytes = await team.partition.read((view) => view.get(jobKey(job)))
    if (bytes === null || decodeJob(bytes).state.name !== 'running') await this.#forget(team, job)
  }

  /** Deletes the rows of an ended job, then takes it off the list of open jobs. */
  async #forget(team: TeamContext, job: JobKey): Promise<void> {
    if (!(await dropOwnRows(team, job))) return // The next look tries again.
    await this.#context.kv.partition('').commit({ deletes: [openJobKey(job, team.teamId)] })
  }

  async #lookAtAll(): Promise<void> {
    const { lifecycle } = this.#context
    const listed = await this.#context.kv.partition('').read(readOpenJobs)
    const seen = new Map<string, Seen>()
    for (const { job, teamId } of listed) {
      const id = toHex(job)
      if (lifecycle.isClosing || this.#jobs.size >= JOBS_MAX) break
      if (this.#jobs.has(id) || this.#starting.has(id)) continue
      try {
        seen.set(id, await this.#lookAt(this.#teamOf(teamId), job))
      } catch (failure) {
        this.#context.background.report('jobs', failure) // The search continues with the other teams.
      }
    }
    this.#seen = seen
  }

  async #lookAt(team: TeamContext, job: JobKey): Promise<Seen> {
    const [bytes = null, lease = null] = await team.partition.read((view) =>
      view.getMany([jobKey(job), jobLeaseKey(job)]),
    )
    const now = monotonicMs()
    const before = this.#seen.get(toHex(job))
    const isSame = before !== undefined && sameOrNone(before.bytes, lease)
    const seen = isSame ? before : { bytes: lease, since: now }
    const record = bytes === null ? null : decodeJob(bytes)
    if (bytes === null || record === null) {
      // If true, nobody is still creating the job of this entry: jobs that are being started here were skipped above.
      const isNever = !this.#context.kv.shared || now - seen.since >= DANGLING_MS
      if (isNever) await this.#forget(team, job)
    } else if (record.state.name !== 'running') {
      await this.#forget(team, job)
    } else if (this.#canDo(record) && this.#isLeft(lease, now - seen.since)) {
      await this.#takeOver(team, job, { key: jobKey(job), equals: bytes }, record, lease)
    }
    return seen
  }

  /** Whether this process can do a job. Imports are left to processes that fetch URLs. */
  #canDo({ kind }: JobRecord): boolean {
    return kind !== 'import' || this.#context.options.sources !== undefined
  }

  /** Whether a job is abandoned. @param unchangedMs - How long its lease has not changed while this engine watched. */
  #isLeft(lease: Bytes | null, unchangedMs: number): boolean {
    const { kv, options } = this.#context
    if (lease === null || !kv.shared) return true // No other process has this store open.
    const { owner } = decodeLease(lease)
    if (sameBytes(owner, NO_OWNER) || sameBytes(owner, this.#owner)) return true
    return unchangedMs >= options.jobLeaseMs
  }

  async #takeOver(
    team: TeamContext,
    job: JobKey,
    check: KvCheck,
    record: JobRecord,
    before: Bytes | null,
  ): Promise<void> {
    const lease = this.#newLease(before === null ? 1 : decodeLease(before).epoch + 1)
    const key = jobLeaseKey(job)
    const { ok } = await team.partition.commit({
      checks: [check, { key, equals: before }],
      puts: [[key, encodeLease(lease)]],
    })
    if (ok) this.#begin(team, job, record, lease)
  }
}

/**
 * Whether a job may be added to the open jobs. So that others find places, a key that is limited to tables must have
 * fewer jobs than its team has free places, and a team must have fewer jobs than the engine has free places.
 */
export function hasRoom(open: readonly HeldJob[], { teamId, holder }: HeldJob): boolean {
  const ofTeam = open.filter((job) => job.teamId === teamId)
  const held = holder === undefined ? [] : ofTeam.filter((job) => job.holder === holder)
  const room = TEAM_JOBS_MAX - ofTeam.length
  return room > held.length && JOBS_MAX - open.length > ofTeam.length
}

export function heldJob({ teamId }: TeamContext, job: Readonly<{ note: string }>): HeldJob {
  const { key, isLimited } = jobNoteOf(job)
  return { teamId, holder: isLimited === true ? key : undefined }
}

/** @throws {StoreError} STORAGE_UNAVAILABLE */
function checkEpoch({ epoch }: JobLease): void {
  if (epoch <= EPOCHS_MAX) return
  throw new StoreError(
    'STORAGE_UNAVAILABLE',
    `The job was started ${EPOCHS_MAX} times and never ended`,
  )
}

/** Ends a job whose work is done, unless the commit of the work has already ended it. */
async function endIfOpen(team: TeamContext, guard: JobGuard, result: JobResult): Promise<void> {
  const bytes = await team.partition.read((view) => view.get(jobKey(guard.job)))
  if (bytes === null || decodeJob(bytes).state.name !== 'running') return
  await endJob(team, guard, (commit) => commit.succeed(result))
}

/** @throws {LeaseLost} */
async function endJob(
  team: TeamContext,
  guard: JobGuard,
  end: (commit: JobCommit) => Pick<KvCommit, 'puts' | 'deletes'>,
): Promise<void> {
  await commitUntilAccepted('The job is too busy', team.options.random, async () => {
    const commit = await team.partition.read((view) => readJobGuard(guard, (key) => view.get(key)))
    const { ok } = await team.partition.commit({ checks: commit.checks, ...end(commit) })
    return ok || REFUSED
  })
}

async function readOpenJobs(view: KvView): Promise<{ job: JobKey; teamId: string }[]> {
  const listed: { job: JobKey; teamId: string }[] = []
  for await (const entries of scanBatches(view, OPEN_JOBS_RANGE)) {
    for (const [key] of entries) listed.push(decodeOpenJobKey(key))
  }
  return listed
}

function sameOrNone(left: Bytes | null, right: Bytes | null): boolean {
  if (left === null || right === null) return left === right
  return sameBytes(left, right)
}
