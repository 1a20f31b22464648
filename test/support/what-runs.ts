// What of a file `npm test` runs, and what only `npm run test:all` does.

/**
 * Whether everything runs: by `npm run test:all`, or because a file was named. Tests that take long, or need a quiet
 * machine or other programs, ask for it.
 */
export const runsAll = process.env['ROWSTASH_ALL'] === '1'

/**
 * The cases of a suite that `npm test` runs in full on one store or server, for each of its other ones: all of them, or
 * every so many in `npm test`.
 */
export function sampleOf<T>(cases: readonly T[], every = 40): readonly T[] {
  return runsAll ? cases : cases.filter((_, i) => i % every === 0)
}

/** Repetitions of one check over many places or seeds: all of them, or a fifth in `npm test`. */
export function fifthOf(count: number): number {
  return runsAll ? count : Math.ceil(count / 5)
}
