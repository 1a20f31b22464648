// Goal: the store keeps API keys without their secrets, finds them while they are valid, and forgets revoked ones at
// once.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDirectory } from '../../adapters/node.js'
import { utf8 } from '../../src/base/bytes.js'
import { API_KEYS_RANGE } from '../../src/format/keys.js'
import type { AddKeyRequest, Store } from '../../src/index.js'
import {
  createContract,
  memoryObjects,
  openLevelKv,
  openMemory,
  openStore,
  restoreBackup,
} from '../../src/index.js'
import type { KvStore } from '../../src/ports.js'

const TABLE = '00000000-0000-4000-8000-000000000000'
const DAY_MS = 86_400_000

async function memory(now = () => Date.now()): Promise<Store> {
  const store = await openMemory({ clock: { now } })
  onTestFinished(() => store.close())
  return store
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'rowstash-keys-'))
  onTestFinished(() => rm(path, { recursive: true }))
  return path
}

async function* noBody(): AsyncGenerator<Uint8Array> {}

function sender(store: Store) {
  const contract = createContract(store, { storedKeys: true })
  return async (key: string) => {
    const headers = [['authorization', `Bearer ${key}`]] as const
    const request = { method: 'GET', path: '/tables', query: '', headers, body: noBody() }
    return (await contract.handle(request)).status
  }
}

describe('a key', () => {
  test('is shown once, and found by its text', async () => {
    const { keys } = await memory()
    const before = Date.now()
    const { key, ...about } = await keys.add({
      teamId: 'team',
      label: 'nightly import',
      scopes: ['write', 'upload'],
      tables: [TABLE],
      expiresAt: before + DAY_MS,
    })

    expect(key).toMatch(/^rsk_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/)
    expect(about).toEqual({
      id: key.slice(4, 20),
      teamId: 'team',
      label: 'nightly import',
      scopes: ['write', 'upload'],
      tables: [TABLE],
      createdAt: expect.any(Number),
      expiresAt: before + DAY_MS,
      tail: key.slice(-4),
    })
    expect(await keys.find(key)).toEqual(about)
    expect(await keys.list()).toEqual([about])
  })

  test('does everything for its team by default', async () => {
    const { keys } = await memory()
    const { key, ...about } = await keys.add({ teamId: 'team' })

    expect(about.scopes).toEqual(['read', 'write', 'upload'])
    expect(about).not.toHaveProperty('tables')
    expect(about).not.toHaveProperty('expiresAt')
    expect(await keys.find(key)).toEqual(about)
  })

  test('is unknown with any character changed, cut or added', async () => {
    const { keys } = await memory()
    const { key } = await keys.add({ teamId: 'team' })
    const changed = Array.from(key, (character, at) => {
      return `${key.slice(0, at)}${character === 'a' ? 'b' : 'a'}${key.slice(at + 1)}`
    })
    // Two bits of the last character carry no information, but the text must be identical.
    for (const near of [
      ...changed,
      key.slice(0, -1),
      `${key}a`,
      ` ${key}`,
      '',
      'rsk_',
      '__proto__',
    ]) {
      expect(await keys.find(near)).toBeNull()
    }
  })

  test('works until it expires', async () => {
    let now = 1_760_000_000_000
    const { keys } = await memory(() => now)
    const { key, id } = await keys.add({ teamId: 'team', expiresAt: now + 1_000 })
    now += 999
    expect(await keys.find(key)).toMatchObject({ id })
    now += 1
    expect(await keys.find(key)).toBeNull()
    expect(await keys.list()).toMatchObject([{ id }])
  })

  test('is unknown to the next request once it is revoked', async () => {
    const store = await memory()
    const send = sender(store)
    const { key, id } = await store.keys.add({ teamId: 'team' })
    const other = await store.keys.add({ teamId: 'team' })
    for (let i = 0; i < 3; i++) expect(await send(key)).toBe(200) // Everything that may be cached now is.

    expect(await store.keys.revoke(id)).toBe(true)

    expect(await send(key)).toBe(404)
    expect(await send(other.key)).toBe(200)
    expect(await store.keys.revoke(id)).toBe(false)
    expect((await store.keys.list()).map((entry) => entry.id)).toEqual([other.id])
  })

  test.each(['', 'x', 'ff', '0'.repeat(16), 'F'.repeat(16), '__proto__', '../../etc'])(
    'revoking %j, which is no key, is false',
    async (id) => {
      const { keys } = await memory()
      await keys.add({ teamId: 'team' })
      expect(await keys.revoke(id)).toBe(false)
      expect(await keys.list()).toHaveLength(1)
    },
  )
})

