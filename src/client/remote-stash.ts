// The stash of an import on its server. It puts the chunks that the server lacks, several at the same time.
//
// Invariants:
// - The number of a chunk determines its range of serials, and its halves have serials of this range. So the numeric
//   order of serials is the order of the input, and a repeat replaces the same chunk.
// - A resumable import appends the digest of the body to the serial, so that the list of a stash identifies the chunks.
//   It does not do so if the server cannot list a stash: there, a chunk with changed content would not replace the old
//   chunk.
import { readUint32 } from '../base/bytes.js'
import { sha256 } from '../base/platform.js'
import { readAnswerData, readAnswerJson } from './answers.js'
import { type ChunkPlace, ClientError, placed } from './client-error.js'
import type { CountedChunk } from './counted-chunk.js'
import type { ImportProgress, RowChunk } from './import-types.js'
import type { Requests } from './requests.js'

/** Serials per chunk: more than a chunk has rows, so that each part of a halved chunk has a serial of its own. */
const SERIALS_PER_CHUNK = 2 ** 20

/** Digits of a digest of 64 bits. */
const DIGEST_DIGITS = 20

/**
 * How long to wait for the answers to chunks after the import has ended: the stash must not be deleted before they
 * arrive.
 */
const LAST_ANSWER_MS_MAX = 5_000

export type StashSettings = Readonly<{
  stashId?: string | undefined
  resume?: boolean | undefined
  /** Whether the stash is new, so that the list of its chunks need not be requested. */
  isNew?: boolean
  startAt: number
  parallel: number
  signal?: AbortSignal | undefined
  onProgress?: ((progress: ImportProgress) => void) | undefined
}>

/** Rows that are put under one serial. Their halves have serials among the `width` serials from this one on. */
type Part = Readonly<{
  chunk: RowChunk | CountedChunk
  first: number
  limit: number
  serial: number
  width: number
}>

/** A row number in a server's message, counted within its chunk. */
const ROW =
  /\brow (\d{1,15}) \(counted from 0\)(?! of the input)(?: of chunk '(\d{1,40})')?(, line \d{1,15})?/gi

/** A character position in a server's message, counted within the chunk. */
const CHARACTER = / at character \d{1,15}(?: of the input,)?(?= in row \d)/

/** The chunks of a stash on the server, in order. */
export async function requestChunks(
  requests: Requests,
  stashId: string,
  signal: AbortSignal | undefined,
): Promise<readonly Readonly<{ serial: string; rows: number }>[]> {
  const path = `/stashes/${encodeURIComponent(stashId)}`
  const request = { method: 'GET', path, isRepeatable: true, signal }
  const { chunks } = await requests.send(request, (answer) =>
    readAnswerData<{ chunks: { serial: string; rows: number }[] }>(answer, { chunks: 'list' }),
  )
  return chunks
}

export class RemoteStash {
  readonly id: string
  /** Chunks that were already on the server. */
  skipped = 0
  mayHoldChunks = false
  readonly #requests: Requests
  readonly #settings: StashSettings
  /** Serials on the server whose chunks this import has not reached yet; undefined: the server cannot list serials. */
  #known: Set<string> | undefined
  /** Where each part begins that is not the first of its chunk, by its serial without the digest. */
  readonly #firstRows = new Map<number, Readonly<{ record: number; rowsBefore: number }>>()
  /** By chunk: the number of rows before it, as a server counts rows; NaN: unknown. */
  readonly #rowsBefore: number[] = []

  constructor(requests: Requests, settings: StashSettings) {
    this.id = settings.stashId ?? requests.newId()
    this.#requests = requests
    this.#settings = settings
  }

