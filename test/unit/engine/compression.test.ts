// A store with compressed segments behaves the same, in fewer bytes.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDirectory } from '../../../adapters/node.js'
import type { Bytes } from '../../../src/base/bytes.js'
import { codecs } from '../../../src/base/codecs.js'
import { resolveStoreOptions } from '../../../src/engine/arguments/resolve-options.js'
import type { FrameRows } from '../../../src/engine/segments/frame-runs.js'
import { WALK_AT_WILL } from '../../../src/engine/segments/read-ahead.js'
import { readSegmentPieces } from '../../../src/engine/segments/read-segment.js'
import { decodeFrame, Frame } from '../../../src/format/segment-reader.js'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type Store,
  type StoreOptions,
} from '../../../src/index.js'
import type { ObjectStore } from '../../../src/ports.js'
import { buildSegment } from '../../support/build-segment.js'
import { segmentCacheOf } from '../../support/segment-cache.js'

type Opened = Readonly<{
  store: Store
  /** Codec bytes of the first frames of all segments, and the segments' total bytes. */
  segments(): Promise<Readonly<{ codecs: readonly number[]; bytes: number }>>
  /** Ranges read since the last call. */
  reads(): number
}>

async function open({
  shared = false,
  ...options
}: StoreOptions & { shared?: boolean }): Promise<Opened> {
  const objects = memoryObjects()
  let reads = 0
  const get = objects.get.bind(objects)
  const counted: ObjectStore['get'] = (id, range) => {
    reads++
    return get(id, range)
  }
  const kv = await openLevelKv(
    new MemoryLevel<Uint8Array, Uint8Array>({ keyEncoding: 'view', valueEncoding: 'view' }),
  )
  const partition = (name: string) => kv.partition(name)
  const store = await openStore({
    maintenance: false,
    inlineRowsMax: 0,
    ...options,
    kv: shared ? { shared, partition, close: () => kv.close() } : kv,
    objects: Object.assign(objects, { get: counted }),
  })
  onTestFinished(() => store.close())
  return {
    store,
    async segments() {
      const all: Bytes[] = []
      for (const id of await objects.list('')) all.push((await get(id)) ?? new Uint8Array())
      return {
        codecs: all.map((bytes) => bytes[8] ?? -1),
        bytes: all.reduce((sum, { length }) => sum + length, 0),
      }
    },
    reads() {
      const before = reads
      reads = 0
      return before
    },
  }
}

const MIB = 1024 * 1024

const ROWS = Array.from({ length: 1_000 }, (_, n) => ({
  n,
  text: `row ${n} `.repeat(1 + (n % 20)),
}))

describe.each([
  ['none', 0],
  ['deflate', 1],
  ...(codecs.zstd === null ? [] : [['zstd', 2] as const]),
] as const)('with compression %s', (compression, number) => {
  test('rows are read as they came in, by pages, scans and row IDs, also after a compaction', async () => {
    const { store, segments } = await open({ compression, orphanGraceMs: 0 })
    const team = store.team('t')
    const stash = team.stash('s')
    await Promise.all(
      [0, 1, 2].map((serial) => stash.put(String(serial), { json: JSON.stringify(ROWS) })),
    )
    const { tableId, rowIds } = await team.createTable({ name: 'x', rows: stash })
    const table = team.table(tableId)
    const expected: Record<string, unknown>[] = [...ROWS, ...ROWS, ...ROWS]
    for (let n = 0; n < 100; n++) {
      await table.updateRow(rowIds.at(10 * n) ?? '', { text: 'new' })
      expected[10 * n] = { n: 10 * n, text: 'new' }
    }
    const check = async (): Promise<void> => {
      const read: unknown[] = []
      for await (const { $rowID, ...row } of table.scan()) read.push(row)

      expect(read).toEqual(expected)
      expect((await table.get(rowIds.at(2_999) ?? ''))?.row).toMatchObject(ROWS[999] ?? {})
    }

    await check()
    expect((await store.maintain()).compactions).toBe(1)
    await check()

    expect(new Set((await segments()).codecs)).toEqual(new Set([number]))
  })

  test('a store reads what was written under each other one', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'rowstash-compression-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    const path = join(directory, 'store')
    const first = await openDirectory(path, { compression, inlineRowsMax: 0 })
    const { tableId } = await first.team('t').createTable({ name: 'x', rows: ROWS })
    await first.close()
    const second = await openDirectory(path, { compression: 'none', inlineRowsMax: 0 })
    onTestFinished(() => second.close())
    const table = second.team('t').table(tableId)
    await table.addRows(ROWS)
    const read: unknown[] = []
    for await (const { $rowID, ...row } of table.scan()) read.push(row)

    expect(read).toEqual([...ROWS, ...ROWS])
  })

  test('rows of one frame are fetched and decompressed once', async () => {
    const { store, reads } = await open({ compression })
    const { tableId, rowIds } = await store.team('t').createTable({ name: 'x', rows: ROWS })
    const table = store.team('t').table(tableId)
    await table.get(rowIds.at(0) ?? '')
    reads()

    for (let n = 1; n < 64; n++) await table.get(rowIds.at(n) ?? '')

    expect(reads()).toBe(0)
  })
})

