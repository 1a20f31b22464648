// Records with a valid checksum and invalid content: each reader fails with DATA_CORRUPT and the reason.

import { describe, expect, test } from 'vitest'
import { type Bytes, concatBytes, utf8 } from '../../../src/base/bytes.js'
import { isStoreError } from '../../../src/base/store-error.js'
import { ByteWriter } from '../../../src/format/byte-writer.js'
import {
  ChunkDecoder,
  encodeChunkReference,
  encodeColumnList,
} from '../../../src/format/chunk-records.js'
import {
  decodeExtentEntry,
  decodeExtentPage,
  encodeExtentPage,
} from '../../../src/format/extent-page.js'
import * as files from '../../../src/format/file-records.js'
import { encodeForward, ForwardMap, type ForwardRun } from '../../../src/format/forward.js'
import { objectIdCrc, pieceCrc } from '../../../src/format/piece-crc.js'
import * as records from '../../../src/format/records.js'
import { DIRECTORY_PLACE, SECTION } from '../../../src/format/segment-layout.js'
import { decodeFooter, decodeFrame, footerRange } from '../../../src/format/segment-reader.js'
import { type BuiltSegment, SegmentBuilder } from '../../../src/format/segment-writer.js'
import { newSummary } from '../../../src/schema/summarize.js'
import { buildSegment } from '../../support/build-segment.js'

const OBJECT = '00112233445566770000000000000001'
const NONCE = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)
const TABLE = utf8('table-key-16byte')

/** The result of a reader. Failures other than a damaged record are thrown. */
function problemOf(read: () => unknown): string {
  try {
    read()
    return 'nothing'
  } catch (failure) {
    if (isStoreError(failure) && failure.code === 'DATA_CORRUPT') return failure.message
    throw failure
  }
}

function withByte(bytes: Bytes, at: number, byte: number): Bytes {
  const changed = Uint8Array.from(bytes)
  changed[at < 0 ? changed.length + at : at] = byte
  return changed
}

const GENERATION = {
  nonce: NONCE,
  firstExtent: 256,
  nextExtent: 257,
  liveRows: 3,
  deletedRows: 0,
  schemaNumber: 1,
  convertBefore: 0,
  widenedAt: 0,
  open: null,
  forward: null,
  keyIndex: null,
}
const HEAD_FIELDS = { version: 9, commitNonce: NONCE, order: 5, generation: GENERATION }
const HEAD = records.encodeTableHead(HEAD_FIELDS)
const HEAD_WITH_TIMES = records.encodeTableHead({
  ...HEAD_FIELDS,
  times: { createdAt: 1_760_000_000_000, updatedAt: 1_760_000_000_001 },
})
const RETIREMENT = records.encodeRetirement({
  dropping: false,
  lastVersion: 8,
  retiredAt: 1_760_000_000_000,
  generation: GENERATION,
})
const REPEAT = records.encodeIdempotencyRecord({
  operation: 'add',
  at: 1_760_000_000_000,
  table: TABLE,
  version: 9,
  digest: Uint8Array.from({ length: 32 }, (_, i) => i),
  runs: [],
})
const ENTRY = {
  nonce: NONCE,
  segment: { object: OBJECT, rowCount: 3, objectBytes: 300, footerBytes: 120 },
  rowCount: 3,
  version: 9,
  convert: false,
  compacted: false,
  namesFiles: false,
  recompressed: false,
}
const PAGE = encodeExtentPage([ENTRY, ENTRY])
const SHARED = { object: `${OBJECT.slice(0, 16)}${'0'.repeat(15)}9`, offset: 100 }
const SHARING = {
  ...ENTRY.segment,
  object: `${OBJECT.slice(0, 16)}${'0'.repeat(15)}7`,
  shared: SHARED,
}
const SHARED_PAGE = encodeExtentPage([ENTRY, { ...ENTRY, segment: SHARING }])
const CONTENT = { object: OBJECT, bytes: 5, sha256: new Uint8Array(32), sealed: false }
const FILE = files.encodeFile({
  ...CONTENT,
  contentType: 'text/plain',
  fileName: 'a.txt',
  completedAt: 1_760_000_000_000,
})
const UPLOAD = files.encodeUpload({
  app: 'app',
  owner: '',
  contentType: 'text/plain',
  fileName: 'a.txt',
  contentLength: null,
  bytesMax: 5,
  createdAt: 1,
  expiresAt: 2,
  presigned: null,
  state: 'created',
})
const SIGNING_KEYS = files.encodeSigningKeys([
  { id: 1, secret: new Uint8Array(32), createdAt: 1_760_000_000_000 },
])

