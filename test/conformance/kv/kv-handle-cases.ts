// Two stores open on the same data, as in two processes: the promise of `KvStore.shared`.
import assert from 'node:assert/strict'
import type { KvCommit, KvPartition, KvStore } from '../../../src/kv/kv.js'
import {
  bytes,
  increment,
  keysOf,
  put,
  putAll,
  rejectsWithCode,
  text,
  textAt,
} from './kv-support.js'

/** A rule for two stores on the same data. */
export type HandlesRule = (first: KvStore, second: KvStore) => Promise<void>

/** Rounds of a race. */
const ROUNDS = 25

function partitionsOf(first: KvStore, second: KvStore): readonly [KvPartition, KvPartition] {
  return [first.partition('team'), second.partition('team')]
}

function check(key: string, equals: string | null) {
  return { key: bytes(key), equals: equals === null ? null : bytes(equals) }
}

function record(key: string, value: string) {
  return [bytes(key), bytes(value)] as const
}

/** Runs two commits at once, alternating which begins, on records that `prepare` puts. */
async function race(
  first: KvStore,
  second: KvStore,
  commits: readonly [KvCommit, KvCommit],
  prepare: (partition: KvPartition) => Promise<unknown>,
  judge: (written: readonly boolean[], partition: KvPartition) => Promise<void>,
): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const name = `race-${round}`
    const partitions = [first.partition(name), second.partition(name)] as const
    await prepare(partitions[0])
    const left = round % 2
    const right = 1 - left
    const results = await Promise.all([
      partitions[left === 0 ? 0 : 1].commit(commits[left === 0 ? 0 : 1]),
      partitions[right === 0 ? 0 : 1].commit(commits[right === 0 ? 0 : 1]),
    ])
    await judge(
      results.map(({ ok }) => ok),
      partitions[0],
    )
  }
}

async function exactlyOne(written: readonly boolean[]): Promise<void> {
  assert.equal(written.filter((ok) => ok).length, 1, 'one of two commits that exclude each other')
}

