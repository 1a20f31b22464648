// How long files are kept. For each way in which a URL enters a team, one file takes it and nothing names another file.
// The clock jumps, a garbage collection runs, and only the other file is gone. Then each way out of a table: the file
// exists before, and not after.
import { describe, expect, test } from 'vitest'
import type { RowsInput, StoredFile, Table, Team } from '../../src/index.js'
import { putTo } from '../conformance/store/upload-request.js'
import { turns } from '../support/until.js'
import {
  DAY_MS,
  HOUR_MS,
  openWorld,
  RETENTION_MS,
  rowIdAt,
  urlOf,
  type World,
} from './retained-files.js'

type Row = Record<string, unknown>

type WayIn = Readonly<{
  name: string
  options?: Parameters<typeof openWorld>[0]
  /** Uses the URL. @returns the table that shows it; null: none does yet */
  take(world: World, url: string): Promise<Table | null>
}>

/** Makes rows a segment at once. */
const SEALED = { inlineRowsMax: 0 }

const SCHEMA = { columns: [{ id: 'f', type: 'string' }] } as const
const ARRAY_SCHEMA = {
  columns: [{ id: 'f', type: { kind: 'array', items: { kind: 'string' } } }],
} as const

async function created(team: Team, request: Parameters<Team['createTable']>[0]): Promise<Table> {
  return team.table((await team.createTable(request)).tableId)
}

/** A URL with every character of the ID escaped. */
function escaped(url: string): string {
  return [...url].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
}

const many = (url: string): Row[] => [
  { f: url },
  ...Array.from({ length: 1_200 }, () => ({ f: '-' })),
]

const FORMS: readonly Readonly<{
  name: string
  rows(url: string): RowsInput
}>[] = [
  { name: 'objects', rows: (url) => [{ f: 'x' }, { f: url }] },
  { name: 'JSON', rows: (url) => ({ json: JSON.stringify([{ f: url }]) }) },
  { name: 'JSON with escapes', rows: (url) => ({ json: `[{"f":"${escaped(url)}"}]` }) },
  { name: 'CSV', rows: (url) => ({ csv: `f\n"a, ${url}"\n` }) },
  { name: 'TSV', rows: (url) => ({ tsv: `f\n${url}\n` }) },
  { name: 'the middle of a text', rows: (url) => [{ f: `see (${url}), rsf-, and "more"` }] },
  { name: 'more rows than stay out of a segment', rows: many },
  {
    name: 'an async iterable',
    rows: async function* (url) {
      yield { f: url }
    },
  },
]

const BODIES: readonly WayIn[] = FORMS.flatMap(({ name, rows }) =>
  [
    { form: 'few rows', options: {} },
    { form: 'a segment', options: SEALED },
  ].flatMap(({ form, options }): WayIn[] => [
    {
      name: `a create from ${name}, ${form}`,
      options,
      take: ({ team }, url) => created(team, { name: 'x', schema: SCHEMA, rows: rows(url) }),
    },
    {
      name: `an add from ${name}, ${form}`,
      options,
      async take({ create }, url) {
        const table = await create([{ n: 1 }])
        await table.addRows(rows(url))
        return table
      },
    },
    {
      name: `an overwrite from ${name}, ${form}`,
      options,
      async take({ create }, url) {
        const table = await create([{ n: 1 }])
        await table.overwrite({ schema: SCHEMA, rows: rows(url) })
        return table
      },
    },
  ]),
)

