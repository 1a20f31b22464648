import assert from 'node:assert/strict'
import type { KvCommitResult } from '../../../src/kv/kv.js'
import type { KvRules } from './kv-support.js'
import { bytes, increment, keysOf, put, putAll, text, textAt } from './kv-support.js'

/** The values that a refused commit found, in the order of its failed checks. */
function foundBy(result: KvCommitResult): (readonly [string | null, string | null])[] {
  assert.equal(result.ok, false)
  return result.ok ? [] : result.failed.map(({ key, value }) => [text(key), text(value)] as const)
}

export const kvCommitCases: KvRules = {
  'a commit puts and deletes several records at once': async (partition) => {
    await putAll(partition, ['a', 'b', 'c'])

    const result = await partition.commit({
      puts: [
        [bytes('a'), bytes('new')],
        [bytes('d'), bytes('new')],
      ],
      deletes: [bytes('b')],
    })

    assert.deepEqual(result, { ok: true })
    assert.deepEqual(await keysOf(partition), ['a', 'c', 'd'])
    assert.equal(await textAt(partition, 'a'), 'new')
  },

  'a later put replaces an earlier one': async (partition) => {
    await put(partition, 'key', 'a longer value')
    await put(partition, 'key', 'short')

    assert.equal(await textAt(partition, 'key'), 'short')
  },

  'deleting what is not there is no error': async (partition) => {
    assert.deepEqual(await partition.commit({ deletes: [bytes('absent')] }), { ok: true })
  },

  'a deleted record can be put again': async (partition) => {
    await put(partition, 'key', 'first')
    await partition.commit({ deletes: [bytes('key')] })
    assert.equal(await textAt(partition, 'key'), null)
    await put(partition, 'key', 'second')

    assert.equal(await textAt(partition, 'key'), 'second')
  },

  'an empty commit holds': async (partition) => {
    assert.deepEqual(await partition.commit({}), { ok: true })
    assert.deepEqual(await keysOf(partition), [])
  },

  'a commit whose checks hold is written': async (partition) => {
    await put(partition, 'key', 'old')

    const result = await partition.commit({
      checks: [
        { key: bytes('key'), equals: bytes('old') },
        { key: bytes('absent'), equals: null },
      ],
      puts: [[bytes('key'), bytes('new')]],
    })

    assert.deepEqual(result, { ok: true })
    assert.equal(await textAt(partition, 'key'), 'new')
  },

  'a refused commit changes nothing': async (partition) => {
    await putAll(partition, ['a', 'b'])

    await partition.commit({
      checks: [
        { key: bytes('a'), equals: bytes('=a') },
        { key: bytes('b'), equals: bytes('other') },
      ],
      puts: [[bytes('c'), bytes('new')]],
      deletes: [bytes('a')],
    })

    assert.deepEqual(await keysOf(partition), ['a', 'b'])
  },

  'a refused commit returns the present values of its failed checks': async (partition) => {
    await putAll(partition, ['a', 'b'])

    const result = await partition.commit({
      checks: [
        { key: bytes('b'), equals: bytes('other') },
        { key: bytes('a'), equals: bytes('=a') },
        { key: bytes('absent'), equals: bytes('something') },
        { key: bytes('a'), equals: null },
      ],
      puts: [[bytes('c'), bytes('new')]],
    })

    const expected = [
      ['b', '=b'],
      ['absent', null],
      ['a', '=a'],
    ]
    assert.deepEqual(foundBy(result), expected)
  },

  'a check for absence fails on a record with an empty value': async (partition) => {
    await put(partition, 'key', '')

    const result = await partition.commit({ checks: [{ key: bytes('key'), equals: null }] })

    assert.deepEqual(foundBy(result), [['key', '']])
  },

  'a check for an empty value fails on an absent record': async (partition) => {
    const result = await partition.commit({ checks: [{ key: bytes('key'), equals: bytes('') }] })

    assert.deepEqual(foundBy(result), [['key', null]])
  },

  'a check compares all bytes': async (partition) => {
    await put(partition, 'key', 'value')

    for (const near of ['valu', 'value ', 'Value', 'valuf', '']) {
      const result = await partition.commit({
        checks: [{ key: bytes('key'), equals: bytes(near) }],
      })
      assert.deepEqual(foundBy(result), [['key', 'value']])
    }
  },

  'a commit of checks alone judges them': async (partition) => {
    await put(partition, 'key', 'value')

    const held = { checks: [{ key: bytes('key'), equals: bytes('value') }] }
    assert.deepEqual(await partition.commit(held), { ok: true })
    const refused = await partition.commit({ checks: [{ key: bytes('key'), equals: null }] })
    assert.deepEqual(foundBy(refused), [['key', 'value']])
  },

  'checks see the records before the commit, not its own puts': async (partition) => {
    const commit = {
      checks: [{ key: bytes('key'), equals: null }],
      puts: [[bytes('key'), bytes('value')] as const],
    }

    assert.deepEqual(await partition.commit(commit), { ok: true })
    assert.deepEqual(foundBy(await partition.commit(commit)), [['key', 'value']])
  },

  'of commits at once that check for absence one is written': async (partition) => {
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        partition.commit({
          checks: [{ key: bytes('lock'), equals: null }],
          puts: [[bytes('lock'), bytes(`${index}`)]],
        }),
      ),
    )

    const winner = results.findIndex(({ ok }) => ok)
    assert.equal(results.filter(({ ok }) => ok).length, 1)
    assert.equal(await textAt(partition, 'lock'), `${winner}`)
    for (const result of results)
      if (!result.ok) assert.deepEqual(foundBy(result), [['lock', `${winner}`]])
  },

  'a hundred writers of one counter lose nothing': async (partition) => {
    await Promise.all(Array.from({ length: 100 }, () => increment(partition)))

    assert.equal(await textAt(partition, 'counter'), '100')
  },

  'a commit sees those that were asked for before it': async (partition) => {
    const first = put(partition, 'key', 'first')
    const second = partition.commit({
      checks: [{ key: bytes('key'), equals: bytes('first') }],
      puts: [[bytes('key'), bytes('second')]],
    })
    const third = partition.commit({
      checks: [{ key: bytes('key'), equals: bytes('second') }],
      deletes: [bytes('key')],
    })

    assert.deepEqual(await Promise.all([first, second, third]), [
      { ok: true },
      { ok: true },
      { ok: true },
    ])
    assert.equal(await textAt(partition, 'key'), null)
  },

  'a commit planned on one in flight is refused with what that one wrote': async (partition) => {
    await put(partition, 'head', '1')
    const step = (from: string, to: string) =>
      partition.commit({
        checks: [{ key: bytes('head'), equals: bytes(from) }],
        puts: [[bytes('head'), bytes(to)]],
      })

    const results = await Promise.all([
      step('1', '2'),
      step('2', '3'),
      step('2', '4'),
      step('3', '5'),
    ])

    assert.deepEqual(results[0], { ok: true })
    assert.deepEqual(results[1], { ok: true })
    assert.deepEqual(foundBy(results[2] ?? { ok: true }), [['head', '3']])
    assert.deepEqual(results[3], { ok: true })
    assert.equal(await textAt(partition, 'head'), '5')
  },

  'a check for absence sees a delete that was asked for before': async (partition) => {
    await put(partition, 'key', 'old')
    const results = await Promise.all([
      partition.commit({ deletes: [bytes('key')] }),
      partition.commit({
        checks: [{ key: bytes('key'), equals: null }],
        puts: [[bytes('other'), bytes('value')]],
      }),
      put(partition, 'key', 'new'),
    ])

    assert.deepEqual(results[1], { ok: true })
    assert.deepEqual(await keysOf(partition), ['key', 'other'])
  },

  'the last of several commits in flight wins': async (partition) => {
    await Promise.all(Array.from({ length: 50 }, (_, index) => put(partition, 'key', `${index}`)))

    assert.equal(await textAt(partition, 'key'), '49')
  },

  'a commit shows as a whole or not at all': async (partition) => {
    let done = false
    const write = async (): Promise<void> => {
      for (let round = 0; round < 100; round++) {
        const value = bytes(`${round}`)
        const keys = ['a', 'b', 'c', 'd'].map(bytes)
        await partition.commit({ puts: keys.map((key) => [key, value] as const) })
      }
      done = true
    }
    const watch = async (): Promise<void> => {
      for (let round = 0; !done && round < 100_000; round++) {
        const keys = ['a', 'b', 'c', 'd'].map(bytes)
        const seen = await partition.read((view) => view.getMany(keys))
        assert.equal(new Set(seen.map(text)).size, 1)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }

    await Promise.all([write(), watch()])
  },

  'a commit of thousands of records is one commit': async (partition) => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `k${index}`)
    await Promise.all([put(partition, 'a', '1'), putAll(partition, keys), put(partition, 'z', '1')])

    assert.equal((await keysOf(partition, { count: 100_000 })).length, 5_002)
  },

  'what a caller does to its arrays after a commit changes no record': async (partition) => {
    const key = bytes('key')
    const value = bytes('value')
    await partition.commit({ puts: [[key, value]] })
    key.fill(0)
    value.fill(0)

    assert.equal(await textAt(partition, 'key'), 'value')
    assert.deepEqual(await keysOf(partition), ['key'])
  },

  'a key is put or deleted at most once in a commit': async (partition) => {
    const twice = [bytes('key'), bytes('key')]
    await assert.rejects(partition.commit({ deletes: twice }))
    await assert.rejects(partition.commit({ puts: twice.map((key) => [key, key] as const) }))
    const both = { puts: [[bytes('key'), bytes('')] as const], deletes: [bytes('key')] }
    await assert.rejects(partition.commit(both))

    await put(partition, 'key', 'still works')
    assert.equal(await textAt(partition, 'key'), 'still works')
  },

  'a deletion of a range deletes the records of its range only': async (partition) => {
    await putAll(partition, ['a', 'b', 'c', 'd'])

    const report = await partition.deleteRange({ start: bytes('b'), limit: bytes('d') }, 100)

    assert.equal(report, 2)
    assert.deepEqual(await keysOf(partition), ['a', 'd'])
  },

  'a deletion of a range deletes at most its count': async (partition) => {
    await putAll(partition, ['a', 'b', 'c', 'd'])
    const range = { start: bytes('a'), limit: bytes('z') }

    assert.equal(await partition.deleteRange(range, 3), 3)
    assert.equal((await keysOf(partition)).length, 1)
    assert.equal(await partition.deleteRange(range, 3), 1)
    assert.equal(await partition.deleteRange(range, 3), 0)
  },

  'a deletion of a range of thousands of records deletes them all': async (partition) => {
    await putAll(
      partition,
      Array.from({ length: 2_500 }, (_, index) => `k${index}`),
    )
    await put(partition, 'z', 'kept')

    const report = await partition.deleteRange({ start: bytes('k'), limit: bytes('l') }, 100_000)

    assert.equal(report, 2_500)
    assert.deepEqual(await keysOf(partition), ['z'])
  },

  'two deletions of one range at once leave nothing': async (partition) => {
    await putAll(
      partition,
      Array.from({ length: 1_500 }, (_, index) => `k${index}`),
    )
    const range = { start: bytes('k'), limit: bytes('l') }
    const maintainAll = async (): Promise<number> => {
      let found = 0
      for (let round = 0; round < 100; round++) {
        const some = await partition.deleteRange(range, 700)
        found += some
        if (some < 700) break
      }
      assert.deepEqual(await keysOf(partition), [], 'fewer than its count: the range is empty')
      return found
    }

    const [first, second] = await Promise.all([maintainAll(), maintainAll()])

    assert.ok(first + second >= 1_500)
    assert.deepEqual(await keysOf(partition), [])
  },

  'a commit checks against what a deletion of a range left': async (partition) => {
    await put(partition, 'key', 'value')
    await partition.deleteRange({ start: bytes('a'), limit: bytes('z') }, 10)

    const result = await partition.commit({ checks: [{ key: bytes('key'), equals: null }] })

    assert.deepEqual(result, { ok: true })
  },
}
