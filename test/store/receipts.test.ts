// Receipts where the store has moved on: after a loss of commits, and with damaged records.
import { describe, expect, onTestFinished, test } from 'vitest'
import * as keys from '../../src/format/keys.js'
import { decodeReceiptList, encodeReceiptList } from '../../src/format/receipt-records.js'
import { memoryObjects, openLevelKv, openStore, type Store } from '../../src/index.js'
import { plainDatabase } from '../support/plain-database.js'
import { all } from '../support/rich-database.js'

const QUIET = { sweepIntervalMs: 0, foldIntervalMs: 0 }

async function openWithReceipts() {
  const objects = memoryObjects()
  const kv = await openLevelKv(plainDatabase())
  const store = await openStore({ kv, objects, ...QUIET })
  onTestFinished(() => store.close())
  const team = store.team('t')
  const made = await team.createTable({ name: 't', rows: [{ n: 1 }], receipt: true })
  const table = team.table(made.tableId)
  await table.addRows([{ n: 2 }], { receipt: true })
  return { store, table, partition: kv.partition('t') }
}

async function problemsOf(store: Store): Promise<string[]> {
  const { findings } = await store.verify()
  return findings.map(({ kind, message }) => `${kind}: ${message.replace(/[0-9a-f]{40,}/, '…')}`)
}

describe('verify of a store', () => {
  test('with whole receipts finds nothing', async () => {
    const { store } = await openWithReceipts()

    expect(await problemsOf(store)).toEqual([])
  })

  test('that has lost a receipt names it, and a read of it fails', async () => {
    const { store, table, partition } = await openWithReceipts()
    const [, [first] = []] = await all(partition, keys.KEY_SPACE.receipt)
    await partition.commit({ deletes: first === undefined ? [] : [first] })

    expect(await problemsOf(store)).toEqual([
      'record-missing: The receipt of version 1 is listed, but missing',
    ])
    await expect(table.receipt(1)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
    expect((await table.receipt(2))?.rows).toBe(1)
  })

  test('that has lost the list of receipts names each that is left', async () => {
    const { store, partition } = await openWithReceipts()
    const [[list] = []] = await all(partition, keys.KEY_SPACE.receipt)
    await partition.commit({ deletes: list === undefined ? [] : [list] })

    expect(await problemsOf(store)).toEqual([
      'orphan-record: A receipt is not listed: …',
      'orphan-record: A receipt is not listed: …',
    ])
  })

  test('whose receipts are of later versions than the table has says so', async () => {
    const { store, partition } = await openWithReceipts()
    const [[key, list] = [], , [, last] = []] = await all(partition, keys.KEY_SPACE.receipt)
    if (key === undefined || list === undefined || last === undefined) throw new Error('no list')
    const kept = decodeReceiptList(list).map((entry) => ({ ...entry, version: entry.version + 7 }))
    const table = keys.tableOfKey(key)
    const puts = kept.map(({ version }) => [keys.receiptKey(table, version), last] as const)
    await partition.commit({ puts: [[key, encodeReceiptList(kept)], ...puts] })

    const found = await problemsOf(store)
    expect(found).toContain(
      'record-mismatch: The receipt of version 9 contradicts the table, which has version 2',
    )
  })

  test('with receipts of a table that is not there reports them', async () => {
    const { store, partition } = await openWithReceipts()
    const [[, list] = []] = await all(partition, keys.KEY_SPACE.receipt)
    const nowhere = new Uint8Array(16).fill(0xee)
    if (list === undefined) throw new Error('no list')
    await partition.commit({ puts: [[keys.receiptListKey(nowhere), list]] })

    expect(await problemsOf(store)).toEqual([
      'orphan-record: Receipts remain of a table that does not exist',
    ])
  })
})

test('a receipt is found under the version that callers knew, also after a loss of commits', async () => {
  let versionBase = 0
  const whole = await openLevelKv(plainDatabase())
  const kv = new Proxy(whole, {
    get(target, name) {
      if (name === 'versionBase') return versionBase
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const store = await openStore({ kv, objects: memoryObjects(), ...QUIET })
  onTestFinished(() => store.close())
  const request = { name: 't', rows: [{ n: 1 }], receipt: true, idempotencyKey: 'k' }
  const made = await store.team('t').createTable(request)
  const table = store.team('t').table(made.tableId)

  versionBase = 2 ** 20
  const again = await store.team('t').createTable(request)
  const added = await table.addRows([{ n: 2 }], { receipt: true })

  expect(await table.receipt(1)).toEqual(made.receipt)
  expect(again.version).toBe(2 ** 20 + 1)
  expect(again.receipt).toEqual(made.receipt)
  expect(await table.receipt(again.version)).toEqual(made.receipt)
  expect(added.receipt).toMatchObject({ version: 2 ** 20 + 2, versionBefore: 2 ** 20 + 1 })
  expect(await table.receipt(added.version)).toEqual(added.receipt)
})