/** A record, and its reader. */
const READERS: readonly (readonly [string, Bytes, (bytes: Bytes) => unknown])[] = [
  ['a table head', HEAD, records.decodeTableHead],
  ['a retirement', RETIREMENT, records.decodeRetirement],
  ['a repeat', REPEAT, records.decodeIdempotencyRecord],
  ['a team head', records.encodeTeamHead(7), records.decodeTeamHead],
  ['an extent page', PAGE, decodeExtentPage],
  ['an extent page with a shared object', SHARED_PAGE, decodeExtentPage],
  ['a file', FILE, files.decodeFile],
  ['an upload', UPLOAD, files.decodeUpload],
  ['signing keys', SIGNING_KEYS, files.decodeSigningKeys],
  ['a files head', files.encodeFilesHead({ files: 1, bytes: 5 }), files.decodeFilesHead],
]

describe.each(READERS)('%s', (_, record, read) => {
  test('can be read as it was written', () => {
    expect(problemOf(() => read(record))).toBe('nothing')
  })

  test('with an unknown record version is refused', () => {
    expect(problemOf(() => read(withByte(record, 0, 9)))).toMatch('record version 9 is unknown')
  })

  test('is refused wherever it is cut', () => {
    const sizes = Array.from({ length: record.length }, (_, size) => size)
    const taken = sizes.filter(
      (size) => problemOf(() => read(record.subarray(0, size))) === 'nothing',
    )

    // A page with fewer entries, or none, is valid: its reader knows how many there must be.
    expect(taken).toEqual(read === decodeExtentPage ? [1, 1 + (record.length - 1) / 2] : [])
  })
})

const FIXED = READERS.filter(([name]) => name !== 'a repeat' && !name.startsWith('an extent page'))

test.each(FIXED)('%s with bytes after it is refused', (_, record, read) => {
  const whole = record === HEAD ? HEAD_WITH_TIMES : record
  const longer = concatBytes([whole, Uint8Array.of(0)])

  expect(problemOf(() => read(longer))).toMatch('1 bytes are left over')
})

test('a number that no double holds is refused', () => {
  const big = withByte(HEAD, 1, 0xff) // The first byte of the version.

  expect(problemOf(() => records.decodeTableHead(big))).toMatch('an integer is out of range')
})

test.each([
  ['a repeat of an unknown kind', REPEAT, records.decodeIdempotencyRecord, 1, 7, 'its kind is 7'],
  ['a generation with unknown flags', HEAD, records.decodeTableHead, -1, 16, 'its flags are 16'],
  [
    'a version base without an open extent',
    HEAD,
    records.decodeTableHead,
    -1,
    4,
    'its flags are 4',
  ],
  ['an upload in no state', UPLOAD, files.decodeUpload, 1, 9, 'its state is 9'],
  ['three signing keys', SIGNING_KEYS, files.decodeSigningKeys, 1, 3, 'it has 3 keys'],
] as const)('%s is refused', (_, record, read, at, byte, problem) => {
  expect(problemOf(() => read(withByte(record, at, byte)))).toMatch(problem)
})

test('an entry is read only from a page that has it, with a known record version', () => {
  expect(decodeExtentEntry(PAGE, 1)).toMatchObject({ rowCount: 3, version: 9 })
  expect(decodeExtentEntry(PAGE, 2)).toBeNull()
  expect(decodeExtentEntry(PAGE.subarray(0, -1), 1)).toBeNull()
  expect(decodeExtentEntry(withByte(PAGE, 0, 2), 1)).toBeNull()
})

