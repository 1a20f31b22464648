// Goal: verify finds the damage of a store that was damaged on purpose, and finds nothing in an undamaged one.
import { setTimeout as sleep } from 'node:timers/promises'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { VerifyCounts } from '../../src/engine/types/verify-types.js'
import { decodeExtentPage } from '../../src/format/extent-page.js'
import { decodeFile } from '../../src/format/file-records.js'
import * as keys from '../../src/format/keys.js'
import * as records from '../../src/format/records.js'
import type { VerifyFinding, VerifyReport } from '../../src/index.js'
import { isStoreError, memoryObjects, openLevelKv, openStore } from '../../src/index.js'
import {
  encodePartitionPrefix,
  LevelSpace,
  partitionOfKey,
  payloadOf,
} from '../../src/kv/record-envelope.js'
import type { KvPartition, ObjectStore } from '../../src/ports.js'
import { all, type Entry, firstOf, openRich, replaceObject } from '../support/rich-database.js'
import { RICH_SIZES } from '../support/rich-store.js'
import { fifthOf } from '../support/what-runs.js'

function flip(at: number): (bytes: Uint8Array<ArrayBuffer>) => Uint8Array {
  return (bytes) => {
    const place = at < 0 ? bytes.length + at : at
    bytes[place] = (bytes[place] ?? 0) ^ 0x10
    return bytes
  }
}

async function segmentsOf(partition: KvPartition): Promise<string[]> {
  const pages = await all(partition, keys.KEY_SPACE.extentPage)
  const entries = pages.flatMap(([, page]) => decodeExtentPage(page))
  return entries.flatMap(({ segment }) => (segment === null ? [] : [segment.object]))
}

/** The number of records of each space that are removed, one at a time. */
const LOOKS_MAX = 6

function spaceOf(key: Uint8Array, value: Uint8Array): string {
  if (key[0] === LevelSpace.Commit) return 'commit'
  if (key[0] === LevelSpace.Meta) return key[1] === 1 ? 'checkpoint' : 'version base'
  const partition = partitionOfKey(key) ?? ''
  const inner = key.subarray(encodePartitionPrefix(partition).length)
  const [space = 'unknown'] = Object.entries(keys.KEY_SPACE).find(([, n]) => n === inner[0]) ?? []
  if (space !== 'row') return space
  const { text } = records.decodeRowRecord(payloadOf(value))
  return text === null ? 'row: tombstone' : text.includes('Changed') ? 'row: update' : 'row: new'
}

function kindsOf({ findings }: VerifyReport): string[] {
  const damage = findings.filter(({ severity }) => severity === 'damage')
  return [...new Set(damage.map(({ kind }) => kind))]
}

test('a store that nobody damaged has no finding, and all of it is looked at', async () => {
  const { store } = await openRich()

  const report = await store.verify({ full: true })

  expect(report.findings).toEqual([])
  expect(report).toMatchObject({ ok: true, full: true, damageCount: 0, informationCount: 0 })
  expect(report.checked).toMatchObject({ teams: 2, tables: 5, stashes: 1, files: 4, uploads: 3 })
  expect(report.checked.rows).toBe(130 + 52 + 1 + 63)
  const quick = await store.verify()
  expect(quick).toMatchObject({ ok: true, full: false, checked: { rows: report.checked.rows } })
  expect(quick.checked.bytes).toBeLessThan(report.checked.bytes / 2)
})

test('rows that are changed and compacted while they are looked at are no finding', async () => {
  const base = memoryObjects()
  const meanwhile: ((() => Promise<unknown>) | undefined)[] = []
  const objects: ObjectStore = {
    put: (id, content) => base.put(id, content),
    async get(id, range, memory) {
      const run = meanwhile.shift()
      await run?.()
      return run === undefined ? base.get(id, range, memory) : null
    },
    stream: (id, range) => base.stream(id, range),
    delete: (ids) => base.delete(ids),
    list: (prefix, after) => base.list(prefix, after),
    close: () => base.close(),
  }
  const database = new MemoryLevel<Uint8Array, Uint8Array>({
    keyEncoding: 'view',
    valueEncoding: 'view',
  })
  const store = await openStore({
    ...{
      kv: await openLevelKv(database),
      objects,
      inlineRowsMax: 5,
    },
    ...{
      orphanGraceMs: 0,
      maintenance: {
        garbageCollectionIntervalMs: 0,
        compactionIntervalMs: 0,
        compactionRecordsMin: 1,
        recompressionIntervalMs: 0,
      },
    },
  })
  onTestFinished(() => store.close())
  const team = store.team('t')
  const rows = Array.from({ length: 20 }, (_, n) => ({ n }))
  const { tableId, rowIds } = await team.createTable({ name: 'x', rows })
  const change = async () => {
    await team.table(tableId).updateRow(rowIds.get(3), { n: 30 })
    for (let runs = 0; runs < 3; runs++) await store.maintain()
  }
  await change()
  // The first read counts the rows. The second one reads a segment that a compaction replaces and a garbage collection
  // deletes.
  meanwhile.push(undefined, change)

  expect(await store.verify({ full: true })).toMatchObject({ ok: true, findings: [] })
  expect(meanwhile).toEqual([])
})

