// Goal: whatever is done in any order, concurrently or not, the store does what the contract says.
// Method: random commands run on a store and on an oracle of plain lists. Every answer must equal the oracle's, and
// some order of concurrent operations must explain their answers.
import { test } from 'vitest'
import { sizeOf, tier } from '../../support/ladder.js'
import { checkRuns } from './model-runs.js'
import { directoryMedium, memoryMedium } from './world.js'

const TIMEOUT_MS = { push: 600_000, deep: 3_600_000 }[tier]
const instances = [1, 2] as const

test('a store in memory does what the oracle does', { timeout: TIMEOUT_MS }, async () => {
  const count = sizeOf({ push: 800, deep: 20_000 })
  const newMedium = async () => memoryMedium()
  await checkRuns({ suite: ['T2', 'memory'], count, instances, newMedium })
})

test('a store in a directory does what the oracle does', { timeout: TIMEOUT_MS }, async () => {
  const count = sizeOf({ push: 30, deep: 1_000 })
  await checkRuns({ suite: ['T2', 'directory'], count, instances, newMedium: directoryMedium })
})
