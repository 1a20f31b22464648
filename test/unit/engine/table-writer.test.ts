// The writers of tables, without the rest of a store.
import { MemoryLevel } from 'memory-level'
import { expect, test, vi } from 'vitest'
import { openSystemRandom } from '../../../src/base/random.js'
import { tooBusy } from '../../../src/engine/commit/commit-until-accepted.js'
import { TableHeads } from '../../../src/engine/commit/table-heads.js'
import { TableWriters } from '../../../src/engine/commit/table-writers.js'
import { tableHeadKey } from '../../../src/format/keys.js'
import { encodeTableHead } from '../../../src/format/records.js'
import type { KvPartition } from '../../../src/kv/kv.js'
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

function newGate() {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
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
  /** Changes or only reads a table. @returns the version before */
  const change = (number: number, looks = false): Promise<number> => {
    const place = { team: { teamId: 't', partition }, table: new Uint8Array(16).fill(number) }
    return writers.change({ ...place, tableId: `table-${number}` }, (head) => {
      const result = head.version
      return looks
        ? { result }
        : { result, change: { next: head.generation, puts: [], operation: 'update' } }
    })
  }
  for (const number of [1, 2]) await put(number, 1)
  return { decode, put, change }
}

test('the head of a table that is changed repeatedly is decoded once, until another table is changed', async () => {
  const { decode, change } = await openTables()
  const decoded: number[] = []
  for (const number of [1, 1, 1, 2, 2, 1, 1]) {
    await change(number)
    decoded.push(decode.mock.calls.length)
  }
  expect(decoded).toEqual([1, 1, 1, 2, 2, 3, 3]) // Only one idle writer is kept.
})

test('a writer that rests does not take its own last head for that of somebody else', async () => {
  const { put, change } = await openTables()
  expect([await change(1), await change(1)]).toEqual([1, 2])
  await put(1, 40)
  expect([await change(1, true), await change(1), await change(1)]).toEqual([40, 40, 41])
})

test('concurrent changes of several tables each get the next version of their table', async () => {
  const { change } = await openTables()
  const all = [1, 2, 1, 2, 2, 1].map((number) => change(number))
  expect(await Promise.all(all)).toEqual([1, 1, 2, 2, 3, 3])
})

test('on a shared store, a plan that a commit in flight blocks is repeated, even if that commit has settled meanwhile', async () => {
  const level = (await openLevelKv(new MemoryLevel())).partition('p')
  const table = new Uint8Array(16)
  const head = { version: 1, commitNonce: new Uint8Array(8), order: 1, generation: GENERATION }
  await level.commit({ puts: [[tableHeadKey(table), encodeTableHead(head)]] })
  const sent = newGate()
  const gate = newGate()
  const partition: KvPartition = {
    read: (use) => level.read(use),
    deleteRange: (range, count) => level.deleteRange(range, count),
    commit: async (commit) => {
      sent.open()
      await gate.opened
      return level.commit(commit)
    },
  }
  const sources = { random: openSystemRandom(), clock: { now: Date.now } }
  const shared = { onRefused: () => undefined }
  const writers = new TableWriters(sources, new TableHeads(1_000_000), shared)
  const place = { team: { teamId: 't', partition }, table, tableId: 'table' }
  const first = writers.change(place, ({ generation }) => {
    return { result: undefined, change: { next: generation, puts: [], operation: 'update' } }
  })
  await sent.opened
  let plans = 0
  const second = writers.change(place, async ({ version }) => {
    if (++plans > 1) return { result: version }
    gate.open()
    await first
    throw tooBusy('A commit is in flight')
  })

  expect([await second, plans]).toEqual([2, 2])
})

test('a plan that takes several turns of promises has closed its view when its commit begins', async () => {
  const database = new MemoryLevel()
  const snapshot = vi.spyOn(database, 'snapshot')
  const partition = (await openLevelKv(database)).partition('p')
  const sources = { random: openSystemRandom(), clock: { now: Date.now } }
  const writers = new TableWriters(sources, new TableHeads(1_000_000))
  const table = new Uint8Array(16).fill(1)
  const head = { version: 1, commitNonce: new Uint8Array(8), order: 1, generation: GENERATION }
  await partition.commit({ puts: [[tableHeadKey(table), encodeTableHead(head)]] })
  const place = { team: { teamId: 't', partition }, table, tableId: 'table' }
  const change = () =>
    writers.change(place, async ({ version, generation }) => {
      await Promise.resolve()
      return { result: version, change: { next: generation, puts: [], operation: 'update' } }
    })
  await change() // It reads the head from the database.
  snapshot.mockClear()

  expect([await change(), await change()]).toEqual([2, 3])

  expect(snapshot).not.toHaveBeenCalled()
})
