// Fills a disk under a store, checks how the store reacts, frees the space, and checks that the store resumes:
//
//     node full-disk.js '{"folder": …, "cases": […]}'
//
// The folder is on a separate small file system, or the size of files is limited.
import { execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { openDirectory } from '../../../adapters/open-directory.js'
import { audit, describe } from './audit.js'
import type { FullDiskCase, FullDiskJob, FullDiskResult } from './full-disk-job.js'
import { Lane } from './lane.js'
import { laneStoreOf } from './lane-store.js'
import { Ledger } from './ledger.js'
import type { LogLine } from './log-lines.js'
import { resolveJob, SMALL_SIZES } from './writer-job.js'

/** FORMAT.md, section 6. */
const SEGMENT_MAGIC = 'RSSG'
const TRAILER_MAGIC = 'GSSR'

const LANES = 2
const STEPS_BEFORE = 8
const STEPS_WHILE_FULL = 150
const FAILURES_OF_LANE = 4
const STEPS_AFTER = 8
/** The store reopens its database by itself: in two seconds on an idle machine. */
const RECOVERY_MS_MAX = 60_000

async function fill(folder: string, { limit, bytes }: FullDiskCase): Promise<void> {
  if (limit === 'file') return setFileLimit(String(bytes))
  const { bavail, bsize } = await statfs(folder)
  const filled = Math.max(0, bavail * bsize - bytes)
  await writeFile(join(folder, 'filler'), Buffer.alloc(filled))
}

async function free(folder: string, { limit }: FullDiskCase): Promise<void> {
  if (limit === 'file') setFileLimit('unlimited')
  else await rm(join(folder, 'filler'), { force: true })
}

/** Limits the size of files that this process writes. */
function setFileLimit(bytes: string): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`])
}

/** @returns what was wrong */
async function runCase(folder: string, fullCase: FullDiskCase): Promise<FullDiskResult> {
  const ledger = new Ledger()
  const wrong: string[] = []
  const directory = join(folder, 'store')
  const job = resolveJob({ directory, ...fullCase.job })
  const store = await openDirectory(directory, SMALL_SIZES)
  let operations = 0
  const nextOperation = (): number => ++operations
  const say = (line: LogLine): void => ledger.read([line])
  const lanes = Array.from({ length: LANES }, (_, index) => {
    return new Lane(laneStoreOf(store), {
      ...job,
      seed: job.seed * 31 + index,
      index,
      nextOperation,
      say,
    })
  })
  const all = (act: (lane: Lane) => Promise<unknown>) => Promise.all(lanes.map(act))

  await all(async (lane) => {
    await lane.start()
    await lane.run(STEPS_BEFORE)
  })
  if (ledger.failures > 0) wrong.push('something failed before the disk was full')
  await fill(folder, fullCase)
  await all(async (lane) => {
    for (let step = 0; step < STEPS_WHILE_FULL && lane.failures < FAILURES_OF_LANE; step++) {
      // An operation on rows after a failure needs rows that were not read again.
      if (lane.failures === 0) await lane.step()
      else await lane.share()
    }
  })
  const failures = ledger.failures
  await free(folder, fullCase)
  const freedAt = performance.now()
  const recovered = await all((lane) => lane.recover(RECOVERY_MS_MAX))
  const recoveryMs = performance.now() - freedAt
  if (recovered.includes(false)) wrong.push('writes did not work again when there was space')
  const before = ledger.failures
  await all((lane) => lane.run(STEPS_AFTER))
  if (ledger.failures > before) wrong.push('something failed when there was space again')
  wrong.push(...(await remains(join(directory, 'objects'))))
  await store.close()
  wrong.push(...(await audit(directory, ledger)))
  return { failures, acknowledged: ledger.acknowledged, recoveryMs, wrong }
}

/** Remains of failed puts: temporary files, and objects that are empty or shorter than a segment. */
async function remains(objects: string): Promise<string[]> {
  const entries = await readdir(objects, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const left: string[] = []
  for (const { parentPath, name } of files) {
    const bytes = await readFile(join(parentPath, name))
    const isSegment = bytes.toString('latin1', 0, 4) === SEGMENT_MAGIC
    const isCut = isSegment && bytes.toString('latin1', bytes.length - 4) !== TRAILER_MAGIC
    if (name.endsWith('.tmp') || bytes.length === 0 || isCut) left.push(`${name} was left`)
  }
  return left
}

async function main({ folder, cases }: FullDiskJob): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const fullCase of cases) {
    let result: FullDiskResult
    try {
      result = await runCase(folder, fullCase)
    } catch (failure) {
      await free(folder, fullCase)
      result = { failures: 0, acknowledged: 0, recoveryMs: 0, wrong: [describe(failure)] }
    }
    console.log(JSON.stringify(result))
    await rm(join(folder, 'store'), { recursive: true, force: true })
  }
}

process.on('SIGXFSZ', () => undefined) // Otherwise it ends the process instead of failing the write.
await main(JSON.parse(process.argv[2] ?? '{}'))
