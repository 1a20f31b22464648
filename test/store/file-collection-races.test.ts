// The garbage collection of files, concurrent with everything that can move a URL. Each race is exact: something
// happens between the scans of the marking, or between the marking and the commit that deletes.
import { describe, expect, test } from 'vitest'
import { resolveStoreOptions } from '../../src/engine/arguments/resolve-options.js'
import { FileCollector } from '../../src/engine/maintenance/collect-files.js'
import { renderFileId } from '../../src/format/file-id.js'
import {
  decodeFilesHead,
  encodeFile,
  encodeFileMarker,
  encodeFilesHead,
} from '../../src/format/file-records.js'
import {
  FILE_MARKERS_RANGE,
  FILES_HEAD_KEY,
  FILES_RANGE,
  fileKey,
  fileMarkerKey,
  MANY_FILES_MARKER_KEY,
} from '../../src/format/keys.js'
import type { StoredFile, StoreOptions, Table } from '../../src/index.js'
import { segmentCacheOf } from '../support/segment-cache.js'
import {
  DAY_MS,
  openWorld,
  RETENTION_MS,
  rowIdAt,
  SPACE,
  urlOf,
  type World,
} from './retained-files.js'

const SEALED: StoreOptions = { inlineRowsMax: 0 }
const REWRITING = {
  schema: { columns: [{ id: 'f', type: { kind: 'array', items: { kind: 'string' } } }] },
} as const

/** A world with a file that is old enough for deletion, and that nothing names. */
async function oldFile(options?: StoreOptions, shared = false) {
  const world = await openWorld(options, shared)
  const file = await world.file()
  world.clock.pass(RETENTION_MS + 1)
  return { world, file }
}

async function headOf({ kv }: World): Promise<unknown> {
  const record = await kv.partition('acme').read((view) => view.get(FILES_HEAD_KEY))
  return record && decodeFilesHead(record)
}

function countOf({ kv }: World, range: typeof FILES_RANGE): Promise<number> {
  return kv.partition('acme').read(async (view) => {
    return (await view.scan({ ...range, count: 100_000 })).length
  })
}

function escaped(text: string): string {
  const codes = [...text].map((char) => char.charCodeAt(0).toString(16).padStart(4, '0'))
  return codes.map((code) => `\\u${code}`).join('')
}

/** A turn of the event loop: ports in memory take none. */
function turn(): Promise<void> {
  return new Promise((done) => setImmediate(done))
}

type Bring = (world: World, url: string, table: Table) => Promise<unknown>

const NEW_TEXT: readonly Readonly<{ name: string; options?: StoreOptions; bring: Bring }>[] = [
  ...[{}, SEALED].flatMap((options) => {
    const form = options === SEALED ? 'segment' : 'records'
    return [
      {
        name: `a create (${form})`,
        options,
        bring: ({ team }: World, url: string) =>
          team.createTable({ name: 'y', rows: [{ f: url }] }),
      },
      {
        name: `an add (${form})`,
        options,
        bring: (_: World, url: string, table: Table) => table.addRows([{ f: url }]),
      },
      {
        name: `an overwrite (${form})`,
        options,
        bring: (_: World, url: string, table: Table) => table.overwrite({ rows: [{ f: url }] }),
      },
    ]
  }),
  {
    name: 'an update',
    bring: async (_, url, table) => table.updateRow(await rowIdAt(table, 0), { f: url }),
  },
  {
    name: 'an update with escapes',
    bring: async (_, url, table) =>
      table.updateRowJson(await rowIdAt(table, 0), `{"f":"${escaped(url)}"}`),
  },
  { name: 'a chunk', bring: ({ team }, url) => team.stash('s').put('1', [{ f: url }]) },
  {
    name: 'a chunk in the place of another',
    async bring({ team }, url) {
      await team.stash('s').put('1', [{ f: 'x' }])
      await team.stash('s').put('1', [{ f: url }])
    },
  },
  {
    name: 'the link of a chunk that is named only once it is rewritten',
    async bring({ team }, url) {
      const stash = team.stash('s')
      await stash.put('1', { csv: `f\n"[""${escaped(url)}""]"\n` })
      await team.createTable({ name: 'y', ...REWRITING, rows: stash })
      await stash.delete()
    },
  },
  {
    name: 'more files at once than are marked one by one',
    bring: (_, url, table) => table.addRows(rowsNamingMany(url)),
  },
]

