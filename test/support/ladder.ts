// The test ladder: suites that run in two sizes, each from one seed, and report in one line.
import { appendFileSync } from 'node:fs'
import type { PairCounts } from './pairs.js'
import { readText } from './project.js'
import { noteSeed } from './seed-record.js'

/** `push`: the size of `npm run test:all`. `deep`: the size with `--deep`. */
export type Tier = 'push' | 'deep'

export const tier: Tier = process.env['ROWSTASH_TIER'] === 'deep' ? 'deep' : 'push'

/** A scale leaves a rung at least this many runs, if it has as many. */
const SCALED_RUNS_MIN = 10

/**
 * The number of runs: ROWSTASH_RUNS, or by the tier. ROWSTASH_RUNS_SCALE below 1 reduces a push to the first runs of
 * the same seed.
 */
export function sizeOf(sizes: Readonly<Record<Tier, number>>): number {
  const size = fixedSizeOf(sizes)
  const scale = Number(process.env['ROWSTASH_RUNS_SCALE'] ?? 1)
  const isScaled = tier === 'push' && scale < 1 && size === sizes.push
  return isScaled ? Math.max(Math.ceil(size * scale), Math.min(size, SCALED_RUNS_MIN)) : size
}

/** A size that no scale changes: a distance, or the size of one piece of work. */
export function fixedSizeOf(sizes: Readonly<Record<Tier, number>>): number {
  const given = Number(process.env['ROWSTASH_RUNS'] ?? 'none')
  return Number.isSafeInteger(given) && given > 0 ? given : sizes[tier]
}

/** A push tests a change, so it always makes the same choices. Deep runs search for new failures. */
const PUSH_SEED = 1

/** The seed of this run: ROWSTASH_SEED, or by the tier. A suite derives all its choices from it. */
export function suiteSeed(): number {
  const given = Number(process.env['ROWSTASH_SEED'] ?? 'none')
  const chosen = tier === 'push' ? PUSH_SEED : Math.floor(Math.random() * 2 ** 31)
  const seed = Number.isSafeInteger(given) ? given : chosen
  noteSeed(seed)
  return seed
}

/** Runs of a suite that once failed. */
export type RecordedSeed = Readonly<{ seed: number; runs: number }>

const SEEDS_FILE = 'test/seeds.txt'

/** The seeds that a suite runs first: its lines of the file; none if ROWSTASH_SEED requests one seed. */
export function recordedSeeds(suiteId: string): readonly RecordedSeed[] {
  if (process.env['ROWSTASH_SEED'] !== undefined) return []
  return parseSeeds(readText(SEEDS_FILE)).get(suiteId) ?? []
}

/** Lines are `suite seed runs # what it found`; `runs` may be omitted for 1. @throws {Error} for any other line */
export function parseSeeds(text: string): ReadonlyMap<string, readonly RecordedSeed[]> {
  const seeds = new Map<string, RecordedSeed[]>()
  for (const line of text.split('\n')) {
    const [entry = ''] = line.split('#')
    if (entry.trim() === '') continue
    const [, suite = '', seed, runs = '1'] = /^(T\w+) (\d+)(?: (\d+))? *$/.exec(entry) ?? []
    if (seed === undefined) throw new Error(`${SEEDS_FILE} has a line of another form: ${line}`)
    seeds.set(suite, [...(seeds.get(suite) ?? []), { seed: Number(seed), runs: Number(runs) }])
  }
  return seeds
}

export type SuiteReport = Readonly<{
  /** Its name in the README, such as "T4 crash simulator, leveldb". */
  suite: string
  seed: number
  runs: number
  seconds: number
  violations: number
  /** The runs that fail alone. Default: all runs of the seed. */
  failing?: RecordedSeed | undefined
  /** What was under way at the same time, and how often. */
  pairs?: PairCounts
}>

/** The command that repeats a failure. */
export function repeatCommand({ suite, seed, failing }: SuiteReport): string {
  const runs = failing?.runs ?? process.env['ROWSTASH_RUNS']
  const variables = [`ROWSTASH_SEED=${failing?.seed ?? seed}`]
  if (runs !== undefined) variables.push(`ROWSTASH_RUNS=${runs}`)
  const deep = tier === 'deep' ? ' --deep' : ''
  return `${variables.join(' ')} npm run test:rung -- ${idOf(suite)}${deep}`
}

/** `T4` of "T4 crash simulator, leveldb". */
function idOf(suite: string): string {
  return /^\w+/.exec(suite)?.[0] ?? suite
}

/** Prints the line of a suite, and adds it to the file ROWSTASH_REPORT, if that is set. */
export function report(done: SuiteReport): void {
  const { suite, seed, runs, seconds, violations, pairs, failing = { seed, runs } } = done
  const took = `${seconds.toFixed(1)} s`
  console.log(`${suite}: ${runs} runs, seed ${seed}, ${took}, ${violations} violations`)
  if (violations > 0) {
    console.log(`To repeat it: ${repeatCommand(done)}`)
    const line = `${idOf(suite)} ${failing.seed} ${failing.runs} # what was wrong`
    console.log(`To run it first from now on, add this line to ${SEEDS_FILE}: ${line}`)
  }
  append({ suite, seed, runs, seconds, violations, ...(pairs && { pairs }) })
}

/** Reports that a suite did not run, and what this machine lacks for it. */
export function reportSkip(suite: string, reason: string): void {
  console.log(`${suite}: skipped, ${reason}`)
  append({ suite, skipped: reason })
}

function append(line: unknown): void {
  const file = process.env['ROWSTASH_REPORT']
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`)
}
