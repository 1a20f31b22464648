// Goal: whatever happens to the process, the machine and the disk, what was acknowledged is there, what was
// not is there as a whole or not at all, and nothing damaged is served as good.
// Method: seeded histories on a disk in memory that crashes, fails, fills up and decays; an oracle that
// knows which states are possible; and, at the end, a look at what is stored that nothing needs.
import { expect, onTestFinished, test, vi } from 'vitest'
import { FaultLevel } from '../../conformance/faults/fault-level.js'
import { ObjectFiles } from '../../conformance/faults/fault-objects.js'
import { recordedSeeds, report, sizeOf, suiteSeed } from '../../support/ladder.js'
import { expectNoViolation, runSeeds } from './run-seeds.js'
import { runSchedule } from './schedule.js'

test('no history loses, mixes or makes up anything', { timeout: 3_600_000 }, async () => {
  const runs = sizeOf({ push: 2_400, deep: 60_000 })
  const seed = suiteSeed()
  const done = await runSeeds(seed, runs, runSchedule, recordedSeeds('T4'))
  report({ suite: 'T4 crash simulator', ...done, seed })

  expectNoViolation(done)
})

/** What these histories must find, else they find nothing. */
const LIES: Readonly<Record<string, () => void>> = {
  'syncs no commit': () => {
    const { batch } = FaultLevel.prototype
    vi.spyOn(FaultLevel.prototype, 'batch').mockImplementation(function (
      this: FaultLevel,
      operations,
    ) {
      return batch.call(this, operations as never, { sync: false })
    })
  },
  'syncs no folder of objects': () => {
    vi.spyOn(ObjectFiles.prototype, 'syncFolder').mockReturnValue()
  },
}

test.each(Object.entries(LIES))('a disk that %s is found out', async (_, lie) => {
  onTestFinished(() => void vi.restoreAllMocks())
  lie()

  const { failure } = await runSeeds(suiteSeed(), 2_000, runSchedule)

  expect(failure).toMatch(/^seed \d+: /)
})
