// Responses with pages of rows. Pages can be large, clients slow, and requests many, so a page is held only in spare
// memory.
//
// Invariants:
// - The whole page is read once before its status is sent. So the length and the continuation are known, and damage
//   becomes an error response instead of a broken connection.
// - The pieces are kept in spare memory. Without it, the page is read again, piece by piece, at the client's pace; only
//   its plan is held between pieces.
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

/** Size of kept pieces, in bytes. Most pages have only one piece. */
const KEPT_PIECE_BYTES = 1_024 * 1_024

/** Size of pieces that are read while the answer is sent, in bytes. */
const SENT_PIECE_BYTES = 256 * 1_024

/** Number of copies of a page in memory: stored bytes, rows, and JSON. */
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

/** Memory for a page of matching rows: its JSON and what is read for it, in bytes. */
const FOUND_PAGE_BYTES = 4 * 1_024 * 1_024

/** GET /tables/{tableID}/rows with a parameter of `parseFindBounds`. Such a page is short, so it is read only once. */
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

/** GET /tables/{tableID}/groups. The values of groups have at most as many bytes as a page of matching rows. */
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

/** Turns a condition that does not fit the table into an error of the query. */
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
  /** The pieces of the page; null: there was no spare memory to keep them. */
  kept: readonly Bytes[] | null
}>

/** Reads the whole page, and keeps it while there is spare memory. */
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

/** Reads a piece to keep. `beside`: the bytes that are already kept. null: there is no memory for the piece. */
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

/** Reads a piece to send. Waits for memory if necessary. */
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

/** Reads the page again, each piece when the client has taken the previous piece. */
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
