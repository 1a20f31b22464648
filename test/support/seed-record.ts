// Records the seeds of random tests before they run: a process that hangs or is killed prints nothing more.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFailed, TestRunner } from 'vitest'
import { ROOT } from './project.js'
import { runsAll } from './what-runs.js'

/** One file per test file, with the seeds of its last run. */
export const SEEDS_FOLDER = join(ROOT, 'node_modules/.cache/rowstash-seeds')

/** Test files whose seeds of an earlier run were removed. */
const begun = new Set<string>()

/** Records the seed of the current test, and prints it if the test fails, also at its time limit. */
export function noteSeed(seed: number): void {
  const test = TestRunner.getCurrentTest()
  if (test === undefined) return // Called while tests are collected: it is recorded when one of them runs.
  const path = join(SEEDS_FOLDER, `${test.file.name.replaceAll('/', '-')}.txt`)
  const line = `${new Date().toISOString()} ROWSTASH_SEED=${seed} ${test.name}\n`
  if (begun.has(path)) appendFileSync(path, line)
  else {
    mkdirSync(SEEDS_FOLDER, { recursive: true })
    writeFileSync(path, line)
    begun.add(path)
  }
  onTestFailed(() => console.log(`The seed of "${test.name}": ROWSTASH_SEED=${seed}`))
}

/** The seed of `npm test`, which tests a change with the same choices each time. */
const FIXED_SEED = 1

/**
 * The seed of a random test outside the ladder, recorded: ROWSTASH_SEED; otherwise a new one whenever everything runs.
 */
export function randomTestSeed(): number {
  const given = process.env['ROWSTASH_SEED']
  const chosen = runsAll ? Math.floor(Math.random() * 2 ** 31) : FIXED_SEED
  const seed = given === undefined ? chosen : Number(given)
  noteSeed(seed)
  return seed
}
