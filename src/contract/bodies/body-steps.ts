// Reads object bodies in slices, so that a long one does not block other requests. (The store reads rows in slices
// too.)
import type { Awaitable } from '../../base/awaitable.js'
import { systemClock } from '../../base/clock.js'
import { SliceTurns, type Steps } from '../../base/time-slices.js'

/** All contracts of a process share its event loop. */
const TURNS = new SliceTurns(systemClock)

/** Reads a body, synchronously if that takes no longer than a slice. */
export function inSteps<T>(steps: Steps<T>): Awaitable<T> {
  return TURNS.begin().run(steps)
}
