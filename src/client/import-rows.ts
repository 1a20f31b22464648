// An import: it puts chunks into a stash, several at the same time, and sends one operation that uses the stash.
//
// Invariants:
// - The operation is sent after all chunks are acknowledged, with the stash's ID as idempotency key.
// - A stash with a random ID is always deleted, after its last chunk was answered or aborted.
import { conditionHeaders, readAnswerData, readAnswerJson, versionOf } from './answers.js'
import { fetchReceipt, kindsIn } from './around-import.js'
import { chunkInput } from './chunks.js'
import { ClientError } from './client-error.js'
import type { ImportSettings } from './import-options.js'
import type {
  Abortable,
  ImportCheck,
  ImportInput,
  ImportProblem,
  ImportResult,
  IntakeReport,
  MergeCounts,
} from './import-types.js'
import { RemoteStash } from './remote-stash.js'
import type { Requests } from './requests.js'
import {
  checkedAs,
  makeTableOperation,
  readAnswer,
  type TableOperation,
} from './table-operation.js'

/** Maximum time for the deletion of a stash, in milliseconds, and maximum number of attempts. */
const CLEANUP_MS_MAX = 10_000
const CLEANUP_TRIES_MAX = 3

export async function importRows(
  requests: Requests,
  input: ImportInput,
  settings: ImportSettings,
  hasIdempotencyKeys: boolean,
): Promise<ImportResult> {
  const stash = new RemoteStash(requests, settings)
  return throughStash(stash, requests, input, settings, async (rows, read) => {
    const result = await finalize(requests, stash, settings, hasIdempotencyKeys)
    const { skipped } = stash
    return { ...result, rows: result.rows ?? rows, skipped, ...(read && { read }) }
  })
}

export async function checkRows(
  requests: Requests,
  input: ImportInput,
  settings: ImportSettings,
): Promise<ImportCheck> {
  const stash = new RemoteStash(requests, settings)
  return throughStash(stash, requests, input, settings, async (_, read) => {
    return { ...(await check(requests, stash, settings)), ...(read && { read }) }
  })
}

/**
 * Puts the input into a stash, uses the stash and deletes it. After a failure, a stash stays if the caller can continue
 * it.
 */
async function throughStash<T>(
  stash: RemoteStash,
  requests: Requests,
  input: ImportInput,
  settings: ImportSettings,
  use: (rows: number, read: IntakeReport | undefined) => Promise<T>,
): Promise<T> {
  let isUsed = false
  try {
    let read: IntakeReport | undefined
    const onReport = (report: IntakeReport) => {
      read = report
    }
    const kindsOf = () => kindsIn(requests, settings)
    const rows = await stash.putAll(chunkInput(input, { ...settings, kindsOf, onReport }))
    const result = await use(rows, read)
    isUsed = true
    return result
  } catch (failure) {
    throw failure instanceof ClientError ? stash.locate(failure) : failure
  } finally {
    // A failure to delete the stash does not fail the import: the stash expires by itself.
    const isLeft = stash.mayHoldChunks && (isUsed || settings.stashId === undefined)
    if (isLeft) await cleanUp(requests, stash.id)
  }
}

async function cleanUp(requests: Requests, stashId: string): Promise<void> {
  const signal = AbortSignal.timeout(CLEANUP_MS_MAX)
  const options = { signal, triesMax: CLEANUP_TRIES_MAX }
  await deleteStash(requests, stashId, options).catch(() => undefined)
}

export async function deleteStash(
  requests: Requests,
  stashId: string,
  options: Abortable & Readonly<{ triesMax?: number }>,
): Promise<void> {
  const path = `/stashes/${encodeURIComponent(stashId)}`
  await requests.send({ method: 'DELETE', path, isRepeatable: true, ...options }, readAnswerJson)
}

type Finalized = Omit<ImportResult, 'rows' | 'skipped'> & Readonly<{ rows: number | undefined }>

async function finalize(
  requests: Requests,
  stash: RemoteStash,
  settings: ImportSettings,
  hasIdempotencyKeys: boolean,
): Promise<Finalized> {
  const { onSchemaError, signal, receipt } = settings
  const { method, path, query, body, ifMatch } = makeTableOperation(settings, stash.id)
  if (onSchemaError !== undefined) query.set('onSchemaError', onSchemaError)
  const isPost = method === 'POST'
  const request = {
    method,
    path: query.size === 0 ? path : `${path}?${query}`,
    headers: {
      'content-type': 'application/json',
      ...(isPost && hasIdempotencyKeys ? { 'idempotency-key': stash.id } : {}),
      ...conditionHeaders(ifMatch),
      ...(receipt === true ? { prefer: 'return=receipt' } : {}),
    },
    body: JSON.stringify(body),
    isRepeatable: isPost ? hasIdempotencyKeys : ifMatch === undefined,
    signal,
  }
  const { hasReceipt, ...made } = await requests.send(request, async (answer) => ({
    ...(await readAnswer(answer, settings)),
    version: versionOf(answer),
    // A merge that changes nothing makes no version, so the receipt of the table's version would be that of an older
    // operation.
    hasReceipt: answer.headers.get('preference-applied')?.includes('return=receipt') === true,
  }))
  if (receipt !== true || !hasReceipt) return made
  const found = await fetchReceipt(requests, made.tableId, made.version, signal)
  return { ...made, ...(found && { receipt: found }) }
}

type WireProblem = Omit<ImportProblem, 'place'> & Readonly<{ serial?: string }>

type WireCheck = Omit<ImportCheck, 'problems'> & Readonly<{ problems: readonly WireProblem[] }>

async function check(
  requests: Requests,
  stash: RemoteStash,
  settings: ImportSettings,
): Promise<ImportCheck> {
  const data = await sendCheck<WireCheck>(
    requests,
    makeTableOperation(checkedAs(settings), stash.id),
    settings,
    { problems: 'list' },
  )
  let merged: MergeCounts | undefined
  if (data.problemCount === 0 && settings.mode === 'merge') {
    // The check of a merge is sent too, because only this check compares keys.
    merged = await sendCheck<MergeCounts>(
      requests,
      makeTableOperation(settings, stash.id),
      settings,
      {},
    )
  }
  const problems = data.problems.map(({ serial, ...problem }: WireProblem): ImportProblem => {
    const place = serial === undefined ? undefined : stash.placeOf(serial, problem.row)
    return { ...problem, ...(place && { place }) }
  })
  return { ...data, problems, ...(merged && { merged }) }
}

function sendCheck<T>(
  requests: Requests,
  { method, path, query, body, ifMatch }: TableOperation,
  { onSchemaError, signal }: ImportSettings,
  shape: Parameters<typeof readAnswerData>[1],
): Promise<T> {
  query.set('validate', 'only')
  if (onSchemaError !== undefined) query.set('onSchemaError', onSchemaError)
  const request = {
    method,
    path: `${path}?${query}`,
    headers: { 'content-type': 'application/json', ...conditionHeaders(ifMatch) },
    body: JSON.stringify(body),
    isRepeatable: true,
    signal,
  }
  return requests.send(request, (answer) => readAnswerData<T>(answer, shape))
}
