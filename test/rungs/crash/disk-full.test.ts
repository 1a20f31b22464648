// Goal: on a full or failing disk nothing acknowledged is lost and nothing is torn, and writing resumes by itself once
// there is space.
// Method: a small file system in memory is filled to many levels under a store that writes records or objects; or files
// may not grow; or strace makes system calls fail. Then there is space, writes must work within two seconds, and the
// store is compared with what was acknowledged.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { report, reportSkip, sizeOf, suiteSeed, tier } from '../../support/ladder.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { audit } from './audit.js'
import {
  missingFileLimit,
  missingSmallDisk,
  missingStrace,
  smallDiskCommand,
} from './capabilities.js'
import type {
  FullDiskCase,
  FullDiskResult,
  PlainFullDiskCase,
  PlainFullDiskResult,
} from './full-disk-job.js'
import { Ledger } from './ledger.js'
import { failingCalls } from './system-calls.js'
import { type BuiltPrograms, buildPrograms, startWriter } from './writer-process.js'

const TIMEOUT_MS = { push: 1_200_000, deep: 3_600_000 }[tier]
const DISK_MEBIBYTES = 16
const SHOWN = 10

/** Otherwise the calls of each thread would be counted separately. */
const ONE_THREAD = { UV_THREADPOOL_SIZE: '1', UV_USE_IO_URING: '0' }

let programs: BuiltPrograms
/** With logs of 4 MiB, the default. */
let plainPrograms: BuiltPrograms
let folder = ''

beforeAll(async () => {
  programs = await buildPrograms(['writer', 'full-disk'], { smallBuffers: true })
  plainPrograms = await buildPrograms(['plain-full-disk'], { smallBuffers: false })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-full-'))
})

afterAll(async () => {
  await programs.remove()
  await plainPrograms.remove()
  await rm(folder, { recursive: true })
})

async function runCases<T = FullDiskResult>(
  place: string,
  cases: readonly (FullDiskCase | PlainFullDiskCase)[],
  before: readonly string[],
  program = programs.path('full-disk'),
): Promise<T[]> {
  const job = JSON.stringify({ folder: place, cases })
  const [command = '', ...args] = [...before, process.execPath, program, job]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (piece) => {
    stdout += piece
  })
  child.stderr.on('data', (piece) => {
    stderr += piece
  })
  await once(child, 'close')
  expect(stderr).toBe('')
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T)
}

/** Levels and sizes at which plain LevelDB is tested. */
const PLAIN_CASES: readonly PlainFullDiskCase[] = [200, 4_000].flatMap((valueBytes) =>
  [1, 5_000, 20_000, 50_000, 100_000, 200_000, 400_000].map((bytes) => ({ bytes, valueBytes })),
)

/** Levels from nothing to some hundred kilobytes, with small and large changes. */
function anyCase(random: Seeded, limit: FullDiskCase['limit']): FullDiskCase {
  const levels = limit === 'disk' ? [1, 5_000, 50_000, 400_000] : [1, 1_000, 10_000, 50_000]
  const bytes = random.below(random.pick(levels))
  const small = { mix: 'small', rowBytesMax: 400 } as const
  const big = { mix: 'all', rowBytesMax: 4_000, fileBytesMax: 1_000_000 } as const
  return { limit, bytes, job: { seed: random.below(1_000_000), ...random.pick([small, big]) } }
}

function summarize(
  suite: string,
  seed: number,
  startedAt: number,
  results: FullDiskResult[],
): void {
  const seconds = (performance.now() - startedAt) / 1_000
  const slowest = Math.round(Math.max(...results.map(({ recoveryMs }) => recoveryMs)))
  const failed = results.filter(({ failures }) => failures > 0).length
  const violations = results.filter(({ wrong }) => wrong.length > 0).length
  const name = `${suite}, ${failed} failed, again after ${slowest} ms at most`
  report({ suite: name, seed, runs: results.length, seconds, violations })
  expect(results.flatMap(({ wrong }) => wrong).slice(0, SHOWN)).toEqual([])
  expect(failed).toBeGreaterThan(results.length / 2)
}

const missingDisk = missingSmallDisk(tmpdir())
const missingLimit = missingFileLimit()
const missing = missingStrace()

