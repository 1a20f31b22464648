// Behaviour of an ObjectStore on PostgreSQL beyond its port's suite.
import type pg from 'pg'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { creationLock } from '../../../adapters/postgres/connection/tables.js'
import type { PostgresObjectsOptions } from '../../../adapters/postgres/object-options.js'
import { openPostgresKv } from '../../../adapters/postgres/postgres-kv.js'
import { openPostgresObjects } from '../../../adapters/postgres/postgres-objects.js'
import type { Bytes } from '../../../src/base/bytes.js'
import { toHex, utf8 } from '../../../src/base/bytes.js'
import type { ObjectStore } from '../../../src/objects/objects.js'
import { openCutProxy } from '../../support/cut-proxy.js'
import { connectTo } from '../../support/postgres-client.js'
import { startPostgres } from '../../support/postgres-server.js'
import { seeded } from '../../support/seeded.js'
import { turns } from '../../support/until.js'

const server = await startPostgres()

afterAll(async () => {
  if (typeof server !== 'string') await server.stop()
})

const ID = '0123456789abcdef0000000000000001'

/** Bytes per piece in newly created tables. */
const PIECE_BYTES = 8_000
/** Pieces written at once. */
const BATCH_PIECES = 131
const BATCH_BYTES = BATCH_PIECES * PIECE_BYTES

/** Each format of the tables, with the length of its pieces, and the number of pieces written at once. */
const FORMATS = [
  { format: 1, pieceBytes: 262_144, batchPieces: 4 },
  { format: 2, pieceBytes: PIECE_BYTES, batchPieces: BATCH_PIECES },
] as const

/** Most bytes of the pieces that a statement deletes. */
const REMOVED_BYTES_MAX = 40_000_000

/** How the version that knew only format 1 creates the tables. */
const FORMAT_1 = `
  create table if not exists objects (id bytea not null, bytes bigint, put bytea, at timestamptz not null,
    primary key (id));
  create index if not exists objects_unfinished on objects (at) where bytes is null;
  create table if not exists objects_pieces (id bytea not null, n int not null, v bytea not null, primary key (id, n));
  alter table objects_pieces alter column v set storage external;
  create table if not exists objects_meta (name text not null, value bigint not null, primary key (name));
  insert into objects_meta (name, value) values ('objects_format', 1) on conflict (name) do nothing`

describe.each([
  [{ urls: ['postgres://u:secret@host:70000/d'] }, /^Option "urls" must contain URLs of the form/],
  [{ urls: ['postgres://h'], table: 'A"b' }, /^Option "table" must be 1 to 40 lower-case/],
  [{ urls: ['postgres://h'], connectionsMax: 0 }, /^Option "connectionsMax" must be an integer/],
  [
    { urls: ['postgres://h'], mode: 'x' },
    /^Option "mode" is not an option of openPostgresObjects$/,
  ],
])('an option that is not as it must be: %j', (options, message) => {
  test('is refused by name, and no password is shown', async () => {
    const opened = openPostgresObjects(options as unknown as PostgresObjectsOptions)
    await expect(opened).rejects.toThrow(message)
    await expect(opened).rejects.not.toThrow(/secret/)
  })
})

/** Bytes that differ by their position. */
function pattern(length: number): Bytes {
  const content = new Uint8Array(length)
  for (let i = 0; i < length; i++) content[i] = (i * 31 + (i >>> 8) + (i >>> 16)) & 0xff
  return content
}

function idOf(number: number): string {
  return `${'a'.repeat(16)}${number.toString(16).padStart(16, '0')}`
}

