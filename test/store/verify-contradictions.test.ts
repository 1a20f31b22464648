// Records that are complete, with valid checksums, but contradict each other: verify says what is wrong and where.
import { describe, expect, test } from 'vitest'
import { type Bytes, concatBytes } from '../../src/base/bytes.js'
import {
  ChunkDecoder,
  columnListCrc,
  decodeColumnList,
  decodeListName,
  encodeChunkReference,
  encodeColumnList,
} from '../../src/format/chunk-records.js'
import {
  decodeExtentPage,
  type ExtentEntry,
  encodeExtentPage,
} from '../../src/format/extent-page.js'
import { encodeForward } from '../../src/format/forward.js'
import * as keys from '../../src/format/keys.js'
import * as records from '../../src/format/records.js'
import { type BuiltSegment, SegmentBuilder } from '../../src/format/segment-writer.js'
import type { VerifyReport } from '../../src/index.js'
import { StoreError } from '../../src/index.js'
import type { KvPartition } from '../../src/ports.js'
import { type ColumnSummary, SEEN } from '../../src/schema/column-summary.js'
import { newSummary, summarizeToken } from '../../src/schema/summarize.js'
import { all, firstOf, type Opened, openRich, replaceObject } from '../support/rich-database.js'

const LATE = 10_000
const OBJECT = 'e'.repeat(32)

type Damage = (opened: Opened) => Promise<void>

/** Replaces the first record of a space by the result of `change`. */
function changed(
  space: keyof typeof keys.KEY_SPACE,
  change: (bytes: Bytes, key: Bytes) => Bytes,
): Damage {
  return async ({ acme }) => {
    const [key, bytes] = await firstOf(acme, keys.KEY_SPACE[space])
    await acme.commit({ puts: [[key, change(bytes, key)]] })
  }
}

function head(change: (head: records.TableHead) => records.TableHead): Damage {
  return changed('tableHead', (bytes) =>
    records.encodeTableHead(change(records.decodeTableHead(bytes))),
  )
}

/** The first entry of the first extent page whose segment was, or was not, compacted. */
function entry(compacted: boolean, change: (entry: ExtentEntry) => ExtentEntry): Damage {
  return async ({ acme }) => {
    for (const [key, bytes] of await all(acme, keys.KEY_SPACE.extentPage)) {
      const entries = decodeExtentPage(bytes)
      const at = entries.findIndex((one) => one.segment !== null && one.compacted === compacted)
      const found = entries[at]
      if (found === undefined) continue
      const page = encodeExtentPage(entries.toSpliced(at, 1, change(found)))
      return void (await acme.commit({ puts: [[key, page]] }))
    }
    throw new Error('There is no such entry')
  }
}

/** A row record in the first sealed extent of the first table. */
async function putRow({ acme }: Opened, slot: number, record: Bytes): Promise<void> {
  const [key] = await firstOf(acme, keys.KEY_SPACE.tableHead)
  const at = keys.rowKey(keys.tableOfKey(key), { extent: 0, slot })
  await acme.commit({ puts: [[at, record]] })
}

const row = (fields: Partial<records.RowRecord>): Bytes =>
  records.encodeRowRecord({ version: 1, schemaNumber: 0, text: '"n":1', ...fields })

/** Replaces a segment. */
function segment(compacted: boolean, build: (rowCount: number) => Promise<BuiltSegment>): Damage {
  return async (opened) => {
    const rows = await rowCountOf(opened.acme, compacted)
    const made = await build(rows)
    await opened.objects.put(OBJECT, made.bytes)
    const { bytes, footerBytes } = made
    await entry(compacted, (before) => ({
      ...before,
      segment: { object: OBJECT, rowCount: rows, objectBytes: bytes.length, footerBytes },
    }))(opened)
  }
}

