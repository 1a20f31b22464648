// Goal: below freeDiskBytesMin every operation that needs space is refused without a change; reads and deletions
// continue; writes continue once there is space. Time is virtual.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLevel } from 'memory-level'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { openDirectory } from '../../../adapters/node.js'
import {
  createContract,
  memoryObjects,
  openLevelKv,
  openStore,
  type Store,
} from '../../../src/index.js'
import type { ObjectStore } from '../../../src/ports.js'

const MIB = 1024 * 1024
const ENOUGH = 300 * MIB
const LITTLE = 200 * MIB
const MEASURED_MS = 1_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

type Disk = { free: number; measured: number }

async function open(disk: Disk, freeDiskBytesMin?: number): Promise<Store> {
  const objects: ObjectStore = Object.assign(memoryObjects(), {
    freeBytes: async () => {
      disk.measured++
      return disk.free
    },
  })
  const kv = await openLevelKv(
    new MemoryLevel<Uint8Array, Uint8Array>({ keyEncoding: 'view', valueEncoding: 'view' }),
  )
  const limit = freeDiskBytesMin === undefined ? {} : { freeDiskBytesMin }
  const store = await openStore({ kv, objects, maintenance: false, ...limit })
  onTestFinished(() => store.close())
  return store
}

const LOW = {
  code: 'INSUFFICIENT_STORAGE',
  outcome: 'unchanged',
  message: `The disk has ${LITTLE} bytes free, fewer than the ${256 * MIB} of freeDiskBytesMin; free some space`,
}

test('what needs space is refused below freeDiskBytesMin; reads and deletions are not', async () => {
  const disk = { free: ENOUGH, measured: 0 }
  const store = await open(disk)
  const team = store.team('team')
  const { tableId, rowIds } = await team.createTable({ name: 'T', rows: [{ n: 1 }, { n: 2 }] })
  const table = team.table(tableId)
  const file = await team.files.put(Buffer.from('x'), { fileName: 'x', contentType: 'text/plain' })
  await team.stash('s').put('0', [{ n: 1 }])
  const before = await table.version()
  disk.free = LITTLE
  vi.advanceTimersByTime(MEASURED_MS)

  const upload = { fileName: 'x', contentType: 'text/plain', appId: 'a', owner: 'o' }
  const writes = {
    create: () => team.createTable({ name: 'U', rows: [] }),
    add: () => table.addRows([{ n: 3 }]),
    overwrite: () => table.overwrite({ rows: [] }),
    update: () => table.updateRow(rowIds.get(0), { n: 9 }),
    chunk: () => team.stash('s').put('1', [{ n: 1 }]),
    file: () => team.files.put(Buffer.from('y'), { fileName: 'y', contentType: 'text/plain' }),
    upload: () => team.files.createUpload(upload),
    job: () => team.startJob({ create: { name: 'V', rows: [] } }),
    import: () => team.importTable({ fromUrl: 'http://source.test/rows.csv' }),
  }
  for (const [name, write] of Object.entries(writes)) {
    await expect(write(), name).rejects.toMatchObject(LOW)
  }

  expect(store.status()).toMatchObject({ writable: false, code: 'INSUFFICIENT_STORAGE' })
  expect([await table.version(), (await team.tables()).length]).toEqual([before, 1])
  expect((await table.page()).rows.length).toBe(2)
  expect((await table.deleteRow(rowIds.get(0))).deleted).toBe(true)
  expect(await team.files.delete(file.id)).toBe(true)
  expect(await team.stash('s').delete()).toBe(true)
  await store.maintain()
})

test('writes go on once there is room, which is seen after a second', async () => {
  const disk = { free: LITTLE, measured: 0 }
  const store = await open(disk)
  const create = () => store.team('team').createTable({ name: 'T', rows: [] })
  await expect(create()).rejects.toMatchObject(LOW)
  disk.free = ENOUGH
  await expect(create()).rejects.toMatchObject(LOW)

  vi.advanceTimersByTime(MEASURED_MS)

  await create()
  expect(store.status()).toEqual({ writable: true })
})

test('a chunk of an operation that was begun with room is refused too', async () => {
  const disk = { free: ENOUGH, measured: 0 }
  const store = await open(disk)
  const team = store.team('team')
  async function* rows(): AsyncGenerator<{ text: string }> {
    for (let n = 0; n < 100; n++) {
      yield { text: 'x'.repeat(MIB) }
      if (n === 20) {
        disk.free = LITTLE
        vi.advanceTimersByTime(MEASURED_MS)
      }
    }
  }

  await expect(team.createTable({ name: 'T', rows: rows() })).rejects.toMatchObject(LOW)

  expect(await team.tables()).toEqual([])
})

test('free space is measured once a second at most, and not at all if the limit is off', async () => {
  const disk = { free: ENOUGH, measured: 0 }
  const store = await open(disk)
  for (let n = 0; n < 100; n++) await store.team('team').stash('s').put(n, [{ n }])
  expect(disk.measured).toBe(1)

  const unlimited = { free: 0, measured: 0 }
  const other = await open(unlimited, 0)
  await other
    .team('team')
    .stash('s')
    .put('0', [{ n: 1 }])

  expect(unlimited.measured).toBe(0)
})

test('over HTTP it is 507, and /readyz says that the disk is full', async () => {
  const disk = { free: LITTLE, measured: 0 }
  const key = 'a-key-of-the-first-team'
  const contract = createContract(await open(disk), { keys: [{ key, teamId: 'team' }] })
  async function* body(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('[]')
  }
  const send = (method: string, path: string) => {
    const headers = [
      ['authorization', `Bearer ${key}`],
      ['content-type', 'application/json'],
    ] as const
    return contract.handle({ method, path, query: '', headers, body: body() })
  }

  const put = await send('PUT', '/stashes/s/0')

  expect([put.status, put.body]).toEqual([
    507,
    '{"error":{"type":"insufficient_storage","message":"The store is full: nothing was changed; try again"}}',
  ])
  expect((await send('GET', '/readyz')).status).toBe(503)
  expect((await send('GET', '/tables')).status).toBe(200)
})

test('a store in a directory knows the free space of its disk', async () => {
  vi.useRealTimers()
  const directory = await mkdtemp(join(tmpdir(), 'rowstash-disk-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const store = await openDirectory(join(directory, 'a'), {
    freeDiskBytesMin: Number.MAX_SAFE_INTEGER,
  })
  onTestFinished(() => store.close())

  await expect(store.team('team').stash('s').put('0', [])).rejects.toMatchObject({
    code: 'INSUFFICIENT_STORAGE',
  })
})
