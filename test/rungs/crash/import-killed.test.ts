// Goal: an import whose process is killed repeatedly is continued with the same stash, and every row is there once, in
// its place.
// Method: chunks are put in parallel. The process is killed at random moments, once while the stash becomes a table.
// Each next process puts the chunks that were not acknowledged. Then all rows are read.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDirectory } from '../../../adapters/open-directory.js'
import type { Store } from '../../../src/index.js'
import { fixedSizeOf, report, suiteSeed, tier } from '../../support/ladder.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { BIG_TEAM, bigText } from './big-import-job.js'
import { type BuiltPrograms, buildPrograms } from './writer-process.js'

const TIMEOUT_MS = { push: 1_200_000, deep: 7_200_000 }[tier]
const KILLS = { push: 3, deep: 10 }[tier]
const CHUNK_ROWS = 1_000
/** A kill while the table is being created comes within this time. */
const FINALIZE_MS = { push: 60, deep: 2_000 }[tier]

let programs: BuiltPrograms
let folder = ''

beforeAll(async () => {
  programs = await buildPrograms(['big-import'], { smallBuffers: false })
  folder = await mkdtemp(join(tmpdir(), 'rowstash-import-'))
})

afterAll(async () => {
  await programs.remove()
  await rm(folder, { recursive: true })
})

type Progress = { done: number; created: string | null }
type Said = Readonly<{ put?: number; finalizing?: true; created?: string; openedMs?: number }>

/** The moment of the kill: at a number of chunks, or after the last one. Infinity: no kill. */
type Kill = Readonly<{ atChunks: number; random: Seeded }>

async function runOnce(job: object, progress: Progress, { atChunks, random }: Kill): Promise<void> {
  const args = [programs.path('big-import'), JSON.stringify(job)]
  const child: ChildProcess = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(child, 'close')
  const put: number[] = []
  if (child.stdout === null) throw new Error('a piped output is there')
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.endsWith('}')) continue // cut off by the kill
    const said = JSON.parse(line) as Said
    if (said.put !== undefined) put.push(said.put)
    if (said.created !== undefined) progress.created = said.created
    const isDue = progress.done + put.length >= atChunks && !child.killed
    if (said.finalizing && atChunks !== Number.POSITIVE_INFINITY) {
      await pause(random.below(FINALIZE_MS))
      child.kill('SIGKILL')
    } else if (isDue && said.put !== undefined) child.kill('SIGKILL')
  }
  await closed
  progress.done += put.length
  await appendFile(join(folder, 'done'), put.map((serial) => `${serial}\n`).join(''))
}

/** @returns the number of rows that are missing, duplicate, changed, or misplaced */
async function countWrongRows(store: Store, tableId: string, rows: number): Promise<number> {
  let wrong = 0
  let row = 0
  for await (const { k, half, t } of store.team(BIG_TEAM).table(tableId).scan()) {
    if (k !== row || half !== row / 2 || t !== bigText(row)) wrong++
    row++
  }
  return wrong + Math.abs(rows - row)
}

test('an import that is killed again and again is whole', { timeout: TIMEOUT_MS }, async () => {
  const rows = fixedSizeOf({ push: 60_000, deep: 8_000_000 })
  const seed = suiteSeed()
  const random = seeded(seed)
  const chunks = Math.ceil(rows / CHUNK_ROWS)
  const directory = join(folder, 'store')
  const doneFile = join(folder, 'done')
  await writeFile(doneFile, '')
  const job = { directory, doneFile, chunks, chunkRows: CHUNK_ROWS }
  const moments = Array.from({ length: KILLS - 1 }, () => 1 + random.below(chunks - 1))
  moments.sort((left, right) => left - right)
  const progress: Progress = { done: 0, created: null }
  const startedAt = performance.now()
  const secondsSince = (from: number): number => (performance.now() - from) / 1_000

  for (const atChunks of [...moments, chunks, Number.POSITIVE_INFINITY]) {
    if (progress.created !== null) break // The last kill came too late.
    await runOnce(job, progress, { atChunks, random })
    const what = progress.created === null ? 'killed' : 'made the table'
    const seconds = secondsSince(startedAt).toFixed(1)
    console.log(`${what} at ${progress.done} of ${chunks} chunks acknowledged, ${seconds} s`)
  }
  const seconds = secondsSince(startedAt)
  const store = await openDirectory(directory)
  const { ok } = await store.verify()
  const tables = await store.team(BIG_TEAM).tables()
  const wrong = await countWrongRows(store, progress.created ?? '', chunks * CHUNK_ROWS)
  await store.close()

  const suite = `T6i import killed ${KILLS} times`
  report({ suite, seed, runs: chunks * CHUNK_ROWS, seconds, violations: wrong })
  expect({ ok, wrong, tables: tables.length }).toEqual({ ok: true, wrong: 0, tables: 1 })
})