test('a chunk whose column list has another length is refused', () => {
  const reference = encodeChunkReference({
    putAt: 1,
    list: { crc: 1, probe: 0 },
    chunk: {
      rowCount: 3,
      firstLine: 2,
      hasClaims: false,
      namesFiles: false,
      columns: [{ summary: newSummary('a'), firstRow: 0 }],
      segments: [],
    },
  })
  const decode = (ids: readonly string[]) => new ChunkDecoder(() => ids).decode(reference)

  expect(decode(['a']).chunk.columns).toHaveLength(1)
  expect(problemOf(() => decode(['a', 'b']))).toMatch('its column list has the wrong length')
  expect(problemOf(() => decode([]))).toMatch('its column list has the wrong length')
  expect(encodeColumnList(['a'])).not.toEqual(encodeColumnList(['b']))
})

describe('a forward object', () => {
  const run = (extent: number, slot: number, count: number, old: number): ForwardRun => {
    return { at: { extent, slot }, count, first: { nonce: NONCE, extent: 4, slot: old } }
  }
  const problem = (runs: readonly ForwardRun[]): string | null =>
    new ForwardMap(OBJECT, encodeForward(OBJECT, runs)).problem(256, 258)

  test('of runs that follow each other within the generation is good', () => {
    expect(problem([])).toBeNull()
    expect(problem([run(0, 0, 2, 7), run(0, 2, 1, 9), run(1, 65_535, 1, 10)])).toBeNull()
    expect(problem([run(0, 0, 65_536, 0)])).toBeNull()
  })

  test.each([
    ['a run before the one before it', [run(1, 0, 1, 7), run(0, 0, 1, 8)], 'does not follow'],
    ['a run over the one before it', [run(0, 0, 2, 7), run(0, 1, 1, 9)], 'does not follow'],
    ['a run of no row', [run(0, 0, 0, 7)], 'leaves its extent'],
    ['a run after the last extent', [run(2, 0, 1, 7)], 'leaves its extent'],
    ['a run over the end of its extent', [run(0, 65_535, 2, 7)], 'leaves its extent'],
    ['IDs over the end of the extent they are from', [run(0, 0, 2, 65_535)], 'leaves its extent'],
    ['an ID twice', [run(0, 0, 3, 7), run(1, 0, 1, 9)], 'an ID is kept by two rows'],
  ] as const)('with %s is refused', (_, runs, message) => {
    expect(problem(runs)).toMatch(message)
  })

  test('with IDs of its own generation is refused', () => {
    const own = {
      at: { extent: 0, slot: 0 },
      count: 1,
      first: { nonce: NONCE, extent: 256, slot: 0 },
    }

    expect(problem([own])).toMatch('an ID that is not an old one')
  })

  test('that is damaged is refused', () => {
    const content = encodeForward(OBJECT, [run(0, 0, 1, 7)])
    const read = (bytes: Bytes) => problemOf(() => new ForwardMap(OBJECT, bytes))

    expect(read(content)).toBe('nothing')
    expect(read(withByte(content, 0, 0))).toMatch('its magic number is missing')
    expect(read(withByte(content, 12, 1))).toMatch('its checksum is wrong')
    expect(read(concatBytes([content, Uint8Array.of(0)]))).toMatch('its checksum is wrong')
    expect(read(content.subarray(0, -1))).toMatch('it ends early')
  })
})