export const kvHandleCases: Readonly<Record<string, HandlesRule>> = {
  'two stores on the same data are shared': async (first, second) => {
    assert.deepEqual([first.shared, second.shared], [true, true])
  },

  'a view shows what another store acknowledged before': async (first, second) => {
    const [left, right] = partitionsOf(first, second)
    for (let round = 0; round < ROUNDS; round++) {
      await put(left, 'key', `${round}`)
      assert.equal(await textAt(right, 'key'), `${round}`)
      await right.commit({ deletes: [bytes('key')] })
      assert.equal(await textAt(left, 'key'), null)
    }
  },

  'a view does not show later commits of another store': async (first, second) => {
    const [left, right] = partitionsOf(first, second)
    await putAll(left, ['a', 'b'])

    await left.read(async (view) => {
      assert.equal(text(await view.get(bytes('a'))), '=a')
      await right.commit({ puts: [record('b', 'new'), record('c', 'new')] })
      const seen = await view.getMany(['b', 'c'].map(bytes))
      assert.deepEqual(seen.map(text), ['=b', null])
    })
  },

  'a check is judged on the commits of another store': async (first, second) => {
    const [left, right] = partitionsOf(first, second)
    await put(left, 'key', 'old')
    await put(right, 'key', 'new')

    const commit = { checks: [check('key', 'old')], puts: [record('key', 'newer')] }
    const result = await left.commit(commit)

    assert.deepEqual(result, { ok: false, failed: [{ key: bytes('key'), value: bytes('new') }] })
  },

  'a commit of another store shows as a whole or not at all': async (first, second) => {
    const [left, right] = partitionsOf(first, second)
    const keys = ['a', 'b', 'c', 'd']
    let done = false
    const write = async (): Promise<void> => {
      for (let round = 0; round < 100; round++) {
        await left.commit({ puts: keys.map((key) => record(key, `${round}`)) })
      }
      done = true
    }
    const watch = async (): Promise<void> => {
      for (let round = 0; !done && round < 100_000; round++) {
        const seen = await right.read((view) => view.getMany(keys.map(bytes)))
        assert.equal(new Set(seen.map(text)).size, 1)
      }
    }

    await Promise.all([write(), watch()])
  },

  'a counter loses nothing to two stores': async (first, second) => {
    const partitions = partitionsOf(first, second)
    const writers = partitions.flatMap((partition) => Array.from({ length: 20 }, () => partition))

    await Promise.all(writers.map(increment))

    assert.equal(await textAt(partitions[0], 'counter'), `${writers.length}`)
  },

  'of commits of two stores that check for absence one is written': (first, second) => {
    const lock = (value: string) => {
      return { checks: [check('lock', null)], puts: [record('lock', value)] }
    }
    const nothing = async (): Promise<void> => undefined
    return race(first, second, [lock('1'), lock('2')], nothing, exactlyOne)
  },

  'no write skew: each of two commits checks what the other writes': (first, second) => {
    const commits = [
      { checks: [check('a', '=a')], puts: [record('b', 'new')] },
      { checks: [check('b', '=b')], puts: [record('a', 'new')] },
    ] as const
    return race(first, second, commits, (partition) => putAll(partition, ['a', 'b']), exactlyOne)
  },

  'no write skew: each of two commits checks that what the other puts is absent': (
    first,
    second,
  ) => {
    const commits = [
      { checks: [check('a', null)], puts: [record('b', 'new')] },
      { checks: [check('b', null)], puts: [record('a', 'new')] },
    ] as const
    const nothing = async (): Promise<void> => undefined
    return race(first, second, commits, nothing, exactlyOne)
  },

  'no write skew: one commit checks for absence, the other puts it and checks a value': (
    first,
    second,
  ) => {
    const commits = [
      { checks: [check('a', null)], puts: [record('b', 'new')] },
      { checks: [check('b', '=b')], puts: [record('a', 'new')] },
    ] as const
    return race(first, second, commits, (partition) => putAll(partition, ['b']), exactlyOne)
  },

  'no write skew: one commit checks for absence, the other deletes what it checks': (
    first,
    second,
  ) => {
    const commits = [
      { checks: [check('a', null)], deletes: [bytes('b')] },
      { checks: [check('b', '=b')], puts: [record('a', 'new')] },
    ] as const
    return race(first, second, commits, (partition) => putAll(partition, ['b']), exactlyOne)
  },

  'commits without checks take effect one after the other': async (first, second) => {
    const commits = [
      { puts: [record('y', '1'), record('z', '1')] },
      { puts: [record('z', '2')], deletes: [bytes('y')] },
    ] as const
    const nothing = async (): Promise<void> => undefined
    await race(first, second, commits, nothing, async (_, partition) => {
      const last = await textAt(partition, 'z')
      assert.deepEqual(await keysOf(partition), last === '1' ? ['y', 'z'] : ['z'])
    })
  },

  'a commit deletes all or nothing of what another puts': async (first, second) => {
    const commits = [
      { puts: [record('y', 'new'), record('z', 'new')] },
      { deletes: [bytes('y'), bytes('z')] },
    ] as const
    const prepare = (partition: KvPartition) => putAll(partition, ['y'])
    await race(first, second, commits, prepare, async (_, partition) => {
      assert.ok([0, 2].includes((await keysOf(partition)).length))
    })
  },

  'two stores delete one range at once': async (first, second) => {
    const partitions = partitionsOf(first, second)
    await putAll(
      partitions[0],
      Array.from({ length: 2_000 }, (_, index) => `k${index}`),
    )
    const range = { start: bytes('k'), limit: bytes('l') }
    const found = await Promise.all(
      partitions.map(async (partition) => {
        let all = 0
        for (let round = 0; round < 100; round++) {
          const some = await partition.deleteRange(range, 600)
          all += some
          if (some < 600) break
        }
        assert.deepEqual(await keysOf(partition), [], 'fewer than its count: the range is empty')
        return all
      }),
    )

    assert.ok((found[0] ?? 0) + (found[1] ?? 0) >= 2_000)
    assert.deepEqual(await keysOf(partitions[0]), [])
  },

  'a store goes on when another one is closed': async (first, second) => {
    const [left, right] = partitionsOf(first, second)
    await put(left, 'key', 'value')
    await first.close()

    assert.equal(await textAt(right, 'key'), 'value')
    await put(right, 'key', 'new')
    await rejectsWithCode(textAt(left, 'key'), 'STORE_CLOSED')
  },
}
