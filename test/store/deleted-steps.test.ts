// Goal: deleted records cost time in proportion to their number, although a scan of LevelDB steps over every deleted
// record from its start to the next live record, even beyond its range.
import { expect, onTestFinished, test } from 'vitest'
import { byteText } from '../../src/base/platform.js'
import { memoryObjects, openLevelKv, openStore, type Store, type Team } from '../../src/index.js'
import type { KvPartition, KvStore } from '../../src/ports.js'
import { plainDatabase } from '../support/plain-database.js'

/** The keys of a store, and the number of steps of scans over deleted ones. */
class Steps {
  count = 0
  readonly #isThere = new Map<string, boolean>()
  #sorted: string[] | undefined

  set(key: string, isThere: boolean): void {
    if (!this.#isThere.has(key)) this.#sorted = undefined
    this.#isThere.set(key, isThere)
  }

  /** Steps like a scan: to the key after the last that it finds, or to the first one beyond its range. */
  scan(start: string, limit: string, count: number): void {
    this.#sorted ??= [...this.#isThere.keys()].sort()
    let left = count
    for (const key of this.#sorted) {
      if (key < start) continue
      if (!this.#isThere.get(key)) this.count++
      else if (key >= limit || --left === 0) return
    }
  }
}

function steppingKv(kv: KvStore, steps: Steps): KvStore {
  return {
    shared: false,
    partition: (name) => steppingPartition(kv.partition(name), name, steps),
    close: () => kv.close(),
  }
}

function steppingPartition(partition: KvPartition, name: string, steps: Steps): KvPartition {
  const nameOf = (key: Uint8Array): string => `${name} ${byteText(key)}`
  return {
    read: (use) =>
      partition.read((view) =>
        use({
          get: (key) => view.get(key),
          getMany: (keys) => view.getMany(keys),
          scan(scan) {
            steps.scan(nameOf(scan.start), nameOf(scan.limit), scan.count)
            return view.scan(scan)
          },
        }),
      ),
    async commit(commit) {
      const result = await partition.commit(commit)
      if (!result.ok) return result
      for (const [key] of commit.puts ?? []) steps.set(nameOf(key), true)
      for (const key of commit.deletes ?? []) steps.set(nameOf(key), false)
      return result
    },
    async deleteRange(range, count) {
      const found = await partition.read((view) => view.scan({ ...range, count }))
      steps.scan(nameOf(range.start), nameOf(range.limit), count)
      const report = await partition.deleteRange(range, count)
      for (const [key] of found) steps.set(nameOf(key), false)
      return report
    },
  }
}

type Work = (store: Store, team: Team, count: number, pass: (ms: number) => void) => Promise<void>

/** Work that makes many records of a kind, and deletes them. */
const WORK: Readonly<Record<string, Work>> = {
  async 'tables, by a garbage collection'(store, team, count) {
    const key = ['n']
    for (let n = 0; n < count; n++) await team.createTable({ name: `${n}`, rows: [{ n }], key })
    for (const { id } of await team.tableNames()) await team.table(id).delete()
    await store.maintain()
  },
  async 'tables, by deleteAll'(_, team, count) {
    for (let n = 0; n < count; n++) await team.createTable({ name: `${n}`, rows: [{ n }] })
    await team.deleteAll()
  },
  async 'the changes of a table'(store, team, count, pass) {
    const { tableId, rowIds } = await team.createTable({ name: 'a', rows: [{ n: 0 }] })
    const [row = ''] = rowIds
    for (let n = 0; n < count * 15; n++) await team.table(tableId).updateRow(row, { n })
    pass(3_600_000 * 24 * 2)
    await store.maintain()
  },
}

async function stepsOf(work: Work, count: number): Promise<number> {
  const steps = new Steps()
  const kv = steppingKv(await openLevelKv(plainDatabase()), steps)
  const at = { now: 1_800_000_000_000 }
  const store = await openStore({
    kv,
    objects: memoryObjects(),
    clock: { now: () => at.now },
    historyRetentionMs: 3_600_000,
    ...{
      maintenance: {
        garbageCollectionIntervalMs: 0,
        compactionIntervalMs: 0,
        recompressionIntervalMs: 0,
        jobIntervalMs: 0,
      },
    },
  })
  onTestFinished(() => store.close())
  steps.count = 0
  await work(store, store.team('t'), count, (ms) => {
    at.now += ms
  })
  return steps.count
}

test.each(Object.keys(WORK))('%s: twice as many take twice as many steps', async (name) => {
  const work = WORK[name]
  if (work === undefined) return
  const once = await stepsOf(work, 60)
  expect(await stepsOf(work, 120)).toBeLessThan(2.7 * once)
})
