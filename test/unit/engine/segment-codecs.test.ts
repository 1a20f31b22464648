// Goal: exactly the stores whose rows this runtime cannot decompress are refused when they are opened.
//
// Method: zstd is switched on and off here. On a runtime without it, another codec replaces it and writes frames with
// its number.
import { createReadStream } from 'node:fs'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MemoryLevel } from 'memory-level'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { backupToFile, openDirectory, restoreDirectory } from '../../../adapters/node.js'
import { type Codec, codecs } from '../../../src/base/codecs.js'
import { CODECS_KEY } from '../../../src/format/keys.js'
import { decodeCodecs, encodeCodecs } from '../../../src/format/records.js'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type Store,
  type StoreOptions,
} from '../../../src/index.js'
import type { KvCommit, KvPartition, KvStore, KvView, ObjectStore } from '../../../src/ports.js'

const own = codecs.zstd
const DEFLATE = 0b01
const ZSTD = 0b10

function setZstd(isThere: boolean): void {
  const standIn = own ?? codecs.deflate
  ;(codecs as { zstd: Codec | null }).zstd = isThere ? standIn : null
}

afterEach(() => {
  ;(codecs as { zstd: Codec | null }).zstd = own
})

const GOLDEN = fileURLToPath(new URL('../../format/golden/store-1-zstd', import.meta.url))

const REFUSED = {
  code: 'FORMAT_UNKNOWN',
  message: expect.stringMatching(
    /rows compressed with zstd, which Node \d+\.\d+\.\d+ does not support; open it with Node 22\.15 or later/,
  ),
}

const QUIET = {
  maintenance: false,
  inlineRowsMax: 0,
  orphanGraceMs: 0,
  overwrittenRowsTtlMs: 0,
} as const

const ROWS = Array.from({ length: 300 }, (_, n) => ({ n, text: `row ${n} `.repeat(10) }))

type Ports = Readonly<{
  kv: KvStore
  objects: ObjectStore
  /** Commits that were accepted. */
  commits: KvCommit[]
  /** Ranges of objects that were read. */
  reads: string[]
}>

/** Ports that stay open when a store on them is closed, and that record their calls. */
async function openPorts(): Promise<Ports> {
  const level = await openLevelKv(new MemoryLevel())
  const objects = memoryObjects()
  const commits: KvCommit[] = []
  const reads: string[] = []
  onTestFinished(() => level.close())
  const kv: KvStore = {
    shared: false,
    partition: (name) => {
      const partition = level.partition(name)
      const commit: typeof partition.commit = async (given) => {
        const result = await partition.commit(given)
        if (result.ok) commits.push(given)
        return result
      }
      return { ...partition, commit }
    },
    close: async () => undefined,
  }
  const get: ObjectStore['get'] = (id, range, memory) => {
    reads.push(id)
    return objects.get(id, range, memory)
  }
  const kept = Object.assign(Object.create(objects) as ObjectStore, { get, close: async () => {} })
  for (const name of ['put', 'stream', 'delete', 'list'] as const) {
    kept[name] = objects[name].bind(objects) as never
  }
  return { kv, objects: kept, commits, reads }
}

type Held = Readonly<{ kv: KvStore; hold(): void; reached: Promise<void>; release(): void }>

function isOfCodecs(key: Uint8Array): boolean {
  return key[0] === CODECS_KEY[0]
}

/** A key-value store that holds the next read or commit of the codecs record, from `hold` on. */
function holding(kv: KvStore, step: 'read' | 'commit'): Held {
  let reach = (): void => undefined
  let release = (): void => undefined
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const freed = new Promise<void>((resolve) => {
    release = resolve
  })
  let isHeld = false
  const pass = async (at: typeof step, keys: readonly Uint8Array[]): Promise<void> => {
    if (!isHeld || at !== step || !keys.some(isOfCodecs)) return
    isHeld = false
    reach()
    await freed
  }
  const viewOf = (view: KvView): KvView => ({
    async get(key) {
      const value = await view.get(key)
      await pass('read', [key])
      return value
    },
    getMany: (keys) => view.getMany(keys),
    scan: (scan) => view.scan(scan),
  })
  const partition = (name: string): KvPartition => {
    const given = kv.partition(name)
    return {
      ...given,
      read: (use) => given.read((view) => use(viewOf(view))),
      async commit(commit) {
        const { puts = [] } = commit
        await pass(
          'commit',
          puts.map(([key]) => key),
        )
        return given.commit(commit)
      },
    }
  }
  const hold = (): void => {
    isHeld = true
  }
  return { kv: { ...kv, partition }, hold, reached, release: () => release() }
}

