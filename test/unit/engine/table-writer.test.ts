// The writers of tables, without what they write for.
import { MemoryLevel } from 'memory-level'
import { expect, test, vi } from 'vitest'
import { openSystemRandom } from '../../../src/base/random.js'
import { TableHeads } from '../../../src/engine/commit/table-heads.js'
import { TableWriters } from '../../../src/engine/commit/table-writers.js'
import { tableHeadKey } from '../../../src/format/keys.js'
import { encodeTableHead } from '../../../src/format/records.js'
import { openLevelKv } from '../../../src/kv/level-kv.js'

const GENERATION = {
  nonce: new Uint8Array(8),
  firstExtent: 0,
  nextExtent: 0,
  liveRows: 0,
  deletedRows: 0,
  schemaNumber: 0,
  convertBefore: 0,
  widenedAt: 0,
  open: null,
  forward: null,
  keyIndex: null,
}

async function openTables() {
  const partition = (await openLevelKv(new MemoryLevel())).partition('p')
  const heads = new TableHeads(1_000_000)
  const decode = vi.spyOn(heads, 'decode')
  const writers = new TableWriters({ random: openSystemRandom(), clock: { now: Date.now } }, heads)
  const put = async (number: number, version: number): Promise<void> => {
    const head = { version, commitNonce: new Uint8Array(8), order: 1, generation: GENERATION }
    const key = tableHeadKey(new Uint8Array(16).fill(number))
    await partition.commit({ puts: [[key, encodeTableHead(head)]] })
  }
  /** Changes a table, or only looks at it, and gives the version that it had before. */
  const change = (number: number, looks = false): Promise<number> => {
    const place = { team: { teamId: 't', partition }, table: new Uint8Array(16).fill(number) }
    return writers.change({ ...place, tableId: `table-${number}` }, (head) => {
      const result = head.version
      return looks ? { result } : { result, change: { next: head.generation, puts: [] } }
    })
  }
  for (const number of [1, 2]) await put(number, 1)
  return { decode, put, change }
}

test('of a table that is changed again and again the head is decoded once, until another one is changed', async () => {
  const { decode, change } = await openTables()
  const decoded: number[] = []
  for (const number of [1, 1, 1, 2, 2, 1, 1]) {
    await change(number)
    decoded.push(decode.mock.calls.length)
  }
  expect(decoded).toEqual([1, 1, 1, 2, 2, 3, 3]) // One writer rests, and no more than that.
})

test('a writer that rests does not take its own last head for that of somebody else', async () => {
  const { put, change } = await openTables()
  expect([await change(1), await change(1)]).toEqual([1, 2])
  await put(1, 40)
  expect([await change(1, true), await change(1), await change(1)]).toEqual([40, 40, 41])
})

test('changes of several tables at once each have the next version of their own', async () => {
  const { change } = await openTables()
  const all = [1, 2, 1, 2, 2, 1].map((number) => change(number))
  expect(await Promise.all(all)).toEqual([1, 1, 2, 2, 3, 3])
})
