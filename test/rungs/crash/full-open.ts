// Opens stores on a full disk, checks how they react, frees the space, and checks that they resume:
//
//     node full-open.js '{"folder": …, "elsewhere": …, "cases": […]}'
//
// The folder is on a separate small file system. Helper processes are the same program, with an action, a directory and
// a case.
import { spawnSync } from 'node:child_process'
import { mkdir, readdir, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { openDirectory } from '../../../adapters/open-directory.js'
import { isStoreError, type Store, type Table } from '../../../src/index.js'
import { describe } from './audit.js'
import type { FullOpenCase, FullOpenJob, FullOpenResult } from './full-open-job.js'

const FIRST_ROWS = 2_000
const TEXT_BYTES = 2_000
/** Only a hang reaches this deadline. */
const RECOVERY_MS_MAX = 60_000
const PAUSE_MS = 50
const FLUSHED_MS = 1_500
const QUIET = {
  maintenance: {
    garbageCollectionIntervalMs: 0,
    compactionIntervalMs: 0,
    fileCollectionIntervalMs: 0,
  },
  freeDiskBytesMin: 0,
} as const

function open(directory: string, { durability }: FullOpenCase): Promise<Store> {
  return openDirectory(directory, { ...QUIET, durability })
}

async function tableOf(store: Store): Promise<Table> {
  const team = store.team('t')
  const [entry] = await team.tables()
  return team.table(entry?.id ?? '')
}

/** Counts rows, numbered from 0, and checks their order. */
async function countRows(store: Store): Promise<number> {
  let rows = 0
  for await (const { n } of (await tableOf(store)).scan()) if (n === rows) rows++
  return rows
}

/** Rows in a segment, and row records in the log. @returns the number of rows */
async function fillStore(store: Store, { logBytes, durability }: FullOpenCase): Promise<number> {
  const first = Array.from({ length: FIRST_ROWS }, (_, n) => ({ n, text: 'x'.repeat(200) }))
  await store.team('t').createTable({ name: 't', rows: first })
  const table = await tableOf(store)
  let rows = FIRST_ROWS
  for (let bytes = 0; bytes < logBytes; bytes += TEXT_BYTES, rows++) {
    await table.addRows([{ n: rows, text: 'y'.repeat(TEXT_BYTES) }])
  }
  if (durability === 'interval') await new Promise((done) => setTimeout(done, FLUSHED_MS))
  return rows
}

/**
 * `write`: creates a store. `read`: reads it, and dies. `open`: only opens it. Prints the number of rows, or an error
 * code.
 */
async function beside(what: string, directory: string, json: string): Promise<void> {
  const fullCase = JSON.parse(json) as FullOpenCase
  try {
    const store = await open(directory, fullCase)
    const rows = what === 'write' ? await fillStore(store, fullCase) : await countRows(store)
    process.stdout.write(String(rows))
    if (what === 'read' || (what === 'write' && fullCase.ending === 'kill')) {
      process.kill(process.pid, 'SIGKILL')
    }
    await store.close()
  } catch (failure) {
    process.stdout.write(isStoreError(failure) ? failure.code : describe(failure))
  }
}

function runBeside(what: string, directory: string, fullCase: FullOpenCase): string {
  const [, program = ''] = process.argv
  const args = [program, what, directory, JSON.stringify(fullCase)]
  return spawnSync(process.execPath, args, { encoding: 'utf8', stdio: 'pipe' }).stdout
}

async function standInsIn(elsewhere: string): Promise<number> {
  return (await readdir(elsewhere)).filter((name) => name.startsWith('rowstash-read-')).length
}

async function runCase(
  { folder, elsewhere }: FullOpenJob,
  fullCase: FullOpenCase,
): Promise<FullOpenResult> {
  const directory = join(folder, 'store')
  const filler = join(folder, 'filler')
  const wrong: string[] = []
  const expect = (what: string, found: unknown, expected: unknown): void => {
    if (found !== expected) wrong.push(`${what}: ${found} instead of ${expected}`)
  }
  const rows = Number(runBeside('write', directory, fullCase))
  const { bavail, bsize } = await statfs(folder)
  await writeFile(filler, Buffer.alloc(Math.max(0, bavail * bsize - fullCase.bytes)))

  if (fullCase.isFullElsewhere) {
    expect(
      'an open without room anywhere',
      runBeside('open', directory, fullCase),
      'INSUFFICIENT_STORAGE',
    )
    await rm(filler)
    expect('an open with room', runBeside('open', directory, fullCase), String(rows))
    return { isReadOnly: null, wrong }
  }
  expect('a process that dies', runBeside('read', directory, fullCase), String(rows))
  const store = await open(directory, fullCase)
  const isReadOnly = (await standInsIn(elsewhere)) > 0
  expect('stand-ins', await standInsIn(elsewhere), isReadOnly ? 1 : 0)
  expect('the rows', await countRows(store), rows)
  expect('a second process', runBeside('open', directory, fullCase), 'STORE_LOCKED')
  const { findings } = await store.verify({ full: true })
  expect('damage', findings.filter(({ severity }) => severity === 'damage').length, 0)
  const added = isReadOnly ? await addToFull(store, rows, expect) : 0

  await rm(filler)
  expect('writes with room', await addWithin(store, rows + added, RECOVERY_MS_MAX), true)
  expect('stand-ins with room', await standInsIn(elsewhere), 0)
  expect('the rows with room', await countRows(store), rows + added + 1)
  await store.close()
  const again = await open(directory, fullCase)
  expect('the rows at the next open', await countRows(again), rows + added + 1)
  await again.close()
  return { isReadOnly, wrong }
}

async function addToFull(
  store: Store,
  rows: number,
  expect: (what: string, found: unknown, expected: unknown) => void,
): Promise<number> {
  try {
    await (await tableOf(store)).addRows([{ n: rows, text: 'z' }])
    return 1 // Another process has freed some space.
  } catch (failure) {
    const { code, outcome } = isStoreError(failure) ? failure : { code: failure, outcome: '' }
    expect('a write', `${code}, ${outcome}`, 'INSUFFICIENT_STORAGE, unchanged')
    return 0
  }
}

async function addWithin(store: Store, n: number, milliseconds: number): Promise<boolean> {
  const end = performance.now() + milliseconds
  while (performance.now() < end) {
    try {
      await (await tableOf(store)).addRows([{ n, text: 'z' }])
      return true
    } catch (failure) {
      if (!isStoreError(failure) || failure.outcome !== 'unchanged') throw failure
    }
    await new Promise((done) => setTimeout(done, PAUSE_MS))
  }
  return false
}

async function main(job: FullOpenJob): Promise<void> {
  for (const fullCase of job.cases) {
    await mkdir(job.folder, { recursive: true })
    let result: FullOpenResult
    try {
      result = await runCase(job, fullCase)
    } catch (failure) {
      result = { isReadOnly: null, wrong: [describe(failure)] }
    }
    console.log(JSON.stringify(result))
    for (const name of await readdir(job.folder)) {
      await rm(join(job.folder, name), { recursive: true })
    }
  }
}

const [, , what = '', directory, json] = process.argv
if (directory === undefined || json === undefined) await main(JSON.parse(what) as FullOpenJob)
else await beside(what, directory, json)
