// Random choices from one number, so that a failing case is named by its seed.

export type Seeded = Readonly<{
  /** 0 to `limit` - 1. */
  below(limit: number): number
  pick<T>(from: readonly T[]): T
  /** True once in so many times. */
  once(times: number): boolean
}>

/** A small generator of pseudo-random numbers (xorshift, 32 bits of state). */
export function seeded(seed: number): Seeded {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x6a09e667) | 1
  const below = (limit: number): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % limit
  }
  return {
    below,
    pick(from) {
      const chosen = from[below(from.length)]
      if (chosen === undefined) throw new Error('Nothing to pick from')
      return chosen
    },
    once: (times) => below(times) === 0,
  }
}
