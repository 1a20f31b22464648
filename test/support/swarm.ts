// Swarm testing: a run that uses everything tests each thing little, and some things hide others. So each run uses a
// third to two thirds of everything, some of it often.
import fc from 'fast-check'
import { type Seeded, seeded } from './seeded.js'

const WEIGHTS = [1, 1, 2, 4]

/** The things that a run uses, repeated by their weights. */
export function drawSwarm<T>(random: Seeded, all: readonly T[]): readonly T[] {
  const different = [...new Set(all)]
  const [least, most] = [Math.ceil(different.length / 3), Math.floor((different.length * 2) / 3)]
  const count = Math.max(1, least + random.below(Math.max(1, most - least + 1)))
  const left = [...different]
  const used = Array.from(
    { length: count },
    () => left.splice(random.below(left.length), 1)[0] as T,
  )
  return used.flatMap((one) => Array<T>(random.pick(WEIGHTS)).fill(one))
}

/** A swarm as an arbitrary of fast-check. */
export function anySwarm<T>(all: readonly T[]): fc.Arbitrary<readonly T[]> {
  return fc.noShrink(fc.nat()).map((seed) => drawSwarm(seeded(seed), all))
}
