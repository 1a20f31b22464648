// After commits may have been lost, what they gave out must not be given again: versions, row IDs, tokens.
import { describe, expect, onTestFinished, test } from 'vitest'
import { NO_BYTES, utf8 } from '../../../src/base/bytes.js'
import type { Store } from '../../../src/index.js'
import { openStore } from '../../../src/index.js'
import { decodeHighWater } from '../../../src/kv/high-water.js'
import { openLevelKv } from '../../../src/kv/level-kv.js'
import type { LevelKvOptions } from '../../../src/kv/level-options.js'
import { RESTORED_VERSION_STEP, VERSION_STEP } from '../../../src/kv/version-base.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import { MemoryHighWater, STORE } from '../../support/memory-high-water.js'
import { fifthOf } from '../../support/what-runs.js'

type World = Readonly<{ disk: FaultDisk; file: MemoryHighWater }>

async function openOn({ disk, file }: World, options: LevelKvOptions = {}): Promise<Store> {
  const kv = await openLevelKv(() => disk.level(), {
    highWater: file.place,
    written: true,
    ...options,
  })
  const store = await openStore({
    kv,
    objects: disk.objects(),
    maintenance: false,
    inlineRowsMax: 3,
  })
  onTestFinished(() => store.close().catch(() => undefined)) // A crashed one cannot be closed.
  return store
}

/** A store created like a directory: with one commit, and closed. */
async function newWorld(seed = 0): Promise<World> {
  const world = { disk: new FaultDisk({ seed }), file: new MemoryHighWater() }
  const kv = await openLevelKv(() => world.disk.level(), { highWater: world.file.place })
  await kv.partition('').commit({ deletes: [NO_BYTES] })
  await kv.close()
  return world
}

function baseOf({ file }: World): number {
  return decodeHighWater(STORE, file.bytes ?? utf8('')).versionBase
}

const INTERVAL = { durability: 'interval', flushMs: 60_000 } as const

describe('the base of the versions', () => {
  test('stays while nothing can have been lost', async () => {
    const world = await newWorld()
    for (let round = 0; round < 3; round++) {
      const store = await openOn(world, round === 1 ? INTERVAL : {})
      await store.team('t').createTable({ name: 'T', rows: [{ n: 1 }] })
      if (round === 2) world.disk.crash('machine')
      else await store.close()
    }

    await openOn(world)

    expect(baseOf(world)).toBe(0)
  })

  test.each(['interval', 'none'] as const)('grows after a crash with %s', async (durability) => {
    const world = await newWorld()
    await openOn(world, { durability })
    world.disk.crash('process')

    await (await openOn(world)).close()
    expect(baseOf(world)).toBe(VERSION_STEP)
    await (await openOn(world)).close()
    expect(baseOf(world)).toBe(VERSION_STEP)
  })

  test('grows after every opening with none, because nothing of it was synced', async () => {
    const world = await newWorld()
    for (let round = 0; round < 3; round++) {
      await (await openOn(world, { durability: 'none' })).close()
      expect(baseOf(world)).toBe(round * VERSION_STEP)
    }
  })

  test('grows when a loss is accepted, even a loss of the mark, and outlasts its record', async () => {
    const world = await newWorld()
    const store = await openOn(world)
    for (let n = 0; n < 5; n++) await store.team('t').createTable({ name: 'T', rows: [] })
    await store.close()
    world.disk.damage('dropBatch')
    await expect(openOn(world)).rejects.toMatchObject({ code: 'DATA_LOSS' })

    await (await openOn(world, { acceptLoss: true })).close()
    expect(baseOf(world)).toBe(VERSION_STEP)
    world.file.bytes = null
    await (await openOn(world, { acceptLoss: true })).close()
    expect(baseOf(world)).toBe(2 * VERSION_STEP)

    const level = world.disk.level()
    await level.open()
    const synced: object = { sync: true }
    await level.batch([{ type: 'del', key: Uint8Array.of(0, 2) }], synced)
    await level.close()
    await (await openOn(world)).close()
    expect(baseOf(world)).toBe(2 * VERSION_STEP)
  })

  test('is raised to what a restore wants, once', async () => {
    const world = await newWorld()
    const versionBaseMin = 3 * VERSION_STEP + RESTORED_VERSION_STEP
    for (let round = 0; round < 2; round++) {
      await (await openOn(world, { versionBaseMin })).close()
      expect(baseOf(world)).toBe(versionBaseMin)
    }
  })
})