/** Rows that name 1,100 files of another store, and one of this. */
function rowsNamingMany(url: string): Record<string, unknown>[] {
  return Array.from({ length: 1_101 }, (_, i) => {
    const key = new Uint8Array(16).fill(7)
    new DataView(key.buffer).setUint32(0, i)
    return { f: i === 1_000 ? url : renderFileId({ alias: new Uint8Array(8), key }) }
  })
}

describe('a file that is named between the mark and the commit that would delete it', () => {
  test.each(NEW_TEXT)('stays: $name', async ({ options, bring }) => {
    const { world, file } = await oldFile(options)
    const table = await world.create([{ n: 1 }])
    const other = await world.file('other') // too young to be examined
    world.hooks.beforeDeleteFrom(SPACE.file, () => bring(world, urlOf(file), table).then(() => {}))

    const report = await world.store.maintain()

    expect([report.files, world.hooks.ran]).toEqual([0, 1])
    expect(await world.isThere(file)).toBe(true)
    await world.maintain()
    expect(await world.isThere(file)).toBe(true)
    expect(await world.isThere(other)).toBe(true)
  })

  test('stays although it was named before, and so has a marker already', async () => {
    const { world, file } = await oldFile()
    const table = await world.create([{ f: urlOf(file) }])
    const id = await rowIdAt(table, 0)
    await table.updateRow(id, { f: 'x' })
    world.hooks.beforeDeleteFrom(SPACE.file, () =>
      table.updateRow(id, { f: urlOf(file) }).then(() => {}),
    )

    expect(await world.store.maintain()).toMatchObject({ files: 0 })

    expect([await world.isThere(file), world.hooks.ran]).toEqual([true, 1])
  })

  test.each(['scan', 'get'] as const)(
    'stays although it was named before the mark had come to its end (%s)',
    async (step) => {
      const { world, file } = await oldFile(SEALED)
      const other = await world.file('other')
      world.clock.pass(RETENTION_MS + 1)
      const table = await world.create([{ f: urlOf(other) }]) // It has a footer to read after the view.
      const name = () =>
        table.updateRow(rowId, { f: `${urlOf(other)} ${urlOf(file)}` }).then(() => {})
      const rowId = await world.open().then(({ team }) => rowIdAt(team.table(table.id), 0))
      if (step === 'get') world.hooks.beforeGet(name)
      else world.hooks.beforeScanOf(SPACE.chunk, name) // the first scan of the view

      expect(await world.store.maintain()).toMatchObject({ files: 0 })

      expect([await world.isThere(file), world.hooks.ran]).toEqual([true, 1])
    },
  )

  test('stays although another store on the same ports names it', async () => {
    const { world, file } = await oldFile({}, true)
    const { tableId } = await world.team.createTable({ name: 'x', rows: [{ f: 'x' }] })
    const second = await world.open()
    world.hooks.beforeDeleteFrom(SPACE.file, async () => {
      const table = second.team.table(tableId)
      await table.updateRow(await rowIdAt(table, 0), { f: urlOf(file) })
    })

    expect(await world.store.maintain()).toMatchObject({ files: 0 })

    expect([await world.isThere(file), world.hooks.ran]).toEqual([true, 1])
  })

  test('takes no other file with it: those of the same commit go', async () => {
    const { world, file } = await oldFile()
    const others = [await world.file('b'), await world.file('c')]
    world.clock.pass(RETENTION_MS + 1)
    const table = await world.create([{ n: 1 }])
    world.hooks.beforeDeleteFrom(SPACE.file, () =>
      table.addRows([{ f: urlOf(file) }]).then(() => {}),
    )

    expect(await world.store.maintain()).toMatchObject({ files: 2 })

    const there = await Promise.all([file, ...others].map(world.isThere))
    expect(there).toEqual([true, false, false])
    expect(await headOf(world)).toEqual({ files: 1, bytes: file.bytes })
  })

  test('goes if only its URL was on the way, and came after the commit', async () => {
    const { world, file } = await oldFile()
    expect(await world.store.maintain()).toMatchObject({ files: 1 })
    const table = await world.create([{ f: urlOf(file) }])

    await world.maintain()

    expect(await world.isThere(file)).toBe(false)
    expect((await table.page()).rows).toHaveLength(1)
  })
})