describe('a footer whose checksums are right', () => {
  type Section = readonly [number: number, bytes: Bytes]

  /** The footer of a segment, with its sections changed. */
  function withSections(
    { bytes, footerBytes }: BuiltSegment,
    rowCount: number,
    change: (sections: Section[]) => Section[],
  ): { ref: Parameters<typeof decodeFooter>[0]; footer: Bytes } {
    const idCrc = objectIdCrc(OBJECT)
    const whole = { object: OBJECT, rowCount, objectBytes: bytes.length, footerBytes }
    const { start, limit } = footerRange(whole)
    const [footer, trailer] = [
      bytes.subarray(start, start + footerBytes),
      bytes.subarray(start + footerBytes, limit),
    ]
    const view = new DataView(footer.buffer, footer.byteOffset)
    const sections = Array.from({ length: view.getUint8(0) }, (_, i): Section => {
      const at = 1 + 9 * i
      const from = view.getUint32(at + 1)
      return [view.getUint8(at), footer.subarray(from, from + view.getUint32(at + 5))]
    })
    const changed = change(sections)
    const directory = new ByteWriter(32).u8(changed.length)
    let offset = 1 + 9 * changed.length + 4
    for (const [number, content] of changed) {
      directory.u8(number).u32(offset).u32(content.length)
      offset += content.length + 4
    }
    const listed = directory.finish()
    const writer = new ByteWriter(offset)
      .bytes(listed)
      .u32(pieceCrc(idCrc, DIRECTORY_PLACE, listed))
    for (const [number, content] of changed) {
      writer.bytes(content).u32(pieceCrc(idCrc, number, content))
    }
    const written = writer.finish()
    const end = new ByteWriter(16).u32(written.length).u32(rowCount).finish()
    const newTrailer = concatBytes([
      new ByteWriter(16)
        .bytes(end)
        .u32(pieceCrc(idCrc, 0xffffffff, end))
        .finish(),
      trailer.subarray(12),
    ])
    const ref = { ...whole, footerBytes: written.length }
    return { ref, footer: concatBytes([written, newTrailer]) }
  }

  async function compact(): Promise<BuiltSegment> {
    const builder = new SegmentBuilder(OBJECT, 64, 'none')
    for (const text of ['"a":1', '', '"a":3']) builder.add(text)
    return builder.finishCompaction([4, 5, 6], Uint8Array.of(0b010))
  }

  const shorter = (number: number, bytes: number) => (sections: Section[]) =>
    sections.map(
      ([is, content]): Section => [is, is === number ? content.subarray(bytes) : content],
    )
  const without = (number: number) => (sections: Section[]) =>
    sections.filter(([is]) => is !== number)

  test('is read with its sections, and without those that may be missing', async () => {
    const built = await compact()
    const read = (change: (sections: Section[]) => Section[]) => {
      const { ref, footer } = withSections(built, 3, change)
      return decodeFooter(ref, footer)
    }
    const whole = read((sections) => sections)

    expect([0, 1, 2].map((row) => whole.versionOf?.(row))).toEqual([4, 5, 6])
    expect([0, 1, 2].map((row) => whole.isDeleted?.(row))).toEqual([false, true, false])
    expect(read(without(SECTION.deletedRows)).isDeleted).toBeNull()
    expect(read(without(SECTION.rowVersions)).versionOf).toBeNull()
  })

  test.each([
    ['no frame index', without(SECTION.frameIndex), 'it has no frame index'],
    ['a frame index that ends within an entry', shorter(SECTION.frameIndex, 1), 'no frame index'],
    ['no columns', without(SECTION.columns), 'it has no columns'],
    [
      'a version too few',
      shorter(SECTION.rowVersions, 8),
      'its row-version section has the wrong length',
    ],
    [
      'no bit for its rows',
      shorter(SECTION.deletedRows, 1),
      'its section of deleted rows has the wrong length',
    ],
    [
      'a list of files that ends within an ID',
      (sections: Section[]): Section[] => [...sections, [SECTION.files, new Uint8Array(15)]],
      'ends within an ID',
    ],
  ] as const)('with %s is refused', async (_, change, problem) => {
    const { ref, footer } = withSections(await compact(), 3, change)

    expect(problemOf(() => decodeFooter(ref, footer).columns)).toMatch(problem)
  })

  test('is refused by a record that says something else', async () => {
    const { ref, footer } = withSections(await compact(), 3, (sections) => sections)

    const problem = problemOf(() => decodeFooter({ ...ref, rowCount: 4 }, footer))
    expect(problem).toMatch('it is not the segment that the table refers to')
  })

  test('a frame is refused where another number of rows is wanted, or other bytes', async () => {
    const { bytes, footerBytes } = await buildSegment(OBJECT, ['"a":1'], [newSummary('a')])
    const ref = { object: OBJECT, rowCount: 1, objectBytes: bytes.length, footerBytes }
    const { start, limit } = footerRange(ref)
    const [place] = decodeFooter(ref, bytes.subarray(start, limit)).frames
    if (place === undefined) throw new Error('It has a frame')
    const stored = bytes.subarray(place.offset, place.offset + place.bytes)

    expect(problemOf(() => decodeFrame(ref, place, stored))).toBe('nothing')
    expect(problemOf(() => decodeFrame(ref, { ...place, rowCount: 2 }, stored))).toMatch(
      'the sizes of the frame at',
    )
    expect(problemOf(() => decodeFrame(ref, place, stored.subarray(0, -1)))).toMatch('is cut off')
  })
})