  /**
   * Where the rows of a serial begin in the input; undefined: it is not a serial of this import.
   * @param wanted - The number of a failing row among the rows of the serial, as a server counts rows, for `inputRow`
   *   of the result.
   */
  placeOf(serial: string, wanted?: number): ChunkPlace | undefined {
    if (!/^[0-9]{1,40}$/.test(serial)) return undefined
    const own = this.#known === undefined ? serial : serial.slice(0, -DIGEST_DIGITS)
    const number = Number(own)
    const chunk = Math.floor(number / SERIALS_PER_CHUNK)
    const { record, rowsBefore } = this.#firstRows.get(number) ?? { record: 0, rowsBefore: 0 }
    const inputRow = (this.#rowsBefore[chunk] ?? Number.NaN) + rowsBefore + (wanted ?? Number.NaN)
    return { chunk, row: record, ...(!Number.isNaN(inputRow) && { inputRow }) }
  }

  /**
   * The failure with the places of its rows. If their numbers in the whole input are known, the message has these
   * numbers.
   * @param part - The serial of the request; undefined: the serial is taken from the message.
   */
  locate(failure: ClientError, part?: string): ClientError {
    if (failure.place !== undefined) return failure
    const places: ChunkPlace[] = []
    const message = failure.message.replace(ROW, (text, row, serial = part, line = '') => {
      const place = serial === undefined ? undefined : this.placeOf(serial, Number(row))
      if (place !== undefined) places.push(place)
      if (place?.inputRow === undefined) return text
      // Line numbers are kept only in the first chunk, where they are those of the input.
      return `row ${place.inputRow} (counted from 0)${place.inputRow === Number(row) ? line : ''}`
    })
    const serial = / of chunk '([0-9]{1,40})'/.exec(failure.message)?.[1] ?? part
    // A part that is too large, but was not halved, has a single row.
    const only = failure.status === 413 && part !== undefined ? 0 : undefined
    const place = places[0] ?? (serial === undefined ? undefined : this.placeOf(serial, only))
    if (place === undefined) return failure
    const isMoved = place.inputRow !== undefined && place.chunk + place.row > 0
    const found = places.length > 0 ? places : [place]
    return placed(failure, found, isMoved ? message.replace(CHARACTER, '') : message)
  }

  /**
   * Puts all chunks. A failure stops the rest; if several chunks are rejected, the failure of the earliest is thrown.
   * @returns the number of rows
   */
  async putAll(chunks: AsyncIterable<RowChunk | CountedChunk>): Promise<number> {
    const { startAt, parallel, signal, onProgress, resume, isNew } = this.#settings
    if (resume === true) this.#known = isNew === true ? new Set() : await this.#list()
    const underWay = new Set<Promise<void>>()
    const progress = new Progress(startAt, onProgress)
    const failed = new FirstFailure(signal)
    let number = 0
    let rows = 0
    let rowsBefore = 0
    try {
      for await (const chunk of chunks) {
        signal?.throwIfAborted()
        if (failed.isFailed) break
        const at = number++
        rows += chunk.rows
        const ofChunk = rowsBeforeIn(chunk, chunk.rows)
        this.#rowsBefore.push(Number.isNaN(ofChunk) ? ofChunk : rowsBefore)
        rowsBefore += ofChunk
        if (at < startAt) continue
        const sent = this.#putChunk(chunk, at, failed.begin(at))
          .then(() => progress.add(at, chunk))
          .catch((reason: unknown) => failed.add(reason, isRefusal(reason) ? at : NOWHERE))
          .finally(() => {
            failed.end(at)
            underWay.delete(sent)
          })
        underWay.add(sent)
        if (underWay.size >= parallel) await Promise.race(underWay)
        if (failed.isFailed) break
      }
    } catch (reason) {
      failed.add(reason, number)
    }
    await Promise.all(underWay)
    failed.throwIfFailed()
    this.#checkKnown()
    return rows
  }

  #putChunk(chunk: RowChunk | CountedChunk, number: number, signal: AbortSignal): Promise<void> {
    const serial = number * SERIALS_PER_CHUNK
    const part = { chunk, first: 0, limit: chunk.rows, serial, width: SERIALS_PER_CHUNK }
    return this.#putPart(part, signal)
  }

  /** Puts a part; if it is too large for the server, puts its halves instead. */
  async #putPart(part: Part, signal: AbortSignal): Promise<void> {
    const { chunk, first, limit, serial } = part
    if (first > 0) {
      this.#firstRows.set(serial, { record: first, rowsBefore: rowsBeforeIn(chunk, first) })
    }
    const body = chunk.body(first, limit)
    const name = this.#known === undefined ? String(serial) : serial + (await digestOfBody(body))
    if (this.#known?.delete(name) === true) {
      this.skipped++
      this.mayHoldChunks = true
      return
    }
    try {
      await this.#put(name, chunk.type, body, signal)
    } catch (failure) {
      if (!(failure instanceof ClientError)) throw failure
      const halves = failure.status === 413 ? halvesOf(part) : []
      if (halves.length === 0) throw this.locate(failure, name)
      for (const half of halves) await this.#putPart(half, signal)
    }
  }

  async #put(
    name: string,
    type: string,
    body: Uint8Array<ArrayBuffer>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const request = {
        method: 'PUT',
        path: `/stashes/${this.id}/${name}`,
        headers: { 'content-type': type },
        body,
        isRepeatable: true,
        signal,
        lingerMs: LAST_ANSWER_MS_MAX,
        onFailure: (failure: ClientError) => {
          const isRefused = failure.status >= 400 && failure.status < 500
          if (!isRefused && !failure.isUnsent) this.mayHoldChunks = true
        },
      }
      await this.#requests.send(request, readAnswerJson)
      this.mayHoldChunks = true
    } finally {
      signal.throwIfAborted()
    }
  }

  /** The serials of the stash; undefined: the server cannot list serials. */
  async #list(): Promise<Set<string> | undefined> {
    const { signal } = this.#settings
    const path = `/stashes/${this.id}`
    try {
      const chunks = await requestChunks(this.#requests, this.id, signal)
      return new Set(chunks.map(({ serial }) => serial))
    } catch (failure) {
      if (!(failure instanceof ClientError)) throw failure
      if (failure.type === 'stash_not_found') {
        // A stash that has expired, or may have lost chunks, accepts no chunks until it is deleted.
        await this.#requests.send(
          { method: 'DELETE', path, isRepeatable: true, signal },
          readAnswerJson,
        )
        return new Set()
      }
      if (failure.status === 404 || failure.status === 405) return undefined
      throw failure
    }
  }

  #checkKnown(): void {
    const [serial] = this.#known ?? []
    if (serial === undefined) return
    const problem = `The stash '${this.id}' has chunks that do not belong to this input`
    throw new ClientError(
      `${problem}: the input has changed since the import began. Delete the stash, or use another stashId`,
      0,
      'stash_differs',
    )
  }
}

