/** The time source of a store, so that tests can make hours pass. */
export interface Clock {
  /** Milliseconds since 1970 UTC. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }
