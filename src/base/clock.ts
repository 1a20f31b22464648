/** The time source of a store, so that tests can make hours pass. */
export interface Clock {
  /** Milliseconds since 1970 UTC. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** Milliseconds since some time in the past, which setting the system's clock does not change. */
export function monotonicMs(): number {
  return performance.now()
}
