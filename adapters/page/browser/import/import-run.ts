// An import: rows are staged in parallel chunks, checked together, and become part of a table in one commit.
import { toHex } from '../../../../src/base/bytes.js'
import { sha256Now } from '../../../../src/base/platform.js'
import { openSystemRandom } from '../../../../src/base/random.js'
import { readAnswerData, versionOf } from '../../../../src/client/answers.js'
import { fetchReceipt, kindsIn } from '../../../../src/client/around-import.js'
import { ClientError } from '../../../../src/client/client-error.js'
import type {
  ImportProblem,
  ImportProgress,
  ImportTarget,
  IntakeReport,
  MergeCounts,
  OnSchemaError,
  RowChunk,
} from '../../../../src/client/import-types.js'
import { RemoteStash } from '../../../../src/client/remote-stash.js'
import {
  checkedAs,
  makeTableOperation,
  readAnswer,
} from '../../../../src/client/table-operation.js'
import type { Api, Schema, StashInfo } from '../base/api.js'
import { chunksOfFile, type Reading, readSample, type Sample } from './import-file.js'

export type Target =
  | Readonly<{ mode: 'create'; name: string }>
  | Readonly<{ mode: 'add' | 'overwrite'; tableId: string }>
  | Readonly<{ mode: 'merge'; tableId: string; key: readonly string[] }>

/** `row`: counted from 0 in the file. `line`: of CSV or TSV that was checked in one piece, counted from 1. */
export type Problem = Omit<ImportProblem, 'place'> & Readonly<{ line?: number }>

/** A problem in the server's form. `serial`: the chunk in which `row` is counted. */
type SentProblem = Problem & Readonly<{ serial?: string }>

type SentCheck = CheckOf<SentProblem>

type CheckOf<P> = Readonly<{ schema: Schema; problems: readonly P[]; problemCount: number }>

/** The result of a check, and the effect of a merge. */
export type Check = CheckOf<Problem> & Readonly<{ merge?: MergeCounts }>

/** `skipped`: the part that was staged before. */
export type StageProgress = ImportProgress & Readonly<{ skipped: { rows: number; bytes: number } }>

export type Receipt = Readonly<{
  rows: number
  columns: Readonly<{ added: readonly string[]; changed: readonly unknown[] }>
  dropped: Readonly<{ count: number }>
  merge?: MergeCounts
}>

export type Imported = Readonly<{
  tableId: string
  version: string
  receipt: Receipt | undefined
  /** What was read of the file, and how. */
  read: IntakeReport | undefined
}>

/** The stash of an import. `isNew`: nothing was ever staged in it. */
export type StashPlace = Readonly<{ id: string; isNew: boolean }>

/** Bytes per chunk, and concurrent chunks: 8 MiB of a file are in memory. */
const CHUNK_BYTES = 1024 * 1024
const PARALLEL = 4

const JSON_BODY = { 'content-type': 'application/json' }

export class ImportRun {
  readonly #api: Api
  readonly #target: Target
  readonly #onSchemaError: OnSchemaError
  readonly #stashId: string
  #isNew: boolean
  #stash: RemoteStash | undefined
  #read: IntakeReport | undefined
  /** For each chunk of the file, the number of rows in the chunks before it. */
  #firstRows: number[] = []

  /** @param stash - The stash of an unfinished import of this file, or a new one. */
  constructor(api: Api, { id, isNew }: StashPlace, target: Target, onSchemaError: OnSchemaError) {
    this.#api = api
    this.#stashId = id
    this.#isNew = isNew
    this.#target = target
    this.#onSchemaError = onSchemaError
  }

