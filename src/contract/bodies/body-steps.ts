// Bodies that are objects are read in slices, so that a long one does not keep other requests waiting. (Rows are read
// so by the store.)
import type { Awaitable } from '../../base/awaitable.js'
import { systemClock } from '../../base/clock.js'
import { SliceTurns, type Steps } from '../../base/time-slices.js'

/** All contracts of a process share its event loop. */
const TURNS = new SliceTurns(systemClock)

/** Reads a body: at once, if that takes no longer than a slice. */
export function inSteps<T>(steps: Steps<T>): Awaitable<T> {
  return TURNS.begin().run(steps)
}
