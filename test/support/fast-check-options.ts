import type { Parameters } from 'fast-check'
import { endHangs } from './hang-watch.js'
import { runs } from './runs.js'
import { randomTestSeed } from './seed-record.js'

/**
 * How a property runs: so often, and again as the seed and the path say that a failure has printed,
 * given as ROWSTASH_SEED and ROWSTASH_PATH. The seed is noted before the first run, and a run that hangs ends it.
 * @param ofRung - The seed of a rung, which has noted it; `count` is of its `sizeOf`.
 */
export function runOptions(count: number, ofRung?: number): Parameters<unknown> {
  const seed = ofRung ?? randomTestSeed()
  const path = process.env['ROWSTASH_PATH']
  return {
    numRuns: ofRung === undefined ? runs(count) : runsOfRung(count),
    seed,
    plugins: [endHangs(seed)],
    ...(path !== undefined && { path, endOnFailure: true }),
  }
}

/** ROWSTASH_RUNS_SCALE, unless `sizeOf` has made the size smaller by it. */
function runsOfRung(size: number): number {
  const scale = Number(process.env['ROWSTASH_RUNS_SCALE'] ?? 1)
  const isScaled = scale < 1 && process.env['ROWSTASH_RUNS'] === undefined
  return isScaled ? size : Math.max(1, Math.ceil(size * scale))
}

/** Which commands of a run run again: a failure prints their `replayPath`, given as ROWSTASH_REPLAY. */
export function replayOptions(): { replayPath?: string } {
  const replayPath = process.env['ROWSTASH_REPLAY']
  return replayPath === undefined ? {} : { replayPath }
}