test('an empty store has no finding', async () => {
  const { store } = await openRich(false)

  expect(await store.verify({ full: true })).toMatchObject({ ok: true, findings: [] })
})

test('an object that nothing names is information, with its ID', async () => {
  const { store, objects } = await openRich()
  await objects.put('f'.repeat(32), Uint8Array.of(1))

  const report = await store.verify()

  expect(report).toMatchObject({ ok: true, damageCount: 0, informationCount: 1 })
  expect(report.findings).toMatchObject([
    { kind: 'orphan-object', severity: 'information', object: 'f'.repeat(32) },
  ])
})

describe('damage of objects', () => {
  test('every flipped bit of a segment is found by a full verify, with its table and its extent', async () => {
    const { store, objects, acme } = await openRich()
    const [object = ''] = await segmentsOf(acme)
    const size = (await objects.get(object))?.length ?? 0
    const missed: number[] = []
    for (let at = 0; at < size; at += 1 + Math.floor(size / fifthOf(150))) {
      await replaceObject(objects, object, flip(at))
      const { findings } = await store.verify({ full: true })
      const found = findings.filter((one) => one.object === object && one.severity === 'damage')
      if (!found.some(({ table, extent }) => table !== undefined && extent !== undefined)) {
        missed.push(at)
      }
      await replaceObject(objects, object, flip(at))
    }

    expect(missed).toEqual([])
    expect(await store.verify({ full: true })).toMatchObject({ ok: true })
  })

  test.each([
    ['is missing', () => null, 'object-missing'],
    ['is cut', (bytes: Uint8Array) => bytes.subarray(0, -1), 'object-length'],
    ['is longer', (bytes: Uint8Array) => Uint8Array.of(...bytes, 0), 'object-length'],
    ['has another footer', flip(-30), 'segment'],
  ] as const)('a quick verify finds a segment that %s', async (_, change, kind) => {
    const { store, objects, acme } = await openRich()
    for (const object of new Set(await segmentsOf(acme))) {
      await replaceObject(objects, object, change)
      break
    }

    expect(kindsOf(await store.verify())).toEqual([kind])
  })

  test('a segment in the place of another is found', async () => {
    const { store, objects, acme } = await openRich()
    const [first = '', second = ''] = [...new Set(await segmentsOf(acme))]
    const other = await objects.get(second)
    await replaceObject(objects, first, () => other)

    expect((await store.verify()).ok).toBe(false)
  })

  test('the bytes of a file are held against its digest, and its length even by a quick verify', async () => {
    const { store, objects, acme } = await openRich()
    const files = (await all(acme, keys.KEY_SPACE.file)).map(([, file]) => decodeFile(file))
    const long = files.find(({ bytes }) => bytes > 100_000)
    await replaceObject(objects, long?.object ?? '', flip(70_000))

    expect(kindsOf(await store.verify({ full: true }))).toEqual(['file'])
    await replaceObject(objects, long?.object ?? '', (bytes) => bytes.subarray(1))
    expect(kindsOf(await store.verify())).toEqual(['object-length'])
    await replaceObject(objects, long?.object ?? '', () => null)
    const { findings } = await store.verify()
    expect(findings[0]).toMatchObject({ kind: 'object-missing', team: 'acme' })
    expect(findings[0]?.file).toMatch(/^rsf-/)
  })

  test('a damaged forward object is found', async () => {
    const { store, objects, acme } = await openRich()
    const heads = await all(acme, keys.KEY_SPACE.tableHead)
    const [forward] = heads.flatMap(([, head]) => {
      const { forward } = records.decodeTableHead(head).generation
      return forward === null ? [] : [forward.object]
    })
    await replaceObject(objects, forward ?? '', flip(20))

    expect(kindsOf(await store.verify())).toEqual(['segment'])
  })
})

