// Runs of a duty, of which one is under way at a time.

/** One run at a time, which calls share; one that takes duties over waits for one that does not, and follows it. */
export class SharedRun<T> {
  #last: Readonly<{ takesOver: boolean; result: Promise<T> }> | undefined

  join({ takesOver }: Readonly<{ takesOver: boolean }>, run: () => Promise<T>): Promise<T> {
    const last = this.#last
    if (last !== undefined && (last.takesOver || !takesOver)) return last.result
    const result = last === undefined ? run() : last.result.then(run, run)
    const joined = { takesOver, result }
    this.#last = joined
    const end = (): void => {
      if (this.#last === joined) this.#last = undefined
    }
    result.then(end, end)
    return result
  }
}
