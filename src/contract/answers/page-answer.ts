// Responses that are pages of rows. Pages can be large, many can be requested at the same time, and clients can read them
// slowly, so a page is held in memory only while there is memory to spare.
//
// Invariants:
// - The whole page is read once before its status is sent. So damage becomes an error response and not a broken
//   connection, and the length and the continuation are known.
// - The pieces of that read are kept while there is memory to spare. Else the page is read a second time, piece by piece,
//   as the client takes it, and holds only its plan between two pieces.
// - Memory is charged before it is taken.
import { type Bytes, concatBytes, utf8 } from '../../base/bytes.js'
import { yieldToEventLoop } from '../../base/platform.js'
import { withNameGiven } from '../../base/shown-text.js'
import { isStoreError } from '../../base/store-error.js'
import type { GroupsRequest } from '../../engine/types/find-types.js'
import type {
  OpenPage,
  PageBounds,
  PagePiece,
  PieceRequest,
  PieceStart,
  Table,
} from '../../engine/types/store-types.js'
import type { FoundBounds } from '../http/find-query.js'
import type { ContractResponse } from '../http/message.js'
import { invalidRequest } from '../http/refusal.js'
import {
  type AnswerRoom,
  cutIntoSlices,
  FREE_BYTES_MAX,
  heldAnswer,
  heldBytes,
} from '../memory/answer-memory.js'
import type { Room } from '../memory/memory-budget.js'
import { jsonResponse } from './render.js'

/** Size of a piece that is kept, in bytes. Most pages have only one. */
const KEPT_PIECE_BYTES = 1_024 * 1_024

/** Size of a piece that is read when it is sent, in bytes. */
const SENT_PIECE_BYTES = 256 * 1_024

/** Copies of a page in memory: the stored bytes, the rows, and their JSON. */
const COPIES = 3

const HEAD = utf8('{"data":')

/** GET /tables/{tableID}/rows */
export async function answerPage(
  table: Table,
  bounds: PageBounds,
  answer: AnswerRoom,
): Promise<ContractResponse> {
  const { room } = answer
  try {
    let planBytes = 0
    const page = await table.openPage({
      ...bounds,
      reserve: (bytes) => {
        planBytes = bytes
        return bytes <= FREE_BYTES_MAX ? undefined : room.resize(bytes)
      },
    })
    return await answerOpenPage(page, planBytes, answer)
  } catch (failure) {
    room.close()
    throw failure
  }
}

/** Memory for the JSON of a page of rows that match, and for what is read for it, in bytes. */
const FOUND_PAGE_BYTES = 4 * 1_024 * 1_024

/** GET /tables/{tableID}/rows with the parameters of `parseFindBounds`: such a page is short, and read once. */
export async function answerFound(
  table: Table,
  bounds: PageBounds & FoundBounds,
  answer: AnswerRoom,
): Promise<ContractResponse> {
  const { room } = answer
  try {
    await room.resize(FOUND_PAGE_BYTES)
    const reserve = (bytes: number) => room.resize(FOUND_PAGE_BYTES + bytes)
    const { json, continuation, version, total } = await table.findBytes({ ...bounds, reserve })
    return await answerJson(json, tailOf(continuation, total), version, answer)
  } catch (failure) {
    room.close()
    throw asQueryError(failure)
  }
}

/** GET /tables/{tableID}/groups: the values of groups have at most as many bytes as such a page. */
export async function answerGroups(
  table: Table,
  request: GroupsRequest,
  answer: AnswerRoom,
): Promise<ContractResponse> {
  const { room } = answer
  try {
    await room.resize(FOUND_PAGE_BYTES)
    const json = utf8(await table.groupsJson(request))
    return await answerJson(json, tailOf(undefined), undefined, answer)
  } catch (failure) {
    room.close()
    throw asQueryError(failure)
  }
}

async function answerJson(
  json: Bytes,
  tail: Bytes,
  version: number | undefined,
  answer: AnswerRoom,
): Promise<ContractResponse> {
  const { room } = answer
  const pieces = [HEAD, json, tail]
  const length = pieces.reduce((bytes, piece) => bytes + piece.length, 0)
  if (length > FREE_BYTES_MAX) {
    await room.resize(FOUND_PAGE_BYTES + json.length)
    return heldAnswer(jsonResponse(200, null, version), pieces, answer)
  }
  room.close()
  return jsonResponse(200, concatBytes(pieces), version)
}

