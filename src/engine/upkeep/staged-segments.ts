// Segments that chunks of stashes name, too. A settle leaves them: as long as the stash lives, their old objects would
// stay beside the new ones.
//
// Invariant: a chunk names no segment that was there before it. So what is not staged once never is again, and what is
// staged may be taken for staged a while longer.
import { monotonicMs } from '../../base/clock.js'
import { decodeChunkSegments } from '../../format/chunk-records.js'
import { CHUNKS_RANGE } from '../../format/keys.js'
import type { KvPartition } from '../../kv/kv.js'
import { scanBatches } from '../../kv/scan-batches.js'
import type { ObjectId } from '../../objects/objects.js'

/** How long segments that were found staged are not looked for again, in milliseconds: that reads all chunks. */
const KNOWN_MS = 600_000

/** Segments that are remembered, at most. */
const KNOWN_MAX = 100_000

export class StagedSegments {
  #known = new Set<ObjectId>()
  #since = Number.NEGATIVE_INFINITY

  /** Those of a team's segments that its chunks name. @param isFresh - Nothing that is remembered counts. */
  async among(
    partition: KvPartition,
    segments: Iterable<ObjectId>,
    isFresh: boolean,
  ): Promise<ReadonlySet<ObjectId>> {
    if (isFresh || monotonicMs() - this.#since > KNOWN_MS) {
      this.#known = new Set()
      this.#since = monotonicMs()
    }
    const staged = new Set<ObjectId>()
    const asked = new Set<ObjectId>()
    for (const segment of segments) (this.#known.has(segment) ? staged : asked).add(segment)
    if (asked.size === 0) return staged
    await partition.read(async (view) => {
      for await (const chunks of scanBatches(view, CHUNKS_RANGE)) {
        for (const [, record] of chunks) {
          for (const { object } of decodeChunkSegments(record).segments) {
            if (asked.has(object)) staged.add(object)
          }
        }
      }
    })
    for (const segment of staged) if (this.#known.size < KNOWN_MAX) this.#known.add(segment)
    return staged
  }
}
