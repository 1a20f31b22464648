// Waits for what a test can observe, in turns of the event loop: independent of the machine's speed, and of a faked
// clock.
import { setTimeout as pause } from 'node:timers/promises'

/** Waits until a condition holds. Only the test's time limit ends a wait for a condition that never holds. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(1)
}

/** Lets sockets, streams and promises of this process continue for some turns of its event loop. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await pause(1)
}

/** Waits until a count has not changed for many turns of the event loop. */
export async function atRest(count: () => number): Promise<number> {
  let before = count()
  for (let still = 0; still < 20; before = count()) {
    await pause(1)
    still = count() === before ? still + 1 : 0
  }
  return before
}
