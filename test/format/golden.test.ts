// The bytes on disk never change by accident: each record of FORMAT.md, encoded from fixed values, is compared with a
// file that was reviewed once. A deliberate change needs a new number in FORMAT.md and a new golden file.
// `ROWSTASH_WRITE_GOLDEN=1` writes missing files, and never replaces one.
import { MemoryLevel } from 'memory-level'
import { describe, expect, test } from 'vitest'
import { ownerName, parseOwnerName } from '../../adapters/directory/owner-record.js'
import { type Bytes, toHex, utf8 } from '../../src/base/bytes.js'
import { codecs } from '../../src/base/codecs.js'
import { renderTarget } from '../../src/engine/files/upload-target.js'
import {
  ChunkDecoder,
  decodeColumnList,
  encodeChunkReference,
  encodeColumnList,
} from '../../src/format/chunk-records.js'
import { decodeClaims } from '../../src/format/claims.js'
import { parseContinuation, renderContinuation } from '../../src/format/continuation-token.js'
import { deadTableKey, decodeDeadTable, encodeDeadTable } from '../../src/format/dead-table.js'
import { decodeExtentPage, encodeExtentPage } from '../../src/format/extent-page.js'
import {
  parseFileId,
  parseUploadId,
  renderFileId,
  renderUploadId,
} from '../../src/format/file-id.js'
import * as files from '../../src/format/file-records.js'
import { filesIn, listedFiles } from '../../src/format/file-references.js'
import { encodeForward, ForwardMap } from '../../src/format/forward.js'
import { CODEC, codecBit } from '../../src/format/frame-codec.js'
import * as keys from '../../src/format/keys.js'
import * as records from '../../src/format/records.js'
import { parseRowId, renderRowId } from '../../src/format/row-id.js'
import { parseSchemaText, schemaText } from '../../src/format/schema-record.js'
import { TRAILER_BYTES } from '../../src/format/segment-layout.js'
import { decodeFooter, decodeFrame, footerRange } from '../../src/format/segment-reader.js'
import type { BuiltSegment } from '../../src/format/segment-writer.js'
import { decodeHighWater, encodeHighWater } from '../../src/kv/high-water.js'
import { openLevelKv } from '../../src/kv/level-kv.js'
import { buildSegment, textsOfSegment } from '../support/build-segment.js'
import { golden, goldenBytes } from './golden-file.js'

