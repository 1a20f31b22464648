// The records of a stash: its head, its chunk references and their column lists.
//
// Invariants:
// - A chunk exists from the commit of its reference on. Its objects are durable before that commit.
// - A stash that may have lost chunks after a power failure, or whose chunks have expired, is neither used nor extended
//   until it is deleted. Otherwise the chunks before and after the loss would pass for the whole.
// - Replacing a chunk increments the head's number. So an operation on the stash, whose commit checks the head, links
//   exactly the references that it read.
// - Deleting a stash deletes its head. References live under the head's nonce, so those of a deleted stash never belong
//   to a later stash with the same ID.
import type { Awaitable } from '../../base/awaitable.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { yieldToEventLoop } from '../../base/platform.js'
import { StoreError } from '../../base/store-error.js'
import {
  ChunkDecoder,
  type ColumnListName,
  columnListCrc,
  decodeColumnList,
  encodeChunkReference,
  encodeColumnList,
  type StoredChunk,
} from '../../format/chunk-records.js'
import {
  chunkKey,
  chunksRange,
  columnListKey,
  columnListsRange,
  deadStashKey,
  serialOfChunkKey,
  stashHeadKey,
} from '../../format/keys.js'
import {
  decodeStashHead,
  EMPTY_RECORD,
  encodeStashHead,
  type StashHead,
} from '../../format/records.js'
import type { KvCheck, KvCommit, KvView } from '../../kv/kv.js'
import { type Ahead, readAhead } from '../../kv/read-ahead.js'
import { firstBatch, scanBatches, scanKeys } from '../../kv/scan-batches.js'

export type SerialChunk = Readonly<{ serial: string; chunk: StoredChunk }>

/** A stash in one view: its chunks in order, and the check that these are unchanged. */
export type StashContent = Readonly<{ chunks: readonly SerialChunk[]; check: KvCheck }>

/**
 * The number with which a stash begins: the version base. The base grows after a possible loss of commits, so a stash
 * with a lower number began before the loss, and its chunks may be gone.
 */
export function firstNumber(base: number): number {
  return Math.min(base, FIRST_NUMBER_MAX)
}

/** A number has 48 bits. It begins in the lower half, so that replaced chunks can increment it. */
const FIRST_NUMBER_MAX = 2 ** 47

/** The number of a stash, and how many chunks it had, when a job began with it. */
export type Staged = Readonly<{ number: number; chunks: number }>

/**
 * @param base - The version base of the store.
 * @param staged - What the stash had when a job began with it. The job may use the stash even after a loss of commits,
 *   if the stash has at least this number and this many chunks. Default: no job.
 * @throws {StoreError} STASH_NOT_FOUND if the stash has no chunk, or may have lost chunks
 */
export async function readStash(
  view: KvView,
  stashId: string,
  base: number,
  staged?: Staged,
): Promise<StashContent> {
  const key = stashHeadKey(stashId)
  const headBytes = await view.get(key)
  const head = headBytes === null ? null : decodeStashHead(headBytes)
  if (head !== null) checkIsWhole(stashId, head, Math.min(base, staged?.number ?? base))
  const entries = head === null ? [] : await readAllChunks(view, head.nonce)
  if (head !== null && entries.length < (staged?.chunks ?? 0)) checkIsWhole(stashId, head, base)
  if (headBytes === null || entries.length === 0) {
    throw new StoreError('STASH_NOT_FOUND', `Stash with ID '${stashId}' holds no chunk`)
  }
  const order = compareSerials(entries.map(({ serial }) => serial))
  return {
    chunks: entries.sort((left, right) => order(left.serial, right.serial)),
    check: { key, equals: headBytes },
  }
}

/** Whether a stash may be used: it has neither expired nor lost chunks. @param base - The version base of the store. */
export function isWhole({ state, number }: StashHead, base: number): boolean {
  return state !== 'expired' && number >= firstNumber(base)
}

/**
 * The current number of a stash, and how many chunks it has; undefined: it does not exist, or may have lost chunks.
 * @param base - The version base of the store.
 */