describe('damage of records', () => {
  test('every flipped bit of a value or a key is found by a full verify, and named', async () => {
    const { objects, database } = await openRich()
    /** With nothing in memory from before the damage. */
    const isFine = async (): Promise<boolean> => {
      try {
        const store = await openStore({ ...RICH_SIZES, kv: await openLevelKv(database), objects })
        const { ok } = await store.verify({ full: true })
        return ok
      } catch (failure) {
        if (isStoreError(failure)) return false // It does not open.
        throw failure
      }
    }
    const stored: Entry[] = await database.iterator({ keyEncoding: 'view' }).all()
    const missed: string[] = []
    for (const [index, [key, value]] of stored.entries()) {
      if (index % 7 !== 0) continue
      const [badValue, badKey] = [Uint8Array.from(value), Uint8Array.from(key)]
      badValue[index % value.length] = (badValue[index % value.length] ?? 0) ^ 1
      await database.put(key, badValue)
      const ofValue = await isFine()
      await database.put(key, value)
      badKey[index % key.length] = (badKey[index % key.length] ?? 0) ^ 0x40
      if ((await database.get(badKey)) !== undefined) continue // It would replace another record.
      await database.batch([
        { type: 'del', key },
        { type: 'put', key: badKey, value },
      ])
      const ofKey = await isFine()
      await database.batch([
        { type: 'del', key: badKey },
        { type: 'put', key, value },
      ])
      if (ofValue || ofKey) missed.push(Buffer.from(key).toString('hex'))
    }

    expect(missed).toEqual([])
    expect(await isFine()).toBe(true)
  })

  const LOST: readonly (readonly [keyof typeof keys.KEY_SPACE, string])[] = [
    ['catalog', 'record-missing'],
    ['tableHead', 'record-missing'],
    ['schema', 'record-missing'],
    ['extentPage', 'record-missing'],
    ['columnList', 'record-missing'],
    ['file', 'record-mismatch'],
    ['filesHead', 'record-mismatch'],
  ]
  test.each(LOST)(
    'a quick verify finds that a record of the space %s is gone',
    async (space, kind) => {
      const { store, acme } = await openRich()
      const [key] = await firstOf(acme, keys.KEY_SPACE[space])
      await acme.commit({ deletes: [key] })

      expect(kindsOf(await store.verify())).toContain(kind)
    },
  )

  test('a quick verify finds each row record that is gone and that its table counts', async () => {
    const { store, acme } = await openRich()
    const found: string[] = []
    for (const [key, value] of await all(acme, keys.KEY_SPACE.row)) {
      await acme.commit({ deletes: [key] })
      const { text } = records.decodeRowRecord(value)
      const kind = text === null ? 'tombstone' : text.includes('Changed') ? 'update' : 'row'
      found.push(`${kind}: ${kindsOf(await store.verify()).join()}`)
      await acme.commit({ puts: [[key, value]] })
    }

    // A lost update leaves no trace in other records: the checks of the database files find it.
    expect([...new Set(found)].sort()).toEqual([
      'row: record-missing',
      'tombstone: row-count',
      'update: ',
    ])
  })

  test('of each space it is known whether verify finds that one of its records is gone', async () => {
    const { store: rich, objects, database } = await openRich()
    await rich
      .team('acme')
      .stash('left')
      .put('1', [{ n: 1 }])
    await rich
      .team('acme')
      .stash('left')
      .put('2', [{ n: 1 }])
    const findings = async (): Promise<string> => {
      try {
        const store = await openStore({ ...RICH_SIZES, kv: await openLevelKv(database), objects })
        const { findings } = await store.verify()
        const kinds = new Set(findings.map(({ kind }) => kind))
        kinds.delete('orphan-object')
        return kinds.size === 0 ? 'nothing' : 'found'
      } catch (failure) {
        if (isStoreError(failure)) return 'found' // It does not open.
        throw failure
      }
    }
    const found = new Map<string, Set<string>>()
    const looks = new Map<string, number>()
    for (const [key, value] of (await database
      .iterator({ keyEncoding: 'view' })
      .all()) as Entry[]) {
      const space = spaceOf(key, value)
      looks.set(space, (looks.get(space) ?? 0) + 1)
      if ((looks.get(space) ?? 0) > LOOKS_MAX) continue
      await database.del(key)
      found.set(space, (found.get(space) ?? new Set()).add(await findings()))
      await database.put(key, value)
    }

    const [always, unknown] = [new Set<string>(), new Set<string>()]
    for (const [space, ways] of found) (ways.has('nothing') ? unknown : always).add(space)
    // The state without one of these is a state that a store may be in. (Of schemas, it is one that no rows use any
    // more.)
    expect([...unknown].sort()).toEqual([
      'chunk',
      'codecs',
      'fileMarker',
      'idempotency',
      'log',
      'row: update',
      'schema',
      'signingKeys',
      'upload',
      'workHint',
    ])
    expect(always.size).toBe(15)
  })

  test('a stash whose chunks are all gone is found', async () => {
    const { store, acme } = await openRich()
    await store
      .team('acme')
      .stash('left')
      .put('1', [{ n: 1 }])
    const chunks = await all(acme, keys.KEY_SPACE.chunk)
    await acme.commit({ deletes: chunks.map(([key]) => key) })

    const { findings } = await store.verify()
    expect(findings).toContainEqual(
      expect.objectContaining({ kind: 'record-missing', stash: 'left' }),
    )
  })

  test('versions that a table has not reached are found', async () => {
    const { store, acme } = await openRich()
    const [key, bytes] = await firstOf(acme, keys.KEY_SPACE.row)
    const record = records.decodeRowRecord(bytes)
    await acme.commit({ puts: [[key, records.encodeRowRecord({ ...record, version: 10_000 })]] })

    const report = await store.verify()

    expect(kindsOf(report)).toEqual(['row-version'])
    expect(report.findings[0]).toMatchObject({
      team: 'acme',
      place: expect.stringContaining('slot'),
    })
  })

  test('a record beyond the last extent is found, as the next rows would come to lie under it', async () => {
    const { store, acme } = await openRich()
    const [key, bytes] = await firstOf(acme, keys.KEY_SPACE.tableHead)
    const { nextExtent } = records.decodeTableHead(bytes).generation
    const row = records.encodeRowRecord({ version: 1, schemaNumber: 1, text: '"n":1' })
    const at = keys.rowKey(keys.tableOfKey(key), { extent: nextExtent, slot: 0 })
    await acme.commit({ puts: [[at, row]] })

    expect(kindsOf(await store.verify())).toEqual(['record-mismatch'])
  })

  test('missing commits are found', async () => {
    const { store, database } = await openRich()
    await database.del(Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 5))

    expect(kindsOf(await store.verify())).toEqual(['commit-log'])
  })
})