async function rowCountOf(acme: KvPartition, compacted: boolean): Promise<number> {
  const pages = await all(acme, keys.KEY_SPACE.extentPage)
  const found = pages
    .flatMap(([, bytes]) => decodeExtentPage(bytes))
    .find((one) => one.segment !== null && one.compacted === compacted)
  return found?.rowCount ?? 0
}

/** Rows of `"a":1`, except for the first one. */
function plain(first: string, columns = [summary('a', ['1'])]) {
  return (rowCount: number): Promise<BuiltSegment> => {
    const builder = new SegmentBuilder(OBJECT, 64, 'none')
    for (let i = 0; i < rowCount; i++) builder.add(i === 0 ? first : '"a":1')
    return builder.finish(columns, [])
  }
}

function compacted(change: (versions: number[]) => number[], isFirstDeleted = false) {
  return (rowCount: number): Promise<BuiltSegment> => {
    const builder = new SegmentBuilder(OBJECT, 64, 'none')
    for (let i = 0; i < rowCount; i++) builder.add('"a":1')
    const deleted = new Uint8Array(Math.ceil(rowCount / 8))
    if (isFirstDeleted) deleted[0] = 1
    return builder.finishCompaction(change(Array.from({ length: rowCount }, () => 1)), deleted)
  }
}

function summary(id: string, tokens: readonly string[]): ColumnSummary {
  const made = newSummary(id)
  for (const token of tokens) summarizeToken(made, token)
  return made
}

/** A forward object with as many runs as before. */
function forward(extent: number): Damage {
  return async ({ acme, objects }) => {
    const heads = await all(acme, keys.KEY_SPACE.tableHead)
    const found = heads.map(([, bytes]) => records.decodeTableHead(bytes).generation.forward)
    const { object = '' } = found.find((one) => one !== null) ?? {}
    await replaceObject(objects, object, (bytes) => {
      const first = { nonce: bytes.subarray(18, 26), extent: 0, slot: 0 }
      const count = new DataView(bytes.buffer).getUint32(4)
      const runs = Array.from({ length: count }, (_, i) => {
        return { at: { extent, slot: i }, count: 1, first: { ...first, slot: i } }
      })
      return encodeForward(object, runs)
    })
  }
}

const longerForward: Damage = async ({ acme, objects }) => {
  const heads = await all(acme, keys.KEY_SPACE.tableHead)
  const found = heads.map(([, bytes]) => records.decodeTableHead(bytes).generation.forward)
  const { object = '' } = found.find((one) => one !== null) ?? {}
  await replaceObject(objects, object, (bytes) => concatBytes([bytes, Uint8Array.of(0)]))
}

const longerChunk: Damage = async (opened) => {
  const lists = await all(opened.acme, keys.KEY_SPACE.columnList)
  await changed('chunk', (bytes) => {
    const { crc } = decodeListName(bytes)
    const [, list] = lists.find(([, record]) => columnListCrc(record) === crc) ?? []
    const stored = new ChunkDecoder(() =>
      list === undefined ? [] : decodeColumnList(list),
    ).decode(bytes)
    const chunk = { ...stored.chunk, rowCount: stored.chunk.rowCount + 1 }
    return encodeChunkReference({ ...stored, chunk })
  })(opened)
}

const system =
  (key: Bytes): Damage =>
  async ({ kv }) =>
    void (await kv.partition('').commit({ deletes: [key] }))

async function aliasKeyOf({ kv }: Opened): Promise<Bytes> {
  const [key] = await firstOf(kv.partition(''), keys.KEY_SPACE.alias)
  return key
}