test('compressed rows take less than half of the space', async () => {
  const bytesOf = async (compression: 'none' | 'deflate' | 'zstd'): Promise<number> => {
    const { store, segments } = await open({ compression })
    await store.team('t').createTable({ name: 'x', rows: ROWS })
    return (await segments()).bytes
  }

  expect(await bytesOf('deflate')).toBeLessThan((await bytesOf('none')) / 2)
})

describe('the options compression and recompression', () => {
  const resolved = (given: Readonly<Record<string, string>> = {}): readonly string[] => {
    const { compression, recompression } = resolveStoreOptions(given as StoreOptions)
    return [compression.other, compression.short, recompression]
  }

  test('write rows as they are, and compress short ones at once and others later, where the runtime has zstd', () => {
    const later = codecs.zstd === null ? 'none' : 'zstd'

    for (const given of [{}, { compression: 'auto' }, { recompression: 'auto' }]) {
      expect(resolved(given)).toEqual(['none', later, later])
    }
    expect(resolved({ recompression: 'deflate' })).toEqual(['none', 'deflate', 'deflate'])
    expect(resolved({ recompression: 'none' })).toEqual(['none', 'none', 'none'])
  })

  test('compress all rows at once in a store that processes share, as they go over a network', async () => {
    const { store, segments } = await open({ shared: true })
    const rows = Array.from({ length: 500 }, (_, index) => ({ text: `${index} `.repeat(60) }))
    await store.team('t').createTable({ name: 'a', rows })

    expect((await segments()).codecs).toEqual([codecs.zstd === null ? 0 : 2])
  })

  test('compress nothing later if the compression of new segments is given, unless both are', () => {
    expect(resolved({ compression: 'none' })).toEqual(['none', 'none', 'none'])
    expect(resolved({ compression: 'deflate' })).toEqual(['deflate', 'deflate', 'none'])
    const both = { compression: 'none', recompression: 'deflate' }
    expect(resolved(both)).toEqual(['none', 'none', 'deflate'])
  })

  test.each(['compression', 'recompression'])(
    '%s is refused if it is no compression, or one that the runtime lacks',
    (name) => {
      const refused = expect.objectContaining({
        code: 'OPTION_NOT_ALLOWED',
        message: expect.stringContaining(`"${name}"`),
      })

      for (const wrong of ['', 'gzip', 'toString', 'Zstd']) {
        expect(() => resolved({ [name]: wrong })).toThrow(refused)
      }
      if (codecs.zstd === null) expect(() => resolved({ [name]: 'zstd' })).toThrow(refused)
      else expect(resolved({ [name]: 'zstd' })).toContain('zstd')
    },
  )
})

const OBJECT = '00112233445566770000000000000001'

/** A segment of these rows, the only one in its object. */
async function putSegment(texts: readonly string[], compression: 'none' | 'deflate' | 'zstd') {
  const objects = memoryObjects()
  const { bytes, footerBytes } = await buildSegment(OBJECT, texts, [], [], compression)
  await objects.put(OBJECT, bytes)
  const ref = { object: OBJECT, rowCount: texts.length, objectBytes: bytes.length, footerBytes }
  return { objects, ref, bytes }
}

async function replaceSegment(objects: ObjectStore, bytes: Bytes): Promise<void> {
  await objects.delete([OBJECT])
  await objects.put(OBJECT, bytes)
}

test('rows that take little space compressed are read about a megabyte at a time', async () => {
  const texts = Array.from({ length: 640 }, (_, n) => `"n":${n},"t":"${'x'.repeat(20_000)}"`)
  const { objects, ref, bytes } = await putSegment(texts, 'deflate')
  const cache = segmentCacheOf(objects, 0)
  const read: string[] = []
  let largest = 0
  for await (const piece of cache.rowTexts(ref, 0, texts.length)) {
    largest = Math.max(largest, piece.join('').length)
    read.push(...piece)
  }

  expect(bytes.length).toBeLessThan(200_000)
  expect(largest).toBeLessThan(1_200_000)
  expect(read).toEqual(texts)
})

