import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { fileError } from '../../../adapters/fs/fs-error.js'
import { Folders, SharedSync } from '../../../adapters/fs/fs-folders.js'
import { openFsObjects } from '../../../adapters/fs/fs-objects.js'
import { utf8 } from '../../../src/base/bytes.js'
import { until } from '../../support/until.js'

const INCARNATION = '0123456789abcdef'

/** An ID of the incarnation above. */
function idOf(number: number): string {
  return INCARNATION + number.toString(16).padStart(16, '0')
}

async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'rowstash-objects-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

async function openObjects() {
  const directory = await newDirectory()
  const objects = await openFsObjects(directory)
  onTestFinished(() => objects.close())
  return { directory, objects }
}

/** All files and folders below a directory. */
async function tree(directory: string): Promise<string[]> {
  return (await readdir(directory, { recursive: true })).sort()
}

async function openFileCount(): Promise<number> {
  return (await readdir('/proc/self/fd')).length
}

test('an object is one file under its id, in two folders of digits', async () => {
  const { directory, objects } = await openObjects()

  await objects.put(idOf(0x1abc), utf8('content'))

  const folder = join(INCARNATION, '0000000000001')
  const path = join(folder, `${INCARNATION}0000000000001abc`)
  expect(await readFile(join(directory, path), 'utf8')).toBe('content')
  expect(await tree(directory)).toEqual([INCARNATION, folder, path])
})

test('4,096 consecutive ids share a folder', async () => {
  const { directory, objects } = await openObjects()

  for (const number of [0, 1, 0xfff, 0x1000]) await objects.put(idOf(number), utf8(''))

  expect((await readdir(join(directory, INCARNATION))).length).toBe(2)
})

test('a failed put removes its temporary file', async () => {
  const { directory, objects } = await openObjects()
  let during: string[] = []
  async function* failing() {
    yield new Uint8Array(10)
    during = await tree(directory)
    throw new RangeError('of the source')
  }

  await expect(objects.put(idOf(1), failing())).rejects.toThrow(RangeError)

  expect(during.filter((name) => name.endsWith('.tmp')).length).toBe(1)
  expect((await tree(directory)).filter((name) => name.includes(idOf(1)))).toEqual([])
})

test('a put whose id is taken keeps the first object', async () => {
  const { directory, objects } = await openObjects()
  await objects.put(idOf(1), utf8('first'))

  await expect(objects.put(idOf(1), utf8('second'))).rejects.toThrow('an object id is put once')

  expect(new TextDecoder().decode((await objects.get(idOf(1))) ?? undefined)).toBe('first')
  expect((await tree(directory)).length).toBe(3)
})

test('a put that waits for bytes fails at close and leaves nothing', async () => {
  const { directory, objects } = await openObjects()
  let release = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  let isWaiting = false
  async function* slow() {
    yield new Uint8Array(10)
    isWaiting = true
    await gate
    yield new Uint8Array(10)
  }
  const putting = objects.put(idOf(1), slow())
  await until(() => isWaiting)
  await objects.close()
  release()

  await expect(putting).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  expect((await tree(directory)).filter((name) => name.includes(idOf(1)))).toEqual([])
})

test('deleting the last object of a folder removes the folder', async () => {
  const { directory, objects } = await openObjects()
  await objects.put(idOf(1), utf8(''))
  await objects.put(idOf(0x1000), utf8(''))

  await objects.delete([idOf(1)])
  expect(await readdir(join(directory, INCARNATION))).toEqual(['0000000000001'])
  await objects.delete([idOf(0x1000)])

  expect(await tree(directory)).toEqual([])
})

test('puts and deletes at once in one folder lose nothing', async () => {
  const { directory, objects } = await openObjects()
  const work = async (first: number): Promise<void> => {
    for (let round = 0; round < 50; round++) {
      const id = idOf(first * 100 + round)
      await objects.put(id, utf8(id))
      expect(await objects.get(id)).toEqual(utf8(id))
      await objects.delete([id])
      expect(await objects.get(id)).toBeNull()
    }
  }

  await Promise.all([0, 1, 2, 3].map(work))

  expect(await objects.list('')).toEqual([])
  expect((await tree(directory)).length).toBeLessThanOrEqual(2)
})

