// Goal: after a real power cut, on real file systems, the store has everything acknowledged, and nothing torn.
// Method: a writer works on a file system in a file. The kernel is told to stop all writes to it at once, including the
// journal. Then it is mounted again, which replays its journal, and the store is compared with the writer's output.
// Plain LevelDB, with unsynced blocks and one synced record, is tested the same way.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { report, reportSkip, sizeOf, suiteSeed } from '../../support/ladder.js'
import { seeded } from '../../support/seeded.js'
import { audit } from './audit.js'
import { isBaselineWhole } from './baseline.js'
import { Ledger } from './ledger.js'
import { type LogLine, parseLog } from './log-lines.js'
import { FILE_SYSTEMS, LoopDisk, missingLoopDisk } from './loop-disk.js'
import { type BuiltPrograms, buildPrograms, startWriter } from './writer-process.js'

const TIMEOUT_MS = 3_600_000
const ROUNDS = sizeOf({ push: 0, deep: 100 })
const BASELINE_ROUNDS = Math.min(ROUNDS, 25)
const ROUNDS_OF_DIRECTORY = 25
const OPERATIONS_OF_WRITER = 1_000_000

let programs: BuiltPrograms
/** With logs of 4 MiB, the default: small ones are seldom unsynced for long. */
let plainPrograms: BuiltPrograms

beforeAll(async () => {
  programs = await buildPrograms(['writer'], { smallBuffers: true })
  plainPrograms = await buildPrograms(['baseline-writer'], { smallBuffers: false })
})

afterAll(async () => {
  await programs.remove()
  await plainPrograms.remove()
})

/** The output of a program, before the cut and after it. */
type Heard = Readonly<{ before: string; after: string }>

/**
 * Lets a program write for a while, and cuts the power under it. Output after the cut does not count: a sync
 * interrupted by such a cut may report success (4 of 150 rounds on ext4), and after a real cut nobody could report it.
 */
async function cutUnder(
  disk: LoopDisk,
  program: string,
  job: object,
  runMs: number,
): Promise<Heard> {
  const writer = startWriter(program, job)
  const cut = await disk.armCut()
  await writer.said(1)
  await pause(runMs)
  const heard = writer.heard()
  await cut()
  writer.child.kill('SIGKILL')
  const { stdout } = await writer.ended
  disk.unmount()
  disk.mount()
  const end = stdout.lastIndexOf('\n', heard - 1) + 1
  return { before: stdout.slice(0, end), after: stdout.slice(end) }
}

/** The operations begun up to the first failure, which certainly came after the cut. */
function begunIn(lines: readonly LogLine[]): readonly LogLine[] {
  const failed = lines.findIndex(({ say }) => say === 'failed')
  const before = failed < 0 ? lines : lines.slice(0, failed)
  return before.filter(({ say }) => say === 'begin')
}

/** @returns what was wrong, and in how many rounds */
async function cutRounds(
  disk: LoopDisk,
  seed: number,
): Promise<{ rounds: number; acknowledged: number; wrong: string[] }> {
  const random = seeded(seed)
  let ledger = new Ledger()
  let acknowledged = 0
  for (let round = 0; round < ROUNDS; round++) {
    const life = Math.floor(round / ROUNDS_OF_DIRECTORY)
    const directory = join(disk.mountPoint, `store-${life}`)
    if (round % ROUNDS_OF_DIRECTORY === 0) {
      ledger = new Ledger()
      await rm(join(disk.mountPoint, `store-${life - 1}`), { recursive: true, force: true })
    }
    const firstOperation = 1 + round * OPERATIONS_OF_WRITER
    const job = { directory, seed: seed + round, firstOperation }
    const runMs = random.below(random.once(4) ? 1_000 : 300)
    const { before, after } = await cutUnder(disk, programs.path('writer'), job, runMs)
    const doneBefore = ledger.acknowledged
    ledger.read(parseLog(before))
    ledger.read(begunIn(parseLog(after)))
    ledger.end()
    acknowledged += ledger.acknowledged - doneBefore
    const wrong = (await audit(directory, ledger)).map((what) => `round ${round}: ${what}`)
    if (wrong.length > 0) return { rounds: round + 1, acknowledged, wrong }
  }
  return { rounds: ROUNDS, acknowledged, wrong: [] }
}

/** @returns the number of rounds in which something was lost or torn */
async function cutBaseline(disk: LoopDisk, seed: number): Promise<number> {
  const random = seeded(seed)
  let lost = 0
  for (let round = 0; round < BASELINE_ROUNDS; round++) {
    const directory = join(disk.mountPoint, `plain-${round}`)
    const job = { directory, generations: 1_000_000, blocks: 1_040 }
    const program = plainPrograms.path('baseline-writer')
    const { before } = await cutUnder(disk, program, job, 300 + random.below(1_000))
    if (!(await isBaselineWhole(directory, { ...job, output: before }))) lost++
    await rm(directory, { recursive: true, force: true })
  }
  return lost
}

describe.each(FILE_SYSTEMS)('a power cut of $name', (fileSystem) => {
  const missing = ROUNDS === 0 ? 'it is a part of the deep run' : missingLoopDisk(fileSystem)

  test.skipIf(missing !== null)(
    'loses nothing of what was acknowledged',
    { timeout: TIMEOUT_MS },
    async () => {
      const seed = suiteSeed()
      const folder = await mkdtemp(join(tmpdir(), 'rowstash-loop-'))
      const disk = LoopDisk.make(folder, fileSystem)
      disk.mount()
      try {
        const startedAt = performance.now()
        const { rounds, acknowledged, wrong } = await cutRounds(disk, seed)
        const cutAt = performance.now()
        const lost = await cutBaseline(disk, seed)

        const suite = `T8 power cut, ${fileSystem.name}, ${acknowledged} acknowledged`
        const violations = wrong.length
        report({ suite, seed, runs: rounds, seconds: (cutAt - startedAt) / 1_000, violations })
        const baseline = `T8 baseline: plain LevelDB, ${fileSystem.name}, lost in ${lost}`
        const seconds = (performance.now() - cutAt) / 1_000
        report({ suite: baseline, seed, runs: BASELINE_ROUNDS, seconds, violations: 0 })
        expect(wrong).toEqual([])
      } finally {
        disk.remove()
        await rm(folder, { recursive: true })
      }
    },
  )

  test.runIf(missing !== null)('is not made here', () => {
    reportSkip(`T8 power cut, ${fileSystem.name}`, missing ?? '')
  })
})
