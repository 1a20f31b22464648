// Ends a run of a random test that hangs, with an error that names the run. The time limit of a test is long, and its
// error names nothing.
import { performance } from 'node:perf_hooks'
import type { Plugin } from 'fast-check'
import fc from 'fast-check'

/** A run of a property that waits longer hangs. Runs take milliseconds, but the machine may be busy. */
const HANG_SECONDS = 60

/** A run that works this many times as long hangs, too. A process that gets little CPU time works slowly. */
const WORK_FACTOR = 10

/** A second in which the event loop was busy for more than this share counts as work. */
const WORK_SHARE = 0.2

/** The system's timers: tests replace the global ones. */
const { setInterval: startInterval, clearInterval: endInterval } = globalThis

/** Ends the wait for a run that hangs. All runs share one timer, so that quick runs cost nothing. */
export class HangWatch {
  readonly #seconds: number
  /** Seconds, counted by a timer, which stops with a paused process. */
  #passed = 0
  #give: () => void = () => undefined
  #loop = performance.eventLoopUtilization()
  readonly #timer = startInterval(() => {
    const { utilization } = performance.eventLoopUtilization(this.#loop)
    this.#loop = performance.eventLoopUtilization()
    this.#passed += utilization > WORK_SHARE ? 1 / WORK_FACTOR : 1
    if (this.#passed > this.#seconds) this.#give()
  }, 1_000)

  constructor(seconds = HANG_SECONDS) {
    this.#seconds = seconds
  }

  /** @param hangs - Makes the error for work that takes too long. */
  race<T>(work: Promise<T>, hangs: () => Error): Promise<T> {
    this.#passed = 0
    const hang = new Promise<never>((_, reject) => {
      this.#give = () => reject(hangs())
    })
    return Promise.race([work, hang])
  }

  end(): void {
    endInterval(this.#timer)
  }
}

/**
 * Watches the runs of an asynchronous property. A run that hangs ends the property at once, without shrinking, because
 * every smaller case could hang as long. The error shows the values of the run. Of its commands it shows only those
 * begun, the last of which is still running.
 */
export function endHangs(seed: number, seconds = HANG_SECONDS): Plugin<unknown> {
  return () => {
    let watch: HangWatch | undefined
    let hang: Error | undefined
    let runs = 0
    return {
      decorateRun: (run) => (value) => {
        const at = runs++
        const outcome = run(value)
        if (outcome === null || !('then' in outcome)) return outcome
        watch ??= new HangWatch(seconds)
        const hangs = (): Error => {
          const values = fc.stringify(value)
          return new Error(`Run ${at} of seed ${seed} hangs after ${seconds} s, with ${values}`)
        }
        return watch.race(outcome, hangs).catch((failure: Error) => {
          hang = failure
          return new fc.PreconditionFailure(true)
        })
      },
      onAllRunsComplete: () => {
        if (hang !== undefined) throw hang
      },
      afterAll: () => watch?.end(),
    }
  }
}
