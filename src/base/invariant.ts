/** Stops on a programming mistake. Nobody is meant to catch this, so it carries no code. */
export function invariant(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(`Invariant broken: ${message}`)
}
