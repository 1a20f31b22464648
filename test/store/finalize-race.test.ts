import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memoryObjects, openLevelKv, openStore, type Store } from '../../src/index.js'
import type { KvCommit, KvPartition, KvStore } from '../../src/ports.js'

/** A store, and a way to act between the last read of a link and its commit. */
async function openWithGap(): Promise<{
  store: Store
  beforeLink(act: () => Promise<void>): void
}> {
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  const kv = await openLevelKv(database)
  let armed: (() => Promise<void>) | undefined
  const withGap = (partition: KvPartition): KvPartition => ({
    read: (use) => partition.read(use),
    deleteRange: (range, count) => partition.deleteRange(range, count),
    async commit(commit: KvCommit) {
      const links = commit.puts?.some(([key]) => key[0] === TABLE_HEAD_SPACE) ?? false
      const act = links ? armed : undefined
      if (act !== undefined) armed = undefined
      await act?.()
      return partition.commit(commit)
    },
  })
  const gapped: KvStore = {
    shared: false,
    partition: (name) => withGap(kv.partition(name)),
    close: () => kv.close(),
  }
  const store = await openStore({
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
    kv: gapped,
    objects: memoryObjects(),
  })
  onTestFinished(() => store.close())
  return {
    store,
    beforeLink: (act) => {
      armed = act
    },
  }
}

/** See FORMAT.md, section 3. */
const TABLE_HEAD_SPACE = 0x03

const OPERATIONS = ['create', 'add', 'overwrite'] as const

describe.each(OPERATIONS)('a stash that changes just before the link of %s', (operation) => {
  async function run(
    change: (stash: ReturnType<ReturnType<Store['team']>['stash']>) => Promise<unknown>,
  ) {
    const { store, beforeLink } = await openWithGap()
    const team = store.team('t')
    const stash = team.stash('s')
    await stash.put('0', [{ n: 1 }])
    await stash.put('1', [{ n: 2 }])
    const schema = { columns: [{ id: 'n', type: 'number' }] } as const
    const { tableId } = await team.createTable({ name: 'x', schema, rows: [] })
    beforeLink(async () => void (await change(stash)))
    const linked = async (): Promise<string> => {
      if (operation === 'create')
        return (await team.createTable({ name: 'y', rows: stash })).tableId
      if (operation === 'add') await team.table(tableId).addRows(stash)
      else await team.table(tableId).overwrite({ rows: stash })
      return tableId
    }
    const { rows } = await team.table(await linked()).page()
    return rows.map((row) => row['n'])
  }

  test('is used as it is then, if a chunk was replaced', async () => {
    expect(await run((stash) => stash.put('1', [{ n: 20 }, { n: 21 }]))).toEqual([1, 20, 21])
  })

  test('is not found, if it was deleted', async () => {
    await expect(run((stash) => stash.delete())).rejects.toMatchObject({ code: 'STASH_NOT_FOUND' })
  })

  test('is used as it was, if a chunk was added', async () => {
    expect(await run((stash) => stash.put('2', [{ n: 3 }]))).toEqual([1, 2])
  })
})
