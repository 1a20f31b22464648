// The rules for an ObjectStore on which the store relies. Every implementation and every wrapper must pass.
import assert from 'node:assert/strict'
import type { Bytes } from '../../../src/base/bytes.js'
import type { ObjectStore } from '../../../src/objects/objects.js'
import type { ConformanceCase } from '../case.js'
import { bytes, rejectsWithCode, text } from '../kv/kv-support.js'
import { presignCases } from './objects-presign-cases.js'

const FIRST = '0123456789abcdef0000000000000001'
const SECOND = '0123456789abcdef0000000000000002'

/** An ID made of an incarnation and a number. */
function idOf(incarnation: number, number: number): string {
  return incarnation.toString(16).padStart(16, '0') + number.toString(16).padStart(16, '0')
}

/** Bytes that differ by their position, so that a wrong range shows. */
function pattern(length: number): Bytes {
  const content = new Uint8Array(length)
  for (let i = 0; i < length; i++) content[i] = (i * 31 + (i >>> 8)) & 0xff
  return content
}

async function* inPieces(pieces: readonly Bytes[]): AsyncGenerator<Bytes> {
  for (const piece of pieces) yield piece
}

async function collect(stream: AsyncIterable<Bytes> | null): Promise<Bytes | null> {
  if (stream === null) return null
  const pieces: Bytes[] = []
  for await (const piece of stream) pieces.push(piece)
  return Uint8Array.from(Buffer.concat(pieces))
}

function assertSame(found: Bytes | null, expected: Bytes): void {
  assert.ok(found !== null, 'the object is there')
  assert.equal(found.length, expected.length)
  assert.equal(Buffer.compare(found, expected), 0, 'the bytes are the same')
}

async function listAll(objects: ObjectStore, prefix: string): Promise<string[]> {
  const all: string[] = []
  for (let page = 0; page < 100; page++) {
    const listed = await objects.list(prefix, all.at(-1))
    if (listed.length === 0) return all
    all.push(...listed)
  }
  throw new Error('a listing has an end')
}

/**
 * `openEmpty` opens an empty store for each case, which closes it.
 * @example
 * import { test } from 'node:test' // or any other runner
 * import { memoryObjects } from 'rowstash'
 * import { objectsSuite } from 'rowstash/testing'
 *
 * const cases = objectsSuite(async () => memoryObjects())
 * for (const { name, run } of cases) test(name, run)
 * console.log(cases.length > 10) // true
 */
export function objectsSuite(openEmpty: () => Promise<ObjectStore>): ConformanceCase[] {
  const onStore = (use: (objects: ObjectStore) => Promise<void>) => async () => {
    const objects = await openEmpty()
    try {
      await use(objects)
    } finally {
      await objects.close()
    }
  }
  const rules = {
    ...putCases,
    ...readCases,
    ...deleteCases,
    ...listCases,
    ...closeCases,
    ...presignCases,
  }
  return Object.entries(rules).map(([name, rule]) => ({ name, run: onStore(rule) }))
}

type ObjectRules = Readonly<Record<string, (objects: ObjectStore) => Promise<void>>>

