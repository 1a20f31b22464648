// The footers of compacted segments, which say which of their rows are deleted. On stores where a view occupies a
// connection, footers are not read within a view: a plan continues without the missing footers, and is repeated after
// these were read.
import type { SegmentRef } from '../../format/extent-page.js'
import type { SegmentFooter } from '../../format/segment-reader.js'
import type { ObjectId } from '../../objects/objects.js'
import type { SegmentCache } from '../segments/segment-cache.js'

/** Maximum number of footers that are read concurrently. */
const READS_MAX = 8

export class CompactedFooters {
  readonly #segments: SegmentCache
  readonly #known = new Map<ObjectId, SegmentFooter>()
  #missing: SegmentRef[] = []

  constructor(segments: SegmentCache) {
    this.#segments = segments
  }

  /** Whether a plan asked for footers that are not in memory. */
  get isIncomplete(): boolean {
    return this.#missing.length > 0
  }

  /** The footer of a segment; undefined: it is not in memory, and `read` will read it. */
  get(ref: SegmentRef): SegmentFooter | undefined {
    const known = this.#known.get(ref.object) ?? this.#segments.footerNow(ref)
    if (known === undefined) this.#missing.push(ref)
    return known
  }

  /** Reads the missing footers. @throws {StoreError} DATA_CORRUPT, STORAGE_UNAVAILABLE */
  async read(): Promise<void> {
    const missing = this.#missing.splice(0)
    const readNext = async (): Promise<void> => {
      for (let ref = missing.pop(); ref !== undefined; ref = missing.pop()) {
        this.#known.set(ref.object, await this.#segments.footer(ref))
      }
    }
    await Promise.all(Array.from({ length: READS_MAX }, readNext))
  }
}
