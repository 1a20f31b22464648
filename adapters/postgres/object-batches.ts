// Divides the content of an object into batches, each written by one statement.
import { type Bytes, NO_BYTES } from '../../src/base/bytes.js'
import { cutContentParts } from '../../src/objects/object-parts.js'

/** Bytes written together. All batches have equal length except the last, which may be empty. */
export type Batch = Readonly<{ bytes: Bytes; isLast: boolean }>

/** Cuts content into at least one batch. Of a stream, two batches are in memory at a time. */
export async function* cutIntoBatches(
  content: Bytes | AsyncIterable<Bytes>,
  batchBytes: number,
): AsyncGenerator<Batch, void> {
  let held: Bytes | undefined
  for await (const bytes of cutContentParts(content, batchBytes)) {
    if (held !== undefined) yield { bytes: held, isLast: false }
    held = bytes
  }
  yield { bytes: held ?? NO_BYTES, isLast: true }
}