const STASHES: readonly WayIn[] = [
  ...FORMS.map(
    ({ name, rows }): WayIn => ({
      name: `a chunk of a stash from ${name}`,
      async take({ team }, url) {
        await team.stash('s').put('1', rows(url))
        return null
      },
    }),
  ),
  {
    name: 'a create from a stash that is deleted then',
    async take({ team }, url) {
      const stash = team.stash('s')
      await stash.put('1', [{ f: url }])
      const table = await created(team, { name: 'x', rows: stash })
      await stash.delete()
      return table
    },
  },
  {
    name: 'an add from a stash that is deleted then',
    async take({ team, create }, url) {
      const [table, stash] = [await create([{ n: 1 }]), team.stash('s')]
      await stash.put('1', [{ f: 'x' }])
      await stash.put('2', { csv: `f\n${url}\n` })
      await table.addRows(stash)
      await stash.delete()
      return table
    },
  },
  {
    name: 'an overwrite from a stash that is deleted then',
    async take({ team, create }, url) {
      const [table, stash] = [await create([{ n: 1 }]), team.stash('s')]
      await stash.put('1', [{ f: url }])
      await table.overwrite({ rows: stash })
      await stash.delete()
      return table
    },
  },
  {
    name: 'a chunk that is rewritten on the way into the table',
    async take({ team }, url) {
      const stash = team.stash('s')
      await stash.put('1', { csv: `f\n"[""${url}""]"\n` })
      const table = await created(team, { name: 'x', schema: ARRAY_SCHEMA, rows: stash })
      await stash.delete()
      return table
    },
  },
  {
    name: 'a chunk whose text names the file only as the array that it becomes',
    async take({ team }, url) {
      const stash = team.stash('s')
      await stash.put('1', { csv: `f\n"[""${escaped(url)}""]"\n` })
      const table = await created(team, { name: 'x', schema: ARRAY_SCHEMA, rows: stash })
      await stash.delete()
      return table
    },
  },
]

const CHANGES: readonly WayIn[] = [
  ...[{}, SEALED].map(
    (options): WayIn => ({
      name: `an update of a row (${options === SEALED ? 'segment' : 'record'})`,
      options,
      async take({ create }, url) {
        const table = await create([{ n: 1 }, { n: 2 }])
        await table.updateRow(await rowIdAt(table, 1), { f: `at ${url}` })
        return table
      },
    }),
  ),
  {
    name: 'an update from text with escapes',
    async take({ create }, url) {
      const table = await create([{ n: 1 }])
      await table.updateRowJson(await rowIdAt(table, 0), `{"f":"${escaped(url)}"}`)
      return table
    },
  },
  {
    name: 'an update of another column of the row',
    options: SEALED,
    async take({ create }, url) {
      const table = await create([{ n: 1, f: url }])
      await table.updateRow(await rowIdAt(table, 0), { n: 2 })
      return table
    },
  },
  {
    name: 'an update that adds the column',
    async take({ create }, url) {
      const table = await create([{ n: 1 }])
      const options = { onSchemaError: 'updateSchema' } as const
      await table.updateRow(await rowIdAt(table, 0), { more: [1, url] }, options)
      return table
    },
  },
  {
    name: 'an element of an array among other files',
    options: SEALED,
    async take({ create, file }, url) {
      const [before, after] = [await file(), await file()]
      return create([{ n: 1, f: [urlOf(before), url, urlOf(after)] }], {
        kind: 'array',
        items: { kind: 'uri' },
      })
    },
  },
  {
    name: 'rows of which what does not fit is dropped',
    async take({ team, create }, url) {
      const [table, stash] = [await create([{ n: 1 }]), team.stash('s')]
      await stash.put('1', [{ n: 'no number', f: url, other: 1 }])
      await table.addRows(stash, { onSchemaError: 'dropColumns' })
      await stash.delete()
      return table
    },
  },
  {
    name: 'rows that widen the schema',
    options: SEALED,
    async take({ create }, url) {
      const table = await create([{ n: 1 }])
      await table.addRows([{ n: url, m: 2 }], { onSchemaError: 'updateSchema' })
      return table
    },
  },
  {
    name: 'rows that keep their IDs',
    options: SEALED,
    async take({ create }, url) {
      const table = await create([{ n: 1 }, { n: 2, f: url }])
      const kept = (await table.page()).rows
      await table.overwrite({ rows: [...kept].reverse() })
      return table
    },
  },
  {
    name: 'row records that a compaction has made a segment',
    options: { maintenance: { compactionRecordsMin: 1 } },
    async take({ create, store }, url) {
      const table = await create([{ n: 1 }, { n: 2 }])
      await table.updateRow(await rowIdAt(table, 0), { f: url })
      await table.addRows(many('-')) // closes the extent
      expect((await store.maintain()).compactions).toBe(1)
      return table
    },
  },
  {
    name: 'a segment that a compaction has rewritten',
    options: { ...SEALED, maintenance: { compactionRecordsMin: 1 } },
    async take({ create, store }, url) {
      const table = await create([{ n: 1 }, { n: 2 }, { n: 3, f: url }])
      await table.updateRow(await rowIdAt(table, 0), { n: 5 })
      await table.deleteRow(await rowIdAt(table, 1))
      expect((await store.maintain()).compactions).toBe(1)
      return table
    },
  },
]

