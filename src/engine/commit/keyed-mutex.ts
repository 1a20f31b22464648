/** Steps that would only refuse each other take turns: one after the other for each name. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T>(name: string, step: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(name) ?? Promise.resolve()).then(step)
    const ended = turn.catch(() => undefined) // The failure is the caller's; the next has its turn.
    this.#last.set(name, ended)
    try {
      return await turn
    } finally {
      if (this.#last.get(name) === ended) this.#last.delete(name)
    }
  }
}