test('a listing shows neither temporary nor foreign files', async () => {
  const { directory, objects } = await openObjects()
  await objects.put(idOf(1), utf8(''))
  const folder = join(directory, INCARNATION, '0000000000000')
  await writeFile(join(folder, `${idOf(2)}.tmp`), '')
  await writeFile(join(folder, 'note.txt'), '')
  await writeFile(join(folder, `${'f'.repeat(32)}`), '')
  await writeFile(join(directory, 'README'), '')
  await mkdir(join(directory, 'lost+found'))

  expect(await objects.list('')).toEqual([idOf(1)])
})

test('opening removes what dead puts left, and nothing else', async () => {
  const directory = await newDirectory()
  const used = join(directory, INCARNATION, '0000000000000')
  const emptied = join(directory, 'fedcba9876543210', '0000000000000')
  await mkdir(used, { recursive: true })
  await mkdir(emptied, { recursive: true })
  await writeFile(join(used, idOf(1)), 'content')
  await writeFile(join(used, `${idOf(2)}.tmp`), 'half')
  await writeFile(join(used, 'mine.tmp'), 'foreign')
  await writeFile(join(emptied, 'fedcba98765432100000000000000001.tmp'), 'half')

  const objects = await openFsObjects(directory)
  onTestFinished(() => objects.close())

  expect((await readdir(used)).sort()).toEqual([idOf(1), 'mine.tmp'].sort())
  expect(await readdir(directory)).toEqual([INCARNATION])
})

async function openShared(directory: string) {
  const objects = await openFsObjects(directory, { shared: true })
  onTestFinished(() => objects.close())
  return objects
}

test('opening a shared directory leaves the puts of other processes alone', async () => {
  const directory = await newDirectory()
  const objects = await openShared(directory)
  async function* pieces() {
    yield new Uint8Array(10)
    await openShared(directory)
    yield new Uint8Array(10)
  }

  expect(await objects.put(idOf(1), pieces())).toBe(20)
  expect(await objects.list('')).toEqual([idOf(1)])
})

test('opening a shared directory removes temporary files that nothing was written to for an hour', async () => {
  const directory = await newDirectory()
  const folder = join(directory, INCARNATION, '0000000000000')
  await mkdir(folder, { recursive: true })
  const now = Date.now() / 1_000
  for (const [number, seconds] of [[1, 3_700] as const, [2, 3_500] as const]) {
    const path = join(folder, `${idOf(number)}.tmp`)
    await writeFile(path, 'half')
    await utimes(path, now, now - seconds)
  }

  await openShared(directory)

  expect(await readdir(folder)).toEqual([`${idOf(2)}.tmp`])
})

test('a folder that another process has removed is made again', async () => {
  const directory = await newDirectory()
  const [first, second] = [await openShared(directory), await openShared(directory)]
  async function* pieces() {
    yield utf8('in pieces')
  }
  for (const [number, content] of [[1, utf8('whole')] as const, [2, pieces()] as const]) {
    await first.put(idOf(0), utf8('before'))
    await second.delete([idOf(0)])
    expect(await tree(directory)).toEqual([])

    await first.put(idOf(number), content)

    expect(await second.list('')).toEqual([idOf(number)])
    await second.delete([idOf(number)])
  }
})

test('puts and deletes at once by two processes lose nothing', async () => {
  const directory = await newDirectory()
  const both = [await openShared(directory), await openShared(directory)]
  const work = async (own: number): Promise<void> => {
    const [mine, others] = own === 0 ? both : both.toReversed()
    for (let round = 0; round < 100; round++) {
      const id = idOf(own * 1_000 + round)
      await mine?.put(id, utf8(id))
      expect(await others?.get(id)).toEqual(utf8(id))
      await others?.delete([id])
    }
  }

  await Promise.all([work(0), work(1)])

  expect(await both[0]?.list('')).toEqual([])
})

test('a directory that is missing or a file is refused', async () => {
  const directory = await newDirectory()
  await writeFile(join(directory, 'file'), '')

  for (const name of ['none', 'file']) {
    const refused = { name: 'StoreError', code: 'STORAGE_UNAVAILABLE' }
    await expect(openFsObjects(join(directory, name))).rejects.toMatchObject(refused)
  }
})

