// Imports files into a table as any client would: chunks into a stash, in parallel, then one table operation on it.
//
// Invariants:
// - Memory does not grow with the files: at most `parallel` + 1 runs are held.
// - One request changes the table, after every chunk was acknowledged; before it nothing is visible. The request has
//   one effect, however often it is sent.
// - The stash is deleted at the end in every case, after its last chunk was answered or cut off.
import { randomUUID } from 'node:crypto'
import { ImportClient, RequestFailure } from './import-client.js'
import { type Cut, findPlaces, placeMessage, type RowPlace } from './import-places.js'
import type { ImportSample } from './import-sample.js'
import { type RowRun, readFileRuns, type SourceFile } from './import-source.js'
import { ProgramFailure } from './program-failure.js'

export type ImportTarget =
  | Readonly<{ name: string }>
  | Readonly<{ tableId: string; mode: 'add' | 'overwrite' }>
  | MergeTarget

/** Rows are merged by key; rows of the table that the files do not have are deleted or stay. */
export type MergeTarget = Readonly<{
  tableId: string
  mode: 'merge'
  key: readonly string[]
  missing: 'keep' | 'delete'
}>

export type FileImport = Readonly<{
  files: readonly SourceFile[]
  url: string
  key: string
  target: ImportTarget
  /** Rows of one chunk, at most 65,536. */
  chunkRowsMax: number
  /** Requests at the same time. */
  parallel: number
  signal: AbortSignal
  /** Receives every run. Default: none. */
  sample?: ImportSample
  /** Called for every acknowledged chunk. */
  onChunk?: (rows: number, bytes: number) => void
  onRetry?: (reason: string, pauseMs: number) => void
  /** Called for each file whose header shows another delimiter than a comma. */
  onDelimiter?: (path: string, delimiter: number) => void
  /** Replaces the pauses before further tries; for tests. */
  pause?: (ms: number) => Promise<void>
}>

export type ImportResult = Readonly<{
  tableId: string
  rowCount: number
  seconds: number
  /** What a merge did: `added`, `changed`, `unchanged` and `removed`. */
  counts: ReadonlyMap<string, number>
}>

const CLEANUP_MS_MAX = 10_000
const CLEANUP_TRIES_MAX = 3

export async function importFiles(given: FileImport): Promise<ImportResult> {
  const startMs = performance.now()
  return throughStash(given, async (client, stashId) => {
    const used = await useStash(client, stashId, given.target)
    return { ...used, seconds: (performance.now() - startMs) / 1000 }
  })
}

/** A value or a column that does not fit. `place`: undefined if the file cannot be read again. */
export type FoundProblem = Readonly<{
  place: RowPlace | undefined
  column: string
  /** undefined: the table has no such column. */
  value: string | undefined
  rule: string
}>

export type CheckResult = Readonly<{
  rowCount: number
  /** The first 1,000. */
  problems: readonly FoundProblem[]
  problemCount: number
}>

/** As `importFiles`, but the last request is only checked: the rows are in a stash for a while, and no table changes. */
export async function checkFiles(given: FileImport): Promise<CheckResult> {
  return throughStash(given, async (client, stashId) => {
    const { method, path, body } = checkedOperationOf(given.target, stashId)
    const { rows, problems, problemCount } = await client.checkTable(method, path, body)
    const places = await findPlaces(cutOf(client, given), problems)
    const found = problems.map(({ column, value, rule }, i): FoundProblem => {
      return { place: places[i], column, value, rule }
    })
    return { rowCount: rows, problems: found, problemCount }
  })
}

/** Puts the files into a stash, uses it, and deletes it. */
async function throughStash<T>(
  given: FileImport,
  use: (client: ImportClient, stashId: string) => Promise<T>,
): Promise<T> {
  const stashId = randomUUID().replaceAll('-', '')
  const failed = new AbortController()
  const signal = AbortSignal.any([given.signal, failed.signal])
  const client = new ImportClient({ ...given, signal })
  try {
    await putRuns(client, stashId, given, failed)
    return await use(client, stashId)
  } catch (failure) {
    throw failure instanceof RequestFailure ? await explain(failure, client, given) : failure
  } finally {
    client.close()
    if (client.mayHoldChunks) await deleteStash(stashId, given)
  }
}

