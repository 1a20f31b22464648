// Cuts the content of an object into pieces, some of which are written by one statement.
import { type Bytes, concatBytes } from '../../src/base/bytes.js'

/** Pieces of a batch, at most. */
const BATCH_PIECES = 4

/** Pieces that are written together. All are as long as they may be, but for the last one of the content. */
export type Batch = Readonly<{ pieces: readonly Bytes[]; bytes: number; isLast: boolean }>

/** At least one batch. Of a stream, two are in memory. */
export async function* batchesOf(
  content: Bytes | AsyncIterable<Bytes>,
  pieceBytes: number,
): AsyncGenerator<Batch, void> {
  let held: Bytes[] = []
  for await (const piece of cut(content, pieceBytes)) {
    if (held.length === BATCH_PIECES) {
      yield batchOf(held, false)
      held = []
    }
    held.push(piece)
  }
  yield batchOf(held, true)
}

function batchOf(pieces: readonly Bytes[], isLast: boolean): Batch {
  return { pieces, bytes: pieces.reduce((sum, { length }) => sum + length, 0), isLast }
}

async function* cut(
  content: Bytes | AsyncIterable<Bytes>,
  pieceBytes: number,
): AsyncGenerator<Bytes, void> {
  if (content instanceof Uint8Array) {
    for (let at = 0; at < content.length; at += pieceBytes) {
      yield content.subarray(at, at + pieceBytes)
    }
    return
  }
  let parts: Bytes[] = []
  let room = pieceBytes
  for await (const given of content) {
    for (let at = 0; at < given.length; ) {
      const part = given.slice(at, at + room) // The buffer may be used for the next one.
      parts.push(part)
      at += part.length
      room -= part.length
      if (room > 0) continue
      yield concatBytes(parts)
      parts = []
      room = pieceBytes
    }
  }
  if (parts.length > 0) yield concatBytes(parts)
}
