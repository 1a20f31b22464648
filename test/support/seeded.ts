// Random choices from one number, so that a seed identifies a failing case.

export type Seeded = Readonly<{
  /** 0 to `limit` - 1. */
  below(limit: number): number
  pick<T>(from: readonly T[]): T
  /** True once in this number of times. */
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

/** Removes, changes or inserts a byte, mostly one of `near`, which have a meaning in the format. */
export function mutate(
  random: Seeded,
  bytes: Uint8Array<ArrayBuffer>,
  near: readonly number[],
): Uint8Array<ArrayBuffer> {
  const at = random.below(bytes.length + 1)
  const byte = random.once(8) ? random.below(256) : random.pick(near)
  const kept = random.below(3)
  const put = kept === 0 ? [] : [byte]
  const rest = bytes.subarray(kept === 1 ? at : at + 1)
  const mutated = new Uint8Array(at + put.length + rest.length)
  mutated.set(bytes.subarray(0, at))
  mutated.set(put, at)
  mutated.set(rest, at + put.length)
  return mutated
}