test('keys of a team are listed, the oldest first', async () => {
  let now = 1_760_000_000_000
  const { keys } = await memory(() => now++)
  const added: string[] = []
  for (const teamId of ['a', 'b', 'a']) added.push((await keys.add({ teamId })).id)

  expect((await keys.list()).map(({ id }) => id)).toEqual(added)
  expect((await keys.list('a')).map(({ id }) => id)).toEqual([added[0], added[2]])
  expect(await keys.list('c')).toEqual([])
})

test.each<[what: string, request: unknown, message: RegExp]>([
  ['no object', 'team', /keys\.add takes an object/],
  ['no team', {}, /team ID/i],
  ['an unknown member', { teamId: 't', team: 't' }, /takes no "team"/],
  ['a label that is no text', { teamId: 't', label: 1 }, /label must be/],
  ['a long label', { teamId: 't', label: 'x'.repeat(257) }, /at most 256/],
  ['an unknown scope', { teamId: 't', scopes: ['all'] }, /scopes must be a list of read, write/],
  ['no scope', { teamId: 't', scopes: [] }, /at least one scope/],
  ['a scope that is a hole', { teamId: 't', scopes: new Array(1) }, /scopes must be a list/],
  ['a table that is none', { teamId: 't', tables: ['x'] }, /table IDs, not "x"/],
  ['a table that is undefined', { teamId: 't', tables: [undefined] }, /table IDs, not undefined/],
  ['too many tables', { teamId: 't', tables: Array(1_001).fill(TABLE) }, /at most 1000 .*not 1001/],
  ['an expiry that is past', { teamId: 't', expiresAt: 1 }, /later than now.* not 1/],
  ['an expiry that is no integer', { teamId: 't', expiresAt: 1e13 + 0.5 }, /expiresAt must be/],
  ['an expiry beyond all time', { teamId: 't', expiresAt: 1e300 }, /expiresAt must be/],
])('%s is refused', async (_, request, message) => {
  const { keys } = await memory()
  await expect(keys.add(request as AddKeyRequest)).rejects.toMatchObject({
    code: 'REQUEST_VALIDATION_ERROR',
    message: expect.stringMatching(message),
  })
  expect(await keys.list()).toEqual([])
})

test('what is revoked is named by a text', async () => {
  const { keys } = await memory()
  await expect(keys.revoke(undefined as never)).rejects.toMatchObject({
    code: 'REQUEST_VALIDATION_ERROR',
  })
})

test('no file of the store has a key, and a restart keeps what was added and revoked', async () => {
  const path = join(await folder(), 'store')
  const first = await openDirectory(path)
  const [kept, revoked] = [
    await first.keys.add({ teamId: 'team', label: 'a-label-to-find' }),
    await first.keys.add({ teamId: 'team' }),
  ]
  await first.keys.revoke(revoked.id)
  await first.close()

  const names = await readdir(path, { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile())
  const bytes = await Promise.all(
    files.map((entry) => readFile(join(entry.parentPath, entry.name))),
  )
  const all = Buffer.concat(bytes)
  expect(all.includes('a-label-to-find')).toBe(true)
  for (const { key } of [kept, revoked]) expect(all.includes(key.slice(21))).toBe(false)

  const second = await openDirectory(path)
  onTestFinished(() => second.close())
  expect(await second.keys.find(kept.key)).toMatchObject({ id: kept.id })
  expect(await second.keys.find(revoked.key)).toBeNull()
})

test('a backup has the keys, and verify reads them', async () => {
  const store = await memory()
  const { key, ...about } = await store.keys.add({ teamId: 'team', tables: [TABLE] })
  const level = new MemoryLevel<Uint8Array, Uint8Array>()
  const objects = memoryObjects()
  let kv: KvStore | undefined
  await restoreBackup(store.backup(), {
    open: async (versionBaseMin) => {
      kv = await openLevelKv(level, { versionBaseMin })
      return { kv, objects }
    },
  })
  if (kv === undefined) throw new Error('the restore opened nothing')
  const restored = await openStore({ kv, objects })
  onTestFinished(() => restored.close())
  expect(await restored.keys.find(key)).toEqual(about)
  expect((await restored.verify()).damageCount).toBe(0)

  await kv.partition('').commit({ puts: [[Uint8Array.of(...API_KEYS_RANGE.start, 1), utf8('x')]] })
  const { findings } = await restored.verify()
  expect(findings).toMatchObject([{ severity: 'damage' }])
})
