// Goal: with several processes on one store, each garbage collection deletes what nobody needs, whoever left it. It
// deletes nothing that another process is about to name or is reading, not even if that process was considered ended
// and still lives.
import { Buffer } from 'node:buffer'
import { describe, expect, test } from 'vitest'
import { readBackup } from '../../src/format/backup.js'
import { decodeIncarnation } from '../../src/format/incarnation-records.js'
import { INCARNATIONS_RANGE, KEY_SPACE } from '../../src/format/keys.js'
import type { Store, Table, Team } from '../../src/index.js'
import type { KvCommit } from '../../src/ports.js'
import { type Engine, EngineWorld, LEASE_MS, MINUTE_MS, type PortCall } from './engine-world.js'

const GRACE_MS = 10 * MINUTE_MS

const ROWS = [{ n: 1 }, { n: 2 }, { n: 3 }]

const T = 't'

const NO_WAIT = { orphanGraceMs: 0, overwrittenRowsTtlMs: 0, overwrittenRowSetsMax: 0 }

function namesObjects({ commit }: PortCall): boolean {
  const spaces = [KEY_SPACE.extentPage, KEY_SPACE.chunk, KEY_SPACE.file, KEY_SPACE.upload]
  return commit?.puts?.some(([key]) => spaces.includes(key[0] as 0x05)) ?? false
}

function publishes({ commit }: PortCall): boolean {
  return commit?.puts?.some(([key]) => key[0] === KEY_SPACE.incarnation) ?? false
}

async function create(store: Store, rows: object[] = ROWS): Promise<Table> {
  const made = await store
    .team(T)
    .createTable({ name: 'x', rows: rows as Record<string, number>[] })
  return store.team(T).table(made.tableId)
}

async function numbersOf(table: Table): Promise<unknown[]> {
  return (await table.page()).rows.map(({ n }) => n)
}

async function maintainTwice({ store }: Engine, world: EngineWorld): Promise<number> {
  const first = await store.maintain()
  await world.pass(GRACE_MS + 1)
  return first.objects + (await store.maintain()).objects
}

describe('objects of a process that has ended', () => {
  test('are deleted by another one after its lease, the grace period and two garbage collections', async () => {
    const world = await EngineWorld.create()
    const [dead, other] = [await world.open(), await world.open()]
    const table = await create(dead.store)
    const [kept] = await world.listed()
    const reached = dead.stopBefore(namesObjects)
    void table.addRows(ROWS)
    await reached
    dead.kill()
    expect(await world.listed()).toHaveLength(2)

    expect(await maintainTwice(other, world)).toBe(0) // Only now is the lease known to have expired.
    expect(await world.listed()).toHaveLength(2)
    await world.pass(GRACE_MS + 1)
    expect((await other.store.maintain()).objects).toBe(1)

    expect(await world.listed()).toEqual([kept])
    expect(await numbersOf(other.store.team(T).table(table.id))).toEqual([1, 2, 3])
    expect((await other.store.verify({ full: true })).findings).toEqual([])
    expect(await world.keys(T, KEY_SPACE.writer)).toEqual([])
    expect(await world.keys('', KEY_SPACE.incarnation)).toHaveLength(1) // the other engine's record
  })

  test('are deleted without its lease if it ended in order', async () => {
    const world = await EngineWorld.create()
    const [first, other] = [await world.open(), await world.open()]
    const table = await create(first.store)
    await table.overwrite({ rows: [{ n: 4 }] })
    await first.store.close()
    expect(await world.listed()).toHaveLength(2)

    await other.store.maintain() // drops nothing, because it is retained
    await world.pass(2 * 60 * MINUTE_MS)
    await other.store.maintain()
    expect(await maintainTwice(other, world)).toBe(1)

    expect(await world.listed()).toHaveLength(1)
    expect(await world.keys('', KEY_SPACE.incarnation)).toHaveLength(1) // the other engine's record
  })

  test('are collected also where no other process can write, and its records go', async () => {
    const world = await EngineWorld.create()
    const dead = await world.open()
    const table = await create(dead.store)
    await dead.store.maintain()
    const reached = dead.stopBefore(namesObjects)
    void table.addRows(ROWS)
    await reached
    dead.kill()

    const alone = await world.open({}, false)
    expect(await maintainTwice(alone, world)).toBe(1)

    expect(await world.listed()).toHaveLength(1)
    expect(await world.keys(T, KEY_SPACE.writer)).toEqual([])
    expect(await world.keys('', KEY_SPACE.incarnation)).toEqual([])
    expect(await world.keys(T, KEY_SPACE.duty)).toEqual([])
    expect(await world.keys('', KEY_SPACE.duty)).toEqual([])
  })
})