describe('a URL that moves while the mark looks for it is seen', () => {
  /** A file named only by the rows of one place. */
  async function named(
    place: (world: World, url: string) => Promise<Table>,
    options: StoreOptions = {},
  ): Promise<{ world: World; file: StoredFile; table: Table }> {
    const { world, file } = await oldFile(options)
    return { world, file, table: await place(world, urlOf(file)) }
  }

  async function expectKept(world: World, file: StoredFile): Promise<void> {
    const report = await world.store.maintain()
    expect([report.files, world.hooks.ran]).toEqual([0, 1])
    expect(await world.isThere(file)).toBe(true)
    await world.maintain()
    expect(await world.isThere(file)).toBe(true)
  }

  test.each([SPACE.row, SPACE.extentPage, SPACE.chunk])(
    'from a row record into a segment, by a compaction (before the scan of %i)',
    async (space) => {
      const { world, file, table } = await named(
        ({ create }, url) => create([{ n: 1, f: url }, { n: 2 }]),
        { maintenance: { compactionRecordsMin: 1 } },
      )
      await table.addRows(Array.from({ length: 1_300 }, (_, n) => ({ n })))
      const second = await world.open()
      world.hooks.beforeScanOf(space, async () => {
        expect((await second.store.maintain()).compactions).toBe(1)
      })

      // Only the garbage collection of files: a complete one would compact first.
      await expectKept(world, file)
    },
  )

  test.each([SPACE.row, SPACE.extentPage, SPACE.chunk])(
    'from a stash into a table, by a link (before the scan of %i)',
    async (space) => {
      const { world, file } = await named(async ({ team, create }, url) => {
        await team.stash('s').put('1', [{ f: url }])
        return create([])
      })
      world.hooks.beforeScanOf(space, async () => {
        const stash = world.team.stash('s')
        await world.team.createTable({ name: 'y', rows: stash })
        await stash.delete()
      })

      await expectKept(world, file)
    },
  )

  test.each([{}, SEALED])('from row to row and back, by updates: %j', async (options) => {
    const { world, file, table } = await named(
      ({ create }, url) =>
        create([
          { n: 1, f: url },
          { n: 2, f: 'x' },
        ]),
      options,
    )
    const ids = [await rowIdAt(table, 0), await rowIdAt(table, 1)]
    const move = async (): Promise<void> => {
      await table.updateRow(ids[1] ?? '', { f: urlOf(file) })
      await table.updateRow(ids[0] ?? '', { f: null })
      ids.reverse()
    }
    for (const space of [SPACE.row, SPACE.extentPage, SPACE.chunk]) {
      world.hooks.beforeScanOf(space, move)
      expect(await world.store.maintain()).toMatchObject({ files: 0 })
    }
    world.hooks.beforeGet(move)
    await world.store.maintain()

    expect(await world.isThere(file)).toBe(true)
    expect(world.hooks.ran).toBeGreaterThanOrEqual(3)
  })

  test('from generation to generation, by an overwrite', async () => {
    const { world, file, table } = await named(({ create }, url) => create([{ n: 1, f: url }]), {
      ...SEALED,
      overwrittenRowSetsMax: 0,
    })
    const second = await world.open()
    world.hooks.beforeScanOf(SPACE.extentPage, async () => {
      await table.overwrite({ rows: [{ n: 2, f: urlOf(file) }] })
      await second.store.maintain()
    })

    await expectKept(world, file)
  })

  test('while updates keep moving it between rows of records and segments', async () => {
    const { world, file, table } = await named(
      ({ create }, url) =>
        create(Array.from({ length: 40 }, (_, n) => ({ n, f: n === 0 ? url : 'x' }))),
      { ...SEALED, maintenance: { compactionRecordsMin: 4 } },
    )
    const ids = (await table.page()).rows.map(({ $rowID }) => $rowID)
    let isDone = false
    let runs = 0
    const maintaining = (async () => {
      for (; !isDone; runs++) {
        await world.store.maintain()
        await turn()
      }
    })()
    for (let i = 0; i < 250; i++) {
      const [from, to] = [ids[(i * 7) % 40] ?? '', ids[(i * 7 + 7) % 40] ?? '']
      await table.updateRow(to, { f: urlOf(file) })
      await table.updateRow(from, { f: `x${i}` })
      if (i % 5 === 0) await turn()
    }
    isDone = true
    await maintaining

    expect(await world.isThere(file)).toBe(true)
    expect(runs).toBeGreaterThan(5)
  })
})

