// Memory that answers are held in: charged to a budget (memory-budget.ts), and given back as clients read them.
// Not charged are short answers, and those that are made while they are read.
import { type Bytes, utf8 } from '../base/bytes.js'
import type { MemoryBudget, Room } from './memory-budget.js'
import type { ContractResponse } from './message.js'

/** Bytes of an answer that are not charged. Connections are bounded, so the sum of these is too. */
export const FREE_BYTES_MAX = 64 * 1_024

/** A connection gets larger answers in slices, so that its pace is seen. */
const SLICE_BYTES = 256 * 1_024

/** A text, and its bytes in UTF-8. */
const TEXT_COPIES = 3

/** The room of an answer; the signal is aborted if what it holds is taken back. */
export type AnswerRoom = Readonly<{ room: Room; signal: AbortSignal }>

export function openAnswerRoom(budget: MemoryBudget, team: string): AnswerRoom {
  const loss = new AbortController()
  return { room: budget.open(team, () => loss.abort()), signal: loss.signal }
}

/**
 * Makes an answer whose size is known only when it is there. If there is no memory for it then, it is let go, and
 * made again when there is.
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

/** An answer that is sent from pieces in memory. The room gets smaller with them, and is closed at the end. */
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
      yield* slicesOf(piece, room)
      held -= piece.buffer.byteLength
      room.tryResize(held)
    }
  } finally {
    room.close()
  }
}

/** Memory that pieces hold. */
export function heldBytes(pieces: readonly Bytes[]): number {
  return pieces.reduce((bytes, { buffer }) => bytes + buffer.byteLength, 0)
}

/** Slices of a piece, which are counted when the client took them. */
export function* slicesOf(piece: Bytes, room: Room): Generator<Bytes, void> {
  for (let start = 0; start < piece.length; start += SLICE_BYTES) {
    const slice = piece.subarray(start, start + SLICE_BYTES)
    yield slice
    room.moved(slice.length)
  }
}