const TABLE = utf8('table-key-16byte')
const NONCE = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)
const OBJECT = '00112233445566770000000000000001'
const OPEN = { extent: 513, nonce: NONCE, nextSlot: 7, textBytes: 300, base: 0 }
const GENERATION = {
  nonce: utf8('gen-nnce'),
  firstExtent: 512,
  nextExtent: 514,
  liveRows: 1007,
  deletedRows: 4,
  schemaNumber: 3,
  convertBefore: 513,
  widenedAt: 6,
  open: OPEN,
  forward: { object: OBJECT, objectBytes: 258 },
  keyIndex: null,
}
const HEAD = { version: 2 ** 40 + 9, commitNonce: NONCE, order: 5, generation: GENERATION }
const BASED_HEAD = {
  ...HEAD,
  generation: { ...GENERATION, open: { ...OPEN, base: 2 ** 32 + 2 ** 20 } },
}
const TIMED_HEAD = { ...HEAD, times: { createdAt: 1_760_000_000_000, updatedAt: 2 ** 47 + 1 } }
const PAST = { dropped: new Set(['größe', '__proto__']), since: new Map([['n', 2 ** 40]]) }
const RETIREMENT = {
  dropping: true,
  lastVersion: 8,
  retiredAt: 1_760_000_000_000,
  generation: { ...GENERATION, open: null, forward: null },
}
const SEGMENT = { object: OBJECT, rowCount: 3, objectBytes: 300, footerBytes: 120 }
const ENTRIES = [
  {
    nonce: NONCE,
    segment: SEGMENT,
    rowCount: 3,
    version: 9,
    convert: true,
    compacted: false,
    namesFiles: false,
    recompressed: false,
  },
  {
    nonce: utf8('nonce--2'),
    segment: null,
    rowCount: 7,
    version: 10,
    convert: false,
    compacted: true,
    namesFiles: false,
    recompressed: false,
  },
]
const NAMING_ENTRIES = ENTRIES.map((entry) => ({ ...entry, namesFiles: entry.segment !== null }))
const RECOMPRESSED_ENTRIES = ENTRIES.map((entry) => ({
  ...entry,
  recompressed: entry.segment !== null,
}))
const SUMMARY = { id: 'n', scalarMask: 0x1000, elementMask: 0x3fff, seen: 1 }
const COLUMNS = [
  { summary: SUMMARY, firstRow: 0 },
  { summary: { id: 'é"\ud800', scalarMask: 3, elementMask: 0x3fff, seen: 4 }, firstRow: 2 },
]
const REFERENCE = {
  putAt: 1_760_000_000_000,
  list: { crc: 0xdeadbeef, probe: 1 },
  chunk: {
    rowCount: 3,
    firstLine: 2,
    hasClaims: true,
    namesFiles: false,
    columns: COLUMNS,
    segments: [SEGMENT],
  },
}
const NAMING_REFERENCE = { ...REFERENCE, chunk: { ...REFERENCE.chunk, namesFiles: true } }
const STASH = { nonce: NONCE, number: 4, state: 'open', since: 1_760_000_000_000 } as const
const EXPIRED_STASH = { ...STASH, state: 'expired' } as const
const REPEAT = {
  operation: 'add' as const,
  at: 1_760_000_000_000,
  table: TABLE,
  version: 2 ** 40 + 9,
  digest: null,
  runs: [
    { nonce: NONCE, extent: 513, firstSlot: 7, count: 2 },
    { nonce: utf8('nonce--2'), extent: 2 ** 40 + 1, firstSlot: 0, count: 65_536 },
  ],
}
const DIGESTED_REPEAT = { ...REPEAT, digest: utf8('a digest that has its 32 bytes..') }
const CLAIMS = [{ row: 1, count: 2, first: { nonce: NONCE, extent: 513, slot: 9 } }]
const FORWARD = [
  { at: { extent: 0, slot: 3 }, count: 2, first: { nonce: NONCE, extent: 513, slot: 9 } },
  { at: { extent: 1, slot: 0 }, count: 1, first: { nonce: NONCE, extent: 4, slot: 0 } },
]
const FILE = utf8('file-key-16bytes')
const CONTENT = {
  object: OBJECT,
  bytes: 2 ** 33 + 5,
  sha256: new Uint8Array(32).fill(0xab),
  sealed: false,
}
const SEALED = { ...CONTENT, sealed: true }
const TERMS = {
  app: 'app-1',
  owner: '',
  contentType: 'image/png',
  fileName: 'Größe ✓.png',
  contentLength: 2 ** 33 + 5,
  bytesMax: 2 ** 33 + 5,
  createdAt: 1_760_000_000_000,
  expiresAt: 1_760_000_900_000,
  presigned: null,
}
const UPLOADS: Record<string, files.UploadRecord> = {
  'upload-created': { ...TERMS, state: 'created' },
  'upload-presigned': {
    ...TERMS,
    owner: 'key 1',
    contentLength: null,
    presigned: OBJECT,
    state: 'created',
  },
  'upload-received': { ...TERMS, state: 'received', received: CONTENT, receivedAt: null },
  'upload-completed': { ...TERMS, state: 'completed', received: CONTENT, file: FILE },
  'upload-received-sealed': { ...TERMS, state: 'received', received: SEALED, receivedAt: null },
  'upload-received-at': {
    ...TERMS,
    state: 'received',
    received: SEALED,
    receivedAt: 1_700_000_000_123,
  },
  'upload-completed-sealed': { ...TERMS, state: 'completed', received: SEALED, file: FILE },
}
const STORED_FILE = {
  ...CONTENT,
  contentType: 'image/png',
  fileName: 'Größe ✓.png',
  completedAt: 1_760_000_000_000,
}
const SIGNING_KEY = { id: 258, secret: new Uint8Array(32).fill(1), createdAt: 1_760_000_000_000 }
const SIGNING_KEYS = [
  SIGNING_KEY,
  { id: 257, secret: new Uint8Array(32).fill(2), createdAt: 1_750_000_000_000 },
]
const ROWS = ['"n":1,"é":"ß"', '', '"n":34.50']
const NAMING_ROWS = [
  `"n":1,"image":"https://example.com/files/${renderFileId({ alias: NONCE, key: FILE })}/a.png"`,
  `"n":2,"image":"/files/${renderFileId({ alias: NONCE, key: FILE }).replace('rsf', '\\u0072\\u0073f')}"`,
  `"n":3,"images":["${renderFileId({ alias: NONCE, key: utf8('another file-key') })}"]`,
]

