// An import: chunks of a stash, several at the same time, and one operation that uses them.
//
// Invariants:
// - The serials of a chunk follow from its number, and those of its halves lie within them, so that their numeric order
//   is that of the input, and a repeat replaces what is there.
// - The operation is sent when all chunks are acknowledged, and with the stash's ID as idempotency key.
import { readWebStream } from '../base/web-stream.js'
import { bodyOf, type Chunk, chunksOf, halvesOf } from './chunks.js'
import { ClientError } from './client-error.js'
import type { ImportOptions, ImportProgress, ImportResult } from './client-types.js'
import type { Requests } from './requests.js'

/** Serials of one chunk: more than its rows, so that each half has one. */
const SERIALS_PER_CHUNK = 2 ** 20

export type ImportSettings = ImportOptions &
  Readonly<{ stashId: string; startAt: number; chunkBytes: number; parallel: number }>

export async function importRows(
  requests: Requests,
  rows: Parameters<typeof chunksOf>[0],
  settings: ImportSettings,
  hasIdempotencyKeys: boolean,
): Promise<ImportResult> {
  const { stashId, format, chunkBytes, signal } = settings
  const chunks = chunksOf(rows, format, chunkBytes)
  const count = await putChunks(requests, chunks, settings)
  const result = await finalize(requests, settings, hasIdempotencyKeys)
  // It expires by itself, so a failure here is none of the import.
  const path = `/stashes/${stashId}`
  await requests.send({ method: 'DELETE', path, isRepeatable: true, signal }).catch(() => undefined)
  return { ...result, rows: count }
}

/** @returns the rows of all chunks, those below `startAt` included */
async function putChunks(
  requests: Requests,
  chunks: AsyncIterable<Chunk>,
  { stashId, startAt, parallel, signal, onProgress }: ImportSettings,
): Promise<number> {
  const cut = new AbortController()
  const both = signal === undefined ? cut.signal : AbortSignal.any([signal, cut.signal])
  const underWay = new Set<Promise<void>>()
  const progress = new Progress(startAt, onProgress)
  let failure: { reason: unknown } | undefined
  let number = 0
  let rows = 0
  const put = async (chunk: Chunk, at: number): Promise<void> => {
    await putChunk(
      { requests, stashId, signal: both },
      chunk,
      at * SERIALS_PER_CHUNK,
      SERIALS_PER_CHUNK,
    )
    progress.add(at, chunk)
  }
  try {
    for await (const chunk of chunks) {
      both.throwIfAborted()
      const at = number++
      rows += chunk.starts.length
      if (at < startAt) continue
      const sent = put(chunk, at)
        .catch((reason: unknown) => {
          failure ??= { reason }
          cut.abort(reason)
        })
        .finally(() => underWay.delete(sent))
      underWay.add(sent)
      if (underWay.size >= parallel) await Promise.race(underWay)
      if (failure !== undefined) break
    }
  } catch (reason) {
    failure ??= { reason }
    cut.abort(reason)
  }
  await Promise.all(underWay)
  if (failure !== undefined) throw failure.reason
  return rows
}

type Place = Readonly<{ requests: Requests; stashId: string; signal: AbortSignal }>

/** Puts a chunk, or its halves where the server finds it too large. */
async function putChunk(place: Place, chunk: Chunk, serial: number, width: number): Promise<void> {
  const { requests, stashId, signal } = place
  const { type, body } = bodyOf(chunk)
  try {
    await requests.send({
      method: 'PUT',
      path: `/stashes/${stashId}/${serial}`,
      headers: { 'content-type': type },
      body,
      isRepeatable: true,
      signal,
    })
  } catch (failure) {
    const isTooLarge = failure instanceof ClientError && failure.status === 413
    const halves = isTooLarge ? halvesOf(chunk) : null
    if (halves === null) throw failure
    const half = Math.floor(width / 2)
    await putChunk(place, halves[0], serial, half)
    await putChunk(place, halves[1], serial + half, half)
  }
}

class Progress {
  readonly #onProgress: ((progress: ImportProgress) => void) | undefined
  /** Chunks that are put beyond the first that is not. */
  readonly #beyond = new Set<number>()
  #chunks: number
  #rows = 0
  #bytes = 0

  constructor(startAt: number, onProgress: ((progress: ImportProgress) => void) | undefined) {
    this.#chunks = startAt
    this.#onProgress = onProgress
  }

  add(number: number, { starts, bytes }: Chunk): void {
    this.#beyond.add(number)
    while (this.#beyond.delete(this.#chunks)) this.#chunks++
    this.#rows += starts.length
    this.#bytes += bytes.length
    this.#onProgress?.({ rows: this.#rows, bytes: this.#bytes, chunks: this.#chunks })
  }
}

async function finalize(
  requests: Requests,
  settings: ImportSettings,
  hasIdempotencyKeys: boolean,
): Promise<Omit<ImportResult, 'rows'>> {
  const { stashId, onSchemaError, signal } = settings
  const rows = { $stashID: stashId }
  const query = onSchemaError === undefined ? '' : `?onSchemaError=${onSchemaError}`
  const { method, path, body } = operationOf(settings, rows)
  const isPost = method === 'POST'
  const answer = await requests.send({
    method,
    path: path + query,
    headers: {
      'content-type': 'application/json',
      ...(isPost && hasIdempotencyKeys ? { 'idempotency-key': stashId } : {}),
    },
    body: JSON.stringify(body),
    isRepeatable: !isPost || hasIdempotencyKeys,
    signal,
  })
  const tableId = 'tableId' in settings ? settings.tableId : await tableIdIn(answer)
  await answer.body?.cancel() // Row IDs of millions of rows may follow.
  return { tableId, version: versionOf(answer) }
}

function operationOf(
  target: ImportSettings,
  rows: Readonly<{ $stashID: string }>,
): Readonly<{ method: 'POST' | 'PUT'; path: string; body: object }> {
  if ('name' in target) {
    const { name, schema } = target
    return { method: 'POST', path: '/tables', body: { name, ...(schema && { schema }), rows } }
  }
  const path = `/tables/${encodeURIComponent(target.tableId)}`
  if (target.mode === 'add') return { method: 'POST', path: `${path}/rows`, body: rows }
  const { schema } = target
  return { method: 'PUT', path, body: { ...(schema && { schema }), rows } }
}

/** The ID stands before or behind the row IDs, which are not kept. */
async function tableIdIn({ body, status }: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of body === null ? [] : readWebStream(body)) {
    text = text.slice(-200) + decoder.decode(piece, { stream: true })
    const found = /"tableID"\s*:\s*"([^"]+)"/.exec(text)?.[1]
    if (found !== undefined) return found
  }
  throw new ClientError('The answer names no table', status)
}

/** The version in an ETag, without its quotes. */
export function versionOf({ headers }: Response): string {
  return (headers.get('etag') ?? '').replace(/^"|"$/g, '')
}