describe.skipIf(typeof server === 'string')(
  `on PostgreSQL${typeof server === 'string' ? `, but ${server}` : ''}`,
  () => {
    let schemas = 0
    const url = typeof server === 'string' ? '' : server.url
    const socket = typeof server === 'string' ? '' : server.socket

    function optionsOf(options: Partial<PostgresObjectsOptions> = {}): PostgresObjectsOptions {
      return { urls: [url], schema: `o${++schemas}`, onWarning: () => undefined, ...options }
    }

    async function open(options: PostgresObjectsOptions): Promise<ObjectStore> {
      const objects = await openPostgresObjects(options)
      onTestFinished(() => objects.close())
      return objects
    }

    /** Changes the tables by SQL, and counts their content. */
    async function look({ schema = '' }: PostgresObjectsOptions) {
      const client = await connectTo(url)
      const count = async (table: string): Promise<number> => {
        const { rows } = await client.query(`select count(*)::int from ${schema}.${table}`)
        return Number(rows[0]?.count)
      }
      return {
        run: (sql: string) => client.query(sql),
        counts: async () => [await count('objects'), await count('objects_pieces')],
      }
    }

    /** Options of objects in tables of a format. */
    async function optionsOfFormat(format: number): Promise<PostgresObjectsOptions> {
      const options = optionsOf()
      if (format === 1) await createFormat1(await connectTo(url), options)
      return options
    }

    async function createFormat1(
      client: Pick<pg.Client, 'query'>,
      { schema = '' }: PostgresObjectsOptions,
    ): Promise<void> {
      await client.query(
        `create schema if not exists ${schema}; set search_path to ${schema}; ${FORMAT_1}`,
      )
    }

    test.each(FORMATS)(
      'any range is read, also across pieces, of tables of format $format',
      async ({ format, pieceBytes: length }) => {
        const options = await optionsOfFormat(format)
        const objects = await open(options)
        const { counts } = await look(options)
        const random = seeded(11)
        const content = pattern(6 * 262_144 + 77)
        await objects.put(ID, content)
        expect(await counts()).toEqual([1, Math.ceil(content.length / length)])
        const edges = [0, 1, length - 1, length, length + 1, 4 * length, BATCH_BYTES]
        const place = () =>
          random.once(2) ? random.pick(edges) : random.below(content.length + 100)

        for (let round = 0; round < 100; round++) {
          const [start = 0, limit = 0] = [place(), place()].sort((left, right) => left - right)
          const found = await objects.get(ID, { start, limit })

          const isSame = found !== null && Buffer.compare(found, content.slice(start, limit)) === 0
          expect(isSame, `${start} to ${limit}`).toBe(true)
        }
      },
    )

    test.each([BATCH_BYTES, 100, 0])(
      '%i bytes are read into the memory of the caller',
      async (length) => {
        const objects = await open(optionsOf())
        const content = pattern(length)
        await objects.put(ID, content)
        const memory = new Uint8Array(BATCH_BYTES).fill(0xaa)

        const found = await objects.get(ID, { start: 0, limit: memory.length }, memory)

        expect(found?.buffer).toBe(memory.buffer)
        expect(Buffer.compare(found ?? memory, content)).toBe(0)
      },
    )

    test('many processes may open new tables at once', async () => {
      const options = optionsOf({ connectionsMax: 1 })

      const stores = await Promise.all(Array.from({ length: 12 }, () => open(options)))

      await Promise.all(stores.map((objects, i) => objects.put(idOf(i), utf8('x'))))
      expect(await stores[0]?.list('')).toEqual(stores.map((_, i) => idOf(i)))
    })

    test('tables that another version creates at the same time keep its format', async () => {
      const options = optionsOf()
      const other = await connectTo(url)
      await other.query('begin')
      await other.query(creationLock(`"${options.schema}"."objects"`))
      await createFormat1(other, options)
      const opening = open(options)
      const waiting = `select count(*)::int from pg_locks where locktype = 'advisory' and not granted`
      const { run } = await look(options)
      await expect.poll(async () => (await run(waiting)).rows).toEqual([{ count: 1 }])
      await other.query('commit')
      const objects = await opening

      const content = pattern(BATCH_BYTES + 262_144)
      await objects.put(ID, content)
      expect(Buffer.compare((await objects.get(ID)) ?? utf8(''), content)).toBe(0)
      const lengths = `select max(length(v))::int from ${options.schema}.objects_pieces`
      expect((await run(lengths)).rows).toEqual([{ max: 262_144 }])
    })

    test('tables are used as before after another version has tried to create them too', async () => {
      const options = optionsOf()
      const objects = await open(options)
      const content = pattern(2 * BATCH_BYTES + 1)
      await objects.put(ID, content)
      const client = await connectTo(url)
      await createFormat1(client, options)
      const { rows } = await client.query('select value::int from objects_meta')
      expect(rows).toEqual([{ value: 2 }]) // This keeps that version from opening a store there.

      const again = await open(options)
      await again.put(idOf(1), content)
      for (const id of [ID, idOf(1)]) {
        expect(Buffer.compare((await again.get(id)) ?? utf8(''), content)).toBe(0)
      }
      await again.delete([ID, idOf(1)])
      expect(await (await look(options)).counts()).toEqual([0, 0])
    })

    test.each(FORMATS)(
      'a deletion leaves no pieces, however many there were, some at a time, in format $format',
      async ({ format, pieceBytes }) => {
        const options = await optionsOfFormat(format)
        const objects = await open(options)
        const { run, counts } = await look(options)
        await objects.put(ID, pattern(3 * pieceBytes))
        await objects.put(idOf(1), utf8('stays'))
        const perStatement = Math.floor(REMOVED_BYTES_MAX / pieceBytes)
        const more = `select decode('${ID}', 'hex'), n, '' from generate_series(3, ${2 * perStatement}) n`
        await run(`set search_path to ${options.schema};
        insert into objects_pieces ${more};
        create table removed (count int);
        create function count_removed() returns trigger language plpgsql as $$ begin
          insert into ${options.schema}.removed select count(*) from gone; return null; end $$;
        create trigger counts after delete on objects_pieces referencing old table as gone
          for each statement execute function count_removed()`)

        await objects.delete([ID])

        expect(await counts()).toEqual([1, 1])
        const { rows } = await run('select count from removed')
        expect(rows.map(({ count }) => count)).toEqual([perStatement, perStatement, 1])
      },
    )

    test.each(FORMATS)(
      'a stream is written and read in batches, in format $format',
      async ({ format, pieceBytes }) => {
        const options = await optionsOfFormat(format)
        const objects = await open(options)
        const { counts } = await look(options)
        const content = pattern(3 * BATCH_BYTES + 12_345)
        async function* source(): AsyncGenerator<Bytes> {
          for (let at = 0; at < content.length; at += 99_999) yield content.slice(at, at + 99_999)
        }

        expect(await objects.put(ID, source())).toBe(content.length)

        expect(await counts()).toEqual([1, Math.ceil(content.length / pieceBytes)])
        expect(Buffer.compare((await objects.get(ID)) ?? utf8(''), content)).toBe(0)
      },
    )

    test.each(FORMATS)(
      'a put that fails leaves nothing in the tables of format $format',
      async ({ format }) => {
        const options = await optionsOfFormat(format)
        const objects = await open(options)
        const { counts } = await look(options)
        async function* failing(): AsyncGenerator<Bytes> {
          yield pattern(3 * BATCH_BYTES + 1)
          throw new RangeError('of the source')
        }

        await expect(objects.put(ID, failing())).rejects.toThrow(RangeError)

        expect(await counts()).toEqual([0, 0])
      },
    )

    test.each(FORMATS)(
      'what a process that ended has left is removed by the listing of another, in format $format',
      async ({ format, pieceBytes, batchPieces }) => {
        const batchBytes = batchPieces * pieceBytes
        const options = await optionsOfFormat(format)
        const [ended, other] = [await open(options), await open(options)]
        const { run, counts } = await look(options)
        let goOn = (): void => undefined
        async function* paused(): AsyncGenerator<Bytes> {
          yield pattern(2 * batchBytes)
          await new Promise<void>((resolve) => {
            goOn = resolve
          })
          yield pattern(2 * batchBytes)
        }
        const putting = ended.put(ID, paused())
        const settled = putting.catch((failure: unknown) => failure)
        await expect.poll(counts).toEqual([1, batchPieces])

        expect(await other.list('')).toEqual([])
        expect(await counts()).toEqual([1, batchPieces])
        await run(`update ${options.schema}.objects set at = at - interval '2 hours'`)
        expect(await (await open(options)).list('')).toEqual([])
        expect(await counts()).toEqual([0, 0])

        goOn()
        expect(await settled).toMatchObject({ code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' })
        expect(await ended.get(ID)).toBeNull()
        expect(await counts()).toEqual([0, 0])
      },
    )

    test('a put writes no more pieces while its row is being deleted', async () => {
      const options = optionsOf()
      const objects = await open(options)
      const { run, counts } = await look(options)
      const hide = `update ${options.schema}.objects set put = null, at = '-infinity'`
      async function* watched(): AsyncGenerator<Bytes> {
        yield pattern(2 * BATCH_BYTES)
        await run(hide) // Another process does this before it removes the pieces.
        yield pattern(2 * BATCH_BYTES)
      }

      const putting = objects.put(ID, watched())
      await expect(putting).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
      expect(await counts()).toEqual([1, BATCH_PIECES])
      expect(await objects.get(ID)).toBeNull()
      expect(await (await open(options)).list('')).toEqual([])
      expect(await counts()).toEqual([0, 0])
    })

    test('connections that are cut lose nothing and leave nothing', async () => {
      const proxy = await openCutProxy(socket)
      onTestFinished(() => proxy.close())
      const cut = `postgres://rowstash@127.0.0.1:${proxy.port}/postgres`
      const options = optionsOf({ urls: [cut], connectionsMax: 3 })
      const objects = await open(options)
      const { counts } = await look(options)
      const content = pattern(BATCH_BYTES + PIECE_BYTES)
      const ids = Array.from({ length: 60 }, (_, i) => idOf(i))

      for (const [i, id] of ids.entries()) {
        const isLong = Number(`0x${id.slice(-1)}`) % 3 === 0
        const putting = objects.put(id, isLong ? content : utf8(id))
        if (i % 2 === 0) void turns(i % 7).then(proxy.cut)
        await putting
        const getting = objects.get(id)
        if (i % 3 === 0) void turns(i % 5).then(proxy.cut)
        const found = (await getting) ?? utf8('')
        expect(Buffer.compare(found, isLong ? content : utf8(id))).toBe(0)
      }
      await objects.delete(ids.slice(0, 20))

      expect(await objects.list('')).toEqual(ids.slice(20))
      expect((await counts())[0]).toBe(40)
    })

    test('each piece fills a page of PostgreSQL, and none is moved to another table', async () => {
      const options = optionsOf()
      const objects = await open(options)
      const { run } = await look(options)
      await objects.put(ID, pattern(100 * PIECE_BYTES))
      const sizes = `select pg_relation_size(c.oid)::int as main, pg_relation_size(c.reltoastrelid)::int as moved
        from pg_class c where c.oid = '${options.schema}.objects_pieces'::regclass`

      expect((await run(sizes)).rows).toEqual([{ main: 100 * 8_192, moved: 0 }])
    })

    test('lost and shortened pieces are told', async () => {
      const options = optionsOf()
      const objects = await open(options)
      const { run } = await look(options)
      await objects.put(ID, pattern(3 * PIECE_BYTES))
      const pieces = `${options.schema}.objects_pieces`
      const damaged = { code: 'DATA_CORRUPT' }

      await run(`update ${pieces} set v = substring(v for 1000) where n = 2`)
      await expect(objects.get(ID)).rejects.toMatchObject(damaged)
      await run(`delete from ${pieces} where n = 1`)
      const range = { start: PIECE_BYTES, limit: PIECE_BYTES + 10 }
      await expect(objects.get(ID, range)).rejects.toMatchObject(damaged)
      expect((await objects.get(ID, { start: 5, limit: 10 }))?.length).toBe(5)
    })

    test('tables of something else, and of a newer format, are refused', async () => {
      const options = optionsOf()
      const kv = await openPostgresKv({ urls: [url], schema: options.schema ?? '', onWarning() {} })
      await kv.close()
      const mistaken = openPostgresObjects({ ...options, table: 'records' })
      await expect(mistaken).rejects.toMatchObject({ code: 'FORMAT_UNKNOWN' })
      await open(options)
      const { run } = await look(options)
      await run(`update ${options.schema}.objects_meta set value = 3 where name = 'objects_format'`)

      const later = openPostgresObjects(options)
      await expect(later).rejects.toMatchObject({ code: 'FORMAT_UNKNOWN' })
      await expect(later).rejects.toThrow(
        /have format 3; this version of the package knows 1 to 2$/,
      )
    })

    test('every read of a small object is one statement on one connection', async () => {
      const options = optionsOf({ connectionsMax: 1 })
      const objects = await open(options)
      await objects.put(ID, pattern(100_000))

      const found = await Promise.all(
        Array.from({ length: 20 }, (_, i) => objects.get(ID, { start: i, limit: i + 4 })),
      )

      const content = pattern(100)
      expect(found.map((bytes) => toHex(bytes ?? utf8('')))).toEqual(
        found.map((_, i) => toHex(content.slice(i, i + 4))),
      )
    })
  },
)