  /** Stages the rows of a file that are not yet staged. @returns the number of rows */
  stage(
    file: File,
    reading: Reading,
    signal: AbortSignal,
    onProgress: (progress: StageProgress) => void,
  ): Promise<number> {
    const skipped = { rows: 0, bytes: 0 }
    let last = { rows: 0, bytes: 0 }
    let chunksSkipped = 0
    const stash = new RemoteStash(this.#api.requests, {
      stashId: this.#stashId,
      resume: true,
      isNew: this.#isNew,
      startAt: 0,
      parallel: PARALLEL,
      signal,
      onProgress: (progress) => {
        // Chunks are sent concurrently, so another chunk may be counted instead, which has about the same length.
        if (stash.skipped > chunksSkipped) {
          chunksSkipped++
          skipped.rows += progress.rows - last.rows
          skipped.bytes += progress.bytes - last.bytes
        }
        last = progress
        onProgress({ ...progress, skipped })
      },
    })
    this.#stash = stash
    this.#isNew = false
    const kindsOf = () => kindsFor(this.#api, this.#target, this.#onSchemaError, signal)
    const onReport = (report: IntakeReport): void => {
      this.#read = report
    }
    return stash.putAll(this.#counted(chunksOfFile(file, reading, CHUNK_BYTES, kindsOf, onReport)))
  }

  async *#counted(chunks: AsyncIterable<RowChunk>): AsyncGenerator<RowChunk> {
    this.#firstRows = []
    let rows = 0
    for await (const chunk of chunks) {
      this.#firstRows.push(rows)
      rows += chunk.rows
      yield chunk
    }
  }

  /** Checks all staged rows, and changes nothing. */
  check(signal: AbortSignal): Promise<Check> {
    return this.#located(this.#check(signal))
  }

