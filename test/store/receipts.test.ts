// Receipts after a loss of commits.
import { expect, onTestFinished, test } from 'vitest'
import { memoryObjects, openLevelKv, openStore } from '../../src/index.js'
import { plainDatabase } from '../support/plain-database.js'

const QUIET = { maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 } }

test('a receipt is found under the version that clients know, even after a loss of commits', async () => {
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