test('an object that cannot be written fails the put, which changed nothing', async () => {
  const { directory, objects } = await openObjects()
  await writeFile(join(directory, INCARNATION), 'a file where a folder belongs')

  const failed = { code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' }
  await expect(objects.put(idOf(1), utf8(''))).rejects.toMatchObject(failed)
})

test('a full disk is told apart', () => {
  for (const code of ['ENOSPC', 'EDQUOT']) {
    // A test runner may give modules another `Error`: the system's errors come from another realm.
    const failure = Object.assign(runInNewContext("new Error('full')"), { code })
    expect(fileError(failure, 'x', 'unchanged')).toMatchObject({
      code: 'INSUFFICIENT_STORAGE',
      outcome: 'unchanged',
      cause: failure,
      message: 'x: full',
    })
  }
})

/** Only Linux tells a process which files it has open. */
const testOnLinux = test.skipIf(process.platform !== 'linux')

testOnLinux('no file stays open, whether streams are read, stopped or never started', async () => {
  const { objects } = await openObjects()
  await objects.put(idOf(1), new Uint8Array(300_000))
  const before = await openFileCount()

  for (let round = 0; round < 20; round++) {
    await objects.stream(idOf(1))
    for await (const _piece of (await objects.stream(idOf(1))) ?? []) break
    for await (const piece of (await objects.stream(idOf(1))) ?? []) expect(piece).toBeDefined()
    await objects.get(idOf(1), { start: 1, limit: 2 })
    await objects.get(idOf(2))
  }

  expect(await openFileCount()).toBeLessThanOrEqual(before + 1)
})

test('an object that is longer than a range is read no further', async () => {
  const { directory, objects } = await openObjects()
  await objects.put(idOf(1), utf8('content'))
  await writeFile(join(directory, INCARNATION, '0000000000000', idOf(1)), utf8('longer content'))

  expect(await objects.get(idOf(1), { start: 2, limit: 5 })).toEqual(utf8('nge'))
  expect((await objects.get(idOf(1), { start: 7, limit: 10 ** 12 }))?.length).toBe(7)
})

test('an fsync serves all who asked before it began, and nobody who asked later', async () => {
  const runs: (() => void)[] = []
  const shared = new SharedSync(() => new Promise((resolve) => runs.push(resolve)))
  const done: string[] = []
  const ask = (name: string) => shared.sync().then(() => done.push(name))
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  const asked = [ask('first'), ask('second'), ask('third')]
  expect(runs.length).toBe(1)
  runs[0]?.()
  await turn()
  expect(done).toEqual(['first'])
  expect(runs.length).toBe(2)
  asked.push(ask('fourth'))
  runs[1]?.()
  await turn()
  expect(done).toEqual(['first', 'second', 'third'])
  runs[2]?.()
  await Promise.all(asked)

  expect(runs.length).toBe(3)
  expect(shared.idle).toBe(true)
})

test('after a failed fsync the next one is tried again', async () => {
  let runCount = 0
  const shared = new SharedSync(async () => {
    if (++runCount === 1) throw new Error('first')
  })

  const settled = await Promise.allSettled([shared.sync(), shared.sync()])

  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
})

test('a folder that is being removed is used only afterwards, and one in use is not removed', async () => {
  const path = join(await newDirectory(), 'folder')
  const folders = new Folders(true)
  await folders.make(path)

  let removed = false
  await Promise.all([
    folders.removeIfEmpty(path).then(() => {
      removed = true
    }),
    folders.use(path, async () => {
      // No file system call ends within these microtasks. Calls that have ended are known afterwards.
      for (let turn = 0; turn < 5; turn++) await Promise.resolve()
      expect(removed).toBe(true)
      await folders.make(path)
      await folders.removeIfEmpty(path)
      expect(await readdir(path)).toEqual([])
    }),
  ])

  expect(await readdir(path)).toEqual([])
})

testOnLinux('a folder is let go when its last put ends, also a failed one', async () => {
  const { directory, objects } = await openObjects()
  const before = await openFileCount()

  const puts = Array.from({ length: 8 }, (_, number) => objects.put(idOf(number), utf8('content')))
  const again = objects.put(idOf(0), utf8('second'))
  await expect(again).rejects.toThrow('an object id is put once')
  await Promise.all(puts)

  expect(await openFileCount()).toBe(before)
  expect((await readdir(join(directory, INCARNATION, '0000000000000'))).length).toBe(8)
})
