// Timers that take turns of the promise queue instead of time, so that a history is reproducible and never waits.

const MS_OF_A_TURN = 5

/** Timers of at least this many milliseconds wait for a turn of the event loop. */
const LONG_MS = 100

type Cancel = { isCancelled: boolean }

/** Timers of a process that has ended never fire. */
let isAlive: () => boolean = () => true

type Interval = Readonly<{ call: () => void; milliseconds: number; alive: () => boolean }>

/** The running intervals. */
const intervals = new Set<Interval>()

let turning: Promise<void> | undefined

/** The next turn of the event loop, shared by everything that waits for it, so that shorter timers still fire first. */
function loopTurn(): Promise<void> {
  turning ??= new Promise((turned) => {
    setImmediate(() => {
      turning = undefined
      turned()
    })
  })
  return turning
}

/** Calls every interval of this length once. */
export function passInterval(milliseconds: number): void {
  for (const interval of [...intervals]) {
    if (!interval.alive()) intervals.delete(interval)
    else if (interval.milliseconds === milliseconds) interval.call()
  }
}

/** From here on timers belong to a process, as long as `alive` returns true. */
export function beginProcess(alive: () => boolean): void {
  isAlive = alive
}

/** Replaces the timers while something runs. */
export async function inVirtualTime<T>(run: () => Promise<T>): Promise<T> {
  const { setInterval, setTimeout, clearInterval, clearTimeout } = globalThis
  const cancel = (timer: unknown): void => {
    if (typeof timer === 'object' && timer !== null) (timer as Cancel).isCancelled = true
  }
  const start = (call: () => void, milliseconds: number): unknown => {
    const timer = { isCancelled: false, unref: () => timer, ref: () => timer }
    const alive = isAlive
    const fire = async (): Promise<void> => {
      // Timers are turns of the promise queue, and starve the event loop while a database is reopened again and again
      // (seed 501862 of T4). Everything else in the queue runs first, so that a history stays the same.
      if (milliseconds >= LONG_MS) await loopTurn()
      for (let turn = 0; turn * MS_OF_A_TURN < milliseconds; turn++) {
        if (timer.isCancelled || !alive()) return
        await undefined
      }
      if (!timer.isCancelled && alive()) call()
    }
    void fire()
    return timer
  }
  const replaced = {
    setTimeout: start,
    clearTimeout: cancel,
    // Work at intervals runs when the history says so.
    setInterval: (call: () => void, milliseconds: number) => {
      const interval = { call, milliseconds, alive: isAlive, unref: () => undefined }
      intervals.add(interval)
      return interval
    },
    clearInterval: (interval: Interval) => void intervals.delete(interval),
  }
  Object.assign(globalThis, replaced)
  try {
    return await run()
  } finally {
    Object.assign(globalThis, { setInterval, setTimeout, clearInterval, clearTimeout })
    intervals.clear()
    isAlive = () => true
  }
}