/** The content of a table, with JSON escapes resolved. */
async function textOf(table: Table): Promise<string> {
  const texts: unknown[] = []
  for await (const row of table.scan()) texts.push(...Object.values(row).flat())
  return texts.join('\n')
}

describe('a file is kept as long as its URL is in', () => {
  test.each([...BODIES, ...STASHES, ...CHANGES])('$name', async ({ options, take }) => {
    const world = await openWorld(options)
    const [named, other] = [await world.file('named'), await world.file('other')]
    const table = await take(world, urlOf(named))
    if (table !== null) expect(await textOf(table)).toContain(named.id)

    await world.outlive()

    expect([await world.isThere(named), await world.isThere(other)]).toEqual([true, false])
    world.clock.pass(20 * DAY_MS)
    const again = await world.open() // None of it is only in memory.
    await again.store.maintain()
    expect(await world.isThere(named)).toBe(true)
  })
})

type WayOut = Readonly<{
  name: string
  options?: Parameters<typeof openWorld>[0]
  enter?(world: World, url: string): Promise<Table | null>
  leave(world: World, table: Table, file: StoredFile): Promise<unknown>
}>

const row = (url: string): Row[] => [{ n: 0 }, { n: 1, f: url }, { n: 2 }]

const BOTH_FORMS: readonly WayOut[] = [
  {
    name: 'an update that empties the cell',
    leave: async (_, table) => void (await table.updateRow(await rowIdAt(table, 1), { f: null })),
  },
  {
    name: 'an update to something else',
    async leave({ file }, table) {
      await table.updateRow(await rowIdAt(table, 1), { f: urlOf(await file()) })
    },
  },
  {
    name: 'the deletion of the row',
    leave: async (_, table) => void (await table.deleteRow(await rowIdAt(table, 1))),
  },
  {
    name: 'an overwrite, when the rows before it are no longer kept',
    async leave({ clock }, table) {
      await table.overwrite({ rows: [{ n: 7 }] })
      clock.pass(2 * HOUR_MS)
    },
  },
  {
    name: 'an overwrite with more overwrites after it than are kept',
    async leave(_, table) {
      for (let i = 0; i < 3; i++) await table.overwrite({ rows: [{ n: i }] })
    },
  },
  {
    name: 'the deletion of all rows, and their compaction',
    options: { maintenance: { compactionRecordsMin: 1 } },
    async leave({ store }, table) {
      for (const { $rowID } of (await table.page()).rows) await table.deleteRow($rowID)
      await table.addRows(many('-').map((_, n) => ({ n })))
      await store.maintain()
    },
  },
]

const WAYS_OUT: readonly WayOut[] = [
  ...BOTH_FORMS.flatMap((way) => [
    way,
    { ...way, name: `${way.name}, of a segment`, options: { ...way.options, ...SEALED } },
  ]),
  {
    name: 'updates of all of many rows of a segment that name it',
    options: SEALED,
    enter: ({ create }, url) => create(Array.from({ length: 20 }, (_, n) => ({ n, f: url }))),
    async leave(_, table) {
      for (const { $rowID } of (await table.page()).rows) await table.updateRow($rowID, { f: 'x' })
    },
  },
  {
    name: 'the deletion of the stash',
    async enter({ team }, url) {
      await team.stash('s').put('1', [{ f: url }])
      return null
    },
    leave: ({ team }) => team.stash('s').delete(),
  },
  {
    name: 'the end of the time of the stash',
    options: { stashTtlMs: 2 * DAY_MS },
    async enter({ team }, url) {
      await team.stash('s').put('1', [{ f: url }])
      return null
    },
    leave: async ({ clock }) => clock.pass(3 * DAY_MS),
  },
  {
    name: 'another chunk in the place of the one that named it',
    async enter({ team }, url) {
      await team.stash('s').put('1', [{ f: url }])
      return null
    },
    leave: ({ team }) => team.stash('s').put('1', [{ f: 'x' }]),
  },
]

