// Which parts of a file `npm test` runs, and which only `npm run test:all` runs.

/**
 * Whether everything runs: in `npm run test:all`, or because a file was named. Tests that take long, or need a quiet
 * machine or other programs, depend on it.
 */
export const runsAll = process.env['ROWSTASH_ALL'] === '1'

/**
 * Of a suite that `npm test` runs in full on one store or server, the cases for each other store or server: all, or one
 * in `every` in `npm test`.
 */
export function sampleOf<T>(cases: readonly T[], every = 40): readonly T[] {
  return runsAll ? cases : cases.filter((_, i) => i % every === 0)
}

/** Repetitions of a check over many places or seeds: all, or a fifth in `npm test`. */
export function fifthOf(count: number): number {
  return runsAll ? count : Math.ceil(count / 5)
}
