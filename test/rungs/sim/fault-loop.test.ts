// Goal: whichever step of an operation fails, the operation had its whole effect or none, reports it with a StoreError,
// leaves nothing hanging, and the store remains usable.
// Method: the first step of each operation on the ports is made to fail, then the second, and so on until the operation
// ends: only that step; all from it on; with a full disk; or with an effect that shows later. `npm test` takes each
// twentieth step and the first way, with another first step for each operation.
import { expect, onTestFinished, test, vi } from 'vitest'
import { FaultLevel } from '../../conformance/faults/fault-level.js'
import { DiskFault } from '../../conformance/faults/fault-plan.js'
import { report, tier } from '../../support/ladder.js'
import { runsAll } from '../../support/what-runs.js'
import { failEachStep, VARIANTS } from './fault-loop.js'
import { SCENARIOS } from './fault-scenarios.js'
import { expectNoViolation, runSeeds } from './run-seeds.js'

/** The five ways of the deep tier take more than ten minutes on a busy machine. */
const TIMEOUT_MS = tier === 'deep' ? 2_400_000 : 600_000

test('an operation that fails at any step is whole or not there', {
  timeout: TIMEOUT_MS,
}, async () => {
  const variants = tier === 'deep' ? VARIANTS : VARIANTS.slice(0, runsAll ? 2 : 1)
  const every = runsAll ? 1 : 20
  const cases = SCENARIOS.flatMap((scenario) => variants.map((variant) => ({ scenario, variant })))
  let runs = 0
  const done = await runSeeds(0, cases.length, async (index) => {
    const { scenario, variant } = cases[index] ?? {}
    if (scenario !== undefined && variant !== undefined)
      runs += await failEachStep(scenario, variant, { first: index % every, every })
  })
  report({ suite: 'T5 fault loop', ...done, runs, seed: 0 })

  expectNoViolation(done)
  expect(SCENARIOS.length).toBeGreaterThanOrEqual(40)
})

test('a database that acknowledges a write that failed is found out', async () => {
  const { batch } = FaultLevel.prototype
  vi.spyOn(FaultLevel.prototype, 'batch').mockImplementation(async function (
    this: FaultLevel,
    operations,
    options,
  ) {
    await batch.call(this, operations as never, options).catch((failure: unknown) => {
      if (!(failure instanceof DiskFault)) throw failure
    })
  })
  onTestFinished(() => void vi.restoreAllMocks())

  const [once] = VARIANTS
  const { failure } = await runSeeds(0, SCENARIOS.length, async (index) => {
    const scenario = SCENARIOS[index]
    if (scenario !== undefined && once !== undefined)
      await failEachStep(scenario, once, { first: 0, every: 1 })
  })

  expect(failure).toMatch(/^seed \d+: /)
})
