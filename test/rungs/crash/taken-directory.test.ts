// Goal: an open store that loses its directory or its lock notices before it answers: it acknowledges no change that
// the next opener would not find.
// Method: two processes on one directory, after the lock of the first was removed; and directories that are deleted,
// moved and made read-only.
import { chmod, chown, mkdtemp, readdir, rename, rm, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDirectory } from '../../../adapters/node.js'
import type { Store } from '../../../src/index.js'
import { RemoteStore } from './remote-store-job.js'
import { type BuiltPrograms, buildPrograms } from './writer-process.js'

const QUIET = { maintenance: false } as const

/** A user without rights, as which a process of root can run. */
const NOBODY = 65_534

let programs: BuiltPrograms

beforeAll(async () => {
  programs = await buildPrograms(['remote-store'], { smallBuffers: false })
})

afterAll(() => programs.remove())

afterEach(() => void vi.useRealTimers())

/** A store with one empty table. */
async function newStore(): Promise<{ directory: string; table: string }> {
  const parent = await mkdtemp(join(tmpdir(), 'rowstash-taken-'))
  onTestFinished(() => rm(parent, { recursive: true, force: true }))
  const directory = join(parent, 'store')
  const store = await openDirectory(directory, QUIET)
  const schema = { columns: [{ id: 'text', displayName: 'text', type: 'string' as const }] }
  const { tableId } = await store.team('team').createTable({ name: 'table', schema, rows: [] })
  await store.close()
  return { directory, table: tableId }
}

async function openRemote(job: { directory: string; table: string; name: string; uid?: number }) {
  const remote = await RemoteStore.open(programs.path('remote-store'), job)
  onTestFinished(() => remote.kill())
  return remote
}

async function textsOf(store: Store, table: string): Promise<string[]> {
  const texts: string[] = []
  for await (const row of store.team('team').table(table).scan()) texts.push(String(row['text']))
  return texts
}

function acknowledged(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `${name} ${number}`)
}

const lockRemoved = {
  code: 'DATA_LOSS',
  message: expect.stringMatching(
    /(kv\/LOCK|OWNER\.\S+) was re(moved|placed) while the store was open/,
  ),
}

/** The owner record and the lock of LevelDB. */
async function locksOf(directory: string): Promise<string[]> {
  const records = (await readdir(directory)).filter((name) => name.startsWith('OWNER.'))
  expect(records).toHaveLength(1)
  return [...records, 'kv/LOCK'].map((name) => join(directory, name))
}

describe('a store whose lock somebody removed', () => {
  test('refuses to write once another process has opened it, and nothing acknowledged is lost', async () => {
    for (let round = 0; round < 4; round++) {
      const { directory, table } = await newStore()
      const first = await openRemote({ directory, table, name: 'first' })
      await first.ask('add')
      // Changes are always under way when the other one opens it.
      const refused = first.ask('addUntilRefused')
      for (const path of await locksOf(directory)) await unlink(path)
      const second = await openRemote({ directory, table, name: 'second' })
      await second.ask('add')

      const { failure, added } = await refused
      expect(failure).toMatchObject({ ...lockRemoved, outcome: 'unknown' })
      expect((await first.ask('add')).failure).toMatchObject({
        ...lockRemoved,
        outcome: 'unchanged',
      })
      expect((await first.ask('read')).failure).toMatchObject(lockRemoved)
      const last = await second.ask('add')
      expect(last).toEqual({ added: 2, failure: null })
      expect((await first.ask('close')).failure).toMatchObject(lockRemoved)
      expect((await second.ask('close')).failure).toBe(null)

      const store = await openDirectory(directory, QUIET)
      const texts = await textsOf(store, table)
      expect(texts).toEqual(expect.arrayContaining(acknowledged('first', added)))
      expect(texts).toEqual(expect.arrayContaining(acknowledged('second', 2)))
      expect(await store.verify({ full: true })).toMatchObject({ ok: true })
      await store.close()
    }
  })

  test('refuses the first change after the removal, even if nobody else has opened the store', async () => {
    for (const index of [0, 1]) {
      const { directory, table } = await newStore()
      const first = await openRemote({ directory, table, name: 'first' })
      await first.ask('add')
      await unlink((await locksOf(directory))[index] ?? '')

      expect((await first.ask('add')).failure).toMatchObject(lockRemoved)
    }
  })

  test('notices within 10 seconds that another process opened it, although it writes nothing', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { directory, table } = await newStore()
    const first = await openDirectory(directory, QUIET)
    // The locks are restored, so that only the mark shows it.
    const locks = await locksOf(directory)
    const away = (index: number) => `${directory}-away-${index}`
    for (const [index, path] of locks.entries()) await rename(path, away(index))
    const second = await openRemote({ directory, table, name: 'second' })
    await second.ask('close')
    for (const [index, path] of locks.entries()) await rename(away(index), path)
    expect(await textsOf(first, table)).toEqual([])
    const warnings: Error[] = []
    const note = (warning: Error): void => void warnings.push(warning)
    process.on('warning', note)
    onTestFinished(() => void process.off('warning', note))

    await vi.advanceTimersByTimeAsync(10_000)

    const taken = {
      code: 'DATA_LOSS',
      message: expect.stringContaining('HIGHWATER was replaced while the store was open'),
    }
    await expect(textsOf(first, table)).rejects.toMatchObject(taken)
    await expect(first.close()).rejects.toMatchObject(taken)
    const { message } = taken
    expect(warnings).toEqual([
      expect.objectContaining({ code: 'ROWSTASH_DIRECTORY_TAKEN', message }),
    ])
    await (await openDirectory(directory, QUIET)).close()
  })
})