describe('under a raised base', () => {
  async function raised() {
    const world = await newWorld()
    const before = await openOn(world)
    const options = { name: 'T', rows: [{ n: 1 }, { n: 2 }], idempotencyKey: 'once' }
    const { tableId } = await before.team('t').createTable(options)
    const page = await before.team('t').table(tableId).page({ limit: 1 })
    await before.close()
    const store = await openOn(world, { versionBaseMin: VERSION_STEP })
    const table = store.team('t').table(tableId)
    return { store, table, options, page, rowId: page.rows[0]?.$rowID ?? '' }
  }

  test('every version that leaves the store is raised', async () => {
    const { store, table, options, rowId } = await raised()
    const base = VERSION_STEP

    expect(await table.version()).toBe(base + 1)
    expect((await table.page()).version).toBe(base + 1)
    expect((await table.get(rowId))?.version).toBe(base + 1)
    expect((await store.team('t').createTable(options)).version).toBe(base + 1)
    expect((await table.addRows([{ n: 3 }])).version).toBe(base + 2)
    expect((await table.updateRow(rowId, { n: 4 })).version).toBe(base + 3)
    expect((await table.get(rowId))?.version).toBe(base + 3)
    expect((await table.deleteRow(rowId)).version).toBe(base + 4)
    expect((await table.deleteRow(rowId)).version).toBe(base + 4)
    expect((await table.overwrite({ rows: [{ n: 5 }] })).version).toBe(base + 5)
    const key = { idempotencyKey: 'add' }
    expect((await table.addRows([{ n: 6 }], key)).version).toBe(base + 6)
    expect((await table.addRows([{ n: 6 }], key)).version).toBe(base + 6)
    expect((await store.team('t').createTable({ name: 'U', rows: [] })).version).toBe(base + 1)
  })

  test('versions from before do not pass as a condition, and those of now do', async () => {
    const { table, rowId } = await raised()
    const failed = {
      code: 'PRECONDITION_FAILED',
      message: expect.stringContaining(`is at version ${VERSION_STEP + 1}`),
    }
    for (const ifMatch of [1, 50, VERSION_STEP]) {
      await expect(table.updateRow(rowId, { n: 9 }, { ifMatch })).rejects.toMatchObject(failed)
      await expect(table.overwrite({ rows: [], ifMatch })).rejects.toMatchObject(failed)
      const broken = { rows: [{ unknown: 1 }], ifMatch, onSchemaError: 'abort' } as const
      await expect(table.overwrite(broken)).rejects.toMatchObject(failed)
    }

    const { version } = await table.updateRow(rowId, { n: 9 }, { ifMatch: VERSION_STEP + 1 })
    expect((await table.overwrite({ rows: [], ifMatch: version })).version).toBe(version + 1)
  })

  test('a walk from before the loss is refused, and a current one continues', async () => {
    const { table, page } = await raised()
    const { continuation = '' } = page
    await expect(table.page({ continuation })).rejects.toMatchObject({
      code: 'CONTINUATION_INVALID',
    })

    const first = await table.page({ limit: 1 })
    const second = await table.page({ continuation: first.continuation ?? '' })
    expect([...first.rows, ...second.rows].map(({ n }) => n)).toEqual([1, 2])
    const scanned: unknown[] = []
    for await (const row of table.scan()) scanned.push(row['n'])
    expect(scanned).toEqual([1, 2])
  })

  test('rows are added to a new extent, and stay in order', async () => {
    const { table } = await raised()
    await table.addRows([{ n: 3 }])
    await table.addRows([{ n: 4 }])

    const { rows } = await table.page()
    expect(rows.map(({ n }) => n)).toEqual([1, 2, 3, 4])
    const [first, second, third, fourth] = rows.map(({ $rowID }) => $rowID.slice(0, 18))
    expect([first === second, second === third, third === fourth]).toEqual([true, false, true])
  })
})