function cutOf(client: ImportClient, { files, chunkRowsMax }: FileImport): Cut {
  return { files, chunkRowsMax, startOf: (chunk: string) => client.startOf(chunk) }
}

/** The error for a refused request, with the place of a refused row in the files. */
async function explain(
  { message, isOfRows, serial }: RequestFailure,
  client: ImportClient,
  given: FileImport,
): Promise<ProgramFailure> {
  if (!isOfRows) return new ProgramFailure('failed', message)
  return new ProgramFailure('failed', await placeMessage(message, serial, cutOf(client, given)))
}

async function* readRuns(given: FileImport): AsyncGenerator<RowRun> {
  for (const file of given.files) {
    let isFirst = true
    for await (const run of readFileRuns(file, given.chunkRowsMax)) {
      if (isFirst && run.isDetected) given.onDelimiter?.(file.path, run.delimiter)
      isFirst = false
      given.sample?.add(run)
      yield run
    }
  }
}

/** Puts all runs, `parallel` at a time. The first failure stops the rest and is thrown. */
async function putRuns(
  client: ImportClient,
  stashId: string,
  given: FileImport,
  failed: AbortController,
): Promise<void> {
  const inFlight = new Set<Promise<void>>()
  let index = 0

  async function put(run: RowRun, runIndex: number): Promise<void> {
    try {
      await client.putRun(stashId, runIndex, run)
      given.onChunk?.(run.starts.length, run.bytes.length)
    } catch (failure) {
      failed.abort(failure) // Only the first reason stays.
    }
  }

  try {
    for await (const run of readRuns(given)) {
      given.signal.throwIfAborted()
      if (failed.signal.aborted) break
      const task = put(run, index++).finally(() => inFlight.delete(task))
      inFlight.add(task)
      if (inFlight.size >= given.parallel) await Promise.race(inFlight)
    }
  } catch (failure) {
    failed.abort(failure)
  }
  await Promise.all(inFlight)
  given.signal.throwIfAborted()
  failed.signal.throwIfAborted()
}

async function useStash(
  client: ImportClient,
  stashId: string,
  target: ImportTarget,
): Promise<Omit<ImportResult, 'seconds'>> {
  const { method, path, body } = operationOf(target, stashId)
  const request = method === 'PUT' ? { method } : { method, idempotencyKey: randomUUID() }
  const answer = await client.changeTable(request, path, body)
  const tableId = 'name' in target ? answer.tableId : target.tableId
  if (tableId === undefined)
    throw new ProgramFailure('failed', 'The server did not name the new table')
  return { tableId, rowCount: answer.rowCount, counts: answer.counts }
}

type TableOperation = Readonly<{ method: 'POST' | 'PUT'; path: string; body: unknown }>

function operationOf(target: ImportTarget, stashId: string): TableOperation {
  const rows = { $stashID: stashId }
  if ('name' in target)
    return { method: 'POST', path: '/tables', body: { name: target.name, rows } }
  const path = `/tables/${encodeURIComponent(target.tableId)}`
  if (target.mode === 'merge') {
    const query = new URLSearchParams(target.key.map((column) => ['key', column]))
    query.set('mode', target.missing === 'delete' ? 'replace' : 'upsert')
    return { method: 'POST', path: `${path}/merge?${query}`, body: rows }
  }
  if (target.mode === 'add') return { method: 'POST', path: `${path}/rows`, body: rows }
  return { method: 'PUT', path, body: { rows } }
}

/** The operation that finds the values that do not fit: for a merge that of an add, which lists them. */
function checkedOperationOf(target: ImportTarget, stashId: string): TableOperation {
  const isMerge = 'mode' in target && target.mode === 'merge'
  return operationOf(isMerge ? { tableId: target.tableId, mode: 'add' } : target, stashId)
}

/** Never fails an import that went well: what is left of a stash expires by itself. */
async function deleteStash(stashId: string, given: FileImport): Promise<void> {
  const client = new ImportClient({
    ...given,
    signal: AbortSignal.timeout(CLEANUP_MS_MAX),
    triesMax: CLEANUP_TRIES_MAX,
  })
  try {
    await client.deleteStash(stashId)
  } catch (failure) {
    const reason = failure instanceof Error ? failure.message : String(failure)
    given.onRetry?.(`Stash ${stashId} was not deleted, it will expire: ${reason}`, 0)
  } finally {
    client.close()
  }
}
