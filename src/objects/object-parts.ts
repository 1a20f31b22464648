// Divides content into parts of equal length, as stores write it, and into the pieces of a stream.
import type { Bytes } from '../base/bytes.js'

/** The longest piece of a stream, in bytes. */
const PIECE_BYTES_MAX = 65_536

/** The initial memory for a part of a stream. */
const ROOM_BYTES = 64 * 1_024

/** Bytes as the nonempty pieces of a stream. */
export function* inPieces(bytes: Bytes, pieceBytes = PIECE_BYTES_MAX): Generator<Bytes, void> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

/**
 * Content in nonempty parts of `partBytes`; the last may be shorter. Parts of a stream are copies, because the stream
 * may reuse its memory.
 */
export async function* cutContentParts(
  content: Bytes | AsyncIterable<Bytes>,
  partBytes: number,
): AsyncGenerator<Bytes, void> {
  if (content instanceof Uint8Array) {
    yield* inPieces(content, partBytes)
    return
  }
  let part = new Uint8Array(0)
  let used = 0
  for await (const piece of content) {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.subarray(at, at + partBytes - used)
      part = withRoom(part, used, taken.length, partBytes)
      part.set(taken, used)
      used += taken.length
      at += taken.length
      if (used < partBytes) continue
      yield part
      part = new Uint8Array(0)
      used = 0
    }
  }
  if (used > 0) yield part.subarray(0, used)
}

/** The same bytes with room for `more`, in memory of at least twice the size, or of a whole part. */
function withRoom(
  part: Uint8Array<ArrayBuffer>,
  used: number,
  more: number,
  partBytes: number,
): Uint8Array<ArrayBuffer> {
  if (used + more <= part.length) return part
  const room = Math.max(used + more, 2 * part.length, ROOM_BYTES)
  const grown = new Uint8Array(Math.min(room, partBytes))
  grown.set(part.subarray(0, used))
  return grown
}