const putCases: ObjectRules = {
  'an object reads back as it was put': async (objects) => {
    await objects.put(FIRST, bytes('content'))

    assert.deepEqual(await objects.get(FIRST), bytes('content'))
  },

  'put returns the number of bytes': async (objects) => {
    assert.equal(await objects.put(FIRST, pattern(1_234)), 1_234)
    assert.equal(await objects.put(SECOND, inPieces([pattern(7), pattern(8)])), 15)
  },

  'an empty object is an object': async (objects) => {
    assert.equal(await objects.put(FIRST, bytes('')), 0)
    assert.equal(await objects.put(SECOND, inPieces([])), 0)

    for (const id of [FIRST, SECOND]) {
      assert.deepEqual(await objects.get(id), bytes(''))
      assert.deepEqual(await collect(await objects.stream(id)), bytes(''))
    }
    assert.deepEqual(await objects.list(''), [FIRST, SECOND])
  },

  'a stream of pieces is put as one object': async (objects) => {
    const pieces = [pattern(1), pattern(0), pattern(100_000), pattern(65_536), pattern(3)]

    await objects.put(FIRST, inPieces(pieces))

    assertSame(await objects.get(FIRST), Buffer.concat(pieces))
  },

  'a big object reads back whole': async (objects) => {
    const content = pattern(5 * 1_048_576 + 17)
    await objects.put(FIRST, content)

    assertSame(await objects.get(FIRST), content)
    assertSame(await collect(await objects.stream(FIRST)), content)
  },

  'a put whose source fails leaves nothing': async (objects) => {
    const failure = new RangeError('of the source')
    async function* failing(): AsyncGenerator<Bytes> {
      yield pattern(100_000)
      throw failure
    }

    await assert.rejects(objects.put(FIRST, failing()), failure)

    assert.equal(await objects.get(FIRST), null)
    assert.equal(await objects.stream(FIRST), null)
    assert.deepEqual(await objects.list(''), [])
  },

  'an object shows only when it is whole': async (objects) => {
    let seen: unknown = 'not asked'
    async function* watched(): AsyncGenerator<Bytes> {
      yield pattern(100_000)
      seen = [await objects.get(FIRST), await objects.list('')]
      yield pattern(5)
    }

    await objects.put(FIRST, watched())

    assert.deepEqual(seen, [null, []])
    assert.deepEqual(await objects.list(''), [FIRST])
  },

  'an id is put once': async (objects) => {
    await objects.put(FIRST, bytes('first'))

    await assert.rejects(objects.put(FIRST, bytes('second')))

    assert.equal(text(await objects.get(FIRST)), 'first')
  },

  'of two puts of one id at once one fails and the other is whole': async (objects) => {
    const settled = await Promise.allSettled([
      objects.put(FIRST, inPieces([bytes('a'), bytes('a')])),
      objects.put(FIRST, inPieces([bytes('b'), bytes('b')])),
    ])

    assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1)
    const expected = settled[0]?.status === 'fulfilled' ? 'aa' : 'bb'
    assert.equal(text(await objects.get(FIRST)), expected)
  },

  'ids of another form are refused': async (objects) => {
    for (const id of [
      '',
      'a',
      FIRST.toUpperCase(),
      `${FIRST}0`,
      `../${FIRST.slice(3)}`,
      `${FIRST}\n`,
    ]) {
      await assert.rejects(objects.put(id, bytes('')))
      await assert.rejects(async () => objects.get(id))
      await assert.rejects(objects.stream(id))
      await assert.rejects(objects.delete([id]))
    }
    assert.deepEqual(await objects.list(''), [])
  },

  'many puts at once are all there': async (objects) => {
    const ids = Array.from({ length: 100 }, (_, index) => idOf(index % 3, index * 997))

    await Promise.all(ids.map((id) => objects.put(id, bytes(id))))

    for (const id of ids) assert.equal(text(await objects.get(id)), id)
    assert.deepEqual(await listAll(objects, ''), [...ids].sort())
  },

  'what a caller does to its array after a put changes no object': async (objects) => {
    const content = bytes('content')
    await objects.put(FIRST, content)
    content.fill(0)

    assert.equal(text(await objects.get(FIRST)), 'content')
  },
}

const RANGES = [
  [0, 0],
  [0, 1],
  [0, 100],
  [99, 100],
  [50, 60],
  [150_000, 200_000],
  [10, 190_000],
  [65_535, 65_537],
  [0, 200_000],
] as const

const readCases: ObjectRules = {
  'an object that was never put is null': async (objects) => {
    assert.equal(await objects.get(FIRST), null)
    assert.equal(await objects.stream(FIRST), null)
    assert.equal(await objects.get(FIRST, { start: 0, limit: 1 }), null)
  },

  'objects come as plain Uint8Arrays': async (objects) => {
    await objects.put(FIRST, bytes('content'))

    assert.deepEqual(await objects.get(FIRST, { start: 0, limit: 7 }), bytes('content'))
    const stream = (await objects.stream(FIRST)) ?? inPieces([])
    for await (const piece of stream) assert.deepEqual(piece, bytes('content'))
  },

  'a range includes its start and excludes its limit': async (objects) => {
    const content = pattern(200_000)
    await objects.put(FIRST, content)

    for (const [start, limit] of RANGES) {
      const expected = content.slice(start, limit)
      assertSame(await objects.get(FIRST, { start, limit }), expected)
      assertSame(await collect(await objects.stream(FIRST, { start, limit })), expected)
    }
  },

  'a range is cut at the end of the object': async (objects) => {
    const content = pattern(1_000)
    await objects.put(FIRST, content)

    const beyond = [1_001, 100_000, Number.MAX_SAFE_INTEGER]
    for (const limit of beyond) {
      assertSame(await objects.get(FIRST, { start: 990, limit }), content.slice(990))
      assertSame(
        await collect(await objects.stream(FIRST, { start: 990, limit })),
        content.slice(990),
      )
    }
    assert.deepEqual(await objects.get(FIRST, { start: 1_000, limit: 1_001 }), bytes(''))
    assert.deepEqual(await objects.get(FIRST, { start: 5_000, limit: 6_000 }), bytes(''))
  },

  'a stream comes in pieces of at most 64 KiB': async (objects) => {
    await objects.put(FIRST, pattern(300_000))

    const stream = (await objects.stream(FIRST)) ?? inPieces([])
    for await (const piece of stream) assert.ok(piece.length > 0 && piece.length <= 65_536)
  },

  'a reader may stop in the middle of a stream': async (objects) => {
    await objects.put(FIRST, pattern(300_000))

    for (let round = 0; round < 50; round++) {
      for await (const piece of (await objects.stream(FIRST)) ?? inPieces([])) {
        assert.ok(piece.length > 0)
        break
      }
    }

    assert.equal((await objects.get(FIRST))?.length, 300_000)
  },

  'pieces stay as they are while later ones come': async (objects) => {
    const content = pattern(300_000)
    await objects.put(FIRST, content)

    const pieces: Bytes[] = []
    for await (const piece of (await objects.stream(FIRST)) ?? inPieces([])) pieces.push(piece)

    assertSame(Uint8Array.from(Buffer.concat(pieces)), content)
  },

  'many gets at once all get their bytes': async (objects) => {
    const content = pattern(100_000)
    await objects.put(FIRST, content)

    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const range = { start: index * 1_000, limit: index * 1_000 + 500 }
        assertSame(await objects.get(FIRST, range), content.slice(range.start, range.limit))
      }),
    )
  },
}

