// Runs rounds up to the first that is wrong, and reports all.

import { report, sizeOf, type Tier, tier } from '../../support/ladder.js'
import { Pairs } from '../../support/pairs.js'
import type { Seeded } from '../../support/seeded.js'
import { BACKGROUND, FAULTS, type FaultName, LIBRARY_OPERATIONS } from './history-job.js'
import { Round, type RoundPlan } from './round.js'

/** Two short rounds in `npm test` and in CI; otherwise their number and length depend on the size. */
export function roundsOf(
  rounds: Readonly<Record<Tier, number>>,
  operations: Readonly<Record<Tier, number>>,
): Readonly<{ rounds: number; operations: number }> {
  const isSmall = tier === 'push' && Number(process.env['ROWSTASH_RUNS_SCALE'] ?? 1) < 1
  const { push, deep } = rounds
  const small = { rounds: sizeOf({ push: Math.min(push, 2), deep }), operations: OPERATIONS_SMALL }
  return isSmall ? small : { rounds: sizeOf(rounds), operations: operations[tier] }
}

const OPERATIONS_SMALL = 100

export type Rounds = Readonly<{ rounds: number; seed: number; faults: readonly FaultName[] }>

export type Drawn = Readonly<{ plan: RoundPlan; random: Seeded }>

export async function runRounds(
  suite: string,
  { rounds, seed, faults }: Rounds,
  draw: (round: number) => Drawn,
): Promise<readonly string[]> {
  const startedAt = performance.now()
  const beside = faults.filter((fault) => fault !== 'restore') // Nothing else runs meanwhile.
  const pairs = new Pairs(LIBRARY_OPERATIONS, [...BACKGROUND, ...beside])
  const notes = new Map<string, number>()
  let [done, transactions] = [0, 0]
  const met = new Map<string, number>()
  let wrong: readonly string[] = []
  let ran = 0
  for (; ran < rounds && wrong.length === 0; ran++) {
    const { plan, random } = draw(ran)
    const round = new Round(plan, random)
    const found = await round.run()
    wrong = found.map((what) => `round ${ran}, seed ${plan.seed}: ${what}`)
    done += round.done.size
    const across = round.transactionsAcrossTables()
    transactions += across
    for (const { name } of round.spans()) {
      if ((FAULTS as readonly string[]).includes(name)) met.set(name, (met.get(name) ?? 0) + 1)
    }
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    const soFar = [...met].map(([name, count]) => `${name} ${count}`).join(', ')
    console.log(
      `${seconds} s: round ${ran}, ${round.done.size} operations, ${across} transactions; faults so far: ${soFar}`,
    )
    pairs.addSpans(round.spans())
    for (const [text, count] of round.notes) notes.set(text, (notes.get(text) ?? 0) + count)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  const name = `${suite}, ${done} operations, ${transactions} transactions of several tables`
  const counts = pairs.counts()
  report({ suite: name, seed, runs: ran, seconds, violations: wrong.length, pairs: counts })
  console.log(JSON.stringify({ notes: [...notes] }))
  console.log(`${pairs.never().length} pairs were never under way together`)
  return wrong
}