describe('a mark that cannot read a segment deletes nothing', () => {
  test('of one whose object is gone meanwhile; the next garbage collection sees where its rows are', async () => {
    const { world, file } = await oldFile({ ...SEALED, maintenance: { compactionRecordsMin: 1 } })
    const table = await world.create([{ n: 1 }, { n: 2, f: urlOf(file) }])
    const [segment = ''] = (await world.objects.list('')).slice(1)
    const second = await world.open()
    world.hooks.beforeGet(async () => {
      await table.updateRow(await rowIdAt(table, 0), { n: 3 })
      for (let i = 0; i < 3; i++) await second.store.maintain() // compacts, then deletes the old segment
      expect(await world.objects.get(segment)).toBeNull()
    })

    expect(await world.store.maintain()).toMatchObject({ files: 0 })

    expect([world.hooks.ran, await world.isThere(file)]).toEqual([1, true])
    await world.maintain()
    expect(await world.isThere(file)).toBe(true)
  })

  test('of one that is damaged, for files of its team alone; the others are collected', async () => {
    const { world, file } = await oldFile(SEALED)
    await world.create([{ f: urlOf(file) }])
    const segment = (await world.objects.list('')).at(-1) ?? ''
    await world.objects.delete([segment])
    const others = world.store.team('others').files
    await others.put('x', { fileName: 'b', contentType: 'text/plain' })
    await world.file('unnamed, but who knows')
    world.clock.pass(RETENTION_MS + 1)

    expect(await world.store.maintain()).toMatchObject({ files: 1 })

    expect(await headOf(world)).toMatchObject({ files: 2 })
  })
})