async function noted({ kv }: Pick<Ports, 'kv'>): Promise<number | null> {
  const record = await kv.partition('').read((view) => view.get(CODECS_KEY))
  return record === null ? null : decodeCodecs(record)
}

async function forget({ kv }: Ports): Promise<void> {
  await kv.partition('').commit({ deletes: [CODECS_KEY] })
}

/** Runs an action on a store that is opened on ports. */
async function within<T>(
  ports: Pick<Ports, 'kv' | 'objects'>,
  options: StoreOptions,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore({ ...QUIET, ...options, kv: ports.kv, objects: ports.objects })
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

async function addTable(store: Store, rows: readonly object[] = ROWS): Promise<string> {
  return (await store.team('t').createTable({ name: 'x', rows })).tableId
}

async function readAll(store: Store): Promise<number> {
  let count = 0
  for (const { id } of await store.team('t').tables()) {
    for await (const row of store.team('t').table(id).scan()) count += 'n' in row ? 1 : 0
  }
  return count
}

describe('a store with rows in zstd', () => {
  test('is refused at open where there is no zstd, before anything is read, and opens where it is', async () => {
    const ports = await openPorts()
    setZstd(true)
    await within(ports, { compression: 'zstd' }, (store) => addTable(store))

    setZstd(false)
    await expect(within(ports, {}, readAll)).rejects.toMatchObject(REFUSED)

    setZstd(true)
    expect(await within(ports, {}, readAll)).toBe(300)
  })

  test('is refused even if an earlier version, which kept no record of codecs, wrote it', async () => {
    const ports = await openPorts()
    setZstd(true)
    await within(ports, { compression: 'zstd' }, (store) => addTable(store))
    await forget(ports)

    setZstd(false)
    await expect(within(ports, {}, readAll)).rejects.toMatchObject(REFUSED)
    expect(await noted(ports)).toBeNull()
  })

  test('is refused even if only one of its frames uses zstd', async () => {
    const ports = await openPorts()
    await within(ports, { compression: 'none' }, (store) => addTable(store))
    setZstd(true)
    // The first row alone is a frame, and compression does not make it smaller.
    const rows = [{ n: 1 }, { n: 2, text: 'x'.repeat(300_000) }]
    await within(ports, { compression: 'zstd' }, (store) => addTable(store, rows))
    expect(await noted(ports)).toBe(ZSTD)
    await forget(ports)

    setZstd(false)
    await expect(within(ports, {}, readAll)).rejects.toMatchObject(REFUSED)
  })

  test('opens without zstd when the last of these rows is gone', async () => {
    const ports = await openPorts()
    setZstd(true)
    const tableId = await within(ports, { compression: 'zstd' }, (store) => addTable(store))
    await within(ports, { compression: 'deflate' }, async (store) => {
      await store
        .team('t')
        .table(tableId)
        .overwrite({ rows: ROWS.slice(0, 200) })
      for (let runs = 0; runs < 3; runs++) await store.maintain()
    })
    expect(await noted(ports)).toBe(DEFLATE | ZSTD)

    setZstd(false)
    expect(await within(ports, {}, readAll)).toBe(200)
    expect(await noted(ports)).toBe(DEFLATE)
  })

  test('that was compacted is refused too', async () => {
    const ports = await openPorts()
    setZstd(false)
    const { tableId, rowIds } = await within(ports, { compression: 'none' }, (store) =>
      store.team('t').createTable({ name: 'x', rows: ROWS }),
    )
    expect(await noted(ports)).toBe(0)

    setZstd(true)
    await within(
      ports,
      { compression: 'zstd', maintenance: { compactionRecordsMin: 1 } },
      async (store) => {
        await store.team('t').table(tableId).updateRow(rowIds.get(0), { n: 1_000 })
        expect((await store.maintain()).compactions).toBe(1)
      },
    )
    expect(await noted(ports)).toBe(ZSTD)

    setZstd(false)
    await expect(within(ports, {}, readAll)).rejects.toMatchObject(REFUSED)
  })

  test('is refused even while only a stash has such rows', async () => {
    const ports = await openPorts()
    setZstd(true)
    await within(ports, { compression: 'zstd' }, (store) => store.team('t').stash('s').put(0, ROWS))
    await forget(ports)

    setZstd(false)
    await expect(within(ports, {}, readAll)).rejects.toMatchObject(REFUSED)
  })
})

describe('the codecs record', () => {
  test('names what a store has, from before its first segment on', async () => {
    for (const [compression, expected] of [
      ['none', 0],
      ['deflate', DEFLATE],
      ['zstd', ZSTD],
    ] as const) {
      const ports = await openPorts()
      setZstd(true)
      await within(ports, { compression }, async (store) => {
        expect(await noted(ports)).toBeNull()
        await addTable(store)
        await addTable(store)
      })

      expect(await noted(ports)).toBe(expected)
      expect(
        await within(ports, { compression }, (store) => store.verify({ full: true })),
      ).toMatchObject({ ok: true })
    }
  })

  test('comes in a commit of its own before the first that names a segment, and once', async () => {
    const ports = await openPorts()
    setZstd(true)
    await within(ports, { compression: 'zstd' }, async (store) => {
      const stash = store.team('t').stash('s')
      await Promise.all([0, 1, 2, 3].map((serial) => stash.put(serial, ROWS)))
    })
    const spaces = ports.commits.map(({ puts = [] }) => puts.map(([key]) => key[0]))
    const codecsAt = spaces.findIndex((keys) => keys.includes(0x24))
    const chunksAt = spaces.findIndex((keys) => keys.includes(0x09))

    expect(spaces.filter((keys) => keys.includes(0x24))).toEqual([[0x24]])
    expect(codecsAt).toBeLessThan(chunksAt)
  })

  test('is waited for by no other call while the commit of one is held up', async () => {
    const ports = await openPorts()
    const { kv, hold, reached, release } = holding(ports.kv, 'commit')
    await within({ ...ports, kv }, { compression: 'deflate' }, async (store) => {
      hold()
      const first = store.team('t').stash('first').put('0', ROWS)
      await reached
      await store.team('t').stash('second').put('0', ROWS)
      release()
      await first
    })

    expect(await noted(ports)).toBe(DEFLATE)
  })

  test('is extended, too, if another process makes it and a segment meanwhile', async () => {
    const ports = await openPorts()
    setZstd(true)
    const { kv, hold, reached, release } = holding(ports.kv, 'read')
    await within({ ...ports, kv }, { compression: 'zstd' }, async (store) => {
      hold()
      const added = addTable(store)
      await reached
      await within(ports, { compression: 'deflate' }, (other) => addTable(other))
      release()
      await added
    })

    expect(await noted(ports)).toBe(DEFLATE | ZSTD)
  })

  test('is not created while the codecs of earlier segments are unknown', async () => {
    const ports = await openPorts()
    setZstd(true)
    await within(ports, { compression: 'zstd' }, (store) => addTable(store))
    await forget(ports)
    await within(ports, { compression: 'none' }, (store) => addTable(store))
    await within(ports, { compression: 'zstd' }, (store) => addTable(store))

    expect(await noted(ports)).toBeNull()
  })

  test('is made when all frames were looked at, which happens once', async () => {
    const ports = await openPorts()
    setZstd(false)
    await within(ports, { compression: 'deflate' }, (store) => addTable(store))
    await forget(ports)
    ports.reads.length = 0
    await within(ports, {}, async () => undefined)

    expect(ports.reads.length).toBeGreaterThan(1)
    expect(await noted(ports)).toBe(DEFLATE)

    ports.reads.length = 0
    await within(ports, {}, async () => undefined)
    expect(ports.reads).toEqual([])
  })

  test('costs an empty store nothing', async () => {
    const ports = await openPorts()
    setZstd(false)
    await within(ports, {}, async () => undefined)

    expect(ports.commits).toEqual([])
  })

  test('is not made when a segment cannot be looked at, and the store opens for the rest', async () => {
    const ports = await openPorts()
    setZstd(false)
    const broken = await within(ports, { compression: 'none' }, (store) => addTable(store))
    const [object = ''] = await ports.objects.list('')
    await within(ports, { compression: 'none' }, (store) => addTable(store))
    await forget(ports)
    await ports.objects.delete([object])

    await within(ports, {}, async (store) => {
      const [first, second] = await store.team('t').tables()
      expect(first?.id).toBe(broken)
      await expect(store.team('t').table(broken).page()).rejects.toMatchObject({
        code: 'DATA_CORRUPT',
      })
      expect(
        (
          await store
            .team('t')
            .table(second?.id ?? '')
            .page()
        ).rows,
      ).toHaveLength(300)
    })
    expect(await noted(ports)).toBeNull()
  })

  test('that lacks a codec is found by a full verify', async () => {
    const ports = await openPorts()
    await within(ports, { compression: 'deflate' }, (store) => addTable(store))
    await ports.kv.partition('').commit({ puts: [[CODECS_KEY, encodeCodecs(ZSTD)]] })

    setZstd(true)
    const { ok, findings } = await within(ports, {}, (store) => store.verify({ full: true }))
    expect([ok, findings]).toMatchObject([
      false,
      [{ kind: 'record-mismatch', message: expect.stringContaining('codec') }],
    ])
  })

  test('with a codec of a later version refuses the store, if a frame has it', async () => {
    const ports = await openPorts()
    await within(ports, { compression: 'none' }, (store) => addTable(store))
    await ports.kv.partition('').commit({ puts: [[CODECS_KEY, encodeCodecs(0b100)]] })

    expect(await within(ports, {}, readAll)).toBe(300)
    expect(await noted(ports)).toBe(0)
  })
})

describe('a directory', () => {
  async function folderFor(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'rowstash-codecs-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    return folder
  }

  test('that Node 24 wrote with zstd, before there was a codecs record, is refused without zstd', async () => {
    const path = join(await folderFor(), 'store')
    await cp(GOLDEN, path, { recursive: true })

    setZstd(false)
    await expect(openDirectory(path)).rejects.toMatchObject(REFUSED)
    await expect(openDirectory(path)).rejects.toMatchObject(REFUSED) // It was closed.
  })

  test.skipIf(own === null)('that Node 24 wrote with zstd is read with zstd', async () => {
    const path = join(await folderFor(), 'store')
    await cp(GOLDEN, path, { recursive: true })
    const store = await openDirectory(path)
    onTestFinished(() => store.close())
    const [table] = await store.team('golden').tables()
    const { rows } = await store
      .team('golden')
      .table(table?.id ?? '')
      .page()

    expect(rows).toHaveLength(100)
    expect(rows[99]).toMatchObject({ n: 99, text: 'row 99 '.repeat(8) })
  })

  test('is not made of a backup with zstd where there is none, of an earlier version either', async () => {
    const folder = await folderFor()
    setZstd(true)
    const store = await openDirectory(join(folder, 'source'), { ...QUIET, compression: 'zstd' })
    await addTable(store)
    await backupToFile(store, join(folder, 'new.backup'))
    await store.close()

    setZstd(false)
    for (const backup of [join(folder, 'new.backup'), `${GOLDEN}.backup`]) {
      const restoring = restoreDirectory(join(folder, 'restored'), createReadStream(backup))
      await expect(restoring).rejects.toMatchObject(REFUSED)
    }
    expect((await readdir(folder)).sort()).toEqual(['new.backup', 'source'])
  })

  test('of a backup has the record that its source had', async () => {
    const folder = await folderFor()
    const store = await openDirectory(join(folder, 'source'), { ...QUIET, compression: 'deflate' })
    await addTable(store)
    await backupToFile(store, join(folder, 'backup'))
    await store.close()
    setZstd(false)
    await restoreDirectory(join(folder, 'restored'), createReadStream(join(folder, 'backup')))
    const restored = await openDirectory(join(folder, 'restored'), QUIET)
    onTestFinished(() => restored.close())

    expect(await readAll(restored)).toBe(300)
  })
})
