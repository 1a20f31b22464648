// Charges the memory of responses to a budget (memory-budget.ts), and releases it as clients read them. Short
// responses, and responses rendered while they are read, are not charged.
import { type Bytes, utf8 } from '../../base/bytes.js'
import type { ContractResponse } from '../http/message.js'
import type { MemoryBudget, Room } from './memory-budget.js'

/**
 * Size of the largest response that is not charged, in bytes. The number of connections is bounded, so the memory of
 * all these responses is too.
 */
export const FREE_BYTES_MAX = 64 * 1_024

/** Size of the slices of larger responses, in bytes. The pace of a client is measured by them. */
const SLICE_BYTES = 256 * 1_024

/** Memory per UTF-16 unit of a text response: the unit (2 bytes) and its UTF-8. */
const TEXT_COPIES = 3

/** The room of a response. The signal is aborted if the budget takes the memory back. */
export type AnswerRoom = Readonly<{ room: Room; signal: AbortSignal }>

export function openAnswerRoom(budget: MemoryBudget, team: string, key?: string): AnswerRoom {
  const loss = new AbortController()
  return { room: budget.open(team, () => loss.abort(), key), signal: loss.signal }
}

/**
 * Makes a response whose size is known only when it is made. If there is no memory for it, the response is dropped, and
 * is made again when there is memory.
 */
export async function chargedAnswer(
  make: () => Promise<ContractResponse>,
  openRoom: () => AnswerRoom,
): Promise<ContractResponse> {
  let response = await make()
  if (memoryOf(response) <= FREE_BYTES_MAX) return response
  const answer = openRoom()
  const { room } = answer
  try {
    for (let bytes = memoryOf(response); !room.tryResize(bytes); bytes = memoryOf(response)) {
      response = { ...response, body: null }
      await room.resize(bytes)
      response = await make()
    }
    const { body } = response
    const bytes = typeof body === 'string' ? utf8(body) : body
    if (bytes instanceof Uint8Array) return heldAnswer(response, [bytes], answer)
    room.close()
    return response
  } catch (failure) {
    room.close()
    throw failure
  }
}

function memoryOf({ body }: ContractResponse): number {
  if (typeof body === 'string') return TEXT_COPIES * body.length
  return body instanceof Uint8Array ? body.length : 0
}

/** A response from pieces in memory. The room shrinks with each sent piece, and is closed at the end. */
export function heldAnswer(
  { status, headers }: ContractResponse,
  pieces: Bytes[],
  { room, signal }: AnswerRoom,
): ContractResponse {
  const length = pieces.reduce((bytes, piece) => bytes + piece.length, 0)
  room.tryResize(heldBytes(pieces))
  room.setMoving(true)
  return {
    status,
    headers: { ...headers, 'content-length': String(length) },
    body: heldPieces(pieces, room),
    signal,
  }
}

async function* heldPieces(pieces: Bytes[], room: Room): AsyncGenerator<Bytes, void> {
  try {
    let held = heldBytes(pieces)
    for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
      yield* cutIntoSlices(piece, room)
      held -= piece.buffer.byteLength
      room.tryResize(held)
    }
  } finally {
    room.close()
  }
}

/** The memory of pieces, in bytes. */
export function heldBytes(pieces: readonly Bytes[]): number {
  return pieces.reduce((bytes, { buffer }) => bytes + buffer.byteLength, 0)
}

/** Divides a piece into slices. A slice is counted when the client has taken it. */
export function* cutIntoSlices(piece: Bytes, room: Room): Generator<Bytes, void> {
  for (let start = 0; start < piece.length; start += SLICE_BYTES) {
    const slice = piece.subarray(start, start + SLICE_BYTES)
    yield slice
    room.moved(slice.length)
  }
}
