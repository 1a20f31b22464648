// Turns a function that emits values from callbacks into an async iterable.

/** Resolves when the value was taken. Rejects when the reader has stopped. */
export type Emit<T> = (value: T) => Promise<void>

class Ended extends Error {}

/** Holds at most one value: `run` continues when the reader requests the next value. */
export async function* fromEmitter<T>(
  run: (emit: Emit<T>) => Promise<void>,
): AsyncGenerator<T, void> {
  let held: Readonly<{ value: T; taken: () => void; ended: (failure: Error) => void }> | undefined
  let wake: () => void = () => undefined
  let isOver = false
  const emit: Emit<T> = (value) =>
    new Promise((resolve, reject) => {
      if (isOver) return reject(new Ended('Nobody reads on'))
      held = { value, taken: resolve, ended: reject }
      wake()
    })
  let failure: unknown
  const running = run(emit)
    .catch((thrown: unknown) => {
      failure = thrown
    })
    .finally(() => {
      isOver = true
      wake()
    })
  try {
    for (;;) {
      if (held === undefined && !isOver) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      const next = held
      if (next === undefined) break
      yield next.value
      held = undefined
      next.taken()
      await Promise.resolve() // Lets `run` emit again before this waits.
    }
  } finally {
    isOver = true
    held?.ended(new Ended('Nobody reads on'))
    await running
  }
  if (failure !== undefined && !(failure instanceof Ended)) throw failure
}