const deleteCases: ObjectRules = {
  'a deleted object is gone': async (objects) => {
    await objects.put(FIRST, bytes('first'))
    await objects.put(SECOND, bytes('second'))

    await objects.delete([FIRST])

    assert.equal(await objects.get(FIRST), null)
    assert.equal(text(await objects.get(SECOND)), 'second')
    assert.deepEqual(await objects.list(''), [SECOND])
  },

  'deleting what is not there is no error': async (objects) => {
    await objects.put(FIRST, bytes('first'))

    await objects.delete([SECOND, FIRST, SECOND])
    await objects.delete([])

    assert.equal(await objects.get(FIRST), null)
  },

  'many objects are deleted at once': async (objects) => {
    const ids = Array.from({ length: 60 }, (_, index) => idOf(1, index))
    for (const id of ids) await objects.put(id, bytes(id))

    await objects.delete(ids.slice(0, 50))

    assert.deepEqual(await objects.list(''), ids.slice(50))
  },

  'puts beside deletes of their neighbours are not lost': async (objects) => {
    for (let round = 0; round < 40; round++) {
      await objects.put(idOf(1, 2 * round), bytes('old'))
      const [written] = await Promise.all([
        objects.put(idOf(1, 2 * round + 1), bytes('new')),
        objects.delete([idOf(1, 2 * round)]),
      ])
      assert.equal(written, 3)
      assert.deepEqual(await objects.list(''), [idOf(1, 2 * round + 1)])
      await objects.delete([idOf(1, 2 * round + 1)])
    }
  },
}

const listCases: ObjectRules = {
  'an empty store lists nothing': async (objects) => {
    assert.deepEqual(await objects.list(''), [])
    assert.deepEqual(await objects.list('0123', FIRST), [])
  },

  'ids are listed in ascending order': async (objects) => {
    const ids = [idOf(2, 1), idOf(1, 0x5000), idOf(1, 2), idOf(0xfff, 0), idOf(1, 1)]
    for (const id of ids) await objects.put(id, bytes(''))

    assert.deepEqual(await objects.list(''), [...ids].sort())
  },

  'only ids with the prefix are listed, whatever its length': async (objects) => {
    const ids = [
      idOf(0x11, 1),
      idOf(0x11, 0x1001),
      idOf(0x11, 0x1002),
      idOf(0x12, 1),
      idOf(0x21, 1),
    ]
    for (const id of ids) await objects.put(id, bytes(''))

    for (const id of ids) {
      for (let length = 0; length <= 32; length++) {
        const prefix = id.slice(0, length)
        const expected = ids.filter((other) => other.startsWith(prefix))
        assert.deepEqual(await objects.list(prefix), expected)
      }
    }
    assert.deepEqual(await objects.list('f'), [])
  },

  'a listing goes on after an id, which need not exist': async (objects) => {
    const ids = [idOf(1, 1), idOf(1, 0x2000), idOf(2, 1), idOf(2, 2)]
    for (const id of ids) await objects.put(id, bytes(''))

    assert.deepEqual(await objects.list('', idOf(0, 5)), ids)
    assert.deepEqual(await objects.list('', idOf(1, 1)), ids.slice(1))
    assert.deepEqual(await objects.list('', idOf(1, 0x1fff)), ids.slice(1))
    assert.deepEqual(await objects.list('', idOf(1, 0xffff)), ids.slice(2))
    assert.deepEqual(await objects.list('', idOf(2, 2)), [])
  },

  'a listing has at most 1,000 ids and can be continued': async (objects) => {
    const ids = Array.from({ length: 1_205 }, (_, index) => idOf(1 + (index % 2), index * 40))
    for (let at = 0; at < ids.length; at += 50) {
      await Promise.all(ids.slice(at, at + 50).map((id) => objects.put(id, bytes(''))))
    }

    assert.equal((await objects.list('')).length, 1_000)
    assert.deepEqual(await listAll(objects, ''), [...ids].sort())
  },
}

const closeCases: ObjectRules = {
  'calls after close fail with STORE_CLOSED': async (objects) => {
    await objects.put(FIRST, bytes('content'))
    await objects.close()

    await rejectsWithCode(objects.put(SECOND, bytes('')), 'STORE_CLOSED')
    await rejectsWithCode(Promise.resolve(objects.get(FIRST)), 'STORE_CLOSED')
    await rejectsWithCode(objects.stream(FIRST), 'STORE_CLOSED')
    await rejectsWithCode(objects.delete([FIRST]), 'STORE_CLOSED')
    await rejectsWithCode(objects.list(''), 'STORE_CLOSED')
  },

  'a store may be closed twice': async (objects) => {
    await Promise.all([objects.close(), objects.close()])
    await objects.close()
  },
}