describe('what a living process let go of', () => {
  test('is deleted by another one once its record says so', async () => {
    const world = await EngineWorld.create()
    const [writer, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    const table = await create(writer.store)
    await table.overwrite({ rows: [{ n: 4 }] })

    for (let i = 0; i < 3; i++) await other.store.maintain()
    expect(await world.listed()).toHaveLength(2) // By its record both may be pending.
    await world.pass(LEASE_MS)
    for (let i = 0; i < 3; i++) await other.store.maintain()

    expect(await world.listed()).toHaveLength(1)
    expect(await numbersOf(table)).toEqual([4])
  })
})

describe('a process that lives', () => {
  test('keeps what it has pending, however long its operation takes', async () => {
    const world = await EngineWorld.create()
    const [slow, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    const table = await create(slow.store)
    let goOn: () => void = () => undefined
    const waits = new Promise<void>((go) => {
      goOn = go
    })
    async function* content(): AsyncGenerator<Uint8Array> {
      await waits
      yield new TextEncoder().encode('bytes')
    }
    const file = slow.store
      .team(T)
      .files.put(content(), { fileName: 'a', contentType: 'text/plain' })
    const added = table.addRows(ROWS)
    for (let i = 0; i < 5; i++) {
      await world.pass(LEASE_MS)
      await other.store.maintain()
    }
    goOn()

    await added
    const { id } = await file
    await other.store.maintain()
    expect(await numbersOf(other.store.team(T).table(table.id))).toHaveLength(6)
    expect(await other.store.files.open(id)).not.toBeNull()
    expect((await other.store.verify({ full: true })).findings).toEqual([])
  })

  test('is known to others before its first object is there', async () => {
    const world = await EngineWorld.create()
    const [slow, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    await create(other.store)
    const reached = slow.stopBefore(publishes)
    const made = create(slow.store)
    await reached
    for (let i = 0; i < 3; i++) await other.store.maintain()
    slow.goOn()

    await made
    expect((await other.store.verify({ full: true })).findings).toEqual([])
  })

  test('shows no orphan to a verification of another one', async () => {
    const world = await EngineWorld.create()
    const [slow, other] = [await world.open(), await world.open()]
    const table = await create(slow.store)
    const reached = slow.stopBefore(namesObjects)
    const added = table.addRows(ROWS)
    await reached

    expect((await other.store.verify({ full: true })).findings).toEqual([])
    slow.goOn()
    await added
  })
})

/** Operations that name new objects. */
const OPERATIONS: readonly (readonly [name: string, run: (team: Team, table: Table) => unknown])[] =
  [
    ['a chunk', (team) => team.stash('s').put('0', ROWS)],
    ['a create', (team) => team.createTable({ name: 'y', rows: ROWS })],
    ['an add', (_, table) => table.addRows(ROWS)],
    ['an overwrite', (_, table) => table.overwrite({ rows: ROWS })],
    [
      'an overwrite that keeps row IDs',
      async (_, table) => table.overwrite({ rows: [...(await table.page()).rows].reverse() }),
    ],
    ['a file', (team) => team.files.put('bytes', { fileName: 'a.txt', contentType: 'text/plain' })],
  ]

describe('a process that was taken for ended and lives', () => {
  test.each(OPERATIONS)('has no effect by %s that it had under way', async (_, run) => {
    const world = await EngineWorld.create()
    const [paused, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    const table = await create(paused.store)
    const reached = paused.stopBefore(namesObjects)
    const operation = Promise.resolve(run(paused.store.team(T), table))
    await reached
    for (let i = 0; i < 4; i++) {
      await other.store.maintain()
      await world.pass(LEASE_MS)
    }
    expect(await world.listed()).toHaveLength(1)
    paused.goOn()

    await expect(operation).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      outcome: 'unchanged',
    })
    expect((await other.store.verify({ full: true })).findings).toEqual([])
    await run(paused.store.team(T), table) // It continues as a new incarnation.
    for (let i = 0; i < 3; i++) await other.store.maintain()
    expect((await other.store.verify({ full: true })).findings).toEqual([])
  })

  test('has no effect by a compaction that it had under way', async () => {
    const world = await EngineWorld.create()
    const options = { ...NO_WAIT, maintenance: { compactionRecordsMin: 1 } }
    const [paused, other] = [await world.open(options), await world.open(NO_WAIT)]
    const table = await create(paused.store)
    const [first] = (await table.page()).rows
    await table.updateRow(first?.$rowID ?? '', { n: 7 })
    const reached = paused.stopBefore(namesObjects)
    const report = paused.store.maintain()
    await reached
    for (let i = 0; i < 4; i++) {
      await other.store.maintain()
      await world.pass(LEASE_MS)
    }
    paused.goOn()

    expect((await report).compactions).toBe(0) // Its lease is lost too.
    expect((await paused.store.maintain()).compactions).toBe(1)
    for (let i = 0; i < 2; i++) await paused.store.maintain()
    expect(await numbersOf(other.store.team(T).table(table.id))).toEqual([7, 2, 3])
    expect((await other.store.verify({ full: true })).findings).toEqual([])
  })

  test('does not enter a team that others have looked through', async () => {
    const world = await EngineWorld.create()
    const [paused, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    await create(other.store)
    const putsWriter = ({ commit }: PortCall): boolean =>
      commit?.puts?.some(([key]) => key[0] === KEY_SPACE.writer) ?? false
    const reached = paused.stopBefore(putsWriter)
    const made = create(paused.store)
    await reached
    for (let i = 0; i < 4; i++) {
      await other.store.maintain()
      await world.pass(LEASE_MS)
    }
    paused.goOn()

    await expect(made).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' })
    expect(await world.keys(T, KEY_SPACE.writer)).toHaveLength(1)
    expect(await numbersOf(await create(paused.store))).toEqual([1, 2, 3])
    expect((await other.store.verify({ full: true })).findings).toEqual([])
  })
})

test('every commit that names a new object checks the writer record of its incarnation', async () => {
  const world = await EngineWorld.create()
  const { store } = await world.open()
  const linked = new Set<string>()
  let checked = 0
  const wrong: string[] = []
  let objects: readonly string[] = []
  world.onCommit = ({ puts = [], checks = [] }: KvCommit): void => {
    const hasWriter = checks.some(
      ({ key, equals }) => key[0] === KEY_SPACE.writer && equals !== null,
    )
    for (const object of objects) {
      if (linked.has(object)) continue
      const isNamed = puts.some(([, value]) =>
        Buffer.from(value).includes(Buffer.from(object, 'hex')),
      )
      if (!isNamed) continue
      linked.add(object)
      checked++
      if (!hasWriter) wrong.push(object)
    }
  }
  const { put } = world.objects
  const seen: string[] = []
  Object.assign(world.objects, {
    put: (id: string, content: Uint8Array) => {
      seen.push(id)
      objects = seen
      return put.call(world.objects, id, content)
    },
  })
  const table = await create(store)
  for (const [, run] of OPERATIONS) await run(store.team(T), table)
  const { files } = store.team(T)
  const ticket = await files.createUpload({ fileName: 'a.txt', contentType: 'text/plain' })
  const [, query = ''] = ticket.target.split('?')
  async function* body(): AsyncGenerator<Uint8Array> {
    yield new TextEncoder().encode('bytes')
  }
  const { uploadId } = ticket
  const about = { contentType: 'text/plain', contentLength: 5 }
  await store.files.receive({ uploadId, query, ...about, body: body() })
  await files.completeUpload(uploadId)

  expect(wrong).toEqual([])
  expect(checked).toBe(seen.length)
  expect(checked).toBeGreaterThanOrEqual(OPERATIONS.length + 2)
})

async function* piecesOf(backup: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* backup
}

/**
 * The key spaces of the records in a backup. Its bytes cannot be searched for a key, because an object ID begins like
 * the key of its incarnation ends.
 */
async function keySpacesOf(backup: readonly Uint8Array[]): Promise<Set<number | undefined>> {
  const spaces = new Set<number | undefined>()
  for await (const frame of readBackup(piecesOf(backup))) {
    if (frame.kind === 'records') for (const [key] of frame.records) spaces.add(key[0])
  }
  return spaces
}

describe('what another process reads', () => {
  test('by a backup stays until it has ended, and is in the backup', async () => {
    const world = await EngineWorld.create()
    const [reader, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    const table = await create(other.store)
    const backup = reader.store.backup()
    const frames: Uint8Array[] = []
    for (let i = 0; i < 3; i++) frames.push((await backup.next()).value)
    await other.store
      .team(T)
      .table(table.id)
      .overwrite({ rows: [{ n: 4 }] })
    for (let i = 0; i < 4; i++) {
      expect((await other.store.maintain()).objects).toBe(0)
      await world.pass(LEASE_MS)
    }

    for await (const frame of backup) frames.push(frame)
    const spaces = await keySpacesOf(frames)
    expect(spaces).toContain(KEY_SPACE.extentPage)
    expect(spaces).not.toContain(KEY_SPACE.incarnation)
    await world.pass(LEASE_MS)
    for (let i = 0; i < 2; i++) await other.store.maintain()
    expect(await world.listed()).toHaveLength(1)
  })

  test('by a backup of a process that has ended goes with its lease', async () => {
    const world = await EngineWorld.create()
    const [reader, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    const table = await create(other.store)
    await reader.store.backup().next()
    reader.kill()
    await table.overwrite({ rows: [{ n: 4 }] })

    for (let i = 0; i < 4; i++) {
      await other.store.maintain()
      await world.pass(LEASE_MS)
    }
    await other.store.maintain()
    expect(await world.listed()).toHaveLength(1)
  })

  test('by a backup that paused for too long fails it, and says why', async () => {
    const world = await EngineWorld.create()
    const [reader, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    const table = await create(other.store)
    const backup = reader.store.backup()
    for (let i = 0; i < 3; i++) await backup.next()
    await table.overwrite({ rows: [{ n: 4 }] })
    reader.stop()
    for (let i = 0; i < 5; i++) {
      await other.store.maintain()
      await world.pass(LEASE_MS)
    }
    expect(await world.listed()).toHaveLength(1)
    reader.goOn()

    const rest = async (): Promise<void> => {
      for await (const _ of backup);
    }
    await expect(rest()).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      message: /start it again/,
    })
  })

  test('by a scan stays until it has ended', async () => {
    const world = await EngineWorld.create()
    const [reader, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    const rows = Array.from({ length: 2_500 }, (_, n) => ({ n }))
    const table = await create(other.store, rows)
    const scan = reader.store.team(T).table(table.id).scan()
    const found = [(await scan.next()).value]
    await table.overwrite({ rows: [{ n: 4 }] })
    for (let i = 0; i < 4; i++) {
      expect((await other.store.maintain()).generations).toBe(0)
      await world.pass(LEASE_MS)
    }

    for await (const row of scan) found.push(row)
    expect(found.map(({ n }) => n)).toEqual(rows.map(({ n }) => n))
    await world.pass(LEASE_MS)
    expect((await other.store.maintain()).generations).toBe(1)
  })

  test('by a scan of a process that has ended goes with its lease', async () => {
    const world = await EngineWorld.create()
    const [reader, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    const rows = Array.from({ length: 2_500 }, (_, n) => ({ n }))
    const table = await create(other.store, rows)
    await reader.store.team(T).table(table.id).scan().next()
    reader.kill()
    await table.overwrite({ rows: [{ n: 4 }] })
    expect((await other.store.maintain()).generations).toBe(0)

    for (let i = 0; i < 4; i++) {
      await world.pass(LEASE_MS)
      await other.store.maintain()
    }
    expect(await world.keys(T, KEY_SPACE.retirement)).toEqual([])
    expect(await world.listed()).toHaveLength(1)
  })

  test('by a page, which no record tells of, stays for the grace period', async () => {
    const world = await EngineWorld.create()
    const options = { ...NO_WAIT, orphanGraceMs: GRACE_MS, cacheBytesMax: 0 }
    const [reader, other] = [await world.open(options), await world.open(options)]
    const table = await create(other.store)
    const reached = reader.stopBefore(({ port }) => port === 'getObject')
    const page = numbersOf(reader.store.team(T).table(table.id))
    await reached
    await table.overwrite({ rows: [{ n: 4 }] })
    for (let i = 0; i < 4; i++) {
      expect((await other.store.maintain()).objects).toBe(0)
      await world.pass(LEASE_MS)
    }
    expect(await world.keys(T, KEY_SPACE.retirement)).toEqual([])
    reader.goOn()

    expect(await page).toEqual([1, 2, 3])
    await world.pass(GRACE_MS)
    for (let i = 0; i < 2; i++) await other.store.maintain()
    expect(await world.listed()).toHaveLength(1)
  })

  test('by a scan is the rows as they are once others know of it', async () => {
    const world = await EngineWorld.create()
    const [reader, other] = [await world.open(NO_WAIT), await world.open(NO_WAIT)]
    const table = await create(other.store)
    const reached = reader.stopBefore(publishes)
    const scan = reader.store.team(T).table(table.id).scan()
    const first = scan.next()
    await reached
    await table.overwrite({ rows: [{ n: 4 }] })
    await other.store.maintain()
    reader.goOn()

    expect((await first).value).toMatchObject({ n: 4 })
  })
})

test('a renewal whose outcome was unknown is found out, and nothing is lost', async () => {
  const world = await EngineWorld.create()
  const { store } = await world.open()
  const table = await create(store)
  const system = world.kv.partition('')
  const records = (): Promise<[Uint8Array, Uint8Array][]> =>
    system.read((view) => view.scan({ ...INCARNATIONS_RANGE, count: 10 }))
  const [[key, bytes] = [new Uint8Array(0), new Uint8Array(0)]] = await records()
  // As if a renewal had been written although the engine was told that it failed.
  const late = Uint8Array.from(bytes)
  late[7] = 99
  await system.commit({ puts: [[key, late]] })
  expect(decodeIncarnation(late).beat).toBe(99)

  await world.pass(LEASE_MS)
  await table.addRows(ROWS)
  expect(await records()).toHaveLength(1)
  expect(await numbersOf(table)).toHaveLength(6)
})

test('a store that no other process can write has no record of its incarnation', async () => {
  const world = await EngineWorld.create()
  const { store } = await world.open({}, false)
  const table = await create(store)
  for (const [, run] of OPERATIONS) await run(store.team(T), table)
  for await (const _ of table.scan());
  for await (const _ of store.backup());
  await store.maintain()

  expect(await world.keys('', KEY_SPACE.incarnation)).toEqual([])
  expect(await world.keys(T, KEY_SPACE.writer)).toEqual([])
  expect(await world.keys(T, KEY_SPACE.duty)).toEqual([])
  expect(await world.keys('', KEY_SPACE.duty)).toEqual([])
})
