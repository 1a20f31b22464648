// Content in the parts of an upload.
import type { Bytes } from '../../src/base/bytes.js'

/** The first memory for pieces of a stream; it grows as they come. */
const ROOM_BYTES = 64 * 1_024

/**
 * Content in parts of `partBytes`, of which the last may be shorter; none of them is empty. Parts of a stream are copies,
 * since the stream may use its memory again.
 */
export async function* partsOf(
  content: Bytes | AsyncIterable<Bytes>,
  partBytes: number,
): AsyncGenerator<Bytes, void> {
  if (content instanceof Uint8Array) {
    for (let at = 0; at < content.length; at += partBytes) {
      yield content.subarray(at, at + partBytes)
    }
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

/** The same bytes in a memory with room for `more`: twice as big as before, up to a whole part. */
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
