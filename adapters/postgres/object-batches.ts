// Cuts the content of an object into pieces, some of which are written by one statement.
import type { Bytes } from '../../src/base/bytes.js'
import { partsOf } from '../../src/objects/object-parts.js'

/** Pieces of a batch, at most. */
const BATCH_PIECES = 4

/** Pieces that are written together. All are as long as they may be, but for the last one of the content. */
export type Batch = Readonly<{ pieces: readonly Bytes[]; bytes: number; isLast: boolean }>

/** At least one batch. Two batches of a stream are in memory at a time. */
export async function* batchesOf(
  content: Bytes | AsyncIterable<Bytes>,
  pieceBytes: number,
): AsyncGenerator<Batch, void> {
  let held: Bytes[] = []
  for await (const piece of partsOf(content, pieceBytes)) {
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
