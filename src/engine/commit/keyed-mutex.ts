/** Runs the steps of one name one after the other, because commits of simultaneous steps would refuse each other. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T>(name: string, step: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(step)
    const ended = turn.catch(() => undefined) // The caller gets the failure; the next step runs.
    this.#last.set(name, ended)
    try {
      return await turn
    } finally {
      if (this.#last.get(name) === ended) this.#last.delete(name)
    }
  }
}
