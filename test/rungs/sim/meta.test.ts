// Goal: options that are about memory, sizes and times change neither an answer nor what is stored.
// Method: the same seeded operations run on stores with different options, some opened again after every
// operation, some collected; transcripts and dumps must be equal to the letter.
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
