// The one value that says: no background work.
import type { StoreOptions } from '../../src/index.js'

type Interval = Extract<keyof StoreOptions, `${string}IntervalMs`>

/** Options of a store that is only looked at: no sweep, no fold, no settle, and no job that a process left is continued. */
export const NO_BACKGROUND = {
  jobIntervalMs: 0,
  sweepIntervalMs: 0,
  foldIntervalMs: 0,
  settleIntervalMs: 0,
  fileSweepIntervalMs: 0,
} as const satisfies Record<Interval, 0>
