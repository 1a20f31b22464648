// Starts, reads and lists the jobs of a team.

import { monotonicMs } from '../../base/clock.js'
import { deferred } from '../../base/data-error.js'
import { shown } from '../../base/options.js'
import { pause } from '../../base/pause.js'
import { invalidArgument, StoreError } from '../../base/store-error.js'
import { isWellFormed } from '../../base/well-formed.js'
import { decodeLease, type JobKind } from '../../format/job-records.js'
import { type JobKey, jobLeaseKey, type TableKey } from '../../format/keys.js'
import { newUuid, parseTableId, renderTableId } from '../../format/table-id.js'
import { checkArguments, checkAuthored, checkText } from '../arguments/arguments.js'
import type { TeamContext } from '../context/store-context.js'
import { DIALECT_OPTION_NAMES } from '../import/dialect-rows.js'
import { TeamStash } from '../import/stash.js'
import { readHead } from '../read/generations.js'
import { checkCreate, checkImport, checkOverwrite } from '../table/check-requests.js'
import { readAfterIfMatch } from '../table/overwrite-rows.js'
import { tableKeyOf } from '../table/table.js'
import type {
  Job,
  JobEntry,
  JobProgress,
  JobRequest,
  JobStatus,
  JobsOptions,
} from '../types/job-types.js'
import type { RowsInput, Stash } from '../types/row-types.js'
import { fetchOf } from '../types/url-fetcher.js'
import { openOwnStash, type StoredRequest, storedKey } from './job-request.js'
import { heldJob, type JobRunner } from './job-runner.js'
import { findJob, listJobs, toStatus } from './job-status.js'

const NOTE_CHARS_MAX = 65_536

/** Approximate size of the records of a job besides its note, in bytes. */
const JOB_BYTES = 256

const REQUESTS = ['create', 'overwrite', 'import', 'note']

/** Pause between two checks of a job that another engine works on, in milliseconds. */
const POLL_MS = 200
const WAIT_MS_DEFAULT = 60_000
const WAIT_MS_MAX = 2 ** 31 - 1

type Checked = Readonly<{ kind: JobKind; table: TableKey; request: StoredRequest }>

export class TeamJobs {
  readonly #team: TeamContext
  readonly #runner: JobRunner

  constructor(team: TeamContext, runner: JobRunner) {
    this.#team = team
    this.#runner = runner
  }

  async start(given: JobRequest): Promise<Job> {
    checkArguments('startJob', given, REQUESTS)
    const note = checkNote(given.note)
    const { random, clock } = this.#team.options
    const job = newUuid(random.bytes(16))
    this.#runner.checkRoom(heldJob(this.#team, { note }))
    await this.#team.ensureTeam()
    const bytes = JOB_BYTES + note.length
    await this.#team.limits.checkRows(this.#team, bytes)
    const { kind, table, request } = await this.#check(given, job)
    const state = { name: 'running', request: JSON.stringify(request) } as const
    const createdAt = clock.now()
    await this.#runner.start(this.#team, job, { kind, createdAt, table, note, state })
    this.#team.limits.storeRows(this.#team, bytes)
    return this.job(renderTableId(job))
  }

