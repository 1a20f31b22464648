// Reads object bodies in slices, so that a long body does not block other requests. (The store reads rows in slices
// too.)
import type { Awaitable } from '../../base/awaitable.js'
import { systemClock } from '../../base/clock.js'
import { SliceTurns, type Steps } from '../../base/time-slices.js'

/** The turns of slices. All contracts of a process share them, because they share its event loop. */
const TURNS = new SliceTurns(systemClock)

/** Reads a body. The result is not a promise if reading takes no longer than a slice. */
export function inSteps<T>(steps: Steps<T>): Awaitable<T> {
  return TURNS.begin().run(steps)
}
