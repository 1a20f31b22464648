// Goal: a store on a full disk opens and can be read. It accepts no writes, and resumes when there is space.
// Method: a small file system in memory is filled to many levels beside a store that was closed or whose process was
// killed. Then it is opened, by one process after another and by two at once. Then there is space.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { report, reportSkip, sizeOf, suiteSeed, tier } from '../../support/ladder.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { missingSmallDisk, smallDiskCommand } from './capabilities.js'
import type { FullOpenCase, FullOpenResult } from './full-open-job.js'
import { type BuiltPrograms, buildPrograms } from './writer-process.js'

const TIMEOUT_MS = { push: 1_200_000, deep: 3_600_000 }[tier]
const DISK_MEBIBYTES = 24
const SHOWN = 10

let programs: BuiltPrograms
let folder = ''

beforeAll(async () => {
  programs = await buildPrograms(['full-open'], { smallBuffers: false })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-full-open-'))
})

afterAll(async () => {
  await programs.remove()
  await rm(folder, { recursive: true })
})

/** @param before - The command that runs the program, within the namespace of the small disk. */
async function runCases(
  name: string,
  cases: readonly FullOpenCase[],
  before: readonly string[] = [],
): Promise<FullOpenResult[]> {
  const [place, elsewhere] = [join(folder, name), join(folder, `${name}-elsewhere`)]
  await mkdir(place)
  await mkdir(elsewhere)
  const job = JSON.stringify({ folder: place, elsewhere, cases })
  const [command = '', ...args] = [
    ...smallDiskCommand(place, DISK_MEBIBYTES),
    ...before,
    process.execPath,
    programs.path('full-open'),
    job,
  ]
  const isFullElsewhere = cases.some((one) => one.isFullElsewhere)
  const env = { PATH: process.env['PATH'], TMPDIR: isFullElsewhere ? place : elsewhere }
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  const [stdout, stderr] = [child.stdout, child.stderr].map((stream) =>
    stream.setEncoding('utf8').toArray(),
  )
  await once(child, 'close')
  const lines = ((await stdout) ?? []).join('').split('\n').slice(0, -1)
  // Each warns that the store is read-only.
  const warnings = ((await stderr) ?? [])
    .join('')
    .split('\n')
    .filter((line) => !/ROWSTASH_DISK_FULL|trace-warnings|^$/.test(line))
  expect(warnings).toEqual([])
  return lines.map((line) => JSON.parse(line) as FullOpenResult)
}

/** From no byte to more than LevelDB needs. */
function anyCase(random: Seeded): FullOpenCase {
  const bytes = random.below(random.pick([1, 20_000, 300_000]))
  const logBytes = random.pick([0, 100_000, 3_000_000])
  const durability = random.pick(['commit', 'commit', 'interval'] as const)
  return { bytes, logBytes, durability, ending: random.pick(['close', 'kill'] as const) }
}

const missing = missingSmallDisk(tmpdir())

test.runIf(missing === null)(
  'a store on a full disk opens to be read, and takes writes when there is room',
  { timeout: TIMEOUT_MS },
  async () => {
    const seed = suiteSeed()
    const random = seeded(seed)
    const startedAt = performance.now()
    const count = sizeOf({ push: 8, deep: 200 })
    const cases = Array.from({ length: count }, () => anyCase(random))

    const results = await runCases('disk', cases)

    expect(results).toHaveLength(count)
    const readOnly = results.filter(({ isReadOnly }) => isReadOnly).length
    const violations = results.filter(({ wrong }) => wrong.length > 0).length
    const seconds = (performance.now() - startedAt) / 1_000
    const suite = `T9 open on a full disk, ${readOnly} only read`
    report({ suite, seed, runs: count, seconds, violations })
    expect(results.flatMap(({ wrong }) => wrong).slice(0, SHOWN)).toEqual([])
    expect(readOnly).toBeGreaterThan(count / 2)
  },
)

test.runIf(missing === null)(
  'where no other disk has room either, the error says so, and nothing is lost',
  { timeout: TIMEOUT_MS },
  async () => {
    const cases = (['close', 'kill'] as const).map((ending): FullOpenCase => {
      return { bytes: 0, ending, logBytes: 100_000, durability: 'commit', isFullElsewhere: true }
    })
    // Both possible places of a stand-in are full: the system's folder for temporary files, and the one in memory.
    const fillMemory = 'mount -t tmpfs -o size=4k tmpfs /dev/shm && exec "$0" "$@"'

    const results = await runCases('nowhere', cases, ['sh', '-c', fillMemory])

    expect(results.flatMap(({ wrong }) => wrong)).toEqual([])
    expect(results).toHaveLength(2)
  },
)

test.skipIf(missing === null)('a full disk is not simulated here', () => {
  reportSkip('T9 open on a full disk', missing ?? '')
})
