import { NO_BYTES } from '../base/bytes.js'
import { teamEntryKey } from '../format/keys.js'
import { EMPTY_RECORD } from '../format/records.js'
import { parseTableId } from '../format/table-id.js'
import type { AnySchema } from '../schema/row-types.js'
import {
  AUTHORED,
  checkArguments,
  checkAuthored,
  checkIdempotencyKey,
  checkRequestDigest,
  checkReserve,
  checkSignal,
  checkStashName,
  checkTeamId,
  checkText,
} from './arguments/arguments.js'
import { SegmentPuts } from './context/segment-puts.js'
import type { StoreContext, TeamContext } from './context/store-context.js'
import { deleteAll } from './delete-all.js'
import { TeamFiles } from './files/files.js'
import { DIALECT_OPTION_NAMES } from './import/dialect-rows.js'
import { listStashes } from './import/list-stashes.js'
import { TeamStash } from './import/stash.js'
import type { JobRunner } from './jobs/job-runner.js'
import { TeamJobs } from './jobs/team-jobs.js'
import { readTableInfos, readTableNames } from './read/table-infos.js'
import {
  checkCreate,
  checkCreateArguments,
  checkEnsure,
  checkImport,
  checkKey,
} from './table/check-requests.js'
import { createTable, findCreated } from './table/create-table.js'
import { ensureTable } from './table/ensure-table.js'
import { importTable } from './table/import-table.js'
import { preflightCreate } from './table/preflight.js'
import { publicResult } from './table/receipts.js'
import { TeamTable } from './table/table.js'
import { isDefinedSchema, typedTable } from './table/typed-table.js'
import { runTransaction } from './transaction/transaction.js'
import type { Abortable, Authored } from './types/call-types.js'
import type { Files } from './types/file-types.js'
import type { Job, JobEntry, JobRequest, JobsOptions } from './types/job-types.js'
import type {
  DeleteAllOptions,
  TableEntry,
  TableInfo,
  TableNamesOptions,
} from './types/life-types.js'
import type { PreflightReport } from './types/preflight-types.js'
import type {
  CreateResult,
  CreateTableRequest,
  EnsureTableRequest,
  ImportTableRequest,
  Stash,
  StashEntry,
} from './types/row-types.js'
import type { Table, Team, TypedTable } from './types/store-types.js'
import type { Transaction } from './types/transaction-types.js'

export class StoreTeam implements Team {
  readonly id: string
  readonly files: Files
  readonly #context: TeamContext
  readonly #jobs: TeamJobs

  /** @param runner - The runner of the jobs of the store. */
  constructor(context: TeamContext, runner: JobRunner) {
    this.id = context.teamId
    this.#context = context
    this.files = new TeamFiles(context)
    this.#jobs = new TeamJobs(context, runner)
  }

  createTable(request: CreateTableRequest & Abortable): Promise<CreateResult> {
    return this.#context.lifecycle.runWriting(async () => {
      const { columnsMax } = this.#context.options
      const create = await checkCreate('createTable', request, columnsMax, ['signal'])
      const first = await findCreated(this.#context, create.key)
      const created = first ?? (await createTable(this.#context, create))
      return this.#created(created, create.receipt)
    })
  }

  ensureTable<S extends AnySchema>(
    request: EnsureTableRequest<S> & Abortable,
  ): Promise<TypedTable<S>>
  ensureTable(request: EnsureTableRequest & Abortable): Promise<Table>
  ensureTable(request: EnsureTableRequest & Abortable): Promise<Table | TypedTable<AnySchema>> {
    return this.#context.lifecycle.runWriting(async () => {
      const checked = checkEnsure(request, this.#context.options.columnsMax)
      const table = this.table(await ensureTable(this.#context, checked))
      return isDefinedSchema(request.schema) ? typedTable(table, request.schema) : table
    })
  }

  #created(created: CreateResult, hasReceipt: boolean): Promise<CreateResult> {
    const place = { team: this.#context, table: parseTableId(created.tableId) ?? NO_BYTES }
    return publicResult(place, created, hasReceipt ? 'create' : undefined)
  }

  preflight(request: CreateTableRequest & Abortable): Promise<PreflightReport> {
    return this.#context.lifecycle.run(() => {
      const { columnsMax } = this.#context.options
      const create = checkCreateArguments('preflight', request, columnsMax, ['key', 'signal'])
      const keyColumns = request.key === undefined ? undefined : checkKey(request.key)
      checkIdempotencyKey(request.idempotencyKey)
      checkRequestDigest(request.requestDigest)
      return preflightCreate(this.#context, { ...create, keyColumns })
    })
  }

  importTable(request: ImportTableRequest & Abortable): Promise<CreateResult> {
    return this.#context.lifecycle.runWriting(async () => {
      const source = checkImport('importTable', request, ['signal', ...DIALECT_OPTION_NAMES])
      const created = await importTable(this.#context, source, () => undefined)
      return this.#created(created, source.receipt)
    })
  }