/**
 * The number of rows before a record. NaN: the caller cut the chunk, so only the caller knows how its rows are counted.
 */
function rowsBeforeIn(chunk: RowChunk | CountedChunk, record: number): number {
  return 'rowsBefore' in chunk ? chunk.rowsBefore(record) : Number.NaN
}

/** The first 64 bits of the SHA-256 of a body, as a fixed number of digits. */
async function digestOfBody(body: Uint8Array): Promise<string> {
  const digest = await sha256(body)
  const number = (BigInt(readUint32(digest, 0)) << 32n) | BigInt(readUint32(digest, 4))
  return String(number).padStart(DIGEST_DIGITS, '0')
}

/** The halves of a part; none if it has one row. */
function halvesOf({ chunk, first, limit, serial, width }: Part): readonly Part[] {
  if (limit - first < 2) return []
  const middle = first + ((limit - first) >> 1)
  const half = Math.floor(width / 2)
  return [
    { chunk, first, limit: middle, serial, width: half },
    { chunk, first: middle, limit, serial: serial + half, width: half },
  ]
}

/** The chunk number of a failure that concerns no chunk. */
const NOWHERE = -1

/** Statuses of the answers that reject the rows of a chunk. */
const STATUSES_OF_ROWS: ReadonlySet<number> = new Set([400, 413, 422])

function isRefusal(reason: unknown): boolean {
  return reason instanceof ClientError && STATUSES_OF_ROWS.has(reason.status)
}

/**
 * The failure to report when several chunks fail. The answers to the chunks before a rejected one are awaited, because
 * the cause, such as an unclosed quote, may be in an earlier chunk whose answer arrives later.
 */
class FirstFailure {
  readonly #signal: AbortSignal | undefined
  readonly #underWay = new Map<number, AbortController>()
  #failure: Readonly<{ reason: unknown; at: number }> | undefined

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal
  }

  get isFailed(): boolean {
    return this.#failure !== undefined
  }

  /** @returns the signal that aborts the chunk */
  begin(number: number): AbortSignal {
    const cut = new AbortController()
    this.#underWay.set(number, cut)
    return this.#signal === undefined ? cut.signal : AbortSignal.any([this.#signal, cut.signal])
  }

  end(number: number): void {
    this.#underWay.delete(number)
  }

  add(reason: unknown, at: number): void {
    if (this.#failure !== undefined && (at === NOWHERE || at >= this.#failure.at)) return
    this.#failure = { reason, at }
    for (const [number, cut] of this.#underWay) if (number > at) cut.abort(reason)
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.reason
  }
}

class Progress {
  readonly #onProgress: ((progress: ImportProgress) => void) | undefined
  /** Numbers of finished chunks after the first unfinished chunk. */
  readonly #beyond = new Set<number>()
  #chunks: number
  #rows = 0
  #bytes = 0

  constructor(startAt: number, onProgress: ((progress: ImportProgress) => void) | undefined) {
    this.#chunks = startAt
    this.#onProgress = onProgress
  }

  add(number: number, { rows, bytes }: RowChunk): void {
    this.#beyond.add(number)
    while (this.#beyond.delete(this.#chunks)) this.#chunks++
    this.#rows += rows
    this.#bytes += bytes
    this.#onProgress?.({ rows: this.#rows, bytes: this.#bytes, chunks: this.#chunks })
  }
}
