import assert from 'node:assert/strict'
import type { KvRules } from './kv-support.js'
import { bytes, keysOf, put, putAll, text, textAt } from './kv-support.js'

/** Every one-byte key, and keys that differ only near their end. */
const TRICKY_KEYS = [
  ...Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)),
  Uint8Array.of(0, 0),
  Uint8Array.of(0x7f, 0xff),
  Uint8Array.of(0x80, 0),
  Uint8Array.of(0xff, 0),
  Uint8Array.of(0xff, 0xff),
  Uint8Array.of(0xff, 0xff, 0xff),
]

/** A byte that looks random. */
function mixed(index: number, seed: number): number {
  return (Math.imul(index * 2 + seed, 0x9e3779b1) >>> 13) & 0xff
}

const LAST = new Uint8Array(8).fill(0xff)

export const kvReadCases: KvRules = {
  'a record that was never put is null': async (partition) => {
    assert.equal(await textAt(partition, 'absent'), null)
  },

  'a record reads back as it was put': async (partition) => {
    await put(partition, 'key', 'value')

    assert.equal(await textAt(partition, 'key'), 'value')
  },

  'keys and values come as plain Uint8Arrays': async (partition) => {
    await put(partition, 'key', 'value')

    await partition.read(async (view) => {
      assert.deepEqual(await view.get(bytes('key')), bytes('value'))
      assert.deepEqual(await view.getMany([bytes('key')]), [bytes('value')])
      const entries = await view.scan({ start: bytes(''), limit: LAST, count: 1 })
      assert.deepEqual(entries, [[bytes('key'), bytes('value')]])
    })
  },

  'an empty value is a value': async (partition) => {
    await put(partition, 'key', '')

    assert.equal(await textAt(partition, 'key'), '')
    assert.deepEqual(await keysOf(partition), ['key'])
  },

  'the empty key is a key': async (partition) => {
    await put(partition, '', 'value')

    assert.equal(await textAt(partition, ''), 'value')
    assert.deepEqual(await keysOf(partition), [''])
  },

  'getMany answers in the order of its keys, with null for absent ones': async (partition) => {
    await putAll(partition, ['a', 'b', 'c'])

    const keys = ['c', 'x', 'a', 'c', ''].map(bytes)
    const values = await partition.read((view) => view.getMany(keys))

    assert.deepEqual(values.map(text), ['=c', null, '=a', '=c', null])
  },

  'getMany of nothing is empty': async (partition) => {
    assert.deepEqual(await partition.read((view) => view.getMany([])), [])
  },

  'a scan is in byte order, whatever the order of the puts': async (partition) => {
    const shuffled = TRICKY_KEYS.map((key, index) => ({ key, rank: (index * 97) % 262 }))
    shuffled.sort((left, right) => left.rank - right.rank)
    await partition.commit({ puts: shuffled.map(({ key }) => [key, key] as const) })

    const scan = { start: bytes(''), limit: LAST, count: 1_000 }
    const entries = await partition.read((view) => view.scan(scan))

    const expected = TRICKY_KEYS.map((key) => Buffer.from(key)).sort(Buffer.compare)
    assert.deepEqual(
      entries.map(([key]) => Buffer.from(key).toString('hex')),
      expected.map((key) => key.toString('hex')),
    )
    for (const [key, value] of entries) assert.deepEqual(value, key)
  },

  'a key of 1,024 bytes is a key, also in a partition of the longest name': async (_, store) => {
    const partition = store.partition('\u20ac'.repeat(256))
    // No two keys are similar in their first thousand bytes, so that nothing can compress them.
    const keys = [1, 2].map((seed) => Uint8Array.from({ length: 1_024 }, (_, i) => mixed(i, seed)))
    await partition.commit({ puts: keys.map((key) => [key, key] as const) })

    assert.deepEqual(await partition.read((view) => view.getMany(keys)), keys)
  },

  'keys of 0xff bytes are found by get': async (partition) => {
    for (const length of [1, 2, 100]) {
      const key = new Uint8Array(length).fill(0xff)
      await partition.commit({ puts: [[key, bytes(`${length}`)]] })
      assert.equal(text(await partition.read((view) => view.get(key))), `${length}`)
    }
  },

  'a scan includes its start and excludes its limit': async (partition) => {
    await putAll(partition, ['a', 'b', 'c', 'd'])

    assert.deepEqual(await keysOf(partition, { start: bytes('b'), limit: bytes('d') }), ['b', 'c'])
  },

  'the bounds of a scan need not exist as keys': async (partition) => {
    await putAll(partition, ['b', 'd'])

    assert.deepEqual(await keysOf(partition, { start: bytes('a'), limit: bytes('c') }), ['b'])
  },

  'a scan stops at its count': async (partition) => {
    await putAll(partition, ['a', 'b', 'c'])

    assert.deepEqual(await keysOf(partition, { count: 2 }), ['a', 'b'])
  },

  'a reverse scan brings the largest keys first': async (partition) => {
    await putAll(partition, ['a', 'b', 'c', 'd'])

    const range = { start: bytes('a'), limit: bytes('d') }
    assert.deepEqual(await keysOf(partition, { ...range, reverse: true }), ['c', 'b', 'a'])
  },

  'a reverse scan with a count keeps the largest keys': async (partition) => {
    await putAll(partition, ['a', 'b', 'c', 'd'])

    assert.deepEqual(await keysOf(partition, { count: 2, reverse: true }), ['d', 'c'])
  },

  'a scan of keys alone brings the keys that a scan brings': async (partition) => {
    await putAll(partition, ['a', 'b', 'c', 'd'])

    const range = { start: bytes('a'), limit: bytes('d'), keysOnly: true }
    assert.deepEqual(await keysOf(partition, range), ['a', 'b', 'c'])
    assert.deepEqual(await keysOf(partition, { ...range, count: 2 }), ['a', 'b'])
    assert.deepEqual(await keysOf(partition, { ...range, count: 2, reverse: true }), ['c', 'b'])
  },

  'a scan of an empty range is empty': async (partition) => {
    await putAll(partition, ['a', 'b'])

    assert.deepEqual(await keysOf(partition, { start: bytes('a'), limit: bytes('a') }), [])
    assert.deepEqual(await keysOf(partition, { start: bytes('x'), limit: bytes('z') }), [])
  },

  'a scan whose start is after its limit is empty': async (partition) => {
    await putAll(partition, ['a', 'b', 'c'])

    for (const reverse of [false, true]) {
      const range = { start: bytes('c'), limit: bytes('a') }
      assert.deepEqual(await keysOf(partition, { ...range, reverse }), [])
    }
  },

  'a scan continues after the last key it brought': async (partition) => {
    const keys = Array.from({ length: 25 }, (_, index) => `k${String(index).padStart(2, '0')}`)
    await putAll(partition, keys)

    const found: (string | null)[] = []
    let start = bytes('')
    for (let page = 0; page < 10; page++) {
      const some = await keysOf(partition, { start, count: 4 })
      found.push(...some)
      if (some.length < 4) break
      start = bytes(`${some.at(-1)}\u0000`)
    }

    assert.deepEqual(found, keys)
  },

  'a scan of many records is complete': async (partition) => {
    const count = 20_000
    const keyOf = (index: number) => `k${String(index).padStart(6, '0')}`
    for (let from = 0; from < count; from += 5_000) {
      await putAll(
        partition,
        Array.from({ length: 5_000 }, (_, index) => keyOf(from + index)),
      )
    }

    const keys = await keysOf(partition, { count: 100_000 })

    assert.equal(keys.length, count)
    assert.ok(keys.every((key, index) => key === keyOf(index)))
  },

  'big values read back whole': async (partition) => {
    const big = new Uint8Array(6 * 1_048_576)
    for (let i = 0; i < big.length; i += 13) big[i] = i % 251
    await partition.commit({ puts: [[bytes('big'), big]] })

    const found = await partition.read((view) => view.get(bytes('big')))
    const scanned = await partition.read((view) => {
      return view.scan({ start: bytes('a'), limit: bytes('z'), count: 10 })
    })

    assert.ok(found !== null && Buffer.compare(found, big) === 0)
    assert.equal(scanned.length, 1)
    assert.ok(Buffer.compare(scanned[0]?.[1] ?? bytes(''), big) === 0)
  },

  'several big values come in one scan': async (partition) => {
    const value = new Uint8Array(700_000).fill(7)
    for (const key of ['a', 'b', 'c', 'd', 'e']) {
      await partition.commit({ puts: [[bytes(key), value]] })
    }

    assert.deepEqual(await keysOf(partition), ['a', 'b', 'c', 'd', 'e'])
  },

  'a scan with bytesMax ends at its count, at its bytes or at the end, and can be gone on with':
    async (partition) => {
      const sizes = [700_000, 10, 700_000, 700_000, 20, 0, 30, 700_000, 5]
      const keyOf = (index: number) => bytes(`k${index}`)
      for (const [index, size] of sizes.entries()) {
        await partition.commit({ puts: [[keyOf(index), new Uint8Array(size).fill(index)]] })
      }
      for (const [count, bytesMax] of [
        [100, 1],
        [100, 700_011],
        [100, 1_500_000],
        [2, 1_500_000],
        [100, 100_000_000],
      ] as const) {
        const found: number[] = []
        await partition.read(async (view) => {
          for (let start = bytes('k'); ; ) {
            const entries = await view.scan({ start, limit: bytes('l'), count, bytesMax })
            const held = entries.reduce((sum, [, value]) => sum + value.length, 0)
            found.push(...entries.map(([, value]) => value.length))
            const last = entries.at(-1)
            if (last === undefined || (entries.length < count && held < bytesMax)) return
            start = Uint8Array.of(...last[0], 0)
          }
        })
        assert.deepEqual(found, sizes, `count ${count}, bytesMax ${bytesMax}`)
      }
    },

  'a view does not see later commits': async (partition) => {
    await putAll(partition, ['a', 'b'])

    await partition.read(async (view) => {
      assert.equal(await view.get(bytes('x')), null) // The first query fixes the commit.
      await partition.commit({ puts: [[bytes('c'), bytes('new')]], deletes: [bytes('a')] })
      await put(partition, 'b', 'new')

      assert.equal(text(await view.get(bytes('a'))), '=a')
      assert.equal(text(await view.get(bytes('b'))), '=b')
      const many = await view.getMany([bytes('a'), bytes('c')])
      assert.deepEqual(many.map(text), ['=a', null])
      const entries = await view.scan({ start: bytes(''), limit: LAST, count: 10 })
      assert.deepEqual(
        entries.map(([, value]) => text(value)),
        ['=a', '=b'],
      )
    })
  },

  'a view that is opened after a commit resolved sees it': async (partition) => {
    for (let round = 0; round < 50; round++) {
      await put(partition, 'key', `${round}`)
      assert.equal(await textAt(partition, 'key'), `${round}`)
    }
  },

  'a view shows one commit, not older than any acknowledged before': async (partition) => {
    await putAll(partition, ['a', 'b'])
    await put(partition, 'a', 'acknowledged')

    await partition.read(async (view) => {
      assert.equal(text(await view.get(bytes('a'))), 'acknowledged')
      const keys = ['a', 'b'].map(bytes)
      await partition.commit({ puts: keys.map((key) => [key, bytes('later')] as const) })
      assert.equal(text(await view.get(bytes('b'))), '=b')
    })
  },

  'two views at once see their own commits': async (partition) => {
    await put(partition, 'key', 'old')
    await partition.read(async (early) => {
      assert.equal(await early.get(bytes('x')), null) // The first query fixes the commit.
      await put(partition, 'key', 'new')
      await partition.read(async (late) => {
        assert.equal(text(await early.get(bytes('key'))), 'old')
        assert.equal(text(await late.get(bytes('key'))), 'new')
      })
    })
  },

  'read returns what its use returns': async (partition) => {
    assert.equal(await partition.read(async () => 42), 42)
  },

  'read fails with what its use throws': async (partition) => {
    const failure = new RangeError('of the caller')

    await assert.rejects(
      partition.read(() => Promise.reject(failure)),
      failure,
    )
    assert.equal(await textAt(partition, 'key'), null)
  },

  'a view is not used after its read': async (partition) => {
    const view = await partition.read(async (inside) => inside)

    await assert.rejects(async () => await view.get(bytes('key')))
  },
}
