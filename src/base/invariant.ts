/** Throws on a programming mistake. It has no code, because it is not meant to be caught. */
export function invariant(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(`Invariant broken: ${message}`)
}
