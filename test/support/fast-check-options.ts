import type { Parameters } from 'fast-check'
import { endHangs } from './hang-watch.js'
import { runs } from './runs.js'
import { randomTestSeed } from './seed-record.js'

type RunsOfRung = Readonly<{ scale: number; seed: number }>

/**
 * How a property runs: so often, and again as the seed and the path say that a failure has printed,
 * given as ROWSTASH_SEED and ROWSTASH_PATH. The seed is noted before the first run, and a run that hangs ends it.
 * @param rung - Scale (see `runs`) and seed of a rung, which has noted its seed.
 */
export function runOptions(count: number, rung?: RunsOfRung): Parameters<unknown> {
  const seed = rung?.seed ?? randomTestSeed()
  const path = process.env['ROWSTASH_PATH']
  return {
    numRuns: runs(count, rung?.scale),
    seed,
    plugins: [endHangs(seed)],
    ...(path !== undefined && { path, endOnFailure: true }),
  }
}

/** Which commands of a run run again: a failure prints their `replayPath`, given as ROWSTASH_REPLAY. */
export function replayOptions(): { replayPath?: string } {
  const replayPath = process.env['ROWSTASH_REPLAY']
  return replayPath === undefined ? {} : { replayPath }
}