const STORE = utf8('name-of-16-bytes')
const OWNER = {
  pid: 4711,
  start: '300892',
  boot: '00112233445566778899aabbccddeeff',
  namespace: '4026531836',
  device: '65024',
  inode: '2203684',
  nonce: 'e028948703b566e4',
  host: 'web-1.example',
}
const MARK = { commit: 2 ** 40 + 9, closed: true, relaxed: true, versionBase: 2 ** 32 + 2 ** 20 }

const GOLDEN: Record<string, () => Bytes | Promise<Bytes>> = {
  'high-water': () => encodeHighWater(STORE, MARK),
  'owner-record': () => utf8(ownerName(OWNER)),
  'team-head': () => records.encodeTeamHead(258),
  'catalog-entry': () => records.encodeCatalogEntry({ table: TABLE, name: 'Orders ✓' }),
  'table-head': () => records.encodeTableHead(HEAD),
  'table-head-with-base': () => records.encodeTableHead(BASED_HEAD),
  'table-head-with-times': () => records.encodeTableHead(TIMED_HEAD),
  'dead-table': () => encodeDeadTable(1_760_000_000_000),
  retirement: () => records.encodeRetirement(RETIREMENT),
  schema: () => records.encodeSchema('{"columns":[]}'),
  'schema-with-dropped': () => records.encodeSchema(schemaText({ columns: [] }, PAST)),
  'row-record': () => records.encodeRowRecord({ version: 3, schemaNumber: 1, text: '"a":"é"' }),
  'row-record-with-files': () =>
    records.encodeRowRecord({ version: 3, schemaNumber: 1, text: NAMING_ROWS[1] ?? '' }),
  tombstone: () => records.encodeRowRecord({ version: 3, schemaNumber: 1, text: null }),
  'stash-head': () => records.encodeStashHead(STASH),
  'stash-head-expired': () => records.encodeStashHead(EXPIRED_STASH),
  repeat: () => records.encodeIdempotencyRecord(REPEAT),
  'repeat-with-digest': () => records.encodeIdempotencyRecord(DIGESTED_REPEAT),
  ...Object.fromEntries(
    Object.entries(UPLOADS).map(([name, upload]) => [name, () => files.encodeUpload(upload)]),
  ),
  file: () => files.encodeFile(STORED_FILE),
  'file-sealed': () => files.encodeFile({ ...STORED_FILE, sealed: true }),
  'file-marker': () => files.encodeFileMarker(NONCE),
  'files-head': () => files.encodeFilesHead({ files: 258, bytes: 2 ** 48 + 3 }),
  alias: () => files.encodeAlias('Größe'),
  'team-alias': () => files.encodeTeamAlias(NONCE),
  'signing-keys': () => files.encodeSigningKeys(SIGNING_KEYS),
  codecs: () => records.encodeCodecs(codecBit(CODEC.deflate) | codecBit(CODEC.zstd)),
  'file-id': () => utf8(renderFileId({ alias: NONCE, key: FILE })),
  'upload-id': () => utf8(renderUploadId({ alias: NONCE, key: FILE })),
  'upload-target': () =>
    utf8(renderTarget(SIGNING_KEY, renderUploadId({ alias: NONCE, key: FILE }), TERMS)),
  'extent-page': () => encodeExtentPage(ENTRIES),
  'extent-page-with-files': () => encodeExtentPage(NAMING_ENTRIES),
  'extent-page-recompressed': () => encodeExtentPage(RECOMPRESSED_ENTRIES),
  'chunk-reference': () => encodeChunkReference(REFERENCE),
  'chunk-reference-with-files': () => encodeChunkReference(NAMING_REFERENCE),
  'column-list': () => encodeColumnList(COLUMNS.map(({ summary }) => summary.id)),
  segment: async () => (await buildSegment(OBJECT, ROWS, [SUMMARY])).bytes,
  'segment-with-claims': async () => (await buildSegment(OBJECT, ROWS, [SUMMARY], CLAIMS)).bytes,
  'segment-with-files': async () => (await buildSegment(OBJECT, NAMING_ROWS, [SUMMARY])).bytes,
  forward: () => encodeForward(OBJECT, FORWARD),
  'row-id': () => utf8(renderRowId(NONCE, 2 ** 40 + 1, 65_535)),
  continuation: () =>
    utf8(
      renderContinuation({ table: TABLE, generation: NONCE, position: { extent: 9, slot: 4 } }, 0),
    ),
  'key-catalog': () => keys.catalogKey(258),
  'key-table-head': () => keys.tableHeadKey(TABLE),
  'key-schema': () => keys.schemaKey(TABLE, 3),
  'key-extent-page': () => keys.extentPageKey(TABLE, 2),
  'key-row': () => keys.rowKey(TABLE, { extent: 513, slot: 258 }),
  'key-retirement': () => keys.retirementKey(TABLE, 512),
  'key-dead-table': () => deadTableKey(TABLE),
  'key-stash-head': () => keys.stashHeadKey('20240215-job32'),
  'key-chunk': () => keys.chunkKey(NONCE, '007'),
  'key-column-list': () => keys.columnListKey(NONCE, 0xdeadbeef, 1),
  'key-dead-stash': () => keys.deadStashKey(NONCE),
  'key-repeat-create': () => keys.idempotencyRecordKey(null, 'import 32~'),
  'key-repeat-add': () => keys.idempotencyRecordKey(TABLE, 'import 32~'),
  'key-upload': () => keys.uploadKey(FILE),
  'key-file': () => keys.fileKey(FILE),
  'key-file-marker': () => keys.fileMarkerKey(FILE),
  'key-many-files-marker': () => keys.MANY_FILES_MARKER_KEY,
  'key-files-head': () => keys.FILES_HEAD_KEY,
  'key-team-entry': () => keys.teamEntryKey('acme'),
  'key-alias': () => keys.aliasKey(NONCE),
  'key-team-alias': () => keys.teamAliasKey('acme'),
  'key-signing-keys': () => keys.SIGNING_KEYS_KEY,
  'key-codecs': () => keys.CODECS_KEY,
}

