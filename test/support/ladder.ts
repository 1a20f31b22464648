// The test ladder: suites that run in two sizes, each from one seed, and say in one line what they did.
import { appendFileSync } from 'node:fs'

/** `push`: with every change, minutes for all suites together. `deep`: `npm run test:deep`. */
export type Tier = 'push' | 'deep'

export const tier: Tier = process.env['ROWSTASH_TIER'] === 'deep' ? 'deep' : 'push'

/** How many runs: as ROWSTASH_RUNS says, else as the tier does. */
export function sizeOf(sizes: Readonly<Record<Tier, number>>): number {
  const given = Number(process.env['ROWSTASH_RUNS'] ?? 'none')
  return Number.isSafeInteger(given) && given > 0 ? given : sizes[tier]
}

/** A push is judged by what it changes: with the same choices each time. Deep runs look for what is new. */
const PUSH_SEED = 1

/** The seed of this run: ROWSTASH_SEED, else by the tier. A suite derives all its choices from it. */
export function suiteSeed(): number {
  const given = Number(process.env['ROWSTASH_SEED'] ?? 'none')
  if (Number.isSafeInteger(given)) return given
  return tier === 'push' ? PUSH_SEED : Math.floor(Math.random() * 2 ** 31)
}

export type SuiteReport = Readonly<{
  /** Its name in the README, such as "T4 crash simulator, leveldb". */
  suite: string
  seed: number
  runs: number
  seconds: number
  violations: number
}>

/** Prints the line of a suite, and adds it to the file ROWSTASH_REPORT, if there is one. */
export function report(done: SuiteReport): void {
  const { suite, seed, runs, seconds, violations } = done
  const took = `${seconds.toFixed(1)} s`
  console.log(`${suite}: ${runs} runs, seed ${seed}, ${took}, ${violations} violations`)
  append(done)
}

/** Says that a suite did not run, and why: what this machine lacks for it. */
export function reportSkip(suite: string, reason: string): void {
  console.log(`${suite}: skipped, ${reason}`)
  append({ suite, skipped: reason })
}

function append(line: unknown): void {
  const file = process.env['ROWSTASH_REPORT']
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`)
}
