// The tables of objects, and their statements. FORMAT.md section 12.
//
//     <table>         id: 16 bytes, bytes: length; null while it is being put or deleted,
//                     put: 16 random bytes of the put; null once it is being deleted, at: time of the last change
//     <table>_pieces  id, n: from 0 on, v: bytes of a length that the format says, the last ones shorter
//     <table>_meta    name, value: objects_format
//
// Tables keep the format that they were created with, and every version of the package reads and writes all earlier
// formats:
//
//     1  pieces of 262,144 bytes, which PostgreSQL cuts again into rows of 2 KB of another table, with an index of its own
//     2  pieces of 8,000 bytes, each of which fills a page of PostgreSQL
//
// Invariants:
// - An object exists once a statement has set its length, together with its last pieces.
// - A piece is written only by a statement that finds, and locks, the row of its put. So a row that is being deleted
//   gets no more pieces, and no piece is left without a row.
import { StoreError } from '../../src/base/store-error.js'
import type { ObjectId } from '../../src/objects/objects.js'
import type { PostgresConnection, Statement } from './connection/postgres-connection.js'
import type { ResolvedPostgresOptions } from './connection/postgres-options.js'
import { creationLock, readNumber, readOrCreate } from './connection/tables.js'

/** Length of all pieces of an object except the last, in bytes, by format. */
const PIECE_BYTES: ReadonlyMap<number, number> = new Map([
  [1, 262_144],
  [2, 8_000],
])

/** The format of new tables. */
const FORMAT = 2

/**
 * The maximum bytes of a piece in one row of a result. The driver collects a row in memory that it doubles until the
 * row fits: 330 KB took 3.2 ms as two rows, and 1.1 to 1.2 ms as rows of 16 to 64 KiB.
 */
const SLICE_BYTES = 32 * 1024

/** The length that means null in parameters. */
export const UNFINISHED = -1

/** Time after which the rows of an inactive put belong to a process that has ended. */
const ABANDONED = `interval '1 hour'`

export type ObjectTables = Readonly<Record<'objects' | 'pieces' | 'meta', string>>

export type ObjectStatements = Readonly<
  Record<
    | 'begin'
    | 'goOn'
    | 'isOwn'
    | 'discard'
    | 'hide'
    | 'abandoned'
    | 'removePieces'
    | 'removeRows'
    | 'read'
    | 'list',
    Statement
  > & {
    /** `read` as a COPY, which has no parameters. */
    copy: (id: ObjectId, window: Window) => string
    pieceBytes: number
  }
>

/** A part of an object, in terms of its pieces. */
export type Window = Readonly<{
  first: number
  last: number
  /** Bytes to skip in the first piece. */
  skip: number
  /** End of the range within the last piece. */
  limit: number
}>

export function objectTables({ schema, table }: ResolvedPostgresOptions): ObjectTables {
  const named = (suffix: string): string => `"${schema}"."${table}${suffix}"`
  return { objects: named(''), pieces: named('_pieces'), meta: named('_meta') }
}

/**
 * Creates the tables if there are none. @returns the length of their pieces.
 * @throws {StoreError} FORMAT_UNKNOWN; failures of PostgreSQL as they are
 */
export async function prepareObjectTables(
  connection: PostgresConnection,
  names: ObjectTables,
  options: ResolvedPostgresOptions,
): Promise<number> {
  const format = await readOrCreate(connection, {
    read: () => readNumber(connection, names, 'objects_format'),
    statements: objectTablesSql(names, options),
    options,
  })
  const pieceBytes = format && PIECE_BYTES.get(format)
  if (pieceBytes) return pieceBytes
  const found = format === undefined ? 'are not tables of objects' : `have format ${format}`
  const message = `The tables ${names.objects} ${found}; this version of the package knows 1 to ${FORMAT}`
  throw new StoreError('FORMAT_UNKNOWN', message)
}

function objectTablesSql(
  { objects, pieces, meta }: ObjectTables,
  { schema, table }: ResolvedPostgresOptions,
): readonly string[] {
  return [
    creationLock(objects),
    `create schema if not exists "${schema}"`,
    `create table if not exists ${objects} (id bytea not null, bytes bigint, put bytea, at timestamptz not null,
      primary key (id)) with (fillfactor = 85)`,
    `create index if not exists "${table}_unfinished" on ${objects} (at) where bytes is null`,
    `create table if not exists ${pieces} (id bytea not null, n int not null, v bytea not null,
      primary key (id, n))`,
    `create table if not exists ${meta} (name text not null, value bigint not null, primary key (name))`,
    `insert into ${meta} (name, value) values ('objects_format', ${FORMAT}) on conflict (name) do nothing`,
    // Pieces are not compressed again, and not stored in rows of another table, which took PostgreSQL 1.3 ms more for
    // 110 KB. Another version may have created tables of its own format meanwhile, with pieces longer than a page.
    `do $$ begin
      if (select value from ${meta} where name = 'objects_format') = ${FORMAT} then
        alter table ${pieces} alter column v set storage plain;
      end if;
    end $$`,
  ]
}