/** 64 rows that are much alike, and one that compression does not make smaller. */
function packedRows(name: string): string[] {
  return [...Array.from({ length: 64 }, (_, row) => `"name":"${name}","n":${row}`), '"x":7']
}

/** The rows of the golden segments, whose writer ended each frame with its 64th row, however short. */
const PACKED_ROWS = packedRows('Größe')

type Built = Pick<BuiltSegment, 'bytes' | 'footerBytes'>

function readSegment({ bytes, footerBytes }: Built, rowCount: number): Promise<string[]> {
  const ref = { object: OBJECT, rowCount, objectBytes: bytes.length, footerBytes }
  return textsOfSegment(ref, bytes)
}

/** The codec bytes of the first two frames, located by the lengths in FORMAT.md. */
function frameCodecs(bytes: Bytes): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const second = 8 + 11 + view.getUint32(8 + 7) + 4
  return [view.getUint8(8), view.getUint8(second)]
}

describe('written bytes', () => {
  test.each(Object.entries(GOLDEN))('%s is written as FORMAT.md says', async (name, write) => {
    const written = await write()

    expect(toHex(written)).toBe(golden(name, written))
  })

  test('a database of two commits is written as FORMAT.md says', async () => {
    const database = new MemoryLevel<Uint8Array, Uint8Array>({
      keyEncoding: 'view',
      valueEncoding: 'view',
    })
    const kv = await openLevelKv(database)
    await kv.partition('acme').commit({ puts: [[utf8('k'), utf8('v')]] })
    await kv.partition('').commit({ puts: [[utf8('k'), new Uint8Array(0)]] })

    const entries = await database.iterator().all()
    const written = utf8(entries.map(([key, value]) => `${toHex(key)} ${toHex(value)}\n`).join(''))

    expect(toHex(written)).toBe(golden('database', written))
    await kv.close()
  })
})

