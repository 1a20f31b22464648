// Behaviour of a KvStore on PostgreSQL beyond its port's suite.
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  openPostgresKv,
  type PostgresKvOptions,
  type PostgresWarning,
  raiseVersionBase,
} from '../../../adapters/postgres.js'
import { fromUtf8, utf8 } from '../../../src/base/bytes.js'
import type { KvCheckItem, KvPartition, KvStore } from '../../../src/kv/kv.js'
import { RESTORED_VERSION_STEP } from '../../../src/kv/version-base.js'
import { openCutProxy } from '../../support/cut-proxy.js'
import { connectTo } from '../../support/postgres-client.js'
import { startPostgres } from '../../support/postgres-server.js'

const server = await startPostgres()

afterAll(async () => {
  if (typeof server !== 'string') await server.stop()
})

const WHOLE = { start: utf8(''), limit: Uint8Array.of(0xff), count: 100 }

async function put(partition: KvPartition, key: string, value: string): Promise<void> {
  expect(await partition.commit({ puts: [[utf8(key), utf8(value)]] })).toEqual({ ok: true })
}

async function textAt(partition: KvPartition, key: string): Promise<string | null> {
  const value = await partition.read((view) => view.get(utf8(key)))
  return value === null ? null : fromUtf8(value)
}

describe.each([
  [{ urls: [] }, /^Option "urls" must be an array of 1 to 16 URLs$/],
  [{ urls: ['localhost'] }, /^Option "urls" must contain URLs of the form/],
  [
    { urls: ['postgres://u:secret@host:70000/d'] },
    /^Option "urls" must contain URLs [^:]*postgres:/,
  ],
  [{ urls: ['postgres://h'], schema: 'A"b' }, /^Option "schema" must be 1 to 40 lower-case/],
  [
    { urls: ['postgres://h'], connectTimeoutMs: 1 },
    /^Option "connectTimeoutMs" must be an integer from/,
  ],
  [{ urls: ['postgres://h'], conect: 1 }, /^Option "conect" is not an option of openPostgresKv$/],
  [{ urls: ['postgres://h'], random: {} }, /^Option "random" must have the method bytes$/],
])('an option that is not as it must be: %j', (options, message) => {
  test('is refused by name, and no password is shown', async () => {
    const opened = openPostgresKv(options as unknown as PostgresKvOptions)
    await expect(opened).rejects.toThrow(message)
    await expect(opened).rejects.not.toThrow(/secret/)
  })
})