test('a stash from before a possible loss counts as missing until it is deleted', async () => {
  const world = await newWorld()
  let store = await openOn(world, INTERVAL)
  await store
    .team('t')
    .stash('s')
    .put('1', [{ n: 1 }])
  await store
    .team('t')
    .stash('t')
    .put('1', [{ n: 1 }])
  world.disk.crash('process')
  store = await openOn(world, INTERVAL)
  const team = store.team('t')
  const missing = { code: 'STASH_NOT_FOUND', message: expect.stringContaining('must be deleted') }
  await expect(team.stash('s').put('2', [{ n: 2 }])).rejects.toMatchObject(missing)
  await expect(team.createTable({ name: 'T', rows: team.stash('s') })).rejects.toMatchObject(
    missing,
  )
  await expect(team.createTable({ name: 'T', rows: team.stash('t') })).rejects.toMatchObject(
    missing,
  )

  await team.stash('s').delete()
  await team.stash('s').put('1', [{ n: 3 }])
  const { tableId } = await team.createTable({ name: 'T', rows: team.stash('s') })
  expect((await team.table(tableId).page()).rows).toMatchObject([{ n: 3 }])
})

test('replaced objects are deleted only after their replacements are on the disk', async () => {
  const world = await newWorld()
  let store = await openOn(world, INTERVAL)
  const about = { fileName: 'a.txt', contentType: 'text/plain' }
  const ticket = await store.team('t').files.createUpload(about)
  const [, query = ''] = ticket.target.split('?')
  const { uploadId } = ticket
  for (const text of ['first', 'other']) {
    const body = (async function* () {
      yield utf8(text)
    })()
    const request = { uploadId, query, contentType: 'text/plain', contentLength: 5, body }
    await store.files.receive(request)
  }
  world.disk.crash('machine')
  store = await openOn(world, INTERVAL)
  const { bytes } = await store.team('t').files.completeUpload(uploadId)

  expect(bytes).toBe(5)
  expect((await store.verify({ full: true })).ok).toBe(true)
})

test('after any power cut no version, no row ID and no walk means something else than before', async () => {
  let lost = 0
  for (let seed = 0; seed < fifthOf(60); seed++) {
    const world = await newWorld(seed)
    let store = await openOn(world, INTERVAL)
    const { tableId } = await store.team('t').createTable({ name: 'T', rows: [{ n: 'first' }] })
    await store.close()
    const contents = new Map<number, string>()
    const rowOfId = new Map<string, unknown>()
    const rowVersions = new Map<string, string>()
    for (let life = 0; life < 4; life++) {
      store = await openOn(world, INTERVAL)
      const table = store.team('t').table(tableId)
      let before = 0
      for (let n = 0; n < 6; n++) {
        if ((seed + n) % 3 === 0) await table.overwrite({ rows: [{ n: `${life}.${n}` }] })
        else await table.addRows([{ n: `${life}:${n}` }])
        const { version, rows } = await table.page()
        const text = JSON.stringify(rows)
        expect([seed, version, contents.get(version) ?? text]).toEqual([seed, version, text])
        contents.set(version, text)
        before = version
        for (const { $rowID, n: value } of rows) {
          expect([seed, $rowID, rowOfId.get($rowID) ?? value]).toEqual([seed, $rowID, value])
          rowOfId.set($rowID, value)
          const tag = `${$rowID} ${(await table.get($rowID))?.version}`
          expect(rowVersions.get(tag) ?? String(value)).toBe(String(value))
          rowVersions.set(tag, String(value))
        }
      }
      world.disk.crash('machine')
      store = await openOn(world, INTERVAL)
      const after = await store.team('t').table(tableId).page()
      expect(after.version).toBeGreaterThan(before)
      if (JSON.stringify(after.rows) !== contents.get(before)) lost++
      await store.close()
    }
  }
  expect(lost).toBeGreaterThan(0)
})
