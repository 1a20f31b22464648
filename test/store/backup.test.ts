// The bytes of a backup, what it refuses, and what protects objects for it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runBackup, runRestore } from '../../adapters/cli/commands/backup.js'
import { backupToFile, openDirectory, restoreDirectory } from '../../adapters/node.js'
import { utf8 } from '../../src/base/bytes.js'
import { type BackupFrame, BackupWriter, readBackup } from '../../src/format/backup.js'
import type { Store } from '../../src/index.js'
import { memoryObjects, openLevelKv, openStore, restoreBackup } from '../../src/index.js'
import type {
  FetchedSource,
  KvStore,
  ObjectStore,
  RestorePorts,
  UrlFetcher,
} from '../../src/ports.js'
import { type TestClock, testClock } from '../conformance/test-clock.js'
import {
  dumpTeam,
  fillRichly,
  RICH_SIZES,
  RICH_TEAMS,
  readFileText,
} from '../support/rich-store.js'

const OBJECT = '00112233445566770000000000000001'

const FRAMES: readonly BackupFrame[] = [
  {
    kind: 'start',
    start: { createdAt: 1_760_000_000_000, versionBase: 2 ** 40 + 5, filesByReference: true },
  },
  { kind: 'records', partition: 'acme', records: [[utf8('key'), utf8('value')]] },
  { kind: 'object', object: OBJECT, bytes: 7 },
  { kind: 'bytes', bytes: utf8('segment') },
  {
    kind: 'reference',
    content: { object: OBJECT, bytes: 3, sha256: new Uint8Array(32).fill(9), sealed: true },
  },
  { kind: 'end', end: { records: 1, objects: 1, objectBytes: 7 } },
]

