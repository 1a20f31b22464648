// Goal: options for memory, sizes and times change neither an answer nor the stored data.
// Method: the same seeded operations run on stores with different options, some reopened after every operation, some
// with garbage collected. Transcripts and dumps must be identical.
import { test } from 'vitest'
import { recordedSeeds, report, sizeOf, suiteSeed } from '../../support/ladder.js'
import { compareVariants } from './meta.js'
import { expectNoViolation, runSeeds } from './run-seeds.js'

test('the same operations give the same under all options', { timeout: 3_600_000 }, async () => {
  const seed = suiteSeed()
  const done = await runSeeds(
    seed,
    sizeOf({ push: 200, deep: 10_000 }),
    compareVariants,
    recordedSeeds('T2b'),
  )
  report({ suite: 'T2b metamorphic options', ...done, seed })

  expectNoViolation(done)
})