test('each finding is told at once, and those beyond the first 1,000 are counted', async () => {
  const { store, objects } = await openRich(false)
  for (let i = 0; i < 1_010; i++) {
    await objects.put(i.toString(16).padStart(32, '0'), Uint8Array.of(1))
  }
  const told: VerifyFinding[] = []

  const report = await store.verify({ onFinding: (finding) => told.push(finding) })

  expect(told).toHaveLength(1_010)
  expect(report.informationCount).toBe(1_010)
  expect(report.findings).toHaveLength(1_000)
})

test('tells how far it has come, up to what the report says', async () => {
  const { store } = await openRich()
  const told: VerifyCounts[] = []

  const { checked } = await store.verify({ full: true, onProgress: (counts) => told.push(counts) })

  expect(told.at(-1)).toEqual(checked)
  const bytes = told.map((counts) => counts.bytes)
  expect(bytes).toEqual(bytes.toSorted((one, other) => one - other))
  expect(bytes.filter((each) => each > 0 && each < checked.bytes).length).toBeGreaterThan(3)
})

test('a signal or a close ends a verify, and unknown options are refused', async () => {
  const { store } = await openRich()
  const signal = AbortSignal.abort(new Error('enough'))

  await expect(store.verify({ signal })).rejects.toMatchObject({ code: 'ABORTED' })
  const wrong = { ful: true } as object
  await expect(store.verify(wrong)).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
  const running = store.verify({ full: true })
  const closing = store.close()
  await expect(running).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  await closing
})

test('nothing is found while rows are written, compacted, overwritten and collected without any grace', async () => {
  const { store, clock } = await openRich()
  const team = store.team('acme')
  const tables = (await team.tables()).map(({ id }) => team.table(id))
  let isOver = false
  const write = async (index: number): Promise<void> => {
    const table = tables[index]
    if (table === undefined) return
    for (let round = 0; !isOver; round++) {
      await sleep(5) // In memory everything else would wait.
      const rows = Array.from({ length: 30 }, (_, n) => ({ n: n + round }))
      const { rowIds } =
        round % 4 === 3
          ? await table.overwrite({
              rows,
              schema: { columns: [{ id: 'n', type: { kind: 'number' } }] },
            })
          : await table.addRows(rows, { onSchemaError: 'dropColumns' })
      for (const id of [...rowIds].slice(0, 8)) await table.deleteRow(id)
      const file = await team.files.put(`file ${round}`, {
        fileName: 'a.txt',
        contentType: 'text/plain',
      })
      await team.files.delete(file.id)
      await team.stash(`s${index}`).put(String(round % 3), rows)
      if (round % 3 === 2) await team.stash(`s${index}`).delete()
    }
  }
  const maintain = async (): Promise<void> => {
    while (!isOver) {
      await sleep(5)
      clock.pass(3 * 3_600_000)
      await store.maintain()
    }
  }
  const working = [write(0), write(1), maintain()]
  const damage: VerifyFinding[] = []
  for (let i = 0; i < 8; i++) {
    const { findings } = await store.verify({ full: i % 2 === 0 })
    damage.push(...findings.filter(({ severity }) => severity === 'damage'))
  }
  isOver = true
  await Promise.all(working)

  expect(damage).toEqual([])
  expect((await store.verify({ full: true })).ok).toBe(true)
})