const FOUND: readonly (readonly [what: string, damage: Damage, kind: string, message: RegExp])[] = [
  [
    'a table that the catalog lists at another order',
    head((given) => ({ ...given, order: given.order + 1 })),
    'record-mismatch',
    /^The catalog lists the table at another place$/,
  ],
  [
    'a table in whose place the catalog lists another',
    changed('catalog', (bytes) => {
      const { name, table } = records.decodeCatalogEntry(bytes)
      return records.encodeCatalogEntry({ name, table: table.map((byte) => byte ^ 1) })
    }),
    'record-mismatch',
    /^The catalog does not list the table$/,
  ],
  [
    'a catalog that goes on behind the order of the next table',
    changed('teamHead', () => records.encodeTeamHead(0)),
    'record-mismatch',
    /^The catalog has entries beyond its next place$/,
  ],
  [
    'retired rows of a version that is to come',
    changed('retirement', (bytes) =>
      records.encodeRetirement({ ...records.decodeRetirement(bytes), lastVersion: LATE }),
    ),
    'record-mismatch',
    /^A retired generation has version 10000; the table has \d+$/,
  ],
  [
    'a generation that ends before it begins',
    head((given) => ({
      ...given,
      generation: { ...given.generation, firstExtent: 256, nextExtent: 255, open: null },
    })),
    'record-mismatch',
    /^The numbers of generation [0-9a-f]{16} contradict each other$/,
  ],
  [
    'an extent page with an entry too few',
    changed('extentPage', (bytes) => encodeExtentPage(decodeExtentPage(bytes).slice(0, -1))),
    'record-mismatch',
    /^Extent page 0 has \d+ entries instead of \d+$/,
  ],
  [
    'an extent without rows',
    entry(true, (given) => ({ ...given, rowCount: 0 })),
    'record-mismatch',
    /^It has 0 rows$/,
  ],
  [
    'an extent with more rows than any has',
    entry(true, (given) => ({ ...given, rowCount: 65_537 })),
    'record-mismatch',
    /^It has 65537 rows$/,
  ],
  [
    'an extent of a version that its table has not reached',
    entry(false, (given) => ({ ...given, version: LATE })),
    'row-version',
    /^It has version 10000; its table has versions 1 to \d+$/,
  ],
  [
    'an extent of version 0',
    entry(false, (given) => ({ ...given, version: 0 })),
    'row-version',
    /^It has version 0;/,
  ],
  [
    'a footer as long as its segment',
    entry(false, (given) => ({
      ...given,
      segment: given.segment && { ...given.segment, footerBytes: given.segment.objectBytes },
    })),
    'record-mismatch',
    /^Segment [0-9a-f]{32} cannot have (\d+) bytes and a footer of \1$/,
  ],
  [
    'a row record beyond the rows of its extent',
    (opened) => putRow(opened, 60_000, row({})),
    'record-mismatch',
    /^Its extent has only \d+ rows$/,
  ],
  [
    'a row record of a schema that is to come',
    (opened) => putRow(opened, 0, row({ schemaNumber: 99 })),
    'record-mismatch',
    /^It refers to schema 99, which does not exist yet$/,
  ],
  [
    'a row record of version 0',
    (opened) => putRow(opened, 0, row({ version: 0 })),
    'row-version',
    /^It has version 0;/,
  ],
  [
    'a row record with a text that is no row',
    (opened) => putRow(opened, 0, row({ text: '"n":' })),
    'row',
    /./,
  ],
  [
    'a schema that is no JSON',
    changed('schema', () => records.encodeSchema('{')),
    'record',
    /JSON/,
  ],
  [
    'a schema that is none',
    changed('schema', () => records.encodeSchema('{"columns":[{"id":""}]}')),
    'record',
    /./,
  ],
  ['a forward object of another length', longerForward, 'object-length', /should have (\d+) bytes/],
  ['kept IDs of rows that are not there', forward(99), 'row-id', /leaves its extent$/],
  [
    'another column list',
    changed('columnList', () => encodeColumnList(['zz'])),
    'record-mismatch',
    /^The column list does not match its checksum$/,
  ],
  ['a chunk of more rows than it has', longerChunk, 'row-count', /^Its segments have \d+ rows/],
  [
    'an alias that leads to its team only',
    async (opened) => system(keys.teamAliasKey('acme'))(opened),
    'record-mismatch',
    /^The alias is recorded in one direction only$/,
  ],
  [
    'files of a team without an alias',
    async (opened) => system(keys.teamAliasKey('acme'))(opened),
    'record-missing',
    /^The alias of the team is missing$/,
  ],
  [
    'an alias that its team leads to only',
    async (opened) => system(await aliasKeyOf(opened))(opened),
    'record-mismatch',
    /^The alias is recorded in one direction only$/,
  ],
  [
    'a team that is not entered',
    async (opened) => system(keys.teamEntryKey('acme'))(opened),
    'record-missing',
    /^The team has no entry$/,
  ],
  [
    'a compaction in the place of a plain segment',
    segment(
      false,
      compacted((versions) => versions),
    ),
    'record-mismatch',
    /^Its footer says that it was made by a compaction$/,
  ],
  [
    'a plain segment in the place of a compaction',
    segment(true, plain('"a":1')),
    'record-mismatch',
    /^Its footer says that it was not made by a compaction$/,
  ],
  [
    'a compacted row of a version that its table has not reached',
    segment(
      true,
      compacted((versions) => versions.with(1, LATE)),
    ),
    'row-version',
    /^A row has version 10000;/,
  ],
  [
    'a compacted row of version 0',
    segment(
      true,
      compacted((versions) => versions.with(0, 0)),
    ),
    'row-version',
    /^A row has version 0;/,
  ],
  [
    'a deleted row with a text',
    segment(
      true,
      compacted((versions) => versions, true),
    ),
    'row',
    /^A deleted row has cells$/,
  ],
  [
    'a row with a column twice',
    segment(false, plain('"a":1,"a":2')),
    'row',
    /^Column "a" occurs twice$/,
  ],
  [
    'a row with a column that its segment does not list',
    segment(false, plain('"b":1')),
    'row',
    /^Column "b" is not listed by the segment$/,
  ],
  ['a segment with a text that is no row', segment(false, plain('"a":')), 'row', /./],
  [
    'a summary that says texts where there are numbers',
    segment(false, plain('"a":1', [summary('a', ['"x"'])])),
    'summary',
    /^The summary of column "a" does not match its values$/,
  ],
  [
    'a summary that has seen no empty array',
    segment(false, plain('"a":[]', [{ ...summary('a', ['1', '[]']), seen: SEEN.number }])),
    'summary',
    /^The summary of column "a"/,
  ],
]