export function objectStatements(
  { objects, pieces }: ObjectTables,
  pieceBytes: number,
): ObjectStatements {
  const tables = { objects, pieces, pieceBytes }
  return {
    pieceBytes,
    ...putStatements(tables),
    ...deleteStatements(objects, pieces),
    read: {
      name: 'rowstash_read_object',
      text: slicesText(tables, ['$1', '$2::int', '$3::int', '$4::int', '$5::int']),
    },
    copy: (id, { first, last, skip, limit }) => {
      const text = slicesText(tables, [`'\\x${id}'::bytea`, first, last, skip, limit])
      return `copy (${text}) to stdout (format binary)`
    },
    list: {
      name: 'rowstash_list_objects',
      text: `select id from ${objects} where id >= $1 and id <= $2 and id > $3 and bytes is not null
        order by id limit $4`,
    },
  }
}

type Expression = string | number

type PieceTables = Readonly<{ objects: string; pieces: string; pieceBytes: number }>

/**
 * One row per slice of a window, in no order: the length of the object, the position of the slice in it, and its bytes.
 * If the window is empty, one row with only the length.
 */
function slicesText(
  { objects, pieces, pieceBytes }: PieceTables,
  [id, first, last, skip, limit]: readonly [id: Expression, ...window: Expression[]],
): string {
  const from = `case when q.n = ${first} then ${skip} else 0 end`
  const to = `least(length(q.v), case when q.n = ${last} then ${limit} else ${pieceBytes} end)`
  return `select o.bytes, p.place, p.v from ${objects} o left join lateral (
      select q.n * ${pieceBytes}::bigint + s.at as place,
        substring(q.v from s.at + 1 for least(${SLICE_BYTES}, ${to} - s.at)) as v
      from ${pieces} q cross join lateral generate_series(${from}, ${to} - 1, ${SLICE_BYTES}) as s(at)
      where q.id = o.id and q.n between ${first} and ${last}
    ) p on true where o.id = ${id} and o.bytes is not null`
}

function putStatements({ objects, pieces, pieceBytes }: PieceTables) {
  const cut = `generate_series(0, length($4::bytea) - 1, ${pieceBytes}) as s(at)`
  const number = `s.at / ${pieceBytes}`
  const piece = `substring($4::bytea from s.at + 1 for ${pieceBytes})`
  return {
    // Parameters: object, put, length, content.
    begin: {
      name: 'rowstash_begin_object',
      text: `with begun as (
          insert into ${objects} (id, put, bytes, at)
          values ($1, $2, nullif($3::bigint, ${UNFINISHED}), now()) on conflict do nothing returning 1),
        written as (
          insert into ${pieces} (id, n, v) select $1, ${number}, ${piece} from begun cross join ${cut})
        select count(*) from begun`,
    },
    // Parameters: those of `begin`, and the number of the first piece. The statement is repeatable.
    goOn: {
      name: 'rowstash_go_on_object',
      text: `with found as (
          update ${objects} set at = now(), bytes = nullif($3::bigint, ${UNFINISHED})
          where id = $1 and put = $2 and (bytes is null or bytes = $3::bigint) returning 1),
        written as (
          insert into ${pieces} (id, n, v) select $1, $5::int + ${number}, ${piece}
          from found cross join ${cut} on conflict do nothing)
        select count(*) from found`,
    },
    isOwn: {
      name: 'rowstash_is_own_object',
      text: `select count(*) from ${objects} where id = $1 and put = $2`,
    },
  }
}

function deleteStatements(objects: string, pieces: string) {
  const hidden = `bytes = null, put = null, at = '-infinity'`
  return {
    discard: {
      name: 'rowstash_discard_object',
      text: `update ${objects} set ${hidden} where id = $1 and put = $2 returning id`,
    },
    hide: {
      name: 'rowstash_hide_objects',
      text: `update ${objects} t set ${hidden} from unnest($1::bytea[]) as x(id) where t.id = x.id`,
    },
    // The found rows include those of unfinished deletions.
    abandoned: {
      name: 'rowstash_abandoned_objects',
      text: `update ${objects} set ${hidden} where bytes is null and at < now() - ${ABANDONED} and id = any(array(
          select id from ${objects} where bytes is null and at < now() - ${ABANDONED} order by at limit $1))
        returning id`,
    },
    removePieces: {
      name: 'rowstash_remove_pieces',
      text: `with found as materialized (
          select q.id, q.n from unnest($1::bytea[]) as x(id)
          cross join lateral (select p.id, p.n from ${pieces} p where p.id = x.id) q limit $2),
        gone as (delete from ${pieces} p using found f where p.id = f.id and p.n = f.n)
        select count(*) from found`,
    },
    removeRows: {
      name: 'rowstash_remove_objects',
      text: `delete from ${objects} t using unnest($1::bytea[]) as x(id)
        where t.id = x.id and t.bytes is null and t.put is null`,
    },
  }
}