export async function readStaged(
  view: KvView,
  stashId: string,
  base: number,
): Promise<Staged | undefined> {
  const bytes = await view.get(stashHeadKey(stashId))
  const head = bytes === null ? null : decodeStashHead(bytes)
  if (head === null || !isWhole(head, base)) return undefined
  let chunks = 0
  for await (const keys of scanKeys(view, chunksRange(head.nonce))) chunks += keys.length
  return { number: head.number, chunks }
}

function checkIsWhole(stashId: string, head: StashHead, base: number): void {
  if (isWhole(head, base)) return
  const why =
    head.state === 'expired' ? 'has expired' : 'was started before a possible loss of changes'
  throw new StoreError(
    'STASH_NOT_FOUND',
    `Stash with ID '${stashId}' ${why}: it must be deleted, and its chunks put again`,
  )
}

/** Scans both ranges at the same time, because each scan is a round trip to another thread or machine. */
function readAllChunks(view: KvView, nonce: Bytes): Awaitable<SerialChunk[]> {
  const scans = [columnListsRange(nonce), chunksRange(nonce)].map(firstBatch)
  return readAhead(view, { keys: [], scans }, (known) => readChunks(known, nonce))
}

/**
 * Approximate number of columns that are decoded in one turn of the event loop. One chunk may have a thousand columns.
 */
const COLUMNS_AT_ONCE = 4_096

async function readChunks(view: KvView, nonce: Bytes): Promise<SerialChunk[]> {
  const lists = new Map<string, readonly string[]>()
  let columns = 0
  for await (const entries of scanBatches(view, columnListsRange(nonce))) {
    for (const [key, value] of entries) {
      const ids = decodeColumnList(value)
      lists.set(listName(key.subarray(9)), ids)
      columns += ids.length
      if (columns < COLUMNS_AT_ONCE) continue
      columns = 0
      await yieldToEventLoop()
    }
  }
  const columnsOf = ({ crc, probe }: ColumnListName): readonly string[] => {
    const ids = lists.get(listName(columnListKey(nonce, crc, probe).subarray(9)))
    if (ids === undefined)
      throw new StoreError('DATA_CORRUPT', 'The column list of a chunk is missing')
    return ids
  }
  const decoder = new ChunkDecoder(columnsOf)
  const chunks: SerialChunk[] = []
  let last: readonly unknown[] | undefined
  for await (const entries of scanBatches(view, chunksRange(nonce))) {
    for (const [key, value] of entries) {
      const { chunk } = decoder.decode(value)
      chunks.push({ serial: serialOfChunkKey(key), chunk })
      if (chunk.columns !== last) columns += chunk.columns.length
      last = chunk.columns
      if (columns < COLUMNS_AT_ONCE) continue
      columns = 0
      await yieldToEventLoop()
    }
  }
  return chunks
}

function listName(bytes: Bytes): string {
  return bytes.join('.')
}

/** What a put reads before it writes. */
export type PutState = Readonly<{
  headBytes: Bytes | null
  head: StashHead
  reference: Bytes | null
}>

/**
 * The records that the plan of a put needs. This reads the head first, because the other keys contain its nonce.
 * @param fresh - The head that the stash gets if it has none.
 */
export async function aheadOfPut(
  view: KvView,
  stashId: string,
  serial: string,
  fresh: StashHead,
  chunk: StoredChunk,
): Promise<Ahead> {
  const headKey = stashHeadKey(stashId)
  const headBytes = await view.get(headKey)
  const { nonce } = headBytes === null ? fresh : decodeStashHead(headBytes)
  const crc = columnListCrc(columnListOf(chunk))
  return { keys: [headKey, chunkKey(nonce, serial), columnListKey(nonce, crc, 0)] }
}

/**
 * @param fresh - The head that the stash gets if it has none.
 * @throws {StoreError} STASH_NOT_FOUND if the stash may have lost chunks
 */
export async function readPutState(
  view: KvView,
  stashId: string,
  serial: string,
  fresh: StashHead,
): Promise<PutState> {
  const headBytes = await view.get(stashHeadKey(stashId))
  if (headBytes === null) return { headBytes, head: fresh, reference: null }
  const head = decodeStashHead(headBytes)
  checkIsWhole(stashId, head, fresh.number)
  return { headBytes, head, reference: await view.get(chunkKey(head.nonce, serial)) }
}