describe('the count and the sum of the files', () => {
  test('are right after garbage collections of two stores at once, beside puts and deletions', async () => {
    const { world } = await oldFile({}, true)
    const files = await Promise.all(Array.from({ length: 60 }, (_, i) => world.file(`file ${i}`)))
    const table = await world.create(files.slice(0, 20).map((file) => ({ f: urlOf(file) })))
    world.clock.pass(RETENTION_MS + 1)
    const second = await world.open()

    const reports = await Promise.all([
      world.store.maintain(),
      second.store.maintain(),
      ...files.slice(15, 25).map((file) => second.team.files.delete(file.id)),
      ...Array.from({ length: 10 }, (_, i) => world.file(`late ${i}`)),
    ])
    await world.maintain()

    const left = files.slice(0, 15)
    expect(await Promise.all(left.map(world.isThere))).toEqual(left.map(() => true))
    expect(await countOf(world, FILES_RANGE)).toBe(25)
    const bytes = left.reduce((sum, file) => sum + file.bytes, 0)
    expect(await headOf(world)).toEqual({ files: 25, bytes: bytes + 10 * 'bytes of late 0'.length })
    expect(reports.length).toBe(22)
    expect((await table.page()).rows).toHaveLength(20)
  })

  test('are right when a file is put just before', async () => {
    const { world } = await oldFile()
    const added: StoredFile[] = []
    world.hooks.beforeDeleteFrom(SPACE.file, async () => void added.push(await world.file('new')))

    expect(await world.store.maintain()).toMatchObject({ files: 1 })

    expect(await headOf(world)).toEqual({ files: 1, bytes: added[0]?.bytes })
  })

  test('are right when another store has collected the same files meanwhile', async () => {
    const { world, file } = await oldFile({}, true)
    const second = await world.open()
    world.hooks.beforeScanOf(SPACE.row, async () => {
      expect(await second.store.maintain()).toMatchObject({ files: 1 })
    })

    expect(await world.store.maintain()).toMatchObject({ files: 0 })

    expect([world.hooks.ran, await world.isThere(file)]).toEqual([1, false])
    expect(await headOf(world)).toEqual({ files: 0, bytes: 0 })
  })

  test('are right when a file is deleted by its owner just before', async () => {
    const { world, file } = await oldFile()
    const kept = await world.file('kept')
    world.hooks.beforeDeleteFrom(SPACE.file, () => world.team.files.delete(file.id).then(() => {}))

    expect(await world.store.maintain()).toMatchObject({ files: 0 })

    expect(await headOf(world)).toEqual({ files: 1, bytes: kept.bytes })
  })
})

describe('markers', () => {
  test('go with their files, also one that came too late', async () => {
    const { world, file } = await oldFile()
    const table = await world.create([{ f: urlOf(file) }])
    expect(await countOf(world, FILE_MARKERS_RANGE)).toBe(1)
    await table.deleteRow(await rowIdAt(table, 0))
    await world.store.maintain()
    expect(await countOf(world, FILE_MARKERS_RANGE)).toBe(0)

    await table.addRows([{ f: urlOf(file) }]) // a URL without a file, so no marker
    expect(await countOf(world, FILE_MARKERS_RANGE)).toBe(0)
    const late = [fileMarkerKey(new Uint8Array(16)), encodeFileMarker(new Uint8Array(8))] as const
    await world.kv.partition('acme').commit({ puts: [late] })
    await world.store.maintain()
    expect(await countOf(world, FILE_MARKERS_RANGE)).toBe(0)
  })

  test('are one for a commit that names very many files', async () => {
    const { world, file } = await oldFile()
    const table = await world.create([])

    await table.addRows(rowsNamingMany(urlOf(file)))

    const partition = world.kv.partition('acme')
    expect(await countOf(world, FILE_MARKERS_RANGE)).toBe(1)
    expect(await partition.read((view) => view.get(MANY_FILES_MARKER_KEY))).not.toBeNull()
    await world.maintain()
    expect(await world.isThere(file)).toBe(true)
  })
})

test('a segment that names more files than it lists keeps those that its rows name', async () => {
  const { world, file } = await oldFile({
    segmentBytesMax: 64 * 1024 * 1024,
    rowBytesMax: 8 * 1024 * 1024,
  })
  const other = await world.file('other')
  world.clock.pass(RETENTION_MS + 1)
  const row = (first: number, url: string): Record<string, unknown> => {
    const ids = Array.from({ length: 700 }, (_, i) => {
      const key = new Uint8Array(16)
      new DataView(key.buffer).setUint32(0, first + i)
      return renderFileId({ alias: new Uint8Array(8), key })
    })
    return { f: `${ids.join(' ')} ${url}` }
  }
  const stash = world.team.stash('s')
  await stash.put(
    '1',
    Array.from({ length: 100 }, (_, i) => row(700 * i, i < 2 ? urlOf(file) : 'x')),
  )
  const { tableId, rowIds } = await world.team.createTable({ name: 'x', rows: stash })
  await stash.delete()
  const table = world.team.table(tableId)
  await table.updateRow(rowIds.at(0) ?? '', { f: 'x' })

  await world.maintain()
  expect([await world.isThere(file), await world.isThere(other)]).toEqual([true, false])

  await table.updateRow(rowIds.at(1) ?? '', { f: 'x' })
  await world.maintain()
  expect(await world.isThere(file)).toBe(false)
})

