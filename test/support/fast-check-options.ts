import type { Parameters } from 'fast-check'
import { endHangs } from './hang-watch.js'
import { runs } from './runs.js'
import { randomTestSeed } from './seed-record.js'

/**
 * Options of a property: its number of runs, and the seed and path of a failure to repeat (ROWSTASH_SEED,
 * ROWSTASH_PATH). The seed is recorded before the first run, and a run that hangs ends the property.
 * @param ofRung - The seed of a rung, which has recorded it; `count` is of its `sizeOf`.
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

/** ROWSTASH_RUNS_SCALE, unless `sizeOf` has already applied it. */
function runsOfRung(size: number): number {
  const scale = Number(process.env['ROWSTASH_RUNS_SCALE'] ?? 1)
  const isScaled = scale < 1 && process.env['ROWSTASH_RUNS'] === undefined
  return isScaled ? size : Math.max(1, Math.ceil(size * scale))
}

/** The commands to run again: the `replayPath` that a failure prints, in ROWSTASH_REPLAY. */
export function replayOptions(): { replayPath?: string } {
  const replayPath = process.env['ROWSTASH_REPLAY']
  return replayPath === undefined ? {} : { replayPath }
}