describe('a file goes after', () => {
  test.each(WAYS_OUT)('$name', async ({ options, enter, leave }) => {
    const world = await openWorld(options)
    const file = await world.file()
    const table = await (enter ?? (({ create }, url) => create(row(url))))(world, urlOf(file))
    await world.outlive()
    expect(await world.isThere(file)).toBe(true)

    await leave(world, table ?? world.team.table('none'), file)
    await world.maintain()

    expect(await world.isThere(file)).toBe(false)
    expect(await world.team.files.stat(file.id)).toBeNull()
  })

  test('the cell that named it was dropped on the way in', async () => {
    const world = await openWorld()
    const [file, stash] = [await world.file(), world.team.stash('s')]
    const table = await world.create([{ n: 1 }])
    await stash.put('1', [{ n: 2, other: urlOf(file) }])
    await table.addRows(stash, { onSchemaError: 'dropColumns' })
    await stash.delete()

    await world.outlive()

    expect(await world.isThere(file)).toBe(false)
  })

  test('only the last of the rows that name it: until then it stays', async () => {
    const world = await openWorld(SEALED)
    const file = await world.file()
    const table = await world.create(
      Array.from({ length: 130 }, (_, n) => ({ n, f: n % 40 === 3 ? urlOf(file) : 'x' })),
    )
    const { rows } = await table.page()
    for (const n of [3, 43, 83]) await table.updateRow(rows[n]?.$rowID ?? '', { f: null })

    await world.outlive()
    expect(await world.isThere(file)).toBe(true)

    await table.deleteRow(rows[123]?.$rowID ?? '')
    await world.maintain()
    expect(await world.isThere(file)).toBe(false)
  })

  test('an overwrite only when the rows before it are not kept for walks any more', async () => {
    const world = await openWorld({ overwrittenRowsTtlMs: 5 * DAY_MS })
    const file = await world.file()
    const table = await world.create(row(urlOf(file)))
    await table.overwrite({ rows: [] })

    world.clock.pass(5 * DAY_MS)
    await world.maintain()
    expect(await world.isThere(file)).toBe(true)

    world.clock.pass(1)
    await world.maintain()
    expect(await world.isThere(file)).toBe(false)
  })

  test('a scan has ended that still reads the rows that named it', async () => {
    const world = await openWorld()
    const file = await world.file()
    const table = await world.create(row(urlOf(file)))
    const scan = table.scan()
    await scan.next()
    await table.overwrite({ rows: [] })

    await world.outlive()
    expect(await world.isThere(file)).toBe(true)

    await scan.return?.()
    await world.maintain()
    expect(await world.isThere(file)).toBe(false)
  })
})

