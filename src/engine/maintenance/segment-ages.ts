// The ages of segments, as far as this process can tell. Objects have no time of creation, but the counters in their
// IDs increase.
//
// Invariant: a segment is never taken for older than it is, unless another process of a shared store wrote it.

import { counterOf, incarnationOf } from '../../format/object-id.js'
import type { ObjectId } from '../../objects/objects.js'
import type { StoreContext } from '../context/store-context.js'

/** At the monotonic time `at`, the objects of the incarnation with counters below `count` existed. */
type Mark = Readonly<{ at: number; incarnation: string; count: number }>

/** Maximum number of marks that are made within `recompressionAgeMs`. */
const MARKS_MAX = 1_000

export class SegmentAges {
  readonly #context: Pick<StoreContext, 'ids' | 'options'>
  /** Ascending by time: the newest mark that is old enough, and all younger ones. */
  #marks: Mark[] = []

  constructor(context: Pick<StoreContext, 'ids' | 'options'>) {
    this.#context = context
    this.mark()
  }

  /** Marks the objects that exist now. */
  mark(): void {
    const { ids, options } = this.#context
    const now = options.clock.monotonicMs()
    const marks = this.#marks
    const last = marks.at(-1)
    if (last?.at === now) marks.pop()
    else if (last !== undefined && now - last.at < options.recompressionAgeMs / MARKS_MAX) return
    const old = marks.findLastIndex(({ at }) => at <= now - options.recompressionAgeMs)
    marks.push({ at: now, incarnation: ids.incarnation, count: ids.count })
    this.#marks = marks.slice(Math.max(0, old))
  }

  /**
   * Whether an object has existed for `recompressionAgeMs`. The age of objects that other processes or earlier openings
   * of the store wrote counts from this opening of the store.
   */
  isOld(object: ObjectId): boolean {
    const { ids, options } = this.#context
    if (options.recompressionAgeMs === 0) return true
    const limit = options.clock.monotonicMs() - options.recompressionAgeMs
    const mark = this.#marks.findLast(({ at }) => at <= limit)
    if (mark === undefined) return false
    const incarnation = incarnationOf(object)
    if (incarnation === mark.incarnation) return counterOf(object) < mark.count
    return incarnation !== ids.incarnation
  }
}
