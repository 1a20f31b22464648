// Counts the work of our code, without a clock: how often the runtime entered each block of `src/`, where a turn of a
// loop counts once. Work inside the runtime is not counted, such as regular expressions and conversions of numbers.
import { Session } from 'node:inspector'

const SOURCE = /\/src\//

type Coverage = Readonly<{
  result: readonly Readonly<{
    url: string
    functions: readonly Readonly<{ ranges: readonly Readonly<{ count: number }>[] }>[]
  }>[]
}>

export class WorkCounter {
  readonly #session = new Session()

  constructor() {
    this.#session.connect()
    this.#post('Profiler.enable')
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** The number of blocks entered since the last call. */
  take(): number {
    const { result } = this.#post('Profiler.takePreciseCoverage') as Coverage
    let entered = 0
    for (const { url, functions } of result) {
      if (!SOURCE.test(url)) continue
      for (const { ranges } of functions) for (const { count } of ranges) entered += count
    }
    return entered
  }

  /** The work of a call, and its result or failure. */
  async of<T>(call: () => T | Promise<T>): Promise<Readonly<{ work: number; outcome: unknown }>> {
    this.take()
    let outcome: unknown
    try {
      outcome = await call()
    } catch (failure) {
      outcome = failure
    }
    return { work: this.take(), outcome }
  }

  close(): void {
    this.#post('Profiler.stopPreciseCoverage')
    this.#session.disconnect()
  }

  #post(method: string, parameters: object = {}): unknown {
    let answer: unknown
    let failed: Error | null = null
    // The session belongs to this thread, so the answer comes at once.
    this.#session.post(method, parameters, (failure: Error | null, result?: unknown) => {
      failed = failure
      answer = result
    })
    if (failed !== null) throw failed
    return answer
  }
}
