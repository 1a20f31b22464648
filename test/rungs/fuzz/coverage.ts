// Which code of this process ran, by V8's block coverage: an input that runs code in a new way is worth further
// changes.
import { type Profiler, Session } from 'node:inspector'

/** Code of the project, without tests. */
const OF_PROJECT = /\/(?:src|adapters)\/[^?]*\.ts/

export class Coverage {
  readonly #session = new Session()
  readonly #known = new Set<string>()

  constructor() {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Number of ways in which code ever ran. */
  get ways(): number {
    return this.#known.size
  }

  /** Whether code ran in a new way since the last call: a new block, or a new power of two of its count. */
  foundNew(): boolean {
    const before = this.#known.size
    for (const { url, scriptId, functions } of this.#take()) {
      if (!OF_PROJECT.test(url)) continue
      for (const { ranges } of functions) {
        for (const { startOffset, endOffset, count } of ranges) {
          if (count > 0)
            this.#known.add(`${scriptId}:${startOffset}:${endOffset}:${Math.clz32(count)}`)
        }
      }
    }
    return this.#known.size > before
  }

  #take(): readonly Profiler.ScriptCoverage[] {
    let taken: readonly Profiler.ScriptCoverage[] = []
    this.#session.post('Profiler.takePreciseCoverage', (failure, answer) => {
      if (failure !== null) throw failure
      taken = answer.result
    })
    return taken
  }

  end(): void {
    this.#session.disconnect()
  }
}