// The cases mostly wait for a disk.
describe('a full or broken disk', { concurrent: true }, () => {
  test.runIf(missingDisk === null)(
    'a full disk loses nothing',
    { timeout: TIMEOUT_MS },
    async () => {
      const seed = suiteSeed()
      const random = seeded(seed)
      const startedAt = performance.now()
      const place = join(folder, 'disk')
      await mkdir(place)
      const count = sizeOf({ push: 20, deep: 200 })
      const cases = Array.from({ length: count }, () => anyCase(random, 'disk'))

      const results = await runCases(place, cases, smallDiskCommand(place, DISK_MEBIBYTES))

      expect(results).toHaveLength(count)
      summarize('T9 disk full', seed, startedAt, results)
    },
  )

  test.runIf(missingDisk === null)(
    'on a full disk plain LevelDB loses what it acknowledges afterwards',
    { timeout: TIMEOUT_MS },
    async () => {
      const startedAt = performance.now()
      const place = join(folder, 'plain')
      await mkdir(place)
      const command = smallDiskCommand(place, DISK_MEBIBYTES)
      const program = plainPrograms.path('plain-full-disk')

      const results = await runCases<PlainFullDiskResult>(place, PLAIN_CASES, command, program)

      expect(results).toHaveLength(PLAIN_CASES.length)
      const lossy = results.filter(({ lost }) => lost > 0)
      const writes = lossy.reduce((sum, { lost }) => sum + lost, 0)
      const which = `${lossy.length} of ${results.length}, ${writes} in all`
      const suite = `T9 baseline: plain LevelDB, acknowledged writes lost in ${which}`
      const seconds = (performance.now() - startedAt) / 1_000
      report({ suite, seed: 0, runs: results.length, seconds, violations: 0 })
      expect(results.every(({ failed }) => failed)).toBe(true)
      expect(lossy.length).toBeGreaterThan(results.length / 2)
    },
  )

  test.skipIf(missingDisk === null)('a full disk is not simulated here', () => {
    reportSkip('T9 disk full', missingDisk ?? '')
  })

  test.runIf(missingLimit === null)(
    'files that may not grow lose nothing',
    { timeout: TIMEOUT_MS },
    async () => {
      const seed = suiteSeed()
      const random = seeded(seed)
      const startedAt = performance.now()
      const count = sizeOf({ push: 8, deep: 100 })
      const cases = Array.from({ length: count }, () => anyCase(random, 'file'))

      const results = await runCases(join(folder, 'limit'), cases, [])

      expect(results).toHaveLength(count)
      summarize('T9 file limit', seed, startedAt, results)
    },
  )

  test.skipIf(missingLimit === null)('files are not limited here', () => {
    reportSkip('T9 file limit', missingLimit ?? '')
  })

  test.runIf(missing === null)(
    'system calls that fail lose nothing',
    { timeout: TIMEOUT_MS },
    async () => {
      const seed = suiteSeed()
      const random = seeded(seed)
      const startedAt = performance.now()
      const count = sizeOf({ push: 12, deep: 100 })
      const wrong: string[] = []
      let failed = 0

      for (let run = 0; run < count; run++) {
        const directory = join(folder, `inject-${run}`)
        const failing = failingCalls(random, directory)
        const job = { directory, seed: seed + run, lanes: 2, operationsOfLane: 15 }
        const { lines } = await startWriter(programs.path('writer'), job, {
          before: failing,
          env: ONE_THREAD,
        }).ended
        const ledger = new Ledger()
        ledger.read(lines)
        ledger.end()
        if (ledger.failures > 0 || lines.some(({ say }) => say === 'note')) failed++
        const what = `${failing.join(' ').slice(0, 80)}, run ${run}: `
        wrong.push(...(await audit(directory, ledger)).map((text) => what + text))
        await rm(directory, { recursive: true })
      }

      const seconds = (performance.now() - startedAt) / 1_000
      const suite = `T9 I/O errors, ${failed} failed`
      report({ suite, seed, runs: count, seconds, violations: wrong.length })
      expect(wrong.slice(0, SHOWN)).toEqual([])
      expect(failed).toBeGreaterThan(0)
    },
  )

  test.skipIf(missing === null)('no system calls fail here', () => {
    reportSkip('T9 I/O errors', missing ?? '')
  })
})