describe('a file that nothing names', () => {
  test('is there for the whole of its time, and gone after it, with its bytes', async () => {
    const world = await openWorld()
    const file = await world.file()

    for (let hour = 0; hour < 24; hour++) {
      world.clock.pass(HOUR_MS)
      expect(await world.store.maintain()).toMatchObject({ files: 0 })
    }
    expect(await world.isThere(file)).toBe(true)

    world.clock.pass(1)
    expect(await world.store.maintain()).toMatchObject({ files: 1, uploads: 0 })
    expect(await world.isThere(file)).toBe(false)
    await world.maintain()
    expect(await world.objects.list('')).toEqual([])
  })

  test('is kept for `fileRetentionMs` at least, which cannot be less than 24 hours', async () => {
    const world = await openWorld({ fileRetentionMs: 29 * DAY_MS })
    const file = await world.file()
    world.clock.pass(29 * DAY_MS)
    await world.maintain()
    expect(await world.isThere(file)).toBe(true)
    world.clock.pass(1)
    await world.maintain()
    expect(await world.isThere(file)).toBe(false)

    const open = openWorld({ fileRetentionMs: DAY_MS - 1 })
    await expect(open).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
  })

  test('may be named after its time, before garbage collection: then it stays', async () => {
    const world = await openWorld()
    const file = await world.file()
    world.clock.pass(28 * DAY_MS)
    const table = await world.create(row(urlOf(file)))

    await world.maintain()

    expect(await world.isThere(file)).toBe(true)
    expect(await textOf(table)).toContain(file.id)
  })

  test('is not kept by the rows of another team', async () => {
    const world = await openWorld()
    const file = await world.file()
    await world.store.team('others').createTable({ name: 'x', rows: [{ f: urlOf(file) }] })

    await world.outlive()

    expect(await world.isThere(file)).toBe(false)
  })

  test('goes although a clock that was set back made it of the future for a while', async () => {
    const world = await openWorld()
    world.clock.pass(10 * DAY_MS)
    const file = await world.file()
    world.clock.pass(-9 * DAY_MS)
    await world.maintain()
    expect(await world.isThere(file)).toBe(true)
    world.clock.pass(9 * DAY_MS)

    await world.outlive()

    expect(await world.isThere(file)).toBe(false)
  })
})

describe('uploads', () => {
  async function upload(world: World): Promise<Readonly<{ uploadId: string; target: string }>> {
    return world.team.files.createUpload({ fileName: 'a.txt', contentType: 'text/plain' })
  }

  test('that came to nothing end with their time, with the bytes that they received', async () => {
    const world = await openWorld({ uploadReceivedTtlMs: DAY_MS })
    const [empty, received] = [await upload(world), await upload(world)]
    await world.store.files.receive(putTo(received.target, ['hello']))
    world.clock.pass(DAY_MS)
    expect(await world.store.maintain()).toMatchObject({ uploads: 0 })

    world.clock.pass(1)

    expect(await world.store.maintain()).toMatchObject({ uploads: 2, files: 0 })
    await world.maintain()
    expect(await world.objects.list('')).toEqual([])
    for (const { uploadId } of [empty, received]) {
      const done = world.team.files.completeUpload(uploadId)
      await expect(done).rejects.toMatchObject({ code: 'UPLOAD_NOT_FOUND' })
    }
  })

  test('that were completed are forgotten later, and their files live on', async () => {
    const world = await openWorld({ uploadReceivedTtlMs: DAY_MS })
    const { uploadId, target } = await upload(world)
    await world.store.files.receive(putTo(target, ['hello']))
    world.clock.pass(DAY_MS - 1)
    const file = await world.team.files.completeUpload(uploadId)
    await world.create(row(urlOf(file)))

    world.clock.pass(DAY_MS)
    expect(await world.store.maintain()).toMatchObject({ uploads: 0 })
    expect(await world.team.files.completeUpload(uploadId)).toEqual(file)

    world.clock.pass(DAY_MS)
    expect(await world.store.maintain()).toMatchObject({ uploads: 1, files: 0 })
    await world.maintain()
    expect(await world.isThere(file)).toBe(true)
  })
})

describe('the background', () => {
  test.each([
    { when: 'when the store is opened', fileCollectionIntervalMs: DAY_MS },
    { when: 'at each interval', fileCollectionIntervalMs: 20 },
  ])('collects files $when', async ({ fileCollectionIntervalMs }) => {
    const world = await openWorld()
    const files = [await world.file(), await world.file()]
    if (fileCollectionIntervalMs === DAY_MS) world.clock.pass(RETENTION_MS + 1)

    await world.open({ maintenance: { fileCollectionIntervalMs } })

    await turns(50) // The garbage collection at the opening is over.
    if (fileCollectionIntervalMs !== DAY_MS) world.clock.pass(RETENTION_MS + 1)
    for (const file of files) await expect.poll(() => world.isThere(file)).toBe(false)
  })
})