describe('a store whose directory is taken away', () => {
  const gone = {
    code: 'STORAGE_UNAVAILABLE',
    message: expect.stringContaining('was deleted or moved while the store was open'),
  }

  test('by deleting it takes no change any more, and says so when it is closed', async () => {
    for (const durability of ['commit', 'interval', 'none'] as const) {
      const { directory, table: id } = await newStore()
      const store = await openDirectory(directory, { ...QUIET, durability })
      const table = store.team('team').table(id)
      await table.addRows([{ text: 'before' }])
      await rm(directory, { recursive: true })

      await expect(table.addRows([{ text: 'after' }])).rejects.toMatchObject(gone)
      await expect(store.close()).rejects.toMatchObject(gone)

      const anew = await openDirectory(directory, QUIET)
      expect(await anew.team('team').tables()).toEqual([])
      await anew.close()
    }
  })

  test('by deleting it says so when it is closed, also if nothing was written since', async () => {
    const { directory } = await newStore()
    const store = await openDirectory(directory, QUIET)
    await rm(directory, { recursive: true })

    await expect(store.close()).rejects.toMatchObject(gone)
  })

  test('by moving it takes no change until it is back, and never those of another store', async () => {
    const [mine, other] = [await newStore(), await newStore()]
    const store = await openDirectory(mine.directory, QUIET)
    const table = store.team('team').table(mine.table)
    await table.addRows([{ text: 'before' }])
    await rename(mine.directory, `${mine.directory}-moved`)
    await rename(other.directory, mine.directory)

    const unknown = { ...gone, outcome: 'unknown' }
    await expect(table.addRows([{ text: 'meanwhile' }])).rejects.toMatchObject(unknown)
    await expect(table.addRows([{ text: 'then' }])).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      outcome: 'unchanged',
    })
    expect(await textsOf(store, mine.table)).toContain('before')

    await rename(mine.directory, other.directory)
    await rename(`${mine.directory}-moved`, mine.directory)
    const add = () => table.addRows([{ text: 'after' }]).then(() => 'added', String)
    await expect.poll(add).toBe('added')
    const texts = await textsOf(store, mine.table)
    expect(texts.filter((text) => text !== 'meanwhile')).toEqual(['before', 'after'])
    await store.close()
    const untouched = await openDirectory(other.directory, QUIET)
    expect(await textsOf(untouched, other.table)).toEqual([])
    await untouched.close()
  })

  test('by making it read-only takes no change any more, and says so when it is closed', async () => {
    const { directory, table } = await newStore()
    const isRoot = process.getuid?.() === 0 // Nothing stops root.
    const open = async () => {
      return await openRemote({ directory, table, name: 'text', ...(isRoot && { uid: NOBODY }) })
    }
    if (isRoot) await giveAway(join(directory, '..'))
    const remote = await open()
    await remote.ask('add')
    await chmod(directory, 0o500)
    onTestFinished(() => chmod(directory, 0o700))

    const { failure, added } = await remote.ask('addUntilRefused')

    const readOnly = {
      code: 'STORAGE_UNAVAILABLE',
      message: expect.stringContaining('of the open store does not accept new files'),
    }
    expect(failure).toMatchObject(readOnly)
    expect((await remote.ask('close')).failure).toMatchObject(readOnly)
    await chmod(directory, 0o700)
    const store = await openDirectory(directory, QUIET)
    expect(await textsOf(store, table)).toEqual(expect.arrayContaining(acknowledged('text', added)))
    await store.close()
  })
})

describe('a store that another process writes to', () => {
  test('is told to be open there, whatever its files look like at that moment', async () => {
    const busy = await buildPrograms(['remote-store'], { smallBuffers: true })
    onTestFinished(() => busy.remove())
    const { directory, table } = await newStore()
    const job = { directory, table, name: 'x'.repeat(2_000) }
    const remote = await RemoteStore.open(busy.path('remote-store'), job)
    onTestFinished(() => remote.kill())
    // Its logs begin and end meanwhile, and tables come and go.
    let writes = true
    const writing = remote.ask('addForAWhile').finally(() => {
      writes = false
    })
    let attempts = 0
    for (; writes; attempts++) {
      const locked = { code: 'STORE_LOCKED', message: expect.stringContaining('Another process') }
      await expect(openDirectory(directory, QUIET)).rejects.toMatchObject(locked)
    }

    expect((await writing).failure).toBe(null)
    expect(attempts).toBeGreaterThan(3)
    await remote.ask('close')
    await (await openDirectory(directory, QUIET)).close()
  })
})

/** Gives a directory to processes of another user. */
async function giveAway(path: string): Promise<void> {
  for (const name of ['', ...(await readdir(path, { recursive: true }))]) {
    await chown(join(path, name), NOBODY, NOBODY)
  }
}
