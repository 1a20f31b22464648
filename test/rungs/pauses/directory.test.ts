// Goal: a paused process keeps its directory and everything that it acknowledged, however long the pause; so does one
// whose disk takes 5 seconds to flush.
// Method: the writer of T6 is paused at random moments, for longer than others watch the heartbeats of an owner that
// they cannot see. Meanwhile another process tries to open the directory, which must be refused. Or strace delays some
// of its flushes. Then it is killed, and the store is compared with its output.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { report, reportSkip, sizeOf, suiteSeed } from '../../support/ladder.js'
import { seeded } from '../../support/seeded.js'
import { audit } from '../crash/audit.js'
import { missingStrace } from '../crash/capabilities.js'
import { findLeaks } from '../crash/leaks.js'
import { Ledger } from '../crash/ledger.js'
import { slowFlushCommand } from '../crash/system-calls.js'
import { type BuiltPrograms, buildPrograms, startWriter } from '../crash/writer-process.js'

const STOPS = sizeOf({ push: 30, deep: 600 })
const FLUSHES = sizeOf({ push: 6, deep: 60 })
const TIMEOUT_MS = (STOPS + FLUSHES) * 30_000 + 300_000
const OPERATIONS_OF_WRITER = 1_000_000
const OPERATIONS_OF_SLOW_LANE = 10
const FLUSH_SECONDS = 5
const STOP_MS_MAX = 3_000
/** In one round of this number the pause is longer than three heartbeats. */
const LONG_EVERY = 15
const LONG_MS = 8_000

let programs: BuiltPrograms
let folder = ''

beforeAll(async () => {
  programs = await buildPrograms(['writer'], { smallBuffers: true })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-stopped-'))
})

afterAll(async () => {
  await programs.remove()
})

test('a process that stops keeps its directory', { timeout: TIMEOUT_MS }, async () => {
  const seed = suiteSeed()
  const startedAt = performance.now()
  const [random, ledger, directory] = [seeded(seed), new Ledger(), join(folder, 'stopped')]
  const wrong: string[] = []
  const start = (round: number) => {
    const firstOperation = 1 + round * OPERATIONS_OF_WRITER
    return startWriter(programs.path('writer'), { directory, seed: seed + round, firstOperation })
  }
  for (let round = 0; round < STOPS && wrong.length === 0; round++) {
    const writer = start(round)
    await writer.said(1 + random.below(80))
    writer.child.kill('SIGSTOP')
    await pause(random.once(LONG_EVERY) ? LONG_MS : random.below(STOP_MS_MAX))
    const { lines } = await start(round).ended
    const isRefused = lines[0]?.say === 'note' && lines[0].text.startsWith('STORE_LOCKED')
    if (!isRefused) wrong.push(`another process got ${JSON.stringify(lines[0])}`)
    const heard = writer.heard()
    writer.child.kill('SIGCONT')
    if (random.once(2)) {
      while (writer.heard() === heard && writer.child.exitCode === null) await pause(5)
    }
    writer.child.kill('SIGKILL')
    const ended = await writer.ended
    if (ended.signal !== 'SIGKILL') wrong.push(`it ended by itself: ${ended.stdout.slice(-500)}`)
    ledger.read(ended.lines)
    ledger.end()
    if (random.once(3)) wrong.push(...(await audit(directory, ledger)))
  }
  wrong.push(...(await audit(directory, ledger)), ...(await findLeaks(directory, ledger)))

  const seconds = (performance.now() - startedAt) / 1_000
  const suite = `T25 pauses of a directory, ${ledger.acknowledged} acknowledged`
  report({ suite, seed, runs: STOPS, seconds, violations: wrong.length })
  expect(wrong).toEqual([])
  expect(ledger.acknowledged).toBeGreaterThan(STOPS)
  await rm(directory, { recursive: true }) // A failed one is kept for inspection.
})

test('a disk that takes 5 seconds to flush delays, and loses nothing', {
  timeout: TIMEOUT_MS,
}, async (context) => {
  const missing = missingStrace()
  if (missing !== null) {
    reportSkip('T25 pauses of a disk', missing)
    return context.skip(missing)
  }
  const seed = suiteSeed()
  const startedAt = performance.now()
  const [random, ledger, directory] = [seeded(seed), new Ledger(), join(folder, 'slow')]
  const wrong: string[] = []
  for (let round = 0; round < FLUSHES && wrong.length === 0; round++) {
    const firstOperation = 1 + round * OPERATIONS_OF_WRITER
    const job = { directory, seed: seed + round, firstOperation }
    const before = slowFlushCommand(FLUSH_SECONDS, 2 + random.below(20), 20 + random.below(40))
    const operationsOfLane = OPERATIONS_OF_SLOW_LANE
    const slow = { ...job, operationsOfLane }
    const { lines, code, stdout } = await startWriter(programs.path('writer'), slow, { before })
      .ended
    if (code !== 0) wrong.push(`it ended with ${code}: ${stdout.slice(-500)}`)
    ledger.read(lines)
    if (ledger.failures > 0) wrong.push('an operation failed on a disk that is slow')
    wrong.push(...(await audit(directory, ledger)))
  }

  const seconds = (performance.now() - startedAt) / 1_000
  const suite = `T25 pauses of a disk, ${ledger.acknowledged} acknowledged`
  report({ suite, seed, runs: FLUSHES, seconds, violations: wrong.length })
  expect(wrong).toEqual([])
  expect(seconds).toBeGreaterThan(FLUSH_SECONDS)
  await rm(directory, { recursive: true })
})
