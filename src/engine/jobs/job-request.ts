// The request of a job. It is checked at the start, stored as JSON (FORMAT.md, section 4), and run from this record,
// possibly by another engine.
import { fromHex, toHex } from '../../base/bytes.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import type { JobKind, JobRecord } from '../../format/job-records.js'
import type { JobKey } from '../../format/keys.js'
import { parseTableId, renderTableId } from '../../format/table-id.js'
import { parseTableSchema } from '../../schema/table-schema.js'
import type { RequestKey } from '../commit/idempotency.js'
import type { JobGuard, JobResult } from '../commit/job-guard.js'
import type { TeamContext } from '../context/store-context.js'
import { runsOf } from '../ids/row-ids.js'
import { parseDialectOptions } from '../import/dialect-rows.js'
import type { SourceProgress } from '../import/source-rows.js'
import { TeamStash } from '../import/stash.js'
import type { Staged } from '../import/stash-records.js'
import { OWN_STASH } from '../limits/team-limits.js'
import { createTable } from '../table/create-table.js'
import { importTable } from '../table/import-table.js'
import { overwriteRows } from '../table/overwrite-rows.js'
import type { Authored } from '../types/call-types.js'
import type {
  ChangeResult,
  CreateResult,
  OnSchemaError,
  RowsFormat,
  SchemaInput,
} from '../types/row-types.js'

/** The members of a request as stored in JSON. */
export type StoredRequest = Authored &
  Readonly<{
    name?: string
    schema?: SchemaInput
    onSchemaError: OnSchemaError
    /** The ID of the stash with the rows. */
    stash?: string
    /** The state of the caller's stash when the job began. */
    staged?: Staged
    /** The version in decimal digits, because JSON numbers lose digits of large integers. */
    ifMatch?: string
    key?: string
    /** The digest of the request, in hex. */
    digest?: string
    fromUrl?: string
    format?: RowsFormat
    /** The dialect of the file, as requested. */
    said?: Readonly<Record<string, unknown>>
    /** Whether to store a receipt. */
    receipt?: boolean
  }>

/** The input of the work on a job. */
export type JobWork = Readonly<{
  record: JobRecord
  request: StoredRequest
  guard: JobGuard
  onProgress: (progress: SourceProgress) => void
}>

/** The request of a job that has not ended. @throws {StoreError} DATA_CORRUPT */
export function parseRequest({ state }: JobRecord): StoredRequest {
  try {
    return JSON.parse(state.name === 'running' ? state.request : '')
  } catch (cause) {
    throw new StoreError('DATA_CORRUPT', 'The request of a job is not JSON', { cause })
  }
}

/**
 * Does the work of a job. The commit of the work ends the job. If the idempotency key already has a result, there is no
 * such commit.
 */
export async function doJob(team: TeamContext, work: JobWork): Promise<JobResult> {
  const { kind, table } = work.record
  const result = await WORK_OF_KIND[kind](team, work)
  const made = 'tableId' in result ? parseTableId(result.tableId) : table
  return { table: made ?? table, version: result.version, runs: runsOf(result.rowIds) }
}

type DoWork = (team: TeamContext, work: JobWork) => Promise<ChangeResult | CreateResult>

const WORK_OF_KIND: Readonly<Record<JobKind, DoWork>> = Object.freeze({
  create(team, { request, guard }) {
    const { name = '', schema, onSchemaError, key, digest, receipt } = request
    const given = key === undefined ? undefined : requestKey(key, digest)
    return createTable(team, {
      name,
      rows: openRequestStash(team, request),
      schema: schema && parseTableSchema(schema, team.options.columnsMax),
      onSchemaError,
      key: given,
      guard,
      receipt,
      by: request,
    })
  },
  overwrite(team, { record: { table }, request, guard }) {
    const { schema, onSchemaError, ifMatch, receipt } = request
    const { columnsMax } = team.options
    return overwriteRows(
      { team, table, tableId: renderTableId(table), by: request },
      {
        rows: openRequestStash(team, request),
        ifMatch: ifMatch === undefined ? undefined : BigInt(ifMatch),
        readSchema: schema && (() => parseTableSchema(schema, columnsMax)),
        onSchemaError,
        guard,
        receipt,
      },
    )
  },
  import(team, { request, guard, onProgress }) {
    const { fromUrl = '', name, format, said, onSchemaError, receipt } = request
    const how = said && parseDialectOptions(said)
    const source = { fromUrl, name, format, said: how, onSchemaError, receipt, guard, by: request }
    return importTable(team, source, onProgress)
  },
})

function openRequestStash(team: TeamContext, { stash = '', staged }: StoredRequest): TeamStash {
  return new TeamStash(team, stash, staged)
}

function requestKey(text: string, digest: string | undefined): RequestKey {
  const bytes = fromHex(digest ?? '')
  if (bytes !== null) return { text, digest: bytes }
  throw new StoreError('DATA_CORRUPT', 'The digest in the request of a job is not hex')
}

/** The members that store an idempotency key. */
export function storedKey(key: RequestKey | undefined): Pick<StoredRequest, 'key' | 'digest'> {
  return key === undefined ? {} : { key: key.text, digest: toHex(key.digest) }
}

/** The stash for rows that came in the request of a job. It has no chunks if the request named a stash or a URL. */
export function openOwnStash(team: TeamContext, job: JobKey): TeamStash {
  return new TeamStash(team, `${OWN_STASH}${renderTableId(job)}`)
}

/** Deletes the rows that came with a request. @returns false: the storage failed */
export async function dropOwnRows(team: TeamContext, job: JobKey): Promise<boolean> {
  try {
    await openOwnStash(team, job).delete()
    return true
  } catch (failure) {
    if (!isStoreError(failure)) throw failure
    return false
  }
}