describe('very many files', () => {
  /** Adds only the records of files, without their bytes, spread over all keys. */
  async function addRecords({ kv, clock }: World, count: number): Promise<void> {
    const partition = kv.partition('acme')
    const record = encodeFile({
      object: '0'.repeat(32),
      bytes: 0,
      sha256: new Uint8Array(32),
      sealed: true,
      contentType: 'text/plain',
      fileName: 'a',
      completedAt: clock.now() - 2 * DAY_MS,
    })
    for (let i = 0; i < count; i += 1_000) {
      const puts = Array.from({ length: Math.min(1_000, count - i) }, (_, n) => {
        const key = new Uint8Array(16)
        new DataView(key.buffer).setUint32(0, (i + n) * 150_001)
        return [fileKey(key), record] as const
      })
      const before = await partition.read((view) => view.get(FILES_HEAD_KEY))
      const { files, bytes } = before === null ? { files: 0, bytes: 0 } : decodeFilesHead(before)
      const head = encodeFilesHead({ files: files + puts.length, bytes })
      await partition.commit({ puts: [...puts, [FILES_HEAD_KEY, head]] })
    }
  }

  test('are collected in one go, in passes', async () => {
    const { world, file } = await oldFile()
    await world.create([{ f: urlOf(file) }])
    await addRecords(world, 21_000)

    expect(await world.store.maintain()).toMatchObject({ files: 21_000 })

    expect(await world.isThere(file)).toBe(true)
    expect(await headOf(world)).toEqual({ files: 1, bytes: file.bytes })
  })

  test('beyond what one garbage collection does are left to the next, which goes on there', async () => {
    const { world, file } = await oldFile()
    await world.create([{ f: urlOf(file) }])
    await addRecords(world, 7_000)
    const options = resolveStoreOptions({ clock: world.clock, fileRetentionMs: RETENTION_MS })
    const segments = segmentCacheOf(world.objects, 0)
    const limits = { candidatesMax: 2_000, lookedAtMax: 100_000, passesMax: 2 }
    const maintainer = new FileCollector({ options, segments }, limits)
    const partition = world.kv.partition('acme')
    const report: number[] = []

    for (let i = 0; i < 5; i++) report.push((await maintainer.collect('acme', partition)).files)

    expect(report.reduce((sum, files) => sum + files, 0)).toBe(7_000)
    expect(Math.max(...report)).toBeLessThanOrEqual(4_000)
    expect(await world.isThere(file)).toBe(true)
  })

  test('are looked at a bounded number at a time, also when none is old enough', async () => {
    const { world } = await oldFile()
    await addRecords(world, 3_500)
    const options = resolveStoreOptions({ clock: world.clock, fileRetentionMs: 20 * DAY_MS })
    const segments = segmentCacheOf(world.objects, 0)
    const limits = { candidatesMax: 10_000, lookedAtMax: 1_000, passesMax: 1 }
    const maintainer = new FileCollector({ options, segments }, limits)
    const partition = world.kv.partition('acme')
    for (let i = 0; i < 2; i++) await maintainer.collect('acme', partition)
    world.clock.pass(30 * DAY_MS)

    const report: number[] = []
    for (let i = 0; i < 5; i++) report.push((await maintainer.collect('acme', partition)).files)

    expect(report).toEqual([1_000, 501, 1_000, 1_000, 0]) // The first begins where the others ended.
  })
})
