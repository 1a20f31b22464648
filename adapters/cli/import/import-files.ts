// Imports files into a table with `rowstash/client`: puts chunks into a stash in parallel, then runs one table
// operation.
//
// Invariants:
// - Memory does not grow with the files: at most `parallel` + 1 runs are held.
// - Each run is one chunk, so the number of a chunk determines its place in the files.
import {
  type Client,
  ClientError,
  type ImportResult,
  type ImportTarget,
  type MergeCounts,
  type OnSchemaError,
  type RowChunk,
  type SendOptions,
} from '../../../src/client/client.js'
import type { Column, Team } from '../../../src/index.js'
import type { Advice } from '../../base/intake.js'
import { ProgramFailure } from '../command/program-failure.js'
import { type Asking, explained, forPeople, openClient } from '../stores/command-client.js'
import { type ChunksTwice, checkInStore } from './check-in-store.js'
import { canReadAgain } from './import-bytes.js'
import { hintOfRefusal } from './import-hints.js'
import { checkKeyOfFile, isMerge } from './import-keys.js'
import { hintOfMisfit, inWordsOfCsv } from './import-misfits.js'
import { findPlaces, placeMessage } from './import-places.js'
import type { FileReport } from './import-reports.js'
import { chunkOf, isEmptied, type ReadReport, type RowRun, readFileRuns } from './import-source.js'
import { LongLines } from './long-lines.js'
import type { RowRejects } from './row-rejects.js'
import { type RowPlace, renderPlace, type SourceFile } from './source-file.js'

export type FileImport = Asking &
  Readonly<{
    files: readonly SourceFile[]
    target: ImportTarget
    /** The team for a check in the store itself. Default: the server checks. */
    team?: Team
    onSchemaError?: OnSchemaError
    /** Rows per chunk, at most 65,536. */
    chunkRowsMax: number
    /** Number of requests at the same time. */
    parallel: number
    signal: AbortSignal
    /** The stash of a resumable import, which continues if it was begun. Default: not resumable. */
    resumeStash?: string
    /** Requests the counts of dropped values, if the server reports them. Default: false. */
    receipt?: boolean
    /** Whether a line with fewer fields than its header ends the import. Default: false: its other cells are empty. */
    refusesShortLines?: boolean
    /** Removes lines with too many fields from every run. Default: the server rejects the first such line. */
    longLines?: LongLines
    /** Removes rows that do not fit from every run. Default: one such row rejects all rows. */
    rejects?: RowRejects
    /** Called with the rows that are on the server, and the bytes read. */
    onProgress?: (rows: number, bytes: number) => void
  }>

/** The reports of the files, in order. */
type FilesRead = Readonly<{ read: readonly FileReport[] }>

export type FileImported = Omit<ImportResult, 'read'> & FilesRead & Readonly<{ seconds: number }>

export async function importFiles(given: FileImport): Promise<FileImported> {
  const startMs = performance.now()
  const { target, resumeStash, receipt = false } = given
  const resumed = resumeStash === undefined ? {} : { stashId: resumeStash, resume: true }
  const { result, read } = await sending(given, (client, input, options) => {
    const { chunks } = input
    return client.importRows({ chunks }, { ...target, ...options, ...resumed, receipt })
  })
  const seconds = (performance.now() - startMs) / 1000
  return { ...result, seconds, read }
}

/** A value, a column or a line that does not fit. `place`: undefined if the file cannot be read again. */
export type FoundProblem = Readonly<{
  place: RowPlace | undefined
  /** undefined: the line has too many fields. */
  column?: string
  /** undefined: the table has no such column. */
  value?: string | undefined
  rule: string
}>

export type CheckResult = FilesRead &
  Readonly<{
    rowCount: number
    /** The first 1,000 problems. */
    problems: readonly FoundProblem[]
    problemCount: number
    /** The columns that the import would give the table. */
    columns: readonly Column[]
    /** The counts of the merge, if all values fit. */
    merged?: MergeCounts
  }>

/** The maximum number of problems that a check lists. */
const PROBLEMS_MAX = 1_000

/** Checks an import without changing a table. On a server, the rows are in a stash meanwhile. */
export async function checkFiles(given: FileImport): Promise<CheckResult> {
  const { team, target } = given
  const longLines = new LongLines('tableId' in target)
  const { result, read } = await sending(
    { ...given, longLines },
    (client, input, options) => {
      if (team !== undefined) return checkInStore(team, input, target, options)
      return client.checkRows({ chunks: input.chunks }, { ...target, ...options })
    },
    '; the check ends at the first line that cannot be read',
  )
  const { rows, problems, schema, merged } = result
  const problemCount = result.problemCount + longLines.count
  const { columns } = schema
  const wanted = problems.map(({ place, row }) => ({ start: place, row }))
  const places = await findPlaces(given, wanted)
  const ofValues = problems.map(({ column, value, rule }, i): FoundProblem => {
    return { place: places[i], column, value, rule }
  })
  const found = [...longLines.found, ...ofValues].slice(0, PROBLEMS_MAX)
  return {
    rowCount: rows,
    problems: found,
    problemCount,
    columns,
    ...(merged && longLines.count === 0 && { merged }),
    read,
  }
}

