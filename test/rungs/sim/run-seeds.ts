// Runs histories by their seeds, up to the first violation.
import { HangWatch } from '../../support/hang-watch.js'
import type { RecordedSeed } from '../../support/ladder.js'
import { Mismatch } from '../model/operation.js'
import { inVirtualTime } from './virtual-time.js'

export type SeedsDone = Readonly<{
  runs: number
  seconds: number
  violations: number
  /** The message of the first violation. */
  failure: string | null
  failing: RecordedSeed | undefined
}>

type RunSeed = (seed: number, trace: string[]) => Promise<unknown>

/** A run that takes longer hangs. Most take milliseconds, cases of T5 some seconds; the machine may be busy. */
const HANG_SECONDS = 90

/**
 * Runs seeds `first`, `first + 1`, and so on. A failing one can be run alone, as ROWSTASH_SEED.
 * @param recorded - Seeds that run before them.
 */
export async function runSeeds(
  first: number,
  count: number,
  run: RunSeed,
  recorded: readonly RecordedSeed[] = [],
): Promise<SeedsDone> {
  const startedAt = performance.now()
  const watch = new HangWatch(HANG_SECONDS)
  const stray: unknown[] = []
  const onStray = (reason: unknown): void => void stray.push(reason)
  process.on('unhandledRejection', onStray)
  let failure: string | null = null
  let failing: RecordedSeed | undefined
  let runs = 0
  const before = recorded.flatMap(({ seed, runs: more }) => rangeOf(seed, more))
  const total = before.length + count
  const runAll = async (): Promise<void> => {
    while (runs < total && failure === null) {
      const seed = before[runs] ?? first + runs - before.length
      runs++
      failure = await failureOfSeed(seed, run, watch)
      // Node reports unhandled rejections between two turns of the event loop.
      if (runs % 100 === 0 || failure !== null) await new Promise((done) => setImmediate(done))
      if (stray.length > 0) failure ??= `Nobody handled ${String(stray[0])}, near seed ${seed}`
      if (failure !== null) failing = { seed, runs: 1 }
    }
  }
  try {
    await inVirtualTime(runAll)
  } finally {
    watch.end()
    process.off('unhandledRejection', onStray)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  return { runs, seconds, violations: failure === null ? 0 : 1, failure, failing }
}

function rangeOf(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i)
}

async function failureOfSeed(seed: number, run: RunSeed, watch: HangWatch): Promise<string | null> {
  const trace: string[] = []
  try {
    await watch.race(run(seed, trace), () => new Mismatch('It hangs'))
    return null
  } catch (failure) {
    const told = failure instanceof Mismatch ? failure.message : String((failure as Error).stack)
    return `seed ${seed}: ${told}\n\n${trace.join('\n')}`
  }
}

/** @throws an error that names the seed, if there was a violation */
export function expectNoViolation({ failure }: SeedsDone): void {
  if (failure !== null) throw new Error(failure)
}