describe('golden bytes', () => {
  test('records are read back to the values that were written', () => {
    expect(records.decodeTeamHead(goldenBytes('team-head'))).toBe(258)
    expect(records.decodeCatalogEntry(goldenBytes('catalog-entry'))).toEqual({
      table: TABLE,
      name: 'Orders ✓',
    })
    expect(records.decodeTableHead(goldenBytes('table-head'))).toEqual(HEAD)
    expect(records.decodeTableHead(goldenBytes('table-head-with-base'))).toEqual(BASED_HEAD)
    expect(records.decodeTableHead(goldenBytes('table-head-with-times'))).toEqual(TIMED_HEAD)
    expect(decodeDeadTable(goldenBytes('dead-table'))).toBe(1_760_000_000_000)
    const text = records.decodeSchema(goldenBytes('schema-with-dropped'))
    expect(parseSchemaText(text)).toEqual({ schema: { columns: [] }, past: PAST })
    expect(records.decodeRetirement(goldenBytes('retirement'))).toEqual(RETIREMENT)
    expect(records.decodeSchema(goldenBytes('schema'))).toBe('{"columns":[]}')
    expect(records.decodeStashHead(goldenBytes('stash-head'))).toEqual(STASH)
    expect(records.decodeStashHead(goldenBytes('stash-head-expired'))).toEqual(EXPIRED_STASH)
    expect(records.decodeRowRecord(goldenBytes('tombstone')).text).toBeNull()
    expect(records.decodeRowRecord(goldenBytes('row-record'))).toEqual({
      version: 3,
      schemaNumber: 1,
      text: '"a":"é"',
    })
    expect(records.decodeIdempotencyRecord(goldenBytes('repeat'))).toEqual(REPEAT)
    expect(records.decodeIdempotencyRecord(goldenBytes('repeat-with-digest'))).toEqual(
      DIGESTED_REPEAT,
    )
    expect(decodeExtentPage(goldenBytes('extent-page'))).toEqual(ENTRIES)
    expect(decodeExtentPage(goldenBytes('extent-page-with-files'))).toEqual(NAMING_ENTRIES)
    expect(decodeExtentPage(goldenBytes('extent-page-recompressed'))).toEqual(RECOMPRESSED_ENTRIES)
  })

  test('the name of an owner record is read back', () => {
    expect(Buffer.from(goldenBytes('owner-record')).toString()).toBe(ownerName(OWNER))
    expect(parseOwnerName(ownerName(OWNER))).toEqual(OWNER)
    for (const name of ['OWNER', 'OWNER.1.2.3@x', `${ownerName(OWNER)}/`, 'HIGHWATER']) {
      expect(parseOwnerName(name)).toBe(undefined)
    }
  })

  test('a high-water mark is read back', () => {
    expect(decodeHighWater(STORE, goldenBytes('high-water'))).toEqual(MARK)
  })

  test('a chunk reference is read back with the columns of its list', () => {
    const ids = decodeColumnList(goldenBytes('column-list'))
    const decoder = new ChunkDecoder(() => ids)

    expect(decoder.decode(goldenBytes('chunk-reference'))).toEqual(REFERENCE)
    expect(decoder.decode(goldenBytes('chunk-reference-with-files'))).toEqual(NAMING_REFERENCE)
  })

  test('a segment is read back', async () => {
    const bytes = goldenBytes('segment')
    const { footerBytes } = await buildSegment(OBJECT, ROWS, [SUMMARY])
    const ref = { object: OBJECT, rowCount: 3, objectBytes: bytes.length, footerBytes }
    const { start, limit } = footerRange(ref)
    const footer = decodeFooter(ref, bytes.subarray(start, limit))

    expect(footer.columns).toEqual([SUMMARY])
    for (const place of footer.frames) {
      const piece = bytes.subarray(place.offset, place.offset + place.bytes)
      const frame = await decodeFrame(ref, place, piece)
      expect(frame.rowTexts(0, frame.rowCount)).toEqual(ROWS)
    }
  })

  test.each(['deflate', 'zstd'] as const)('a segment of %s is read back', async (compression) => {
    const bytes = goldenBytes(`segment-${compression}`)
    const footerBytes = new DataView(bytes.buffer, bytes.length - TRAILER_BYTES).getUint32(0)
    const read = readSegment({ bytes, footerBytes }, PACKED_ROWS.length)

    // Another version of the library may compress to other bytes, so only the codecs are compared.
    expect(frameCodecs(bytes)).toEqual([CODEC[compression], CODEC.none])
    if (codecs[compression] !== null) {
      expect(await read).toEqual(PACKED_ROWS)
      const rows = packedRows('Größe'.repeat(50))
      const fresh = await buildSegment(OBJECT, rows, [], [], compression)
      expect(frameCodecs(fresh.bytes)).toEqual([CODEC[compression], CODEC.none])
      expect(await readSegment(fresh, rows.length)).toEqual(rows)
    } else {
      await expect(read).rejects.toMatchObject({ code: 'FORMAT_UNKNOWN' })
    }
  })

  test('claims and kept row IDs are read back', async () => {
    const bytes = goldenBytes('segment-with-claims')
    const { footerBytes } = await buildSegment(OBJECT, ROWS, [SUMMARY], CLAIMS)
    const ref = { object: OBJECT, rowCount: 3, objectBytes: bytes.length, footerBytes }
    const { start, limit } = footerRange(ref)
    const map = new ForwardMap(OBJECT, goldenBytes('forward'))
    const second = { nonce: NONCE, extent: 513, slot: 10 }

    expect(decodeClaims(decodeFooter(ref, bytes.subarray(start, limit)).claims)).toEqual(CLAIMS)
    expect(map.idAt({ extent: 0, slot: 4 })).toEqual(second)
    expect(map.positionOf(second)).toEqual({ extent: 0, slot: 4 })
    expect(map.idAt({ extent: 0, slot: 5 })).toBeNull()
    expect(map.positionOf({ ...second, slot: 11 })).toBeNull()
  })

  test('records of files and uploads are read back to the values that were written', () => {
    for (const [name, upload] of Object.entries(UPLOADS)) {
      expect(files.decodeUpload(goldenBytes(name))).toEqual(upload)
    }
    expect(files.decodeFile(goldenBytes('file'))).toEqual(STORED_FILE)
    expect(files.decodeFileMarker(goldenBytes('file-marker'))).toEqual(NONCE)
    expect(files.decodeFilesHead(goldenBytes('files-head'))).toEqual({
      files: 258,
      bytes: 2 ** 48 + 3,
    })
    expect(files.decodeAlias(goldenBytes('alias'))).toBe('Größe')
    expect(files.decodeTeamAlias(goldenBytes('team-alias'))).toEqual(NONCE)
    expect(files.decodeSigningKeys(goldenBytes('signing-keys'))).toEqual(SIGNING_KEYS)
    expect(records.decodeCodecs(goldenBytes('codecs'))).toBe(0b11)
  })

  test('the files that rows name are read back', async () => {
    const bytes = goldenBytes('segment-with-files')
    const { footerBytes } = await buildSegment(OBJECT, NAMING_ROWS, [SUMMARY])
    const ref = { object: OBJECT, rowCount: 3, objectBytes: bytes.length, footerBytes }
    const { start, limit } = footerRange(ref)
    const { files } = decodeFooter(ref, bytes.subarray(start, limit))
    const text = records.textNamingFiles(goldenBytes('row-record-with-files'))

    expect([...listedFiles(files ?? new Uint8Array())]).toEqual([utf8('another file-key'), FILE])
    expect([...filesIn(text ?? new Uint8Array())]).toEqual([FILE])
    expect(records.textNamingFiles(goldenBytes('row-record'))).toBeNull()
  })

  test('texts that left the store are still understood', () => {
    const rowId = new TextDecoder().decode(goldenBytes('row-id'))
    const token = new TextDecoder().decode(goldenBytes('continuation'))

    const fileId = new TextDecoder().decode(goldenBytes('file-id'))
    const uploadId = new TextDecoder().decode(goldenBytes('upload-id'))

    expect(parseFileId(fileId)).toEqual({ alias: NONCE, key: FILE })
    expect(parseUploadId(uploadId)).toEqual({ alias: NONCE, key: FILE })
    expect([parseFileId(uploadId), parseUploadId(fileId)]).toEqual([null, null])
    expect(parseRowId(rowId)).toEqual({ nonce: NONCE, extent: 2 ** 40 + 1, slot: 65_535 })
    expect(parseContinuation(token, 0)).toEqual({
      table: TABLE,
      generation: NONCE,
      position: { extent: 9, slot: 4 },
    })
  })
})
