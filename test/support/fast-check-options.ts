import type { Parameters } from 'fast-check'
import { runs } from './runs.js'

/**
 * How a property runs: so often, and again as the seed and the path say that a failure has printed,
 * given as ROWSTASH_SEED and ROWSTASH_PATH.
 * @param scale - See `runs`.
 */
export function runOptions(count: number, scale?: number): Parameters<unknown> {
  const seed = process.env['ROWSTASH_SEED']
  const path = process.env['ROWSTASH_PATH']
  return {
    numRuns: runs(count, scale),
    ...(seed !== undefined && { seed: Number(seed) }),
    ...(path !== undefined && { path, endOnFailure: true }),
  }
}

/** Which commands of a run run again: a failure prints their `replayPath`, given as ROWSTASH_REPLAY. */
export function replayOptions(): { replayPath?: string } {
  const replayPath = process.env['ROWSTASH_REPLAY']
  return replayPath === undefined ? {} : { replayPath }
}
