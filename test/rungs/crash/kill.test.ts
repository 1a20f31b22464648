// Goal: a process may be killed at any moment, and nothing acknowledged is lost, nothing is half done, and nothing is
// left for good.
// Method: a writer prints what it begins and what was acknowledged. It is killed at random moments, also while it opens
// the directory, and often several times in a row. Then the store is opened and compared with the output. A directory
// lives for many rounds; at its end everything must be gone. Meanwhile three callers at once ensure one table after
// another.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { report, sizeOf, suiteSeed, tier } from '../../support/ladder.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { audit } from './audit.js'
import { findLeaks } from './leaks.js'
import { Ledger } from './ledger.js'
import type { Lie } from './lie.js'
import { type BuiltPrograms, buildPrograms, startWriter } from './writer-process.js'

const ROUNDS_OF_DIRECTORY = 50
const OPERATIONS_OF_WRITER = 1_000_000
const TIMEOUT_MS = { push: 1_200_000, deep: 3_600_000 }[tier]

let programs: BuiltPrograms
let folder = ''

beforeAll(async () => {
  programs = await buildPrograms(['writer'], { smallBuffers: true })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-kill-'))
})

afterAll(async () => {
  await programs.remove()
})

type Life = Readonly<{
  directory: string
  ledger: Ledger
  random: Seeded
  seed: number
  lie: Lie | undefined
}>

/**
 * Kills one writer at a random moment: from before it opened the directory to well after. The moment is counted in
 * lines of output, so that a busy machine kills it as late in its work as an idle one.
 */
async function killOnce(
  { directory, ledger, random, seed, lie }: Life,
  round: number,
): Promise<void> {
  const writer = startWriter(programs.path('writer'), {
    directory,
    seed: seed + round,
    firstOperation: 1 + round * OPERATIONS_OF_WRITER,
    ensures: true,
    lie,
  })
  if (random.once(3)) await pause(60 + random.below(120))
  else {
    await writer.said(1 + random.below(random.once(5) ? 300 : 80))
    await pause(random.below(5))
  }
  writer.child.kill('SIGKILL')
  const { lines, signal, stderr } = await writer.ended
  if (signal !== 'SIGKILL') ledger.violations.push(`the writer ended by itself: ${stderr}`)
  for (const line of lines) {
    if (line.say === 'note') ledger.violations.push(`the writer failed: ${line.text}`)
  }
  ledger.read(lines)
  ledger.end()
}

/** @returns what was wrong */
async function liveOnce(seed: number, rounds: number, lie?: Lie): Promise<string[]> {
  const directory = join(folder, String(seed))
  const life: Life = { directory, ledger: new Ledger(), random: seeded(seed), seed, lie }
  let kills = 0
  for (let round = 0; round < rounds; round++) {
    const burst = life.random.once(4) ? 1 + life.random.below(3) : 1
    for (let killed = 0; killed < burst; killed++) await killOnce(life, kills++)
    const wrong = await audit(directory, life.ledger)
    if (wrong.length > 0) return wrong.map((what) => `${directory}, round ${round}: ${what}`)
  }
  const leaks = await findLeaks(directory, life.ledger)
  acknowledged += life.ledger.acknowledged
  if (leaks.length === 0) await rm(directory, { recursive: true }) // A failed one is kept for inspection.
  return leaks.map((what) => `${directory}, at its end: ${what}`)
}

let acknowledged = 0

/** Two directories at a time. */
async function liveAll(seed: number, rounds: number): Promise<string[]> {
  const lives: number[] = []
  for (let left = rounds; left > 0; left -= ROUNDS_OF_DIRECTORY) {
    lives.push(Math.min(left, ROUNDS_OF_DIRECTORY))
  }
  const wrong: string[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let life = next++; life < lives.length; life = next++) {
      wrong.push(...(await liveOnce(seed + life * 1_000_003, lives[life] ?? 0)))
    }
  }
  await Promise.all([work(), work()])
  return wrong
}

test('what a killed process was told is kept, whole', { timeout: TIMEOUT_MS }, async () => {
  const rounds = sizeOf({ push: 70, deep: 1_000 })
  const seed = suiteSeed()
  const startedAt = performance.now()

  const wrong = await liveAll(seed, rounds)

  const seconds = (performance.now() - startedAt) / 1_000
  const suite = `T6 kill -9, ${acknowledged} acknowledged`
  report({ suite, seed, runs: rounds, seconds, violations: wrong.length })
  expect(wrong).toEqual([])
  expect(acknowledged).toBeGreaterThan(rounds)
})

test('a store that answers before it writes is found out', { timeout: TIMEOUT_MS }, async () => {
  const seed = suiteSeed() - 1

  const wrong = await liveOnce(seed, ROUNDS_OF_DIRECTORY, 'early')

  await rm(join(folder, String(seed)), { recursive: true, force: true })
  expect(wrong).not.toEqual([])
})
