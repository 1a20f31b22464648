// Files of a team: put, uploaded, read, deleted.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { isStoreError, type StoredFile, type UploadTicket } from '../../../src/index.js'
import { type Fixture, fails, numbered, type StoreCase } from './fixture.js'
import { inPieces, putTo, textOf } from './upload-request.js'

const ABOUT = { fileName: 'a.txt', contentType: 'text/plain' } as const
const HOUR_MS = 3_600_000
const PIECE_BYTES_MAX = 1024 * 1024

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Bytes that differ by their position, so that a wrong range shows. */
function pattern(length: number): Uint8Array {
  const content = new Uint8Array(length)
  for (let i = 0; i < length; i++) content[i] = (i * 31 + (i >>> 8)) & 0xff
  return content
}

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream) {
    assert.ok(piece.length <= PIECE_BYTES_MAX, 'pieces are bounded')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

async function read({ team }: Fixture, { id }: StoredFile): Promise<string> {
  const file = await team.files.get(id)
  assert.ok(file !== null, 'the file is there')
  return textOf(file.stream())
}

async function put({ store }: Fixture, { target }: UploadTicket, text: string): Promise<void> {
  await store.files.receive(putTo(target, [text]))
}

const contentCases: readonly StoreCase[] = [
  {
    name: 'a file reads back as it was put, whatever it was put from',
    async run(fixture) {
      const { files } = fixture.team
      const text = 'Größe ✓'
      const bytes = new TextEncoder().encode(text)
      const pieces = [bytes.subarray(0, 3), bytes.subarray(3, 3), bytes.subarray(3)]
      for (const content of [
        text,
        bytes,
        Buffer.from(text),
        inPieces(pieces),
        new Blob([bytes]).stream(),
        new Response(text).body ?? '',
      ]) {
        const file = await files.put(content, { ...ABOUT, contentLength: bytes.length })

        assert.equal(await read(fixture, file), text)
        assert.equal(file.sha256, sha256(text))
        assert.equal(file.bytes, bytes.length)
      }
    },
  },
  {
    name: 'an empty file is a file',
    async run(fixture) {
      const { files } = fixture.team
      for (const content of ['', new Uint8Array(0), inPieces([])]) {
        const file = await files.put(content, ABOUT)

        assert.deepEqual([file.bytes, file.sha256], [0, sha256('')])
        assert.equal(await read(fixture, file), '')
      }
    },
  },
  {
    name: 'a file is described in full, and the same everywhere',
    async run({ store, team, clock }) {
      const about = { fileName: 'a/b\\Größe ✓?.PNG', contentType: 'Image/PNG; a="b"' }
      const file = await team.files.put('x', about)

      assert.match(file.id, /^rsf-[A-Za-z0-9_-]{32}$/)
      assert.deepEqual(file, {
        id: file.id,
        path: `files/${file.id}/Gr%C3%B6%C3%9Fe%20%E2%9C%93_.PNG`,
        fileName: 'Größe ✓_.PNG',
        contentType: 'image/png; a=b',
        bytes: 1,
        sha256: sha256('x'),
        completedAt: clock.now(),
      })
      const { stream, readable, ...opened } = (await team.files.get(file.id)) ?? assert.fail()
      assert.deepEqual([typeof stream, typeof readable], ['function', 'function'])
      assert.deepEqual(opened, file)
      assert.deepEqual(await team.files.stat(file.id), file)
      assert.equal((await store.files.open(file.id))?.path, file.path)
    },
  },
  {
    name: 'any range of a file can be read, cut at its end',
    async run({ team }) {
      const content = pattern(200_001)
      const { id } = await team.files.put(content, ABOUT)
      const file = (await team.files.get(id)) ?? assert.fail()
      for (const [start, limit] of [
        [0, 0],
        [0, 1],
        [0, 200_001],
        [0, 200_002],
        [1, 200_001],
        [65_535, 65_537],
        [131_072, 200_001],
        [200_000, 2 ** 50],
        [200_001, 200_001],
        [300_000, 400_000],
      ] as const) {
        const expected = Buffer.from(content.subarray(start, limit))

        assert.deepEqual(await bytesOf(file.stream({ start, limit })), expected)
        assert.deepEqual(await bytesOf(file.readable({ start, limit })), expected)
      }
      assert.equal(Buffer.compare(await bytesOf(file.readable()), content), 0)
      for (const range of [
        { start: -1, limit: 1 },
        { start: 2, limit: 1 },
        { start: 0.5, limit: 1 },
        { start: 0, limit: Number.NaN },
      ]) {
        await fails(bytesOf(file.stream(range)), 'REQUEST_VALIDATION_ERROR')
      }
    },
  },
  {
    name: 'a reader that stops early harms nobody',
    async run({ team }) {
      const { id } = await team.files.put(pattern(500_000), ABOUT)
      const file = (await team.files.get(id)) ?? assert.fail()
      for await (const piece of file.stream()) {
        assert.ok(piece.length > 0)
        break
      }
      const reader = file.readable().getReader()
      await reader.read()
      await reader.cancel()

      assert.equal((await bytesOf(file.stream())).length, 500_000)
    },
  },
  {
    name: 'what is no content, no name or no media type is refused, and nothing is stored',
    options: { orphanGraceMs: 0 },
    async run({ store, team, clock }) {
      const { files } = team
      async function* texts() {
        yield 'text' as never
      }
      for (const content of [null, undefined, 5, {}, [1], texts()]) {
        await fails(files.put(content as never, ABOUT), 'REQUEST_VALIDATION_ERROR')
      }
      for (const about of [
        { ...ABOUT, fileName: '' },
        { ...ABOUT, fileName: 'x'.repeat(256) },
        { ...ABOUT, contentType: 'text' },
        { ...ABOUT, contentType: 'text/html\t' },
        { ...ABOUT, contentLength: -1 },
        { ...ABOUT, contentlength: 1 },
        { fileName: 'a' },
        null,
      ]) {
        await fails(files.put('x', about as never), 'REQUEST_VALIDATION_ERROR')
        await fails(files.createUpload(about as never), 'REQUEST_VALIDATION_ERROR')
      }
      for (const about of [{ appId: '' }, { owner: 'x'.repeat(257) }, { appId: 5 }]) {
        const given = { ...ABOUT, ...about } as never
        await fails(files.createUpload(given), 'REQUEST_VALIDATION_ERROR')
      }
      clock.pass(1)
      await store.maintain()
      assert.equal((await store.maintain()).objects, 0)
    },
  },
  {
    name: 'content that fails or breaks its rules leaves nothing',
    options: { fileBytesMax: 1_000, orphanGraceMs: 0 },
    async run({ store, team, clock }) {
      const { files } = team
      const failure = new RangeError('of the source')
      async function* failing(): AsyncGenerator<Uint8Array> {
        yield pattern(500)
        throw failure
      }
      await assert.rejects(files.put(failing(), ABOUT), failure)
      await fails(files.put(pattern(1_001), ABOUT), 'FILE_TOO_LARGE')
      await fails(files.put(inPieces([pattern(1_000), pattern(1)]), ABOUT), 'FILE_TOO_LARGE')
      for (const contentLength of [9, 11]) {
        const about = { ...ABOUT, contentLength }
        await fails(files.put(pattern(10), about), 'CONTENT_LENGTH_MISMATCH')
      }
      await fails(files.put('x', { ...ABOUT, contentLength: 1_001 }), 'FILE_TOO_LARGE')
      clock.pass(1)
      await store.maintain()

      assert.equal((await store.maintain()).objects, 0)
      assert.equal((await files.put(pattern(1_000), ABOUT)).bytes, 1_000)
    },
  },
]

const nameCases: readonly StoreCase[] = [
  {
    name: 'a file is found by its ID and by any text that has it',
    async run({ team, store }) {
      const file = await team.files.put('x', ABOUT)
      for (const text of [
        file.id,
        file.path,
        `https://files.example/base/${file.path}?download=1#top`,
        `see ${file.id}, please`,
      ]) {
        assert.equal((await team.files.stat(text))?.id, file.id)
      }
      for (const text of [
        '',
        file.id.slice(0, -1),
        file.id.replace('rsf-', 'rsu-'),
        `rsf-${'A'.repeat(32)}`,
        file.id.toLowerCase(),
      ]) {
        assert.equal(await team.files.stat(text), null)
        assert.equal(await team.files.get(text), null)
        assert.equal(await team.files.delete(text), false)
        assert.equal(await store.files.open(text), null)
      }
      assert.equal(await store.files.open(file.path), null)
      await fails(team.files.get(5 as never), 'REQUEST_VALIDATION_ERROR')
    },
  },
  {
    name: 'a file is seen by its own team, and by whoever has its ID',
    async run({ store, team }) {
      const file = await team.files.put('x', ABOUT)
      const other = store.team('other')
      const { id: otherId } = await other.files.put('y', ABOUT)
      // The other team's alias, followed by the rest of this team's ID.
      const mixed = Buffer.concat([
        Buffer.from(otherId.slice(4), 'base64url').subarray(0, 8),
        Buffer.from(file.id.slice(4), 'base64url').subarray(8),
      ])
      for (const { files } of [team, other]) {
        assert.equal(await files.get(`rsf-${mixed.toString('base64url')}`), null)
      }
      for (const { files } of [other, store.team('new')]) {
        assert.equal(await files.get(file.id), null)
        assert.equal(await files.stat(file.path), null)
        assert.equal(await files.delete(file.id), false)
      }

      const found = (await store.files.open(file.id)) ?? assert.fail()
      assert.equal(await textOf(found.stream()), 'x')
    },
  },
  {
    name: 'IDs share what names their team, and nothing else',
    async run({ store, team }) {
      const ids: string[] = []
      for (let i = 0; i < 50; i++) ids.push((await team.files.put('x', ABOUT)).id)
      const parts = ids.map((id) => Buffer.from(id.slice(4), 'base64url'))
      const hex = (start: number, end: number) =>
        new Set(parts.map((part) => part.toString('hex', start, end)))
      assert.deepEqual([hex(0, 8).size, hex(8, 24).size], [1, 50])
      for (let at = 8; at < 24; at++) assert.ok(hex(at, at + 1).size > 25, 'each byte is random')
      const other = await store.team('other').files.put('x', ABOUT)

      assert.notEqual(other.id.slice(4, 14), ids[0]?.slice(4, 14))
    },
  },
  {
    name: 'a deleted file is gone, once',
    options: { orphanGraceMs: HOUR_MS },
    async run(fixture) {
      const { store, team, clock } = fixture
      const [file, kept] = [await team.files.put('x', ABOUT), await team.files.put('y', ABOUT)]
      const opened = (await team.files.get(file.id)) ?? assert.fail()
      await fixture.createTable([{ a: file.path }])
      const deleted = await Promise.all([1, 2, 3].map(() => team.files.delete(file.path)))

      assert.deepEqual(deleted.sort(), [false, false, true])
      assert.equal(await team.files.stat(file.id), null)
      assert.equal(await store.files.open(file.id), null)
      assert.equal(await textOf(opened.stream()), 'x', 'who opened it before may read on')
      await store.maintain()
      clock.pass(HOUR_MS)
      assert.equal((await store.maintain()).objects, 1)
      await fails(textOf(opened.stream()), 'FILE_NOT_FOUND')
      assert.equal(await read(fixture, kept), 'y')
    },
  },
]

const uploadCases: readonly StoreCase[] = [
  {
    name: 'an upload becomes a file in three steps, and its bytes never change afterwards',
    async run(fixture) {
      const { files } = fixture.team
      const ticket = await files.createUpload({ ...ABOUT, contentLength: 5, appId: 'app' })
      assert.match(ticket.target, new RegExp(`^uploads/${ticket.uploadId}\\?expires=`))
      await fails(files.completeUpload(ticket.uploadId, { appId: 'app' }), 'UPLOAD_INCOMPLETE')
      await put(fixture, ticket, 'first')
      await put(fixture, ticket, 'again')
      await fails(files.completeUpload(ticket.uploadId), 'APP_NOT_ALLOWED')
      const file = await files.completeUpload(ticket.uploadId, { appId: 'app' })

      assert.deepEqual([file.sha256, file.bytes], [sha256('again'), 5])
      assert.deepEqual(await files.completeUpload(ticket.uploadId, { appId: 'app' }), file)
      await fails(put(fixture, ticket, 'third'), 'UPLOAD_ALREADY_COMPLETED')
      assert.equal(await read(fixture, file), 'again')
    },
  },
  {
    name: 'a PUT that is not what was signed leaves nothing',
    options: { orphanGraceMs: 0, fileBytesMax: 10 },
    async run({ store, team, clock }) {
      const sized = await team.files.createUpload({ ...ABOUT, contentLength: 5 })
      const free = await team.files.createUpload(ABOUT)
      const receive = (target: string, text: string, more = {}) =>
        store.files.receive(putTo(target, [text], more))
      await fails(receive(sized.target, 'four'), 'CONTENT_LENGTH_MISMATCH')
      await fails(
        receive(sized.target, 'longer', { contentLength: undefined }),
        'CONTENT_LENGTH_MISMATCH',
      )
      await fails(receive(free.target, '12345678901'), 'FILE_TOO_LARGE')
      await fails(
        receive(free.target, '12345678901', { contentLength: undefined }),
        'FILE_TOO_LARGE',
      )
      await fails(receive(free.target, 'x', { contentType: 'text/html' }), 'CONTENT_TYPE_MISMATCH')
      const checksums = [{ algorithm: 'md5', digest: new Uint8Array(16) }]
      await fails(receive(free.target, 'x', { checksums }), 'CHECKSUM_MISMATCH')
      await fails(receive(`${free.target}A`, 'x'), 'UPLOAD_SIGNATURE_INVALID')
      clock.pass(15 * 60_000)
      await fails(receive(free.target, 'x'), 'UPLOAD_EXPIRED')
      await store.maintain()

      assert.equal((await store.maintain()).objects, 0)
    },
  },
  {
    name: 'many PUTs and completions at the same time have one outcome',
    options: { orphanGraceMs: 0 },
    async run(fixture) {
      const { store, team, clock } = fixture
      for (let round = 0; round < 10; round++) {
        const ticket = await team.files.createUpload(ABOUT)
        await put(fixture, ticket, 'body')
        const work = numbered(12).map(async ({ n }) => {
          if (n % 3 === 0) return (await team.files.completeUpload(ticket.uploadId)).sha256
          return put(fixture, ticket, `body ${n}`).catch((failure) => {
            if (!isStoreError(failure)) throw failure
            assert.ok(['UPLOAD_ALREADY_COMPLETED', 'UPLOAD_SUPERSEDED'].includes(failure.code))
          })
        })
        const digests = new Set((await Promise.all(work)).filter((digest) => digest !== undefined))
        const file = await team.files.completeUpload(ticket.uploadId)

        assert.deepEqual([...digests], [file.sha256])
        assert.equal(sha256(await read(fixture, file)), file.sha256)
      }
      clock.pass(1)
      await store.maintain()
      clock.pass(1)
      assert.equal((await store.maintain()).objects, 0)
    },
  },
  {
    name: 'the limits on files can be read and hold',
    options: { fileBytesMax: 8, teamFileBytesMax: 10, uploadsOpenMax: 1 },
    async run({ store, team }) {
      assert.equal(store.limits.fileBytesMax, 8)
      await team.files.put('12345678', ABOUT)
      await fails(team.files.put('123', ABOUT), 'FILE_TOO_LARGE')
      await team.files.put('12', ABOUT)
      await fails(team.files.put('1', ABOUT), 'FILE_TOO_LARGE')
      await store.team('other').files.put('12345678', ABOUT)
      const about = { ...ABOUT, owner: 'key' }
      await team.files.createUpload(about)
      await fails(team.files.createUpload(about), 'RATE_LIMITED')
    },
  },
  {
    name: 'the quota hook decides on every file',
    options: { orphanGraceMs: 0, quota: ({ bytes, teamBytes }) => bytes + teamBytes <= 3 },
    async run(fixture) {
      const { store, team, clock } = fixture
      const kept = await team.files.put('123', ABOUT)
      await fails(team.files.put('4', ABOUT), 'PAYMENT_REQUIRED')
      const ticket = await team.files.createUpload(ABOUT)
      await put(fixture, ticket, '4')
      await fails(team.files.completeUpload(ticket.uploadId), 'PAYMENT_REQUIRED')
      clock.pass(1)
      await store.maintain()
      assert.equal((await store.maintain()).objects, 0)
      await team.files.delete(kept.id)

      assert.equal((await team.files.put('456', ABOUT)).bytes, 3)
    },
  },
]

export const fileCases: readonly StoreCase[] = [...contentCases, ...nameCases, ...uploadCases]