  async #check(signal: AbortSignal): Promise<Check> {
    const { method, path, body, query } = this.#operation(checkedAs(clientTarget(this.#target)))
    const request = { method, path, query, signal }
    const found = await checkBy<SentCheck>(this.#api, request, JSON_BODY, JSON.stringify(body))
    const problems = found.problems.map((problem) => this.#inFile(problem))
    const isRefused = problems.length > 0 && this.#onSchemaError !== 'dropColumns'
    if (this.#target.mode !== 'merge' || isRefused) return { ...found, problems }
    return { ...found, problems, merge: await this.#wouldMerge(signal) }
  }

  #wouldMerge(signal: AbortSignal): Promise<MergeCounts> {
    const { method, path, body, query } = this.#operation(clientTarget(this.#target))
    return checkBy(this.#api, { method, path, query, signal }, JSON_BODY, JSON.stringify(body))
  }

  /** A problem with its row in the file. Its line is dropped: the server counts lines within the chunk. */
  #inFile({ serial, line: _, ...problem }: SentProblem): Problem {
    const place = serial === undefined ? undefined : this.#stash?.placeOf(serial)
    if (place === undefined) return problem
    return { ...problem, row: problem.row + place.row + (this.#firstRows[place.chunk] ?? 0) }
  }

  async commit(signal: AbortSignal): Promise<Imported> {
    const { method, path, body, query } = this.#operation(clientTarget(this.#target))
    const isPost = method === 'POST'
    const request = {
      method,
      path: `${path}?${query}`,
      headers: {
        ...JSON_BODY,
        prefer: 'return=receipt',
        ...(isPost && { 'idempotency-key': this.#stashId }),
      },
      body: JSON.stringify(body),
      isRepeatable: true,
      signal,
    }
    const { requests } = this.#api
    const sent = requests.send(request, async (answer) => ({
      ...(await readAnswer(answer, clientTarget(this.#target))),
      version: versionOf(answer),
    }))
    const { tableId, version } = await this.#located(sent)
    await this.discard()
    // A merge that changed nothing has no receipt.
    const receipt = await fetchReceipt<Receipt>(requests, tableId, version, undefined)
    return { tableId, version, receipt, read: this.#read }
  }

  /** Converts rows named in a failure to rows of the file. */
  async #located<T>(work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (failure) {
      throw failure instanceof ClientError ? (this.#stash?.locate(failure) ?? failure) : failure
    }
  }

  /** Deletes the staged rows. They would expire anyway, so a failure does not fail the import. */
  async discard(): Promise<void> {
    await this.#api.deleteStash(this.#stashId).catch(() => undefined)
  }

  #operation(target: ImportTarget) {
    const operation = makeTableOperation(target, this.#stashId)
    operation.query.set('onSchemaError', this.#onSchemaError)
    return operation
  }
}

/** The prefix of the IDs of a file's stashes: from its name, length and time, and how it is read. */
export function makeStashPrefix(file: File, reading: Reading): string {
  const identity = JSON.stringify([file.name, file.size, file.lastModified, reading])
  return `page-${toHex(sha256Now(new TextEncoder().encode(identity))).slice(0, 24)}-`
}

/** The ID of a new stash of a file. It is the import's idempotency key, so each import has another one. */
export function newStashId(prefix: string): string {
  return prefix + toHex(openSystemRandom().bytes(8))
}

/** The rows of a file staged by an unfinished import: here, or in a closed tab. */
export async function findBegun(api: Api, prefix: string): Promise<StashInfo | undefined> {
  const begun = (await api.stashes()).filter(({ id }) => id.startsWith(prefix))
  return begun.toSorted((one, other) => other.createdAt - one.createdAt)[0]
}

/** Adds columns of text to a table. */
export async function addColumns(
  api: Api,
  tableId: string,
  columns: readonly string[],
): Promise<void> {
  const { name, schema, version } = await api.info(tableId)
  const added = columns.map((id) => ({ id, type: { kind: 'string' } }))
  await api.alter(tableId, version, { name, schema: { columns: [...schema.columns, ...added] } })
}

/** The first rows of a file, read as its import into a target reads them. */
export function readSampleFor(
  api: Api,
  file: File,
  reading: Reading,
  target: Target | undefined,
  onSchemaError: OnSchemaError,
  signal: AbortSignal,
): Promise<Sample> {
  return readSample(file, reading, () => kindsFor(api, target, onSchemaError, signal))
}

/** The kinds of the columns of the changed table. */
async function kindsFor(
  { requests }: Api,
  target: Target | undefined,
  onSchemaError: OnSchemaError,
  signal: AbortSignal,
) {
  const tableId = target === undefined || target.mode === 'create' ? undefined : target.tableId
  return kindsIn(requests, { tableId, onSchemaError, signal })
}

/** Checks the first rows of a file against a target, but counts no effects of a merge: only all rows show those. */
export async function checkSample(
  api: Api,
  { type, body, lines }: Sample,
  target: Target,
  onSchemaError: OnSchemaError,
  signal: AbortSignal,
): Promise<Check> {
  const { method, path, query } = makeTableOperation(checkedAs(clientTarget(target)), '-')
  query.set('onSchemaError', onSchemaError)
  if (target.mode === 'create') query.set('name', target.name || '-')
  const request = { method, path, query, signal }
  const found = await checkBy<Check>(api, request, { 'content-type': type }, body)
  const problems = found.problems.map((problem) => {
    const line = lines[problem.row] // In the file: the server's is counted in the body.
    return line === undefined ? problem : { ...problem, line }
  })
  return { ...found, problems }
}

type CheckRequest = Readonly<{
  method: string
  path: string
  query: URLSearchParams
  signal: AbortSignal
}>

function checkBy<T>(
  api: Api,
  { method, path, query, signal }: CheckRequest,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array<ArrayBuffer>,
): Promise<T> {
  query.set('validate', 'only')
  const request = { method, path: `${path}?${query}`, headers, body, isRepeatable: true, signal }
  return api.requests.send(request, (answer) => readAnswerData<T>(answer, {}))
}

/** The target in the client's form. */
function clientTarget(target: Target): ImportTarget {
  if (target.mode === 'create') return { name: target.name }
  const { tableId, mode } = target
  return mode === 'merge' ? { tableId, mode, key: target.key } : { tableId, mode }
}
