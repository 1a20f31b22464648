// Waits for what a test can observe, in turns of the event loop: however slow the machine is, and beside a faked clock.
import { setTimeout as pause } from 'node:timers/promises'

/** Waits until something is so. Only the time limit of the test ends a wait for what never comes. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(1)
}

/** Lets sockets, streams and promises of this process go on for some turns of its event loop. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await pause(1)
}

/** Waits until a count has stood still for many turns of the event loop. */
export async function atRest(count: () => number): Promise<number> {
  let before = count()
  for (let still = 0; still < 20; before = count()) {
    await pause(1)
    still = count() === before ? still + 1 : 0
  }
  return before
}
