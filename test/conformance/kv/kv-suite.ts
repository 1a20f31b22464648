// The rules for a KvStore on which the store relies. Every implementation and every wrapper must pass.
import assert from 'node:assert/strict'
import { checkFunctionOption, checkOptionNames } from '../../../src/base/options.js'
import type { KvStore } from '../../../src/kv/kv.js'
import type { ConformanceCase } from '../case.js'
import { kvCommitCases } from './kv-commit-cases.js'
import { type HandlesRule, kvHandleCases } from './kv-handle-cases.js'
import { kvLossCases, type LossRule } from './kv-loss-cases.js'
import { kvReadCases } from './kv-read-cases.js'
import { bytes, type KvRules, put, rejectsWithCode, textAt } from './kv-support.js'

/** What a suite needs to test a shared store (`KvStore.shared`). Unknown names are rejected. */
export type KvSuiteOptions = Readonly<{
  /**
   * Opens another store on the data of a store that `openEmpty` opened. The suite closes both. Required if `shared` is
   * true. Default: none.
   */
  openSecond?: (first: KvStore) => Promise<KvStore>
  /** Cuts all connections of the store at once, as a network may. Required if `shared` is true. Default: none. */
  cutConnections?: (store: KvStore) => void
}>

const OPTIONS: readonly string[] = [
  'openSecond',
  'cutConnections',
] satisfies (keyof KvSuiteOptions)[]

/**
 * `openEmpty` opens an empty store for each case, which closes it.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 * @example
 * import { test } from 'node:test' // or any other runner
 * import { MemoryLevel } from 'memory-level'
 * import { openLevelKv } from 'rowstash'
 * import { kvSuite } from 'rowstash/testing'
 *
 * const cases = kvSuite(() => openLevelKv(new MemoryLevel()))
 * for (const { name, run, skip } of cases) test(name, { skip: skip ?? false }, run)
 * console.log(cases.length > 10) // true
 */
export function kvSuite(
  openEmpty: () => Promise<KvStore>,
  options: KvSuiteOptions = {},
): ConformanceCase[] {
  checkOptionNames('kvSuite', options, (name) => OPTIONS.includes(name), OPTIONS)
  const { openSecond, cutConnections } = options
  checkFunctionOption('openSecond', openSecond)
  checkFunctionOption('cutConnections', cutConnections)
  const onStore = (use: (store: KvStore) => Promise<void>) => async () => {
    const store = await openEmpty()
    try {
      await use(store)
    } finally {
      await store.close()
    }
  }
  const onHandles = (rule: HandlesRule) =>
    openSecond &&
    onStore(async (first) => {
      const second = await openSecond(first)
      try {
        await rule(first, second)
      } finally {
        await second.close()
      }
    })
  const onCuts = (rule: LossRule) =>
    cutConnections && onStore((store) => rule(store, () => cutConnections(store)))
  const ofShared = (name: string, run: (() => Promise<void>) | undefined): ConformanceCase =>
    run === undefined
      ? { name, skip: 'the store is not shared (KvStore.shared is false)', run: onStore(notShared) }
      : { name, run }

  const rules = { ...kvReadCases, ...kvCommitCases, ...storeCases }
  return [
    ...Object.entries(rules).map(([name, rule]) => {
      return { name, run: onStore((store) => rule(store.partition('team'), store)) }
    }),
    ...Object.entries(kvHandleCases).map(([name, rule]) => ofShared(name, onHandles(rule))),
    ...Object.entries(kvLossCases).map(([name, rule]) => ofShared(name, onCuts(rule))),
  ]
}

async function notShared({ shared }: KvStore): Promise<void> {
  assert.equal(shared, false, 'the suite of a shared store needs openSecond and cutConnections')
}

const storeCases: KvRules = {
  'partitions do not see each other': async (partition, store) => {
    await put(partition, 'key', 'ours')

    assert.equal(await textAt(store.partition('other'), 'key'), null)
  },

  'partitions whose names begin with one another stay apart': async (_partition, store) => {
    const names = ['', 't', 'te', 'tea', 'te\u0000', 'te\u00ff']
    for (const name of names) await put(store.partition(name), 'a', name)

    for (const name of names) {
      const entries = await store.partition(name).read((view) => {
        return view.scan({ start: bytes(''), limit: Uint8Array.of(0xff, 0xff), count: 10 })
      })
      assert.deepEqual(entries, [[bytes('a'), bytes(name)]])
    }
  },

  'a partition name may have 256 units beyond ASCII': async (_partition, store) => {
    const names = ['\u20ac'.repeat(256), '\u{1f600}'.repeat(128), '\u0000'.repeat(256)]
    for (const name of names) await put(store.partition(name), 'key', name)

    for (const name of names) assert.equal(await textAt(store.partition(name), 'key'), name)
  },

  'two objects of one partition show the same records': async (partition, store) => {
    await put(partition, 'key', 'value')

    assert.equal(await textAt(store.partition('team'), 'key'), 'value')
  },

  'a deletion of a range in one partition leaves the others alone': async (partition, store) => {
    await put(partition, 'key', 'ours')
    await put(store.partition('tea'), 'key', 'theirs')

    await partition.deleteRange({ start: bytes(''), limit: Uint8Array.of(0xff) }, 10)

    assert.equal(await textAt(partition, 'key'), null)
    assert.equal(await textAt(store.partition('tea'), 'key'), 'theirs')
  },

  'commits of several partitions at once all happen': async (_partition, store) => {
    const names = Array.from({ length: 50 }, (_, index) => `team-${index}`)

    await Promise.all(names.map((name) => put(store.partition(name), 'key', name)))

    for (const name of names) assert.equal(await textAt(store.partition(name), 'key'), name)
  },

  'close waits for commits in flight': async (partition, store) => {
    const commits = Array.from({ length: 20 }, (_, index) => put(partition, `k${index}`, 'v'))

    await store.close()

    assert.equal((await Promise.all(commits)).length, 20)
  },

  'a read after close fails with STORE_CLOSED': async (partition, store) => {
    await store.close()

    await rejectsWithCode(textAt(partition, 'key'), 'STORE_CLOSED')
  },

  'a commit after close fails with STORE_CLOSED': async (partition, store) => {
    await store.close()

    await rejectsWithCode(put(partition, 'key', 'value'), 'STORE_CLOSED')
  },

  'a deletion of a range after close fails with STORE_CLOSED': async (partition, store) => {
    await store.close()

    const range = { start: bytes('a'), limit: bytes('z') }
    await rejectsWithCode(partition.deleteRange(range, 1), 'STORE_CLOSED')
  },

  'a store may be closed twice': async (_partition, store) => {
    await Promise.all([store.close(), store.close()])
    await store.close()
  },

  'shared is told as a boolean': async (_partition, store) => {
    assert.equal(typeof store.shared, 'boolean')
  },

  'the version base is a whole number, or not told': async (_partition, store) => {
    const { versionBase = 0 } = store
    assert.ok(Number.isSafeInteger(versionBase) && versionBase >= 0)
  },
}