/** The commit that stores or replaces a chunk. */
export async function planPut(
  view: KvView,
  stashId: string,
  serial: string,
  { headBytes, head, reference }: PutState,
  {
    chunk,
    putAt,
    markers,
    hints,
  }: Readonly<{
    chunk: StoredChunk
    putAt: number
    markers: readonly Put[]
    hints: readonly Put[]
  }>,
): Promise<KvCommit> {
  const list = await findColumnList(view, head.nonce, chunk)
  const key = chunkKey(head.nonce, serial)
  const value = encodeChunkReference({ chunk, putAt, list: list.name })
  const changesHead = headBytes === null || reference !== null || head.state !== 'open'
  const next: StashHead = { ...head, number: head.number + 1, state: 'open' }
  const headKey = stashHeadKey(stashId)
  return {
    checks: [
      { key: headKey, equals: headBytes },
      { key, equals: reference },
      ...(list.put === null ? [] : [{ key: list.put[0], equals: null }]),
    ],
    puts: [
      [key, value],
      ...(changesHead ? [[headKey, encodeStashHead(next)] as const] : []),
      ...(list.put === null ? [] : [list.put]),
      ...markers,
      ...hints,
    ],
  }
}

type Put = readonly [Bytes, Bytes]

type FoundList = Readonly<{ name: ColumnListName; put: Put | null }>

/**
 * The stash's record of this column list, or the record to put. `probe` is incremented while another list has the same
 * CRC and `probe`.
 */
async function findColumnList(view: KvView, nonce: Bytes, chunk: StoredChunk): Promise<FoundList> {
  const record = columnListOf(chunk)
  const crc = columnListCrc(record)
  for (let probe = 0; ; probe++) {
    const key = columnListKey(nonce, crc, probe)
    const there = await view.get(key)
    if (there === null) return { name: { crc, probe }, put: [key, record] }
    if (sameBytes(there, record)) return { name: { crc, probe }, put: null }
  }
}

function columnListOf({ columns }: StoredChunk): Bytes {
  return encodeColumnList(columns.map(({ summary }) => summary.id))
}

/** The commit that expires a stash. Its head stays, marked as expired. */
export function planExpire(stashId: string, headBytes: Bytes, now: number): KvCommit {
  const key = stashHeadKey(stashId)
  const head = decodeStashHead(headBytes)
  const expired = encodeStashHead({ ...head, state: 'expired', since: now })
  return {
    checks: [{ key, equals: headBytes }],
    puts: [
      [key, expired],
      [deadStashKey(head.nonce), EMPTY_RECORD],
    ],
  }
}

/** The commit that ends a stash. Garbage collection then deletes the records under its nonce. */
export function planDelete(stashId: string, headBytes: Bytes): KvCommit {
  const key = stashHeadKey(stashId)
  return {
    checks: [{ key, equals: headBytes }],
    deletes: [key],
    puts: [[deadStashKey(decodeStashHead(headBytes).nonce), EMPTY_RECORD]],
  }
}

const DIGITS = /^[0-9]+$/

/**
 * The order of the serials of a stash: numeric if all of them consist of digits only, of any number of digits;
 * otherwise by code point. `1` and `01` are two serials; equal numbers are ordered by code point. CONTRACT.md, section
 * 7.
 */
export function compareSerials(
  serials: readonly string[],
): (left: string, right: string) => number {
  return serials.every((serial) => DIGITS.test(serial)) ? compareNumbers : compareTexts
}

/** Compares numbers of any length as texts: of two numbers without leading zeros, the longer one is greater. */
function compareNumbers(left: string, right: string): number {
  const a = left.replace(/^0+/, '')
  const b = right.replace(/^0+/, '')
  return a.length - b.length || compareTexts(a, b) || compareTexts(left, right)
}

/** Serials are ASCII, so the order of UTF-16 is that of code points. */
function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