test('a server that cannot be reached fails with STORAGE_UNAVAILABLE, after the wait', async () => {
  const options = { urls: ['postgres://u@127.0.0.1:1/d'], retryMsMax: 100 }
  const failure = { code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' }

  await expect(openPostgresKv(options)).rejects.toMatchObject(failure)
})

describe.skipIf(typeof server === 'string')(
  `on PostgreSQL${typeof server === 'string' ? `, but ${server}` : ''}`,
  () => {
    let schemas = 0
    const url = typeof server === 'string' ? '' : server.url
    const socket = typeof server === 'string' ? '' : server.socket

    function optionsOf(options: Partial<PostgresKvOptions> = {}): PostgresKvOptions {
      return { urls: [url], schema: `u${++schemas}`, onWarning: () => undefined, ...options }
    }

    async function open(options: PostgresKvOptions): Promise<KvStore> {
      const kv = await openPostgresKv(options)
      onTestFinished(() => kv.close())
      return kv
    }

    test('tells the time of the database', async () => {
      const kv = await open(optionsOf())
      const before = Date.now() // The server is on this machine.
      const now = await kv.now?.()
      expect(now).toBeGreaterThanOrEqual(before)
      expect(now).toBeLessThanOrEqual(Date.now())
    })

    test('tells it also while views have all connections', async () => {
      const kv = await open(optionsOf({ viewConnectionsMax: 1, retryMsMax: 1_000 }))

      const now = await kv.partition('team').read(async (view) => {
        await view.get(utf8('k'))
        return kv.now?.()
      })
      expect(now).toBeGreaterThan(0)
    })

    test('many processes may open a new store at once', async () => {
      const options = optionsOf({ viewConnectionsMax: 1, commitConnectionsMax: 1 })

      const stores = await Promise.all(Array.from({ length: 12 }, () => open(options)))

      await Promise.all(stores.map((kv, i) => put(kv.partition('team'), `k${i}`, 'v')))
      const found = await stores[0]?.partition('team').read((view) => view.scan(WHOLE))
      expect(found?.length).toBe(stores.length)
    })

    test('tables of a newer format or of another mode are refused', async () => {
      const options = optionsOf()
      await open(options)

      const client = await connectTo(url)
      const set = (name: string, value: number) =>
        client.query(
          `update ${options.schema}.records_meta set value = ${value} where name = '${name}'`,
        )
      await set('format', 4)
      await expect(openPostgresKv(options)).rejects.toMatchObject({ code: 'FORMAT_UNKNOWN' })
      await set('format', 3)
      await set('mode', 2)
      await expect(openPostgresKv(options)).rejects.toMatchObject({ code: 'FORMAT_UNKNOWN' })
      await set('mode', 1)

      await set('format', 1)
      await open(options)
      const { rows } = await client.query(
        `select value::int from ${options.schema}.records_meta where name = 'format'`,
      )
      expect(rows).toEqual([{ value: 3 }])
    })

    test('a server without a synchronous standby is warned of, once', async () => {
      const warnings: PostgresWarning[] = []
      const kv = await open(optionsOf({ onWarning: (warning) => warnings.push(warning) }))
      await put(kv.partition('team'), 'key', 'value')
      await textAt(kv.partition('team'), 'key')

      expect(warnings.map(({ code }) => code)).toEqual(['ROWSTASH_NO_SYNCHRONOUS_STANDBY'])
    })

    test('a record is the same object while its bytes are the same', async () => {
      const kv = await open(optionsOf())
      const partition = kv.partition('team')
      await put(partition, 'key', 'value')
      const get = () => partition.read((view) => view.get(utf8('key')))
      const first = await get()

      expect(await get()).toBe(first)
      const scanned = await partition.read((view) => view.scan(WHOLE))
      expect(scanned[0]?.[1]).toBe(first)
      await put(partition, 'key', 'other')
      expect(await get()).not.toBe(first)
      expect(first).toEqual(utf8('value'))
    })

    test.each([
      ['a changed byte', `update TABLE set v = set_byte(v, 7, 0) where k = 'b'`],
      ['a record at another key', `update TABLE set k = 'bb' where k = 'b'`],
      ['a record of another partition', `update TABLE set p = 'tea' where k = 'b'`],
      ['an empty value', `update TABLE set v = '' where k = 'b'`],
    ])('%s is damage, never a value', async (_, sql) => {
      const options = optionsOf()
      const kv = await open(options)
      for (const key of ['a', 'b', 'c']) await put(kv.partition('team'), key, 'value')
      const client = await connectTo(url)
      await client.query(sql.replace('TABLE', `${options.schema}.records`))

      const teams = ['team', 'tea'].map((name) => kv.partition(name))
      const read = teams.map((team) => team.read((view) => view.scan(WHOLE)))
      const results = await Promise.allSettled(read)
      const reasons = results.flatMap((result) =>
        result.status === 'rejected' ? [result.reason] : [],
      )
      expect(reasons).toMatchObject([{ code: 'DATA_CORRUPT' }])

      const items: KvCheckItem[] = []
      for await (const item of kv.check?.(true) ?? []) items.push(item)
      expect(items.filter(({ kind }) => kind === 'record').length).toBe(1)
    })

    test('a check lists the partitions, and finds no damage in a sound store', async () => {
      const kv = await open(optionsOf())
      const names = ['', 'a', 'team', '\u0000', '\u20ac']
      for (const name of names) await put(kv.partition(name), 'key', 'value')

      for (const full of [false, true]) {
        const items: KvCheckItem[] = []
        for await (const item of kv.check?.(full) ?? []) items.push(item)
        expect(items).toEqual(
          [...names].sort().map((partition) => ({ kind: 'partition', partition })),
        )
      }
    })

    test('readAll shows all partitions as of one commit', async () => {
      const kv = await open(optionsOf())
      await put(kv.partition('a'), 'key', '1')
      await put(kv.partition('b'), 'key', '1')

      const seen = await kv.readAll?.(async (viewOf) => {
        const first = await viewOf('a').get(utf8('key'))
        await put(kv.partition('b'), 'key', '2')
        return [first, await viewOf('b').get(utf8('key'))]
      })

      expect(seen).toEqual([utf8('1'), utf8('1')])
    })

    test('without prepared statements and settings, as PgBouncer needs it, all is the same', async () => {
      const kv = await open(optionsOf({ pgBouncer: true }))
      const partition = kv.partition('team')
      await put(partition, 'key', 'old')
      const checks = [
        { key: utf8('key'), equals: utf8('old') },
        { key: utf8('absent'), equals: null },
      ]

      expect(await partition.commit({ checks, deletes: [utf8('key')] })).toEqual({ ok: true })
      const failed = [{ key: utf8('key'), value: null }]
      expect(await partition.commit({ checks, deletes: [utf8('key')] })).toEqual({
        ok: false,
        failed,
      })
    })

    test('of several URLs the first that takes writes is used', async () => {
      const kv = await open(optionsOf({ urls: ['postgres://u@127.0.0.1:1/d', url] }))
      await put(kv.partition('team'), 'key', 'value')

      expect(await textAt(kv.partition('team'), 'key')).toBe('value')
    })

    test('a raised version base refuses the commits of stores that are open', async () => {
      const options = optionsOf()
      const kv = await open(options)
      await put(kv.partition('team'), 'key', 'value')
      const raised = { from: 0, to: RESTORED_VERSION_STEP, sessionCount: 1 }
      expect(await raiseVersionBase(options)).toEqual(raised)

      const failure = { code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' }
      await expect(put(kv.partition('team'), 'key', 'other')).rejects.toMatchObject(failure)
      expect(kv.refusal).toMatchObject(failure)
      const reopened = await open(options)
      expect([reopened.versionBase, reopened.refusal]).toEqual([raised.to, undefined])
      expect(await textAt(reopened.partition('team'), 'key')).toBe('value')
    })

    test('after a raise of the version base no new connection reads for a store that is open', async () => {
      const options = optionsOf()
      const kv = await open(options)
      await raiseVersionBase(options)

      const failure = { code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' }
      await expect(textAt(kv.partition('team'), 'key')).rejects.toMatchObject(failure)
      expect(kv.refusal).toMatchObject(failure)
    })

    test('a raise of the version base is not missed by a connection that begins meanwhile', async () => {
      const options = optionsOf()
      const kv = await open(options)
      const client = await connectTo(url)
      await client.query('begin')
      await client.query(
        `update ${options.schema}.records_meta set value = 1 where name = 'version_base'`,
      )

      const failure = { code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' }
      const commit = put(kv.partition('team'), 'key', 'value')
      const refused = expect(commit).rejects.toMatchObject(failure)
      await waitForLocks(1)
      await client.query('commit')

      await refused
    })

    test('a store is opened with the version base that it must have at least', async () => {
      const options = optionsOf()
      const bases: (number | undefined)[] = []
      for (const versionBaseMin of [2 ** 40, 0, 7, 2 ** 41]) {
        bases.push((await open({ ...options, versionBaseMin })).versionBase)
      }

      expect(bases).toEqual([2 ** 40, 2 ** 40, 2 ** 40, 2 ** 41])
    })

    test('the version base of a store that is not there is not raised, and none is made', async () => {
      const options = optionsOf()
      await expect(raiseVersionBase(options)).rejects.toThrow(/^There is no store in the schema "u/)
      const client = await connectTo(url)
      const text = `select from pg_namespace where nspname = '${options.schema}'`
      expect((await client.query(text)).rowCount).toBe(0)
    })

    test('a commit that the server still works on when its connection breaks is not written later', async () => {
      const proxy = await openCutProxy(socket)
      onTestFinished(() => proxy.close())
      const urls = [`postgres://rowstash@127.0.0.1:${proxy.port}/postgres`]
      const options = optionsOf({ urls })
      const kv = await open(options)
      const partition = kv.partition('team')
      await put(partition, 'key', 'old')
      const client = await connectTo(url)
      await client.query('begin')
      await client.query(`select from ${options.schema}.records where k = 'key' for update`)

      const commit = partition.commit({
        checks: [{ key: utf8('key'), equals: utf8('old') }],
        puts: [[utf8('key'), utf8('new')]],
      })
      // The first attempt waits for the lock, and after the cut the next one does too.
      await waitForLocks(1)
      proxy.cut()
      await waitForLocks(2)
      await client.query('rollback')

      expect(await commit).toEqual({ ok: true })
      expect(await textAt(partition, 'key')).toBe('new')
    })

    test('a record that a commit checks stays as it is until the commit ends', async () => {
      const options = optionsOf()
      const [first, second] = [await open(options), await open(options)]
      for (const key of ['a', 'b', 'x']) await put(first.partition('team'), key, 'old')
      const client = await connectTo(url)
      await client.query('begin')
      await client.query(`select from ${options.schema}.records where k = 'x' for update`)
      const change = (checked: string, ...keys: string[]) => ({
        checks: [{ key: utf8(checked), equals: utf8('old') }],
        puts: keys.map((key) => [utf8(key), utf8('new')] as const),
      })

      // The first commit has checked a and written b when it waits for x.
      const early = first.partition('team').commit(change('a', 'b', 'x'))
      await waitForLocks(1)
      const late = second.partition('team').commit(change('b', 'a'))
      await waitForLocks(2)
      await client.query('rollback')

      expect(await early).toEqual({ ok: true })
      const failed = [{ key: utf8('b'), value: utf8('new') }]
      expect(await late).toEqual({ ok: false, failed })
    })

    test('a store that has its next commit ready whenever one ends does not keep another one out', async () => {
      const options = optionsOf()
      const [busy, other] = [await open(options), await open(options)].map((kv) =>
        kv.partition('team'),
      )
      if (busy === undefined || other === undefined) throw new Error('there are two stores')
      await put(busy, 'key', 'begin')
      await slowCommits(options, 10)
      let over = false
      let busyCommits = 0
      const commit = async (partition: KvPartition, before: Uint8Array, text: string) => {
        const checks = [{ key: utf8('key'), equals: before }]
        const result = await partition.commit({ checks, puts: [[utf8('key'), utf8(text)]] })
        return result.ok ? undefined : (result.failed[0]?.value ?? utf8(''))
      }
      const keepBusy = async (): Promise<void> => {
        for (let last = utf8('begin'); !over; busyCommits++) {
          const text = `busy ${busyCommits}`
          last = (await commit(busy, last, text)) ?? utf8(text)
        }
      }
      /** @returns how often a commit was refused before it was written */
      const refusalsOf = async (text: string): Promise<number> => {
        for (let refusals = 0; ; refusals++) {
          const before = await other.read((view) => view.get(utf8('key')))
          const isWritten = (await commit(other, before ?? utf8(''), text)) === undefined
          if (isWritten || refusals > 100) return refusals
        }
      }

      const working = keepBusy()
      const refusals: number[] = []
      for (let round = 0; round < 5; round++) {
        const begun = busyCommits
        await expect.poll(() => busyCommits).toBeGreaterThan(begun + 3)
        refusals.push(await refusalsOf(`other ${round}`))
      }
      over = true
      await working

      expect(Math.max(...refusals)).toBeLessThan(10)
    })

    /** Delays the end of each commit, as waiting for disks and a standby would. */
    async function slowCommits({ schema }: PostgresKvOptions, ms: number): Promise<void> {
      const client = await connectTo(url)
      await client.query(`create function ${schema}.slow() returns trigger language plpgsql
        as $$ begin perform pg_sleep(${ms / 1_000}); return null; end $$`)
      await client.query(`create constraint trigger slow after insert or update on ${schema}.records
        deferrable initially deferred for each row execute function ${schema}.slow()`)
    }

    /** Waits until this many backends wait for a lock, as seen by another connection. */
    async function waitForLocks(count: number): Promise<void> {
      const client = await connectTo(url)
      const text = `select count(*)::int from pg_stat_activity where wait_event_type = 'Lock'`
      const waiting = async () => (await client.query(text)).rows[0].count as number
      await expect.poll(waiting).toBeGreaterThanOrEqual(count)
    }
  },
)
