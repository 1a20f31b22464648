// Jobs whose request and result follow from their number, so that a killed process need not print them.
import type { DirectoryOptions } from '../../../adapters/open-directory.js'
import type { JobRequest, JobStatus, StoreErrorCode } from '../../../src/index.js'
import type { UrlFetcher } from '../../../src/ports.js'
import { seeded } from '../../support/seeded.js'
import { fillerText } from './rows.js'

/** The arguments of the process that starts jobs. */
export type JobStarterArguments = Readonly<{
  directory: string
  /** The number of its first job. */
  firstJob: number
  /** The tables that jobs overwrite. */
  targets: readonly string[]
}>

/** The output of the process: one JSON text per line. */
export type JobLine =
  /** It opened the directory; `left`: the unfinished jobs of earlier processes. */
  | Readonly<{ say: 'open'; left: number }>
  | Readonly<{ say: 'begin'; job: number }>
  | Readonly<{ say: 'started'; job: number; id: string }>
  | Readonly<{ say: 'ended'; job: number; id: string; end: string }>
  | Readonly<{ say: 'note'; text: string }>

export const JOBS_TEAM = 'jobs'

export const JOB_OPTIONS: DirectoryOptions = {
  inlineRowsMax: 20,
  segmentRowsMax: 256,
  maintenance: {
    garbageCollectionIntervalMs: 0,
    compactionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
  },
  sources: rowsByUrl(),
}

export type PlannedJob = Readonly<{
  kind: 'create' | 'overwrite' | 'import'
  /** The name of the table that it creates. */
  name: string
  target: number
  rows: readonly PlannedRow[]
  /** undefined: it succeeds. */
  failsWith?: StoreErrorCode
}>

export type PlannedRow = Readonly<{ job: number; k: number; t: string }>

const KINDS: readonly Pick<PlannedJob, 'kind' | 'failsWith'>[] = [
  { kind: 'create' },
  { kind: 'overwrite' },
  { kind: 'import' },
  { kind: 'overwrite' },
  { kind: 'create', failsWith: 'COLUMN_HAS_INVALID_VALUE' },
  { kind: 'overwrite', failsWith: 'PRECONDITION_FAILED' },
]

const ROWS_MAX = 1_500
const TEXT_BYTES = 60

export function plannedJob(job: number): PlannedJob {
  const random = seeded(job)
  const about = random.pick(KINDS)
  const target = random.below(1_000)
  const rows = Array.from({ length: 1 + random.below(ROWS_MAX) }, (_, k) => {
    return { job, k, t: fillerText(`${job}.${k}`, TEXT_BYTES) }
  })
  return { ...about, name: `job ${job}`, target, rows }
}

const SCHEMA = {
  columns: [
    { id: 'job', type: { kind: 'number' } },
    { id: 'k', type: { kind: 'number' } },
    { id: 't', type: { kind: 'string' } },
  ],
} as const

export function requestOf(job: number, targets: readonly string[]): JobRequest {
  const { kind, name, target, rows, failsWith } = plannedJob(job)
  const note = String(job)
  switch (kind) {
    case 'import':
      return { import: { fromUrl: `http://rows.test/${job}.csv`, name }, note }
    case 'create': {
      const misfit = failsWith === undefined ? [] : [{ job, k: 'no number', t: '' }]
      return { create: { name, schema: SCHEMA, rows: [...rows, ...misfit] }, note }
    }
    case 'overwrite': {
      const tableId = targets[target % targets.length] ?? ''
      const ifMatch = failsWith === undefined ? undefined : 0
      return { overwrite: { tableId, rows: [...rows], ifMatch }, note }
    }
  }
}

/** A result as one text, for comparison with a later read. */
export function endOf(status: JobStatus): string {
  switch (status.status) {
    case 'running':
      return 'running'
    case 'failed':
      return `failed ${status.error.code}`
    case 'succeeded':
      return `succeeded ${status.result.tableId} ${status.result.version}`
  }
}

const PIECE_ROWS = 100
const PIECE_MS = 2

/** Fetches the rows of an import, piece by piece. */
function rowsByUrl(): UrlFetcher {
  return {
    async fetch(url) {
      const { rows } = plannedJob(Number(/\d+/.exec(url)?.[0]))
      async function* body(): AsyncGenerator<Uint8Array, void> {
        yield new TextEncoder().encode('job,k,t\n')
        for (let at = 0; at < rows.length; at += PIECE_ROWS) {
          const lines = rows.slice(at, at + PIECE_ROWS).map(({ job, k, t }) => `${job},${k},${t}\n`)
          yield new TextEncoder().encode(lines.join(''))
          await new Promise((resolve) => setTimeout(resolve, PIECE_MS))
        }
      }
      return { contentType: 'text/csv', fileName: undefined, url, body: body(), close() {} }
    },
  }
}