/** A condition that does not fit the table is an error of the query. */
export function asQueryError(failure: unknown): unknown {
  const isOfArguments = isStoreError(failure) && failure.code === 'REQUEST_VALIDATION_ERROR'
  if (!isOfArguments) return failure
  return invalidRequest('query', withNameGiven(failure.message, 'orderBy', 'sort'))
}

function tailOf(continuation: string | undefined, total?: number): Bytes {
  const members = JSON.stringify({ continuation, total })
  return utf8(members === '{}' ? '}' : `,${members.slice(1)}`)
}

async function answerOpenPage(
  page: OpenPage,
  planBytes: number,
  answer: AnswerRoom,
): Promise<ContractResponse> {
  const { room, signal } = answer
  const { kept, bytes, continuation } = await readOnce(page, planBytes, room)
  const tail = tailOf(continuation)
  const length = HEAD.length + bytes + tail.length
  if (kept === null) {
    room.setMoving(true)
    const { headers, ...response } = jsonResponse(
      200,
      sentPieces(page, planBytes, tail, room),
      page.version,
    )
    return { ...response, headers: { ...headers, 'content-length': String(length) }, signal }
  }
  const pieces = kept.length === 1 ? [concatBytes([HEAD, ...kept, tail])] : [HEAD, ...kept, tail]
  if (length > FREE_BYTES_MAX)
    return heldAnswer(jsonResponse(200, null, page.version), pieces, answer)
  room.close()
  return jsonResponse(200, concatBytes(pieces), page.version)
}

type ReadOnce = Readonly<{
  bytes: number
  continuation: string | undefined
  /** null: there was no memory to keep the pieces. */
  kept: readonly Bytes[] | null
}>

/** Reads all of a page, and keeps it while there is memory to spare. */
async function readOnce(page: OpenPage, planBytes: number, room: Room): Promise<ReadOnce> {
  let kept: Bytes[] | null = []
  let memory: Bytes | undefined
  let bytes = 0
  for (let start: PieceStart | undefined; ; await yieldToEventLoop()) {
    const spare: PagePiece | null =
      kept && (await readSpare(page, start, planBytes + heldBytes(kept), room))
    if (spare === null) kept = null
    const piece = spare ?? (await readSentPiece(page, { start, memory }, planBytes, room))
    if (kept === null) memory = piece.json
    else kept.push(piece.json)
    bytes += piece.json.length
    if (piece.next === undefined) return { bytes, continuation: piece.continuation, kept }
    start = piece.next
  }
}

/** A piece to be cached beside `beside` bytes of others; null: there is no memory for it. */
async function readSpare(
  page: OpenPage,
  start: PieceStart | undefined,
  beside: number,
  room: Room,
): Promise<PagePiece | null> {
  for (let memoryBytes = COPIES * KEPT_PIECE_BYTES; room.trySpare(beside + memoryBytes); ) {
    const piece = await page.piece({ start, bytes: KEPT_PIECE_BYTES, memoryBytes })
    if (!('needs' in piece)) return piece
    memoryBytes = piece.needs
  }
  return null
}

/** A piece. Waits for its memory if necessary. */
async function readSentPiece(
  page: OpenPage,
  request: Pick<PieceRequest, 'start' | 'memory'>,
  beside: number,
  room: Room,
): Promise<PagePiece> {
  for (let memoryBytes = COPIES * SENT_PIECE_BYTES; ; ) {
    await room.resize(beside + memoryBytes)
    const piece = await page.piece({ ...request, bytes: SENT_PIECE_BYTES, memoryBytes })
    if (!('needs' in piece)) return piece
    memoryBytes = piece.needs
  }
}

/** Reads the page again, each piece after the client took the one before. */
async function* sentPieces(
  page: OpenPage,
  planBytes: number,
  tail: Bytes,
  room: Room,
): AsyncGenerator<Bytes, void> {
  try {
    yield HEAD
    for (let start: PieceStart | undefined; ; ) {
      room.setMoving(false)
      const { json, next } = await readSentPiece(page, { start }, planBytes, room)
      room.tryResize(planBytes + heldBytes([json]))
      room.setMoving(true)
      yield* cutIntoSlices(json, room)
      if (next === undefined) break
      start = next
    }
    yield tail
  } finally {
    room.close()
  }
}