/**
 * Sends the rows of the files.
 * @param ending - A text to append to the message about a malformed line.
 * @throws {ProgramFailure} with the file and the line of a refused row
 */
async function sending<T>(
  given: FileImport,
  send: (client: Client, input: ChunksTwice, options: SendOptions) => Promise<T>,
  ending = '',
): Promise<Readonly<{ result: T }> & FilesRead> {
  const { onSchemaError, parallel, signal, onProgress } = given
  let bytes = 0
  const read: FileReport[] = []
  const onRead = (more: number) => {
    bytes += more
  }
  const onReport = (report: FileReport) => read.push(toldOf(report, given))
  const chunks = readFileChunks(given, { onRead, onReport })
  const options: SendOptions = {
    ...(onSchemaError !== undefined && { onSchemaError }),
    parallel,
    signal,
    onProgress: ({ rows }) => onProgress?.(rows, bytes),
  }
  try {
    const input = { chunks, readAgain: () => chunksAgain(given) }
    const result = await send(openClient(given), input, options)
    return { result, read }
  } catch (failure) {
    throw failure instanceof ClientError ? await explain(failure, given, ending) : failure
  }
}

/** Facts collected while files are read. */
type Noting = Readonly<{
  onRead: (bytes: number) => void
  onReport: (report: FileReport) => void
}>

async function* readFileChunks(
  given: FileImport,
  { onRead, onReport }: Noting,
): AsyncGenerator<RowChunk> {
  let hasRuns = false
  let hasSent = false
  for (const file of given.files) {
    let isFirst = true
    const { path } = file
    const noted = (report: ReadReport) => onReport({ path, ...report })
    for await (const run of readFileRuns(file, given.chunkRowsMax, onRead, noted)) {
      if (isFirst && isMerge(given.target)) checkKeyOfFile(given.target.key, run, path)
      isFirst = false
      hasRuns = true
      const fitting = (await given.rejects?.take(run)) ?? run
      if (isEmptied(fitting, run)) continue
      hasSent = true
      if (given.refusesShortLines === true) refuseShort(run, path)
      yield chunkOf(given.longLines?.shorten(fitting) ?? fitting)
    }
  }
  if (!hasRuns) yield NO_ROWS
  else if (!hasSent && given.rejects !== undefined) throw await allRejected(given.rejects)
}

/** Reads the chunks a second time, without collecting facts. @throws {ProgramFailure} if a file cannot be read twice */
async function* chunksAgain(given: FileImport): AsyncGenerator<RowChunk> {
  for (const file of given.files) {
    if (await canReadAgain(file)) continue
    const problem = `The check of a merge into a directory reads each input twice, but "${file.path}" can be read only once`
    throw new ProgramFailure('failed', `${problem}: write it to a file, and check the file`)
  }
  const none = () => undefined
  const again = { ...given, longLines: new LongLines(true) }
  yield* readFileChunks(again, { onRead: none, onReport: none })
}

/** The chunk that is sent for files that have neither rows nor a header. */
const NO_ROWS: RowChunk = {
  rows: 0,
  bytes: 0,
  type: 'application/json',
  body: () => new TextEncoder().encode('[]'),
}

/** The failure of an import if no row fits: otherwise a table would be emptied, or created without rows. */
async function allRejected(rejects: RowRejects): Promise<ProgramFailure> {
  await rejects.finish()
  const problem = `No row fits: all ${rejects.count} are in ${rejects.path}, with their reasons`
  return new ProgramFailure('failed', `${problem}; nothing is imported`)
}

/** @throws {ProgramFailure} if a row has fewer fields than the header */
function refuseShort({ advice }: RowRun, path: string): void {
  const { line } = advice().find(({ code }) => code === 'shortLines') ?? {}
  if (line === undefined) return
  const hint = 'use --on-error abort instead, which leaves the missing cells empty'
  const place = renderPlace({ path, line, unit: 'line' })
  throw new ProgramFailure(
    'failed',
    `${place}: fewer fields than the header, which --on-error strict refuses; ${hint}`,
  )
}

/** A report without facts that do not apply to this import. */
function toldOf(report: FileReport, { rejects, target }: FileImport): FileReport {
  const isTold = ({ code }: Advice): boolean => {
    if (code === 'shortLines') return rejects?.refusesShortLines !== true
    return code !== 'rowIDs' || target.name !== undefined
  }
  return { ...report, advice: report.advice.filter(isTold) }
}

const STATUSES_OF_ROWS: ReadonlySet<number> = new Set([400, 413, 422])

/** The error for a refused request, with the place of a refused row in the files. */
async function explain(failure: ClientError, given: FileImport, ending: string): Promise<unknown> {
  if (!STATUSES_OF_ROWS.has(failure.status)) return explained(failure, given)
  const { rejects } = given
  const sentOf = rejects && ((run: RowRun) => rejects.again(run))
  const cut = { ...given, sentOf }
  const message = await placeMessage(forPeople(failure.message), failure.places, cut)
  const isUnread = failure.type === 'request_validation_error' && failure.place !== undefined
  const isMisfit = failure.type === 'column_has_invalid_value'
  const hint = isMisfit ? hintOfMisfit(message, given) : hintOfRefusal(message, given.files)
  return new ProgramFailure('failed', `${inWordsOfCsv(message)}${hint}${isUnread ? ending : ''}`)
}
