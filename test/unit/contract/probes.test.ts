// Goal: probes answer without a key, from memory, and readiness reflects what the store can do.
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ContractOptions, Store } from '../../../src/index.js'
import { createContract, openMemory, openStore } from '../../../src/index.js'
import { openLevelKv } from '../../../src/kv/level-kv.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import type { PortStep } from '../../conformance/faults/fault-plan.js'
import { allowAnyAnswer } from '../../support/undescribed-answers.js'
import { until } from '../../support/until.js'

const KEY = 'a-key-of-the-first-team'

async function* noBody(): AsyncGenerator<Uint8Array> {}

function sender(store: Store, options: Partial<ContractOptions> = {}) {
  const contract = createContract(store, { keys: [{ key: KEY, teamId: 'team' }], ...options })
  return (method: string, path: string) =>
    contract.handle({ method, path, query: '', headers: [], body: noBody() })
}

async function memory(): Promise<Store> {
  const store = await openMemory()
  onTestFinished(() => store.close())
  return store
}

const WORKING = {
  status: 200,
  body: '{}',
  headers: expect.objectContaining({ 'access-control-allow-origin': '*' }),
}

test.each(['/healthz', '/readyz', '/healthz/', '/readyz/'])('%s needs no key', async (path) => {
  const send = sender(await memory())

  expect(await send('GET', path)).toEqual(WORKING)
  expect(await send('HEAD', path)).toEqual({ ...WORKING, body: null })
  const refused = await send('POST', path)
  expect([refused.status, refused.headers['allow'], refused.close]).toEqual([
    405,
    'GET, HEAD, OPTIONS',
    undefined,
  ])
})

test('a probe that is switched off is an unknown path, which needs a key first', async () => {
  allowAnyAnswer() // The document describes a server with probes.
  const send = sender(await memory(), { probes: false })

  for (const path of ['/healthz', '/readyz']) {
    expect(await send('GET', path)).toMatchObject({ status: 404, close: true })
  }
  const store = await memory()
  expect(() => sender(store, { probes: 'no' as unknown as boolean })).toThrow(
    'Option "probes" must be true or false, not "no"',
  )
})

test('a closed store is alive and not ready', async () => {
  const store = await openMemory()
  const send = sender(store)
  await store.close()

  expect(store.status()).toMatchObject({ writable: false, code: 'STORE_CLOSED' })
  expect(await send('GET', '/healthz')).toMatchObject({ status: 200 })
  const { status, headers, body } = await send('GET', '/readyz')
  expect([status, headers['retry-after']]).toEqual([503, '1'])
  expect(JSON.parse(String(body))).toEqual({
    error: { type: 'storage_unavailable', message: 'The store is closing' },
  })
})

test.each([
  ['fail', 'STORAGE_UNAVAILABLE', /^A write failed/],
  ['full', 'INSUFFICIENT_STORAGE', /^The disk is full/],
] as const)(
  'a store whose write failed (%s) is not ready until it is reopened',
  async (kind, code, message) => {
    let isBroken = false
    const isRefused = ({ port, operation }: PortStep) =>
      isBroken && port === 'level' && (operation === 'write' || operation === 'open')
    const disk = new FaultDisk()
    disk.faults = (step) => (isRefused(step) ? { kind } : null)
    const kv = await openLevelKv(() => disk.level())
    const store = await openStore({ kv, objects: disk.objects(), onBackgroundFailure: () => {} })
    onTestFinished(() => store.close())
    const onFailure = vi.fn()
    const send = sender(store, { onFailure })
    expect(await send('GET', '/readyz')).toMatchObject({ status: 200 })

    isBroken = true
    await expect(store.team('t').createTable({ name: 'T', rows: [] })).rejects.toMatchObject({
      code,
    })

    expect(store.status()).toMatchObject({ writable: false, code })
    const { status, body } = await send('GET', '/readyz')
    expect(status).toBe(503)
    expect(JSON.parse(String(body)).error.message).toMatch(message)

    isBroken = false
    await until(() => store.status().writable)
    expect(store.status()).toEqual({ writable: true })
    expect(await send('GET', '/readyz')).toMatchObject({ status: 200 })
    await store.team('t').createTable({ name: 'T', rows: [] })
  },
)