  job(jobId: string): Job {
    checkText('A job ID', jobId)
    return new TeamJob(this.#team, this.#runner, jobId)
  }

  async list(options: JobsOptions): Promise<readonly JobEntry[]> {
    checkArguments('jobs', options, ['newest', 'tables', 'notes'])
    const { newest } = options
    if (newest !== undefined && !(Number.isSafeInteger(newest) && newest >= 1)) {
      throw invalidArgument(`newest must be a positive integer, not ${shown(newest)}`)
    }
    return listJobs(this.#team, options)
  }

  /** Checks a request as the operation itself would, and stores its rows. */
  #check(given: JobRequest, job: JobKey): Promise<Checked> {
    const kinds = (['create', 'overwrite', 'import'] as const).filter(
      (kind) => given[kind] !== undefined,
    )
    const { create, overwrite, import: fromUrl } = given
    if (kinds.length === 1 && create !== undefined) return this.#checkCreate(create, job)
    if (kinds.length === 1 && overwrite !== undefined) return this.#checkOverwrite(overwrite, job)
    if (kinds.length === 1 && fromUrl !== undefined) return this.#checkImport(fromUrl)
    throw invalidArgument('startJob takes exactly one of create, overwrite and import')
  }

  async #checkCreate(given: NonNullable<JobRequest['create']>, job: JobKey): Promise<Checked> {
    const { columnsMax, random } = this.#team.options
    const create = await checkCreate('create', given, columnsMax)
    const { name, schema, rows, onSchemaError, key, receipt, by } = create
    const request = {
      name,
      onSchemaError,
      ...(await this.#stashOf(rows, job)),
      ...storedKey(key),
      ...(schema && { schema }),
      ...(receipt && { receipt }),
      ...by,
    }
    return { kind: 'create', table: newUuid(random.bytes(16)), request }
  }

  async #checkOverwrite(
    given: NonNullable<JobRequest['overwrite']>,
    job: JobKey,
  ): Promise<Checked> {
    const { columnsMax } = this.#team.options
    const checked = checkOverwrite('overwrite', given, columnsMax, ['tableId'])
    const { rows, onSchemaError, ifMatch, readSchema, receipt } = checked
    const tableId = checkText('tableId', given.tableId)
    const table = tableKeyOf(tableId)
    await this.#team.partition.read((view) => readHead(this.#team, view, table, tableId))
    // A malformed schema is refused now. Invalid columns are refused later, in the order of the operation's checks.
    if (readSchema !== undefined) deferred(readSchema)
    const { schema } = given
    const place = { team: this.#team, table, tableId }
    const staged = await readAfterIfMatch(place, ifMatch, () => this.#stashOf(rows, job))
    const request = {
      onSchemaError,
      ...staged,
      ...(schema !== undefined && { schema }),
      ...(ifMatch !== undefined && { ifMatch: String(ifMatch) }),
      ...(receipt && { receipt }),
      ...checkAuthored(given),
    }
    return { kind: 'overwrite', table, request }
  }

  async #checkImport(given: NonNullable<JobRequest['import']>): Promise<Checked> {
    const names = DIALECT_OPTION_NAMES.filter((option) => option !== 'onReport')
    const checked = checkImport('import', given, names)
    const { fromUrl, name, format, onSchemaError, receipt, by } = checked
    const said = Object.fromEntries(names.map((option) => [option, Reflect.get(given, option)]))
    fetchOf(this.#team.options) // This refuses an import in a process without `sources`.
    const request = {
      fromUrl,
      onSchemaError,
      ...(name !== undefined && { name }),
      ...(format !== undefined && { format }),
      ...(checked.said && { said }),
      ...(receipt && { receipt }),
      ...by,
    }
    return { kind: 'import', table: newUuid(this.#team.options.random.bytes(16)), request }
  }

  /** The stash with the rows: the caller's stash, or a new one with the given rows. */
  async #stashOf(
    rows: RowsInput | Stash,
    job: JobKey,
  ): Promise<Pick<StoredRequest, 'stash' | 'staged'>> {
    if (rows instanceof TeamStash) {
      if (!rows.belongsTo(this.#team))
        throw invalidArgument('The stash belongs to another team or store')
      const staged = await rows.stagedNow()
      return { stash: rows.id, ...(staged && { staged }) }
    }
    const stash = openOwnStash(this.#team, job)
    await stash.put('0', rows as RowsInput)
    return { stash: stash.id }
  }
}

class TeamJob implements Job {
  readonly id: string
  readonly #team: TeamContext
  readonly #runner: JobRunner

  constructor(team: TeamContext, runner: JobRunner, id: string) {
    this.#team = team
    this.#runner = runner
    this.id = id
  }

  status(): Promise<JobStatus> {
    return this.#team.lifecycle.run(() => this.#status(this.#key()))
  }

  async wait(milliseconds: number = WAIT_MS_DEFAULT): Promise<JobStatus> {
    checkWait(milliseconds)
    const job = this.#key()
    const { lifecycle } = this.#team
    const endMs = monotonicMs() + milliseconds
    for (;;) {
      await this.#runner.wait(job, Math.max(0, endMs - monotonicMs()))
      const status = await lifecycle.run(() => this.#status(job))
      const left = endMs - monotonicMs()
      // When this engine works no longer on a job, the job may still be open: it was left to a later look, or to
      // another engine.
      if (status.status !== 'running' || left <= 0) return status
      await pause(Math.min(POLL_MS, left))
    }
  }

  async #status(job: JobKey): Promise<JobStatus> {
    const found = await this.#team.partition.read(async (view) => {
      const there = await findJob(this.#team, view, job)
      const lease = there === null ? null : await view.get(jobLeaseKey(job))
      return there && { ...there, lease }
    })
    if (found === null) throw jobNotFound(this.id)
    const saved = found.lease === null ? NOTHING_YET : decodeLease(found.lease)
    const progress: JobProgress = this.#runner.progressOf(job) ?? saved
    return toStatus(this.#team, job, found, { rows: progress.rows, bytes: progress.bytes })
  }

  #key(): JobKey {
    const job = parseTableId(this.id)
    if (job === null) throw jobNotFound(this.id)
    return job
  }
}

const NOTHING_YET: JobProgress = Object.freeze({ rows: 0, bytes: 0 })

function checkNote(given: unknown): string {
  if (given === undefined) return ''
  if (typeof given === 'string' && given.length <= NOTE_CHARS_MAX && isWellFormed(given)) {
    return given
  }
  throw invalidArgument(`note must be well-formed text of at most ${NOTE_CHARS_MAX} UTF-16 units`)
}

function checkWait(given: unknown): void {
  if (typeof given === 'number' && given >= 0 && given <= WAIT_MS_MAX) return
  throw invalidArgument(`milliseconds must be a number from 0 to 2^31 - 1, not ${shown(given)}`)
}

export function jobNotFound(jobId: string): StoreError {
  return new StoreError('JOB_NOT_FOUND', `Job with ID '${jobId}' not found`)
}