function damageOf({ findings }: VerifyReport): string[] {
  const damage = findings.filter(({ severity }) => severity === 'damage')
  return damage.map(({ kind, message }) => `${kind}: ${message}`)
}

describe('a full verify finds', () => {
  test.each(FOUND)('%s', async (_, damage, kind, message) => {
    const opened = await openRich()
    await damage(opened)

    const found = damageOf(await opened.store.verify({ full: true }))

    const matching = found.filter((text) => {
      return text.startsWith(`${kind}: `) && message.test(text.slice(kind.length + 2))
    })
    expect(matching, found.join('\n')).not.toEqual([])
  })
})

test('what cannot be read now is told as unreadable, and is no reason to end', async () => {
  const { store, objects } = await openRich()
  objects.get = async () => {
    throw new StoreError('STORAGE_UNAVAILABLE', 'The disk is gone')
  }

  const { findings, ok } = await store.verify({ full: true })

  expect(ok).toBe(false)
  const kinds = findings.filter(({ severity }) => severity === 'damage').map(({ kind }) => kind)
  expect(new Set(kinds)).toEqual(new Set(['unreadable']))
  expect(findings.length).toBeGreaterThan(5)
})

test('row 1 of a version that its table has not reached is named, and no row before it', async () => {
  const opened = await openRich()
  await segment(
    true,
    compacted((versions) => versions.with(1, LATE)),
  )(opened)

  const { findings } = await opened.store.verify()

  expect(findings.find(({ kind }) => kind === 'row-version')?.place).toBe('row 1')
})
