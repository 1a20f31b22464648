// Goal: whatever happens to the process, the machine and the disk, everything acknowledged is there, everything else is
// there completely or not at all, and damage is never served.
// Method: seeded histories on a disk in memory that crashes, fails, fills up and decays; an oracle that knows the
// possible states; and, at the end, a check for stored data that nothing needs.
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

/** Bugs that these histories must find; otherwise they find nothing. */
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
