// Goal: a store agrees with a different kind of database that shares no code and no idea with it.
// Method: the same seeded operations on a store and, as transactions, on SQLite, which judges rows, keeps their order
// and rolls back by itself. Answers, failures and all rows must be equal after each operation.
import { test } from 'vitest'
import { recordedSeeds, report, sizeOf, suiteSeed } from '../../support/ladder.js'
import { expectNoViolation, runSeeds } from '../sim/run-seeds.js'
import { compareWithSqlite } from './differential.js'
import { loadSqlite } from './sql-js.js'

test('a store and SQLite do the same', { timeout: 3_600_000 }, async () => {
  const seed = suiteSeed()
  const compare = compareWithSqlite(await loadSqlite())
  const done = await runSeeds(
    seed,
    sizeOf({ push: 500, deep: 10_000 }),
    compare,
    recordedSeeds('T14'),
  )
  report({ suite: 'T14 beside SQLite', ...done, seed })

  expectNoViolation(done)
})