  transaction<T>(
    run: (transaction: Transaction) => Promise<T>,
    options: Abortable & Authored = {},
  ): Promise<T> {
    return this.#context.lifecycle.runWriting(() => {
      checkArguments('transaction', options, ['signal', ...AUTHORED])
      const by = checkAuthored(options)
      return runTransaction(this.#context, run, by, checkSignal(options.signal))
    })
  }

  deleteAll(options: DeleteAllOptions = {}): Promise<void> {
    return this.#context.lifecycle.run(() => {
      checkArguments('deleteAll', options, ['signal'])
      return deleteAll(this.#context, checkSignal(options.signal))
    })
  }

  startJob(request: JobRequest): Promise<Job> {
    return this.#context.lifecycle.runWriting(() => this.#jobs.start(request))
  }

  job(jobId: string): Job {
    return this.#jobs.job(jobId)
  }

  jobs(options: JobsOptions = {}): Promise<readonly JobEntry[]> {
    return this.#jobs.list(options)
  }

  tables(): Promise<readonly TableInfo[]> {
    return this.#context.lifecycle.run(() => readTableInfos(this.#context))
  }

  tableNames(options: TableNamesOptions = {}): Promise<readonly TableEntry[]> {
    return this.#context.lifecycle.run(() => {
      checkArguments('tableNames', options, ['reserve'])
      checkReserve(options.reserve)
      return readTableNames(this.#context, null, options.reserve)
    })
  }

  tableByName<S extends AnySchema>(name: string, schema: S): Promise<TypedTable<S> | null>
  tableByName(name: string): Promise<Table | null>
  async tableByName(
    name: string,
    schema?: AnySchema,
  ): Promise<Table | TypedTable<AnySchema> | null> {
    const table = (await this.tablesByName(name))[0] ?? null
    return table === null || schema === undefined ? table : typedTable(table, schema)
  }

  async tablesByName(name: string): Promise<readonly Table[]> {
    const found = await this.#context.lifecycle.run(() => {
      return readTableNames(this.#context, checkText('A table name', name))
    })
    return found.map(({ id }) => this.table(id))
  }

  table<S extends AnySchema>(tableId: string, schema: S): TypedTable<S>
  table(tableId: string): Table
  table(tableId: string, schema?: AnySchema): Table | TypedTable<AnySchema> {
    const table = new TeamTable(this.#context, tableId)
    return schema === undefined ? table : typedTable(table, schema)
  }

  stash(stashId: string): Stash {
    checkStashName('Stash ID', stashId)
    return new TeamStash(this.#context, stashId)
  }

  stashes(): Promise<readonly StashEntry[]> {
    return this.#context.lifecycle.run(() => listStashes(this.#context))
  }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR for an invalid team ID */
export function openTeamContext(context: StoreContext, teamId: string): TeamContext {
  checkTeamId(teamId)
  return {
    ...context,
    teamId,
    partition: context.dueTeams.partition(teamId),
    segmentPuts: new SegmentPuts(context),
    ensureTeam: onceDone(() => enterTeam(context, teamId)),
  }
}

/** Writes the team's entry before its first record, so that garbage collection finds every team. */
async function enterTeam({ kv }: StoreContext, teamId: string): Promise<void> {
  const system = kv.partition('')
  const key = teamEntryKey(teamId)
  const entry = await system.read((view) => view.get(key))
  if (entry === null) await system.commit({ puts: [[key, EMPTY_RECORD]] })
}

/** Runs a step until it has succeeded once. Concurrent calls share one run of the step. */
function onceDone(step: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= step().catch((failure: unknown) => {
      running = undefined
      throw failure
    })
    return running
  }
}
