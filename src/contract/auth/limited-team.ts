// A team as a key sees it that is limited to some tables: for the key, other tables do not exist.
import { disposable } from '../../base/disposable.js'
import { tableNotFound } from '../../engine/commit/table-writer.js'
import { jobNotFound } from '../../engine/jobs/team-jobs.js'
import type { Job, JobStatus } from '../../engine/types/job-types.js'
import type { Table, Team } from '../../engine/types/store-types.js'
import { limitedToTables } from './caller.js'

/** The parts of a team that operations use. */
export type CallTeam = Pick<
  Team,
  | 'files'
  | 'createTable'
  | 'preflight'
  | 'importTable'
  | 'startJob'
  | 'job'
  | 'jobs'
  | 'stashes'
  | 'tableNames'
  | 'stash'
> &
  Readonly<{ table: (tableId: string) => Table }>

export function limitTeam(team: Team, tables: ReadonlySet<string>): CallTeam {
  return {
    files: team.files,
    createTable: async () => refuseChange(),
    preflight: async () => refuseChange(),
    importTable: async () => refuseChange(),
    stash: refuseChange,
    startJob: async (request) => {
      const { overwrite } = request
      if (overwrite === undefined) return refuseChange()
      if (!tables.has(overwrite.tableId)) throw tableNotFound(overwrite.tableId)
      return team.startJob(request)
    },
    jobs: (options) => team.jobs({ ...options, tables }),
    stashes: async () => refuseChange(),
    job: (jobId) => limitJob(team.job(jobId), tables),
    tableNames: async (options) =>
      (await team.tableNames(options)).filter(({ id }) => tables.has(id)),
    table: (tableId) => (tables.has(tableId) ? team.table(tableId) : missingTable(tableId)),
  }
}

/**
 * Refuses a change of anything but tables: a key that is limited to tables may not change anything else of its team.
 */
function refuseChange(): never {
  throw limitedToTables()
}

/** Hides jobs of other tables. */
function limitJob(job: Job, tables: ReadonlySet<string>): Job {
  const visible = (status: JobStatus): JobStatus => {
    if (tables.has(status.tableId)) return status
    throw jobNotFound(job.id)
  }
  return {
    id: job.id,
    status: async () => visible(await job.status()),
    wait: async (milliseconds) => visible(await job.wait(milliseconds)),
  }
}

/** A table that behaves as if its ID were unknown. */
function missingTable(id: string): Table {
  const fail = async (): Promise<never> => {
    throw tableNotFound(id)
  }
  // biome-ignore lint/correctness/useYield: the generator fails before its first item
  async function* failing(): AsyncGenerator<never, void> {
    throw tableNotFound(id)
  }
  const walk = () => disposable(failing())
  return {
    id,
    addRows: fail,
    overwrite: fail,
    merge: fail,
    preflight: fail,
    receipt: fail,
    change: fail,
    log: fail,
    watchLog: walk,
    page: fail,
    pageBytes: fail,
    openPage: fail,
    pageVersion: fail,
    findBytes: fail,
    scan: walk,
    find: walk,
    count: fail,
    groups: fail,
    groupsJson: fail,
    getMany: fail,
    get: fail,
    getJson: fail,
    getJsonByKey: fail,
    updateRow: fail,
    updateRowJson: fail,
    deleteRow: fail,
    updateRows: fail,
    deleteRows: fail,
    changes: walk,
    watch: walk,
    at: () => {
      throw tableNotFound(id)
    },
    version: fail,
    schema: fail,
    info: fail,
    toCSV: walk,
    toNDJSON: walk,
    openExport: fail,
    rename: fail,
    alter: fail,
    delete: fail,
  }
}
