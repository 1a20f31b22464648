// Runs of a duty, one at a time, which callers share.
import { aborted, checkNotAborted } from '../../base/signals.js'
import type { CheckGoesOn } from '../commit/stepwise.js'

/** The name, in messages, of what callers wait for. */
const WHAT = 'garbageCollection'

/**
 * Calls share a run. A call that takes duties over does not join a run that takes none over: it starts a run of its own
 * after that run.
 */
export class SharedRun<T> {
  #last: Readonly<{ takesOver: boolean; callers: Callers; result: Promise<T> }> | undefined

  /**
   * @param run - Calls `checkGoesOn` between its steps; this throws when all callers have aborted.
   * @throws {StoreError} ABORTED: by this caller. The run continues for the others.
   */
  async join(
    { takesOver }: Readonly<{ takesOver: boolean }>,
    signal: AbortSignal | undefined,
    run: (checkGoesOn: CheckGoesOn) => Promise<T>,
  ): Promise<T> {
    checkNotAborted(WHAT, signal)
    const last = this.#last
    if (last !== undefined && !last.callers.areGone && (last.takesOver || !takesOver)) {
      return last.callers.wait(last.result, signal)
    }
    const callers = new Callers()
    const begin = () => callers.begin(run)
    const result = last === undefined ? begin() : last.result.then(begin, begin)
    const joined = { takesOver, callers, result }
    this.#last = joined
    const end = (): void => {
      if (this.#last === joined) this.#last = undefined
    }
    result.then(end, end)
    return callers.wait(result, signal)
  }
}

/** The callers that wait for one run. */
class Callers {
  /** Number of callers that have not aborted. */
  #count = 0
  #hasBegun = false
  /** The reason of the last caller that aborted, if all callers have aborted. */
  #reason: unknown
  #areGone = false

  /** Whether all callers have aborted. Then the run ends, and nobody joins it. */
  get areGone(): boolean {
    return this.#areGone
  }

  async begin<T>(run: (checkGoesOn: CheckGoesOn) => Promise<T>): Promise<T> {
    this.#hasBegun = true
    const checkGoesOn = (): void => {
      if (this.#areGone) throw aborted(WHAT, this.#reason)
    }
    checkGoesOn()
    return run(checkGoesOn)
  }

  /** The result of the run. A caller that aborts waits no longer, except if its abort ends the run. */
  wait<T>(result: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    this.#count++
    if (signal === undefined) return result
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#count--
        this.#areGone = this.#count === 0
        this.#reason = signal.reason
        if (!this.#areGone || !this.#hasBegun) reject(aborted(WHAT, signal.reason))
      }
      if (signal.aborted) onAbort() // The first step of the run, which has begun, may have aborted the signal.
      signal.addEventListener('abort', onAbort, { once: true })
      const end = (): void => signal.removeEventListener('abort', onAbort)
      result.then(resolve, reject).then(end, end)
    })
  }
}