function fixedBackup(): Uint8Array {
  const writer = new BackupWriter(utf8('backup-id-16byte'))
  return Uint8Array.from(Buffer.concat(FRAMES.map((frame) => writer.frame(frame))))
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function framesOf(bytes: Uint8Array, size = 1_000): Promise<BackupFrame[]> {
  const frames: BackupFrame[] = []
  for await (const frame of readBackup(inPieces(bytes, size))) frames.push(frame)
  return frames
}

describe('the bytes of a backup', () => {
  test('are those that were reviewed once', () => {
    const golden = fileURLToPath(new URL('../format/golden/backup.hex', import.meta.url))
    const hex = Buffer.from(fixedBackup()).toString('hex')
    if (!existsSync(golden) && process.env['ROWSTASH_WRITE_GOLDEN'] === '1') {
      writeFileSync(golden, `${hex}\n`)
    }

    expect(hex).toBe(readFileSync(golden, 'utf8').trim())
  })

  test.each([1, 7, 100_000])('are read in pieces of any size, such as %i', async (size) => {
    const found = await framesOf(fixedBackup(), size)

    const plain = (frames: readonly BackupFrame[]): unknown =>
      JSON.parse(JSON.stringify(frames, (_, v) => (v instanceof Uint8Array ? [...v] : v)))
    expect(plain(found)).toEqual(plain(FRAMES))
  })

  test('are refused when a bit is flipped, whichever it is', async () => {
    const bytes = fixedBackup()
    const accepted: number[] = []
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const flipped = Uint8Array.from(bytes)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      await framesOf(flipped).then(
        () => accepted.push(bit),
        (failure) => expect(['DATA_CORRUPT', 'FORMAT_UNKNOWN']).toContain(failure.code),
      )
    }

    expect(accepted).toEqual([])
  })

  test('are refused when they end early, or go on', async () => {
    const bytes = fixedBackup()
    for (let length = 0; length < bytes.length; length++) {
      await expect(framesOf(bytes.subarray(0, length))).rejects.toMatchObject({
        code: 'DATA_CORRUPT',
      })
    }
    await expect(framesOf(Uint8Array.of(...bytes, 0))).rejects.toMatchObject({
      code: 'DATA_CORRUPT',
    })
  })

  test('are refused when a frame is left out, repeated, or moved', async () => {
    const writer = new BackupWriter(utf8('backup-id-16byte'))
    const pieces = FRAMES.map((frame) => writer.frame(frame))
    const orders = [
      [0, 2, 3, 4, 5],
      [0, 1, 1, 2, 3, 4, 5],
      [0, 1, 3, 2, 4, 5],
    ]
    for (const order of orders) {
      const bytes = Buffer.concat(order.map((i) => pieces[i] ?? Buffer.alloc(0)))
      await expect(framesOf(bytes)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
    }
  })

  test('of another version are not taken for damaged ones', async () => {
    const bytes = fixedBackup()
    bytes[4] = 2
    await expect(framesOf(bytes)).rejects.toMatchObject({ code: 'FORMAT_UNKNOWN' })
    await expect(framesOf(utf8('something else that is long enough'))).rejects.toMatchObject({
      code: 'FORMAT_UNKNOWN',
    })
  })
})

type Opened = Readonly<{ store: Store; kv: KvStore; objects: ObjectStore; clock: TestClock }>

function memoryLevel(): MemoryLevel<Uint8Array, Uint8Array> {
  return new MemoryLevel({ keyEncoding: 'view', valueEncoding: 'view' })
}

async function openRich(): Promise<Opened> {
  const database = memoryLevel()
  const [kv, objects, clock] = [await openLevelKv(database), memoryObjects(), testClock()]
  const store = await openStore({ ...RICH_SIZES, clock, kv, objects })
  onTestFinished(() => store.close())
  await fillRichly(store, clock)
  return { store, kv, objects, clock }
}

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

async function restored(bytes: Uint8Array, clock: TestClock, files?: ObjectStore): Promise<Store> {
  let ports: RestorePorts | undefined
  await restoreBackup(inPieces(bytes, 5_000), {
    async open(versionBaseMin) {
      const kv = await openLevelKv(memoryLevel(), { versionBaseMin })
      ports = { kv, objects: memoryObjects() }
      return ports
    },
    ...(files && { files }),
  })
  if (ports === undefined) throw new Error('Nothing was opened')
  const store = await openStore({ ...RICH_SIZES, clock, ...ports })
  onTestFinished(() => store.close())
  return store
}

/** The content of a store, without versions, which a restore raises. */
async function contentOf(store: Store): Promise<unknown> {
  const teams = RICH_TEAMS.map((team) => dumpTeam(store.team(team)))
  const dumps = await Promise.all(teams)
  return dumps.map((tables) => tables.map(({ version: _, ...table }) => table))
}

test('a restored store has every table, row, ID and file, and no finding', async () => {
  const { store, clock } = await openRich()
  const file = await store.team('acme').files.put('a file', {
    fileName: 'f.txt',
    contentType: 'text/plain',
  })

  const copy = await restored(await bytesOf(store.backup()), clock)

  expect(await contentOf(copy)).toEqual(await contentOf(store))
  expect(await copy.verify({ full: true })).toMatchObject({ ok: true, findings: [] })
  expect(await readFileText(copy.team('acme'), file.id)).toBe('a file')
})

test('versions of a restored store are far above those of the old one, for tables and for rows', async () => {
  const { store, clock } = await openRich()
  const copy = await restored(await bytesOf(store.backup()), clock)
  for (const { id } of await store.team('acme').tables()) {
    const [old, table] = [store.team('acme').table(id), copy.team('acme').table(id)]
    const version = await old.version()
    expect(await table.version()).toBe(version + 2 ** 32)
    for (const { $rowID } of (await table.page()).rows.slice(0, 5)) {
      const before = (await old.get($rowID))?.version ?? 0
      expect((await table.get($rowID))?.version).toBe(before + 2 ** 32)
      // A client that read the row in the old store, at any time, has read another version.
      const change = table.updateRow($rowID, {}, { ifMatch: version + 1_000 })
      await expect(change).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' })
    }
  }
})

test('no row of a restored store gets the ID that the old one gives to another', async () => {
  const { store, clock } = await openRich()
  const copy = await restored(await bytesOf(store.backup()), clock)
  for (const { id, name } of await store.team('acme').tables()) {
    if (name === 'naming') continue
    const rows = [{ n: 1 }, { n: 2 }]
    const old = await store.team('acme').table(id).addRows(rows)
    const added = await copy.team('acme').table(id).addRows(rows)
    const both = [...old.rowIds, ...added.rowIds]

    expect(new Set(both).size).toBe(4)
  }
  expect(await copy.verify({ full: true })).toMatchObject({ ok: true })
})

test('files by reference are fetched and held against their digests', async () => {
  const { store, objects, clock } = await openRich()
  const [whole, bytes] = [
    await bytesOf(store.backup()),
    await bytesOf(store.backup({ files: 'reference' })),
  ]

  expect(bytes.length).toBeLessThan(whole.length - 190_000)
  await expect(restored(bytes, clock)).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
  await expect(restored(bytes, clock, memoryObjects())).rejects.toMatchObject({
    code: 'FILE_NOT_FOUND',
  })
  const copy = await restored(bytes, clock, objects)
  expect(await copy.verify({ full: true })).toMatchObject({ ok: true, findings: [] })
})

test('damage is not backed up', async () => {
  const { store, objects } = await openRich()
  const listed = await objects.list('')
  const wrong: string[] = []
  for (const object of listed) {
    const bytes = await objects.get(object)
    if (bytes === null || bytes.length === 0) continue
    const flipped = Uint8Array.from(bytes)
    const at = Math.floor(bytes.length / 3)
    flipped[at] = (flipped[at] ?? 0) ^ 4
    await objects.delete([object])
    await objects.put(object, flipped)
    await bytesOf(store.backup()).then(
      () => wrong.push(object),
      (failure) => expect(failure.code).toBe('DATA_CORRUPT'),
    )
    await objects.delete([object])
    await objects.put(object, bytes)
  }

  expect(wrong).toEqual([])
})

test('no object goes while a backup runs, and all that is not needed goes when it has ended', async () => {
  const { store, objects, clock } = await openRich()
  const backup = store.backup()
  const pieces: Uint8Array[] = []
  const first = await backup.next()
  if (!first.done) pieces.push(first.value)
  const second = await backup.next()
  if (!second.done) pieces.push(second.value)
  const before = await objects.list('')
  const team = store.team('acme')
  for (const { id } of await team.tables()) await team.table(id).overwrite({ rows: [] })
  for (let i = 0; i < 3; i++) {
    clock.pass(40 * 24 * 3_600_000)
    await store.maintain()
  }

  expect(await objects.list('')).toEqual(expect.arrayContaining(before))
  for await (const piece of backup) pieces.push(piece)
  const copy = await restored(Buffer.concat(pieces), clock)
  expect(await copy.verify({ full: true })).toMatchObject({ ok: true })
  for (let i = 0; i < 2; i++) await store.maintain()
  expect((await objects.list('')).length).toBeLessThan(before.length / 2)
})

test('an abandoned backup holds nothing any longer, and a signal or a close ends one', async () => {
  const { store, objects, clock } = await openRich()
  for await (const _ of store.backup()) break
  const team = store.team('acme')
  for (const { id } of await team.tables()) await team.table(id).overwrite({ rows: [] })
  const before = (await objects.list('')).length
  for (let i = 0; i < 3; i++) {
    clock.pass(40 * 24 * 3_600_000)
    await store.maintain()
  }
  expect((await objects.list('')).length).toBeLessThan(before)

  const signal = AbortSignal.abort(new Error('enough'))
  await expect(bytesOf(store.backup({ signal }))).rejects.toMatchObject({ code: 'ABORTED' })
  const wrong = { file: 'include' } as object
  await expect(bytesOf(store.backup(wrong))).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
  const backup = store.backup()
  await backup.next()
  await store.close()
  await expect(bytesOf(backup)).rejects.toMatchObject({ code: 'STORE_CLOSED' })
})

test('a backup is restored only into an empty store, and never below its versions', async () => {
  const { store } = await openRich()
  const bytes = await bytesOf(store.backup())
  const used = memoryObjects()
  await used.put(OBJECT, Uint8Array.of(1))
  const tries: ((versionBaseMin: number) => Promise<RestorePorts>)[] = [
    async () => ({ kv: await openLevelKv(memoryLevel()), objects: memoryObjects() }),
    async (versionBaseMin) => {
      return { kv: await openLevelKv(memoryLevel(), { versionBaseMin }), objects: used }
    },
  ]

  for (const open of tries) {
    const restoring = restoreBackup(inPieces(bytes, 999), { open })
    await expect(restoring).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
  }
})

test('versions continue above those of a store that was itself restored', async () => {
  const { store, clock } = await openRich()
  const first = await restored(await bytesOf(store.backup()), clock)
  const second = await restored(await bytesOf(first.backup()), clock)
  const [{ id } = { id: '' }] = await store.team('acme').tables()
  const versions = [store, first, second].map((one) => one.team('acme').table(id).version())
  const [old = 0, ...later] = await Promise.all(versions)

  expect(later).toEqual([old + 2 ** 32, old + 2 ** 33])
})

function sourceOf(url: string, pieces: AsyncIterable<string> | string[]): FetchedSource {
  return {
    ...{ contentType: 'text/csv', fileName: 'rows.csv', url, close() {} },
    body: (async function* () {
      for await (const piece of pieces) yield utf8(piece)
    })(),
  }
}

/** A source that never ends by itself. */
const ENDLESS: UrlFetcher = {
  fetch: async (url) =>
    sourceOf(
      url,
      (async function* () {
        yield 'n\n1\n'
        await new Promise(() => undefined)
      })(),
    ),
}

/** Backs up a store with a stash of two chunks, a running import, and three jobs that wait for their turn. */
async function makeJobs(folder: string): Promise<void> {
  const options = { maintenance: false as const, sources: ENDLESS, jobsInFlightMax: 1 }
  const store = await openDirectory(join(folder, 'store'), options)
  const team = store.team('t')
  const { tableId } = await team.createTable({ name: 'was', rows: [{ n: 0 }] })
  const stash = team.stash('mine')
  await stash.put(0, [{ n: 1 }])
  await stash.put(1, [{ n: 2 }])
  await team.startJob({ import: { fromUrl: 'http://source.test/rows.csv' } })
  await team.startJob({ create: { name: 'own', rows: [{ n: 1 }] } })
  await team.startJob({ create: { name: 'staged', rows: stash } })
  await team.startJob({ overwrite: { tableId, rows: [{ n: 1 }, { n: 2 }, { n: 3 }] } })
  await backupToFile(store, join(folder, 'backup'))
  await store.close()
}

async function wholeOf(path: string): Promise<AsyncIterable<Uint8Array>> {
  return inPieces(await readFile(path), 10_000)
}

async function rowCounts(store: Store): Promise<unknown> {
  const tables = await store.team('t').tables()
  return Object.fromEntries(tables.map(({ name, rowCount }) => [name, rowCount]))
}

describe('backup files and directories', () => {
  async function newFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-backup-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    return folder
  }

  async function makeBackup(folder: string): Promise<unknown> {
    const clock = testClock()
    const store = await openDirectory(join(folder, 'store'), { ...RICH_SIZES, clock })
    await fillRichly(store, clock)
    await backupToFile(store, join(folder, 'backup'))
    const content = await contentOf(store)
    await store.close()
    return content
  }

  test('a file is restored into a new directory', async () => {
    const folder = await newFolder()
    const content = await makeBackup(folder)
    const backup = await readFile(join(folder, 'backup'))
    await restoreDirectory(join(folder, 'copy'), inPieces(backup, 10_000))

    expect((await readdir(folder)).sort()).toEqual(['backup', 'copy', 'store'])
    const copy = await openDirectory(join(folder, 'copy'), RICH_SIZES)
    onTestFinished(() => copy.close())
    expect(await contentOf(copy)).toEqual(content)
  })

  test('a damaged backup leaves nothing behind, and existing files are never replaced', async () => {
    const folder = await newFolder()
    await makeBackup(folder)
    const backup = await readFile(join(folder, 'backup'))
    backup[backup.length >> 1] = (backup[backup.length >> 1] ?? 0) ^ 1
    const target = join(folder, 'copy')

    await expect(restoreDirectory(target, inPieces(backup, 10_000))).rejects.toMatchObject({
      code: 'DATA_CORRUPT',
    })
    expect((await readdir(folder)).sort()).toEqual(['backup', 'store'])
    await expect(
      restoreDirectory(join(folder, 'store'), inPieces(backup, 10_000)),
    ).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
    const store = await openDirectory(join(folder, 'store'), RICH_SIZES)
    onTestFinished(() => store.close())
    await expect(backupToFile(store, join(folder, 'backup'))).rejects.toMatchObject({
      code: 'OPTION_NOT_ALLOWED',
    })
  })

  test('a restore does no job of the backup, and the next opening does them all', async () => {
    const folder = await newFolder()
    await makeJobs(folder)
    const copy = join(folder, 'copy')
    const { unusableStashes } = await restoreDirectory(copy, await wholeOf(join(folder, 'backup')))
    expect(unusableStashes).toEqual([{ teamId: 't', stashId: 'mine' }])

    const restored = await openDirectory(copy, { maintenance: false })
    const jobs = await restored.team('t').jobs()
    expect(jobs.map(({ status }) => status)).toEqual(['running', 'running', 'running', 'running'])
    const team = restored.team('t')
    const using = team.createTable({ name: 'x', rows: team.stash('mine') })
    await expect(using).rejects.toMatchObject({ code: 'STASH_NOT_FOUND' })
    await restored.close()

    const sources = { fetch: async (url: string) => sourceOf(url, ['n\n1\n']) }
    const again = await openDirectory(copy, { sources })
    onTestFinished(() => again.close())
    for (const { id } of jobs) {
      expect(await again.team('t').job(id).wait()).toMatchObject({ status: 'succeeded' })
    }
    expect(await rowCounts(again)).toEqual({ was: 3, own: 1, staged: 2, rows: 1 })
  })

  test('a restore of what has not changed since keeps stashes usable', async () => {
    const folder = await newFolder()
    await makeJobs(folder)
    const copy = join(folder, 'copy')
    const backup = await wholeOf(join(folder, 'backup'))
    const restored = await restoreDirectory(copy, backup, { keepStashes: true })
    expect(restored.unusableStashes).toEqual([])

    const store = await openDirectory(copy, { maintenance: false })
    onTestFinished(() => store.close())
    const stash = store.team('t').stash('mine')
    await stash.put(2, [{ n: 3 }])
    await store.team('t').createTable({ name: 'later', rows: stash })
    expect(await rowCounts(store)).toEqual({ was: 1, later: 3 })
    expect((await store.verify({ full: true })).findings).toEqual([])
  })

  test('the commands back up and restore, files by reference too', async () => {
    const folder = await newFolder()
    await makeBackup(folder)
    const printed: string[] = []
    const warned: string[] = []
    const io = {
      print: (line: string) => void printed.push(line),
      warn: (line: string) => void warned.push(line),
      env: {},
      signal: new AbortController().signal,
    }
    const [store, backup, copy] = ['store', 'small', 'copy'].map((name) => join(folder, name))
    await runBackup([store ?? '', backup ?? '', '--files', 'reference'], io)
    await runRestore([backup ?? '', copy ?? '', '--files-from', store ?? ''], io)

    expect(printed[0]).toMatch(/^\d+ bytes in /)
    expect(printed[1]).toMatch(/^restored \d+ records and \d+ objects of \d{4}-.* into /)
    expect(warned).toEqual([
      expect.stringContaining('versions are 4294967296 greater than in'),
      expect.stringMatching(/^unusable stashes, .*: \d+ \(.* of team /),
    ])
    await expect(runRestore([backup ?? '', copy ?? ''], io)).rejects.toMatchObject({
      code: 'OPTION_NOT_ALLOWED',
    })
    await expect(runBackup([store ?? ''], io)).rejects.toMatchObject({ kind: 'usage' })
    await writeFile(join(folder, 'no-backup'), 'text')
    await expect(runRestore([join(folder, 'no-backup'), join(folder, 'new')], io)).rejects.toThrow()
  })
})
