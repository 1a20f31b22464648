// Goal: no command removes the history of a table because an option for it was missing, and a command that only reads a
// store leaves it unchanged.
// Method: a table with two past versions. After each command the first version is read.
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { runImport } from '../../adapters/cli/commands/import.js'
import { runMaintain } from '../../adapters/cli/commands/maintain.js'
import { runServe } from '../../adapters/cli/commands/serve.js'
import { runStats } from '../../adapters/cli/commands/stats.js'
import { openDirectory } from '../../adapters/node.js'
import { StoreError, type StoreOptions } from '../../src/index.js'
import type { UrlFetcher } from '../../src/ports.js'
import { openDirectoryPage } from '../page/opened-store.js'
import { turns } from '../support/until.js'
import { printedAt, type Run } from './orders-store.js'

const KEPT: StoreOptions = { historyRetentionMs: 86_400_000, overwrittenRowsTtlMs: 0 }

let folder: string
let directory: string
let tableId: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-history-'))
  directory = join(folder, 'store')
  await using store = await openDirectory(directory, { maintenance: false, ...KEPT })
  const team = store.team('default')
  const made = await team.createTable({ name: 'T', rows: [{ n: 1 }] })
  tableId = made.tableId
  await team.table(tableId).updateRow(made.rowIds.get(0), { n: 2 })
  for (const n of [3, 4, 5, 6]) await team.table(tableId).overwrite({ rows: [{ n }] })
})

afterEach(() => rm(folder, { recursive: true }))

/** The value in the first version, and in the version before the last overwrite. */
async function past(options: StoreOptions = {}): Promise<unknown[]> {
  await using store = await openDirectory(directory, { maintenance: false, ...options })
  const values: unknown[] = []
  for (const version of [1, 3]) {
    const { rows } = await (await store.team('default').table(tableId).at(version)).page()
    values.push(rows[0]?.['n'])
  }
  return values
}

const here = (run: Run, ...args: string[]) => printedAt(['--directory', directory], run, ...args)

describe('keeps the history of tables', () => {
  test('rowstash maintain', async () => {
    await here(runMaintain)
    expect(await past()).toEqual([1, 3])
  })

  test('rowstash stats', async () => {
    await here(runStats)
    expect(await past()).toEqual([1, 3])
  })

  test('rowstash import into another table', async () => {
    await writeFile(join(folder, 'a.csv'), 'n\n1\n')
    const run: Run = (args, io) => runImport(args, io, { write: () => true })
    await here(run, join(folder, 'a.csv'), '--table', 'Other')
    expect(await past()).toEqual([1, 3])
  })

  test.each([[[]], [['--write']]])('rowstash open %j', async (args) => {
    const opened = await openDirectoryPage(directory, ...args)
    await opened.close() // With --write, the opening collects garbage, and close waits for it.
    expect(await past()).toEqual([1, 3])
  })

  test('rowstash serve', async () => {
    const ending = new AbortController()
    const print = (line: string) => line.includes('http') && ending.abort()
    const io = { print, warn: () => undefined, env: {}, signal: ending.signal }
    await runServe(['--directory', directory, '--port', '0', '--key', 'a-key-for-the-tests'], io)
    expect(await past()).toEqual([1, 3])
  })
})

test('a store that is opened with historyRetentionMs: 0 deletes the history', async () => {
  const store = await openDirectory(directory, { maintenance: false, historyRetentionMs: 0 })
  await store.maintain()
  await store.close()
  await expect(past()).rejects.toMatchObject({ code: 'HISTORY_GONE' })
})

/** All records of the database, as text. */
async function records(): Promise<readonly string[]> {
  const found = await readdir(directory, { recursive: true })
  const current = found.find((path) => basename(path) === 'CURRENT') ?? ''
  const level = new ClassicLevel<Buffer, Buffer>(join(directory, dirname(current)), {
    keyEncoding: 'buffer',
    valueEncoding: 'buffer',
  })
  const lines: string[] = []
  for await (const [key, value] of level.iterator())
    lines.push(`${key.toString('hex')} ${value.toString('hex')}`)
  await level.close()
  return lines
}

test('rowstash open without --write changes no record, also of a job that did not end', async () => {
  // The job is retried later, so it is open when the store is closed.
  const sources: UrlFetcher = {
    fetch: () => Promise.reject(new StoreError('RATE_LIMITED', 'Too many')),
  }
  const store = await openDirectory(directory, { maintenance: false, ...KEPT, sources })
  await store.team('default').startJob({
    import: { fromUrl: 'http://source.test/a.csv', name: 'A' },
  })
  await store.close()
  const before = await records()
  expect(before.length).toBeGreaterThan(5)
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const opened = await openDirectoryPage(directory)
  await vi.advanceTimersByTimeAsync(60 * 60_000)
  await turns(50)
  await opened.close()
  expect(await records()).toEqual(before)
})