test('who reads much that was compressed lets other work of the process run in between', async () => {
  const texts = Array.from({ length: 640 }, (_, n) => `"n":${n},"t":"${'x'.repeat(20_000)}"`)
  const { objects, ref } = await putSegment(texts, 'deflate')
  const cache = segmentCacheOf(objects, 0)
  let turns = 0
  const count = (): void => {
    turns++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  onTestFinished(() => clearImmediate(next))
  const turnsDuring = async (read: () => Promise<void>): Promise<number> => {
    const before = turns
    await read()
    return turns - before
  }
  const walked = await turnsDuring(async () => {
    for await (const piece of cache.rowTexts(ref, 0, texts.length)) expect(piece).not.toEqual([])
  })
  const { frames } = await cache.footer(ref)
  const verified = await turnsDuring(async () => {
    const footer = await cache.footer(ref)
    for await (const piece of readSegmentPieces(objects, ref, footer)) {
      expect([piece.problems, piece.frames.length]).toEqual([[], frames.length])
    }
  })

  // About 12.8 MB of texts, about one megabyte per turn.
  expect(walked).toBeGreaterThan(8)
  expect(verified).toBeGreaterThan(8)
})

test('a row of a frame that was compressed is there at once, and the frame stays in as much memory as it needs', async () => {
  const texts = Array.from({ length: 64 }, (_, n) => `"n":${n},"t":"${'text '.repeat(20)}"`)
  const { objects, ref, bytes } = await putSegment(texts, 'deflate')
  const get = objects.get.bind(objects)
  objects.get = (id, range) => {
    const [{ start, limit }, whole] = [range ?? { start: 0, limit: 0 }, bytes]
    return id === ref.object ? whole.slice(start, limit) : get(id, range)
  }
  const cache = segmentCacheOf(objects, MIB)
  const alone = vi.spyOn(Frame.prototype, 'alone')
  onTestFinished(() => alone.mockRestore())
  const first = cache.rowText(ref, 0)
  expect(alone).toHaveBeenCalledOnce()
  const { frames } = await cache.footer(ref)
  const [place] = frames
  const stored = bytes.slice(place?.offset, (place?.offset ?? 0) + (place?.bytes ?? 0))
  const frame = place && (await decodeFrame(ref, place, stored))

  expect(first).toBe(texts[0])
  expect(cache.rowText(ref, 63)).toBe(texts[63])
  expect(frame?.alone().rowTexts(0, 64)).toEqual(texts)
  expect(frame?.alone().texts.buffer.byteLength).toBe(frame?.bytes)
})

test('what was decompressed for a walk is freed when the next piece is asked for, and what is stored never', async () => {
  const canFree = 'transfer' in ArrayBuffer.prototype
  for (const compression of ['none', 'deflate'] as const) {
    const texts = Array.from({ length: 640 }, (_, n) => `"n":${n},"t":"${'x'.repeat(5_000)}"`)
    const { objects, ref } = await putSegment(texts, compression)
    const cache = segmentCacheOf(objects, 0)
    const lengths: number[] = []
    const seen: Bytes[] = []
    for (let turn = 0; turn < 2; turn++) {
      const run = { ref, start: 0, limit: texts.length }
      for await (const piece of cache.walk(() => [run], WALK_AT_WILL).frames(run)) {
        lengths.push(...piece.map(({ frame }) => frame.texts.length))
        seen.push(...piece.map(({ frame }) => frame.texts))
      }
    }
    const freed = seen.filter(({ length }) => length === 0).length

    expect(lengths).not.toContain(0)
    expect(freed).toBe(compression === 'none' || !canFree ? 0 : seen.length)
  }
})

const PACKED = codecs.zstd === null ? (['deflate'] as const) : (['deflate', 'zstd'] as const)

test.each(PACKED)(
  'walks over one segment of %s at a time have the rows to themselves until they go on',
  async (compression) => {
    const texts = Array.from({ length: 3_000 }, (_, n) => `"n":${n},"t":"${'text '.repeat(150)}"`)
    const { objects, ref } = await putSegment(texts, compression)
    const cache = segmentCacheOf(objects, 0)
    const walks = [0, 1, 2].map((at) => {
      const run = { ref, start: at * 300, limit: 2_400 + at * 300 }
      return cache.walk(() => [run], WALK_AT_WILL).frames(run)
    })
    const seen: string[][] = [[], [], []]
    for (let isOver = false; !isOver; ) {
      const pieces: IteratorResult<FrameRows[]>[] = []
      for (const walk of walks) pieces.push(await walk.next())
      expect(await cache.rowText(ref, 1_500)).toBe(texts[1_500])
      for (const [at, { done, value }] of pieces.entries()) {
        if (done) isOver = true
        else
          seen[at]?.push(
            ...value.flatMap(({ frame, first, limit }) => frame.rowTexts(first, limit)),
          )
      }
    }

    expect(seen).toEqual([0, 300, 600].map((start) => texts.slice(start, start + 2_400)))
  },
)

test.each(PACKED)(
  'of damaged and sound frames of %s side by side nothing is read, and nothing is left behind',
  async (compression) => {
    const texts = Array.from({ length: 640 }, (_, n) => `"n":${n},"t":"${'text '.repeat(50)}"`)
    const { objects, ref, bytes } = await putSegment(texts, compression)
    const damaged = new Uint8Array(bytes)
    damaged[bytes.length >> 1] = (damaged[bytes.length >> 1] ?? 0) ^ 1
    await replaceSegment(objects, damaged)
    const cache = segmentCacheOf(objects, 0)
    const read = async (): Promise<number> => {
      let rows = 0
      for await (const piece of cache.rowTexts(ref, 0, texts.length)) rows += piece.length
      return rows
    }

    for (let turn = 0; turn < 10; turn++) {
      await expect(read()).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
    }
    await replaceSegment(objects, bytes)
    expect(await read()).toBe(640)
  },
)
