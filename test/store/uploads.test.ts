// The state machine of uploads: created → received → completed, and everything that can go wrong between.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderTarget } from '../../src/engine/files/upload-target.js'
import { decodeSigningKeys, decodeUpload } from '../../src/format/file-records.js'
import { SIGNING_KEYS_KEY, UPLOADS_RANGE } from '../../src/format/keys.js'
import type { Store, StoredFile } from '../../src/index.js'
import { memoryObjects, openStore, StoreError } from '../../src/index.js'
import type { ObjectStore, PresignTerms, UploadRequest } from '../../src/ports.js'
import { inPieces, putTo } from '../conformance/store/upload-request.js'
import { runOptions } from '../support/fast-check-options.js'
import {
  ABOUT,
  type BeforeCommit,
  codeOf,
  type FileStore,
  gate,
  openFileStore,
  pausedBody,
} from './file-store.js'

const HOUR_MS = 3_600_000

const bytes = (text: string) => new TextEncoder().encode(text)

describe('an upload', () => {
  test('goes from created to received to completed, and its file has what was put', async () => {
    const { team, put, read, clock, listed } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload({ ...ABOUT, contentLength: 5 })
    await put(target, ['he', 'llo'])
    const file = await team.files.completeUpload(uploadId)

    expect(file).toEqual({
      id: expect.stringMatching(/^rsf-[A-Za-z0-9_-]{32}$/),
      path: `files/${file.id}/a.txt`,
      fileName: 'a.txt',
      contentType: 'text/plain',
      bytes: 5,
      sha256: createHash('sha256').update('hello').digest('hex'),
      completedAt: clock.now(),
    })
    expect(await read(file)).toBe('hello')
    expect(await listed()).toHaveLength(1)
  })

  test('that is created is incomplete, and stays open', async () => {
    const { team, put } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)

    expect(await codeOf(team.files.completeUpload(uploadId))).toBe('UPLOAD_INCOMPLETE')
    await put(target, ['x'])
    expect((await team.files.completeUpload(uploadId)).bytes).toBe(1)
  })

  test('that is received takes a second PUT in the place of the first', async () => {
    const { team, put, read, listed } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await put(target, ['first'])
    await put(target, ['second'])
    expect(await listed()).toHaveLength(1)

    expect(await read(await team.files.completeUpload(uploadId))).toBe('second')
  })

  test('that is received keeps the first PUT when a second one fails', async () => {
    const { team, put, read, listed } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await put(target, ['first'])
    expect(await codeOf(put(target, ['sec'], { contentLength: 4 }))).toBe('CONTENT_LENGTH_MISMATCH')
    expect(await listed()).toHaveLength(1)

    expect(await read(await team.files.completeUpload(uploadId))).toBe('first')
  })

  test('that is completed takes no PUT, reads none of it, and gives the same file again', async () => {
    const { team, put, read, listed } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await put(target, ['good'])
    const file = await team.files.completeUpload(uploadId)
    async function* unread(): AsyncGenerator<Uint8Array> {
      yield await Promise.reject(new Error('read'))
    }
    const late = { body: unread(), contentLength: 4 }

    expect(await codeOf(put(target, [], late))).toBe('UPLOAD_ALREADY_COMPLETED')
    expect(await team.files.completeUpload(uploadId)).toEqual(file)
    expect(await Promise.all([1, 2, 3].map(() => team.files.completeUpload(uploadId)))).toEqual([
      file,
      file,
      file,
    ])
    expect(await read(file)).toBe('good')
    expect(await listed()).toHaveLength(1)
  })

  test('of nobody, of another team and of another app is not completed', async () => {
    const { store, team, put } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload({ ...ABOUT, appId: 'a' })
    const { uploadId: other } = await store.team('other').files.createUpload(ABOUT)
    await put(target, ['x'])
    const complete = (id: string, about?: { appId?: string }) =>
      codeOf(team.files.completeUpload(id, about))

    // The other team's alias, followed by the rest of this team's ID: no ID that was given out.
    const mixed = Buffer.concat([
      Buffer.from(other.slice(4), 'base64url').subarray(0, 8),
      Buffer.from(uploadId.slice(4), 'base64url').subarray(8),
    ])
    const mixedId = `rsu-${mixed.toString('base64url')}`
    for (const id of ['', 'x', other, mixedId, uploadId.replace('rsu', 'rsf'), `${uploadId}x`]) {
      expect(await complete(id, { appId: 'a' }), id).toBe('UPLOAD_NOT_FOUND')
    }
    const last = uploadId.at(-1) === 'A' ? 'B' : 'A'
    expect(await complete(uploadId.slice(0, -1) + last, { appId: 'a' })).toBe('UPLOAD_NOT_FOUND')
    expect(await codeOf(store.team('new').files.completeUpload(uploadId))).toBe('UPLOAD_NOT_FOUND')
    expect(await complete(uploadId)).toBe('APP_NOT_ALLOWED')
    expect(await complete(uploadId, { appId: 'b' })).toBe('APP_NOT_ALLOWED')
    expect(await complete(uploadId, { appId: 'a' })).toBe('no failure')
    expect(await complete(uploadId, { appId: 'b' })).toBe('APP_NOT_ALLOWED')
  })

  test('whose time is over is gone, but what was completed in time is still known', async () => {
    const { team, put, clock } = await openFileStore({ uploadTtlMs: HOUR_MS })
    const [late, done] = [
      await team.files.createUpload(ABOUT),
      await team.files.createUpload(ABOUT),
    ]
    await put(late.target, ['x'])
    await put(done.target, ['y'])
    const file = await team.files.completeUpload(done.uploadId)
    clock.pass(HOUR_MS)

    expect(await codeOf(team.files.completeUpload(late.uploadId))).toBe('UPLOAD_NOT_FOUND')
    expect(await team.files.completeUpload(done.uploadId)).toEqual(file)
    clock.pass(-1)
    expect((await team.files.completeUpload(late.uploadId)).bytes).toBe(1)
  })

  test('whose file was deleted is gone', async () => {
    const { team, put } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await put(target, ['x'])
    const { id } = await team.files.completeUpload(uploadId)
    expect(await team.files.delete(id)).toBe(true)

    expect(await codeOf(team.files.completeUpload(uploadId))).toBe('UPLOAD_NOT_FOUND')
    expect(await codeOf(put(target, ['x']))).toBe('UPLOAD_ALREADY_COMPLETED')
  })

  test('survives garbage collections in each of its states', async () => {
    const { team, store, put, read, clock } = await openFileStore({ orphanGraceMs: 0 })
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    const maintain = async () => {
      for (let runs = 0; runs < 3; runs++) {
        clock.pass(1)
        expect((await store.maintain()).objects).toBe(0)
      }
    }
    await maintain()
    await put(target, ['x'])
    await maintain()
    const file = await team.files.completeUpload(uploadId)
    await maintain()

    expect(await read(file)).toBe('x')
  })
})

describe('a body', () => {
  const LIMIT = 100_000
  const text = (length: number) => 'x'.repeat(length)
  const SIZES: readonly (readonly [string, Partial<UploadRequest>, number, string])[] = [
    ['one byte short', {}, 999, 'CONTENT_LENGTH_MISMATCH'],
    ['exact', {}, 1_000, 'no failure'],
    ['one byte long', {}, 1_001, 'CONTENT_LENGTH_MISMATCH'],
    ['one byte short in chunks', { contentLength: undefined }, 999, 'CONTENT_LENGTH_MISMATCH'],
    ['exact in chunks', { contentLength: undefined }, 1_000, 'no failure'],
    ['one byte long in chunks', { contentLength: undefined }, 1_001, 'CONTENT_LENGTH_MISMATCH'],
    ['one byte short of what it says', { contentLength: 1_000 }, 999, 'CONTENT_LENGTH_MISMATCH'],
    ['one byte longer than it says', { contentLength: 1_000 }, 1_001, 'CONTENT_LENGTH_MISMATCH'],
    ['empty', {}, 0, 'CONTENT_LENGTH_MISMATCH'],
  ]

  test.each(SIZES)('that was announced and is %s', async (_, more, length, expected) => {
    const { team, put, listed } = await openFileStore()
    const { target } = await team.files.createUpload({ ...ABOUT, contentLength: 1_000 })

    expect(await codeOf(put(target, [text(length)], more))).toBe(expected)
    expect(await listed()).toHaveLength(expected === 'no failure' ? 1 : 0)
  })

  const LIMITS: typeof SIZES = [
    ['one byte below the limit', {}, LIMIT - 1, 'no failure'],
    ['at the limit', {}, LIMIT, 'no failure'],
    ['one byte above the limit', {}, LIMIT + 1, 'FILE_TOO_LARGE'],
    ['at the limit in chunks', { contentLength: undefined }, LIMIT, 'no failure'],
    ['one byte above in chunks', { contentLength: undefined }, LIMIT + 1, 'FILE_TOO_LARGE'],
    ['empty', {}, 0, 'no failure'],
    ['shorter than its header', { contentLength: 7 }, 6, 'CONTENT_LENGTH_MISMATCH'],
    ['longer than its header', { contentLength: 7 }, 8, 'CONTENT_LENGTH_MISMATCH'],
  ]

  test.each(LIMITS)('that was not announced and is %s', async (_, more, length, expected) => {
    const { team, put, listed } = await openFileStore({ fileBytesMax: LIMIT })
    const { target } = await team.files.createUpload(ABOUT)

    expect(await codeOf(put(target, [text(length)], more))).toBe(expected)
    expect(await listed()).toHaveLength(expected === 'no failure' ? 1 : 0)
  })

  test('without an end is read one piece beyond the limit', async () => {
    const { team, put, listed } = await openFileStore({ fileBytesMax: LIMIT })
    const { target } = await team.files.createUpload(ABOUT)
    let pieces = 0
    let isReturned = false
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          pieces++
          yield bytes(text(1_000))
        }
      } finally {
        isReturned = true
      }
    }

    expect(await codeOf(put(target, [], { body: endless(), contentLength: undefined }))).toBe(
      'FILE_TOO_LARGE',
    )
    expect([pieces, isReturned]).toEqual([LIMIT / 1_000 + 1, true])
    expect(await listed()).toEqual([])
  })

  test('above the limit is refused before a session for it is opened', async () => {
    const { team } = await openFileStore({ fileBytesMax: LIMIT })
    const create = (contentLength: number) =>
      codeOf(team.files.createUpload({ ...ABOUT, contentLength }))

    expect(await create(LIMIT)).toBe('no failure')
    expect(await create(LIMIT + 1)).toBe('FILE_TOO_LARGE')
    for (const wrong of [-1, 0.5, Number.NaN, 2 ** 53]) {
      expect(await create(wrong)).toBe('REQUEST_VALIDATION_ERROR')
    }
  })

  test('that breaks off after any of its pieces leaves nothing, and may come again', async () => {
    const { team, put, listed, read } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    const pieces = Array.from({ length: 12 }, (_, index) => text(index * 7_919))
    async function* breaking(after: number): AsyncGenerator<Uint8Array> {
      yield* inPieces(pieces.slice(0, after).map(bytes))
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' })
    }
    for (let after = 0; after <= pieces.length; after++) {
      for (const contentLength of [undefined, pieces.join('').length]) {
        const broken = put(target, [], { body: breaking(after), contentLength })

        expect(await codeOf(broken)).toBe('ABORTED')
        expect(await listed()).toEqual([])
        expect(await codeOf(team.files.completeUpload(uploadId))).toBe('UPLOAD_INCOMPLETE')
      }
    }
    await put(target, pieces)
    expect(await read(await team.files.completeUpload(uploadId))).toBe(pieces.join(''))
  })

  test('of a media type that means the same is taken, any other is not', async () => {
    const { team, put, listed } = await openFileStore()
    const contentType = 'text/plain; charset=utf-8'
    const { target } = await team.files.createUpload({ ...ABOUT, contentType })
    const sent = (contentType: string | undefined) => codeOf(put(target, ['x'], { contentType }))
    for (const same of ['text/plain; charset=utf-8', 'TEXT/plain;charset="UTF-8"']) {
      expect(await sent(same)).toBe('no failure')
    }
    for (const other of [
      undefined,
      '',
      'text/plain',
      'text/html; charset=utf-8',
      'text/plain; charset=utf-16',
      'text/plain; charset=utf-8; x=1',
      'text/plain; charset=utf-8, text/html',
      'text/plain\t; charset=utf-8',
    ]) {
      expect(await sent(other), String(other)).toBe('CONTENT_TYPE_MISMATCH')
    }
    expect(await listed()).toHaveLength(1)
  })

  test('must have every checksum that comes with it', async () => {
    const { team, put, listed } = await openFileStore()
    const { target } = await team.files.createUpload(ABOUT)
    const digest = (algorithm: 'md5' | 'sha256', of: string) => ({
      algorithm,
      digest: createHash(algorithm).update(of).digest(),
    })
    const sent = (checksums: UploadRequest['checksums']) =>
      codeOf(put(target, ['hel', 'lo'], { checksums: checksums ?? [] }))

    for (const wrong of [
      [digest('md5', 'hellx')],
      [digest('sha256', 'hellx')],
      [digest('md5', 'hello'), digest('sha256', 'hellx')],
      [{ algorithm: 'md5' as const, digest: new Uint8Array(0) }],
      [{ algorithm: 'sha256' as const, digest: digest('sha256', 'hello').digest.subarray(1) }],
    ]) {
      expect(await sent(wrong)).toBe('CHECKSUM_MISMATCH')
      expect(await listed()).toEqual([])
    }
    expect(await sent([digest('md5', 'hello'), digest('sha256', 'hello')])).toBe('no failure')
  })
})

describe('at the same time', () => {
  test('the newest of many PUTs is what the upload has', async () => {
    const { team, put, read, listed } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    const texts = Array.from({ length: 20 }, (_, index) => `body ${index}`)
    const codes = await Promise.all(
      texts.map((text) => codeOf(put(target, [text.slice(0, 2), text.slice(2)]))),
    )
    expect(codes.pop()).toBe('no failure')
    expect(new Set(codes)).toEqual(new Set(['UPLOAD_SUPERSEDED']))
    expect(await listed()).toHaveLength(1)
    const file = await team.files.completeUpload(uploadId)

    expect(await read(file)).toBe('body 19')
  })

  test('a newer PUT ends a hanging PUT, whose source is read no further', async () => {
    const { team, put, read, listed } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    const reached = gate()
    let isReturned = false
    const pieces = [bytes('begun')]
    const hanging: AsyncIterableIterator<Uint8Array> = {
      async next() {
        const value = pieces.shift()
        if (value !== undefined) return { value, done: false }
        reached.open()
        return new Promise(() => {}) // a client that sends nothing more
      },
      async return() {
        isReturned = true
        return { value: undefined, done: true }
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
    const older = codeOf(put(target, [], { body: hanging, contentLength: undefined }))
    await reached.opened
    await put(target, ['newer'])

    expect(await older).toBe('UPLOAD_SUPERSEDED')
    expect(isReturned).toBe(true)
    expect(await listed()).toHaveLength(1)
    expect(await read(await team.files.completeUpload(uploadId))).toBe('newer')
  })

  test('a newer PUT ends one that waits for its turn', async () => {
    const { team, put, read } = await openFileStore({ filesInFlightMax: 1 })
    const { target: other } = await team.files.createUpload(ABOUT)
    const first = pausedBody(['a', 'b'])
    const running = put(other, [], { body: first.body, contentLength: undefined })
    await first.reached
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    const older = codeOf(put(target, ['older']))
    const newer = put(target, ['newer'])
    expect(await older).toBe('UPLOAD_SUPERSEDED')
    first.release()
    await Promise.all([running, newer])

    expect(await read(await team.files.completeUpload(uploadId))).toBe('newer')
  })

  test('a PUT that cannot be good ends no other', async () => {
    const { team, put } = await openFileStore()
    const { target } = await team.files.createUpload({ ...ABOUT, contentLength: 4 })
    const running = pausedBody(['go', 'od'])
    const putting = put(target, [], { body: running.body, contentLength: 4 })
    await running.reached
    expect(await codeOf(put(target, ['x'], { contentType: 'image/png' }))).toBe(
      'CONTENT_TYPE_MISMATCH',
    )
    expect(await codeOf(put(target, ['long'], { contentLength: 5 }))).toBe(
      'CONTENT_LENGTH_MISMATCH',
    )
    expect(await codeOf(put(target.replace('expires=', 'expires=1'), ['good']))).toBe(
      'UPLOAD_SIGNATURE_INVALID',
    )
    running.release()

    await putting
  })

  test('a PUT that ends after the completion is refused, and changes nothing', async () => {
    const { team, put, read, listed } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await put(target, ['good'])
    const late = pausedBody(['late', 'late'])
    const putting = codeOf(put(target, [], { body: late.body, contentLength: undefined }))
    await late.reached
    const file = await team.files.completeUpload(uploadId)
    late.release()

    expect(await putting).toBe('UPLOAD_ALREADY_COMPLETED')
    expect(await read(file)).toBe('good')
    expect(await listed()).toHaveLength(1)
  })

  test('a PUT that was under way when garbage collection ended its upload leaves nothing', async () => {
    const { team, put, kv, listed } = await openFileStore()
    const { target } = await team.files.createUpload(ABOUT)
    const late = pausedBody(['late', 'late'])
    const putting = codeOf(put(target, [], { body: late.body, contentLength: undefined }))
    await late.reached
    const everything = { start: Uint8Array.of(0x0c), limit: Uint8Array.of(0x0d) }
    expect(await kv.partition('acme').deleteRange(everything, 10)).toBe(1)
    late.release()

    expect(await putting).toBe('UPLOAD_EXPIRED')
    expect(await listed()).toEqual([])
  })

  test('a PUT that ends while a completion decides is part of it', async () => {
    let second: (() => Promise<void>) | undefined
    const { team, put, read, listed } = await openFileStore({
      quota: async () => {
        await second?.()
        second = undefined
        return true
      },
    })
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await put(target, ['first'])
    second = () => put(target, ['second'])

    expect(await read(await team.files.completeUpload(uploadId))).toBe('second')
    expect(await listed()).toHaveLength(1)
  })

  test('garbage collections just before each commit delete nothing that the commit names', async () => {
    let maintain: (() => Promise<void>) | undefined
    const beforeCommit: BeforeCommit = async ({ puts = [] }) => {
      const now = maintain
      if (puts.length === 0 || now === undefined) return
      maintain = undefined
      await now()
      maintain = now
    }
    const files = await openFileStore({ orphanGraceMs: 0 }, (objects) => objects, beforeCommit)
    const { team, put, read, store } = files
    maintain = async () => {
      for (let runs = 0; runs < 3; runs++) await store.maintain()
    }
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await put(target, ['put'])
    await put(target, ['uploaded'])

    expect(await read(await team.files.completeUpload(uploadId))).toBe('uploaded')
    expect(await read(await team.files.put('stored', ABOUT))).toBe('stored')
  })

  test('PUTs and completions in any order have one outcome, and its bytes stay', async () => {
    const step = fc.record({
      kind: fc.constantFrom('put', 'complete'),
      startTurns: fc.nat(20),
      pieceTurns: fc.nat(10),
    })
    const run = async (
      steps: readonly { kind: string; startTurns: number; pieceTurns: number }[],
    ) => {
      const files = await openFileStore({ quota: () => turns(2).then(() => true) })
      const outcome = await race(files, steps)
      await files.store.close()
      expect(outcome).toBe('one outcome')
    }
    const plan = fc.array(step, { minLength: 2, maxLength: 8 })
    await fc.assert(fc.asyncProperty(plan, run), runOptions(300))
  })
})

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((done) => setImmediate(done))
}

/** Runs the steps at once, each at its own pace. @returns what is wrong with the outcome */
async function race(
  { team, store, read, listed }: FileStore,
  steps: readonly { kind: string; startTurns: number; pieceTurns: number }[],
): Promise<string> {
  const { uploadId, target } = await team.files.createUpload(ABOUT)
  const good = new Set<string>()
  const seen = new Map<string, string>()
  await Promise.all(
    steps.map(async ({ kind, startTurns, pieceTurns }, index) => {
      await turns(startTurns)
      if (kind === 'complete') {
        const file = await team.files.completeUpload(uploadId).catch(onlyCode('UPLOAD_INCOMPLETE'))
        if (file !== undefined) seen.set(file.id, await read(file))
        return
      }
      async function* body(): AsyncGenerator<Uint8Array> {
        yield bytes('body ')
        await turns(pieceTurns)
        yield bytes(String(index))
      }
      const request = putTo(target, [], { body: body(), contentLength: undefined })
      const done = await store.files
        .receive(request)
        .then(() => true, onlyCode('UPLOAD_ALREADY_COMPLETED', 'UPLOAD_SUPERSEDED'))
      if (done === true) good.add(`body ${index}`)
    }),
  )
  if (seen.size > 1) return `${seen.size} files`
  const objects = (await listed()).length
  if (objects !== (good.size === 0 ? 0 : 1)) return `${objects} objects after ${good.size} PUTs`
  for (const [id, text] of seen) {
    if (!good.has(text)) return `a file of "${text}", which was refused`
    if ((await read(id)) !== text) return 'a file that changed'
  }
  return 'one outcome'
}

function onlyCode(...codes: readonly string[]): (failure: unknown) => undefined {
  return (failure) => {
    if (!(failure instanceof StoreError) || !codes.includes(failure.code)) throw failure
    return undefined
  }
}

describe('limits', () => {
  test('a file over the quota is refused with 402 when it is completed, and nothing is left', async () => {
    const asked: unknown[] = []
    const { team, put, listed, clock, store } = await openFileStore({
      orphanGraceMs: 0,
      quota: async (request) => {
        asked.push(request)
        return request.teamBytes + request.bytes <= 10
      },
    })
    await team.files.put('1234567', ABOUT)
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await put(target, ['1234'])

    expect(await codeOf(team.files.completeUpload(uploadId))).toBe('PAYMENT_REQUIRED')
    expect(await listed()).toHaveLength(1)
    expect(await codeOf(team.files.completeUpload(uploadId))).toBe('UPLOAD_NOT_FOUND')
    expect(await codeOf(put(target, ['12']))).toBe('UPLOAD_SIGNATURE_INVALID')
    expect(asked).toEqual([
      { teamId: 'acme', bytes: 7, teamBytes: 0 },
      { teamId: 'acme', bytes: 4, teamBytes: 7 },
    ])
    clock.pass(1)
    expect((await store.maintain()).objects).toBe(0)
  })

  test('a quota hook that fails leaves the upload as it is', async () => {
    let fail = true
    const { team, put } = await openFileStore({
      quota: () => {
        if (fail) throw new RangeError('of the host')
        return true
      },
    })
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await put(target, ['1234'])
    await expect(team.files.completeUpload(uploadId)).rejects.toThrow('of the host')
    fail = false

    expect((await team.files.completeUpload(uploadId)).bytes).toBe(4)
  })

  test('what a team may hold is never exceeded, also by many at the same time', async () => {
    const { team, put, listed } = await openFileStore({ teamFileBytesMax: 10 })
    const tickets = await Promise.all(
      Array.from({ length: 8 }, () => team.files.createUpload(ABOUT)),
    )
    const codes = await Promise.all(tickets.map(({ target }) => codeOf(put(target, ['1', '23']))))
    const done = codes.filter((code) => code === 'no failure').length
    expect(codes.filter((code) => code === 'FILE_TOO_LARGE')).toHaveLength(8 - done)
    expect(done).toBeLessThanOrEqual(3)
    expect(await listed()).toHaveLength(done)
    for (const { target } of tickets) await codeOf(put(target, ['123'])) // One after another: as many as fit.
    expect(await listed()).toHaveLength(3)
    const create = (contentLength: number) =>
      codeOf(team.files.createUpload({ ...ABOUT, contentLength }))
    expect([await create(1), await create(2)]).toEqual(['no failure', 'FILE_TOO_LARGE'])
    const completed = await Promise.all(
      tickets.map(({ uploadId }) => codeOf(team.files.completeUpload(uploadId))),
    )

    expect(completed.sort()).toEqual([
      ...Array.from({ length: 5 }, () => 'UPLOAD_INCOMPLETE'),
      ...Array.from({ length: 3 }, () => 'no failure'),
    ])
    expect([await create(1), await create(2)]).toEqual(['no failure', 'FILE_TOO_LARGE'])
  })

  test('an owner has so many uploads open, and those that ended make room', async () => {
    const options = { uploadsOpenMax: 3, uploadTtlMs: HOUR_MS }
    const { team, put, clock } = await openFileStore(options)
    const create = (owner?: string) =>
      team.files.createUpload({ ...ABOUT, ...(owner === undefined ? {} : { owner }) })
    const made = await Promise.allSettled(Array.from({ length: 10 }, () => create('key 1')))
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)

    expect(await codeOf(create('key 1'))).toBe('RATE_LIMITED')
    expect(await codeOf(create('key 2'))).toBe('no failure')
    for (let i = 0; i < 10; i++) expect(await codeOf(create())).toBe('no failure')

    const first = made.find(({ status }) => status === 'fulfilled')
    if (first?.status !== 'fulfilled') throw new Error('some were created')
    await put(first.value.target, ['x'])
    expect(await codeOf(create('key 1'))).toBe('RATE_LIMITED')
    await team.files.completeUpload(first.value.uploadId)
    expect(await codeOf(create('key 1'))).toBe('no failure')
    expect(await codeOf(create('key 1'))).toBe('RATE_LIMITED')
    clock.pass(HOUR_MS)
    expect(await codeOf(create('key 1'))).toBe('no failure')
  })

  test('uploads that were open before the store was opened are counted', async () => {
    const { team, put, kv, objects, clock } = await openFileStore({ uploadsOpenMax: 2 })
    const about = { ...ABOUT, owner: 'key 1' }
    const { uploadId, target } = await team.files.createUpload(about)
    await put(target, ['x'])
    await team.files.completeUpload(uploadId)
    await team.files.createUpload(about)
    const again = (await openStore({ kv, objects, clock, uploadsOpenMax: 2 })).team('acme')

    expect(await codeOf(again.files.createUpload(about))).toBe('no failure')
    expect(await codeOf(again.files.createUpload(about))).toBe('RATE_LIMITED')
  })
})

/** An object store that signs: what a client puts at its URLs becomes an object. */
function signingObjects(objects: ObjectStore) {
  const signed = new Map<string, Readonly<{ id: string; terms: PresignTerms }>>()
  const signing: ObjectStore = {
    put: (id, content) => objects.put(id, content),
    get: (id, range) => objects.get(id, range),
    stream: (id, range) => objects.stream(id, range),
    delete: (ids) => objects.delete(ids),
    list: (prefix, after) => objects.list(prefix, after),
    close: () => objects.close(),
    async presignPut(id, terms) {
      const url = `https://bucket.example/${id}`
      signed.set(url, { id, terms })
      return url
    },
  }
  const client = {
    async put(url: string, text: string) {
      const { id } = signed.get(url) ?? { id: '' }
      await objects.delete([id])
      await objects.put(id, bytes(text))
    },
    terms: (url: string) => signed.get(url)?.terms,
  }
  return { signing, client }
}

async function openSigning(
  options = {},
): Promise<FileStore & { client: ReturnType<typeof signingObjects>['client'] }> {
  let made: ReturnType<typeof signingObjects> | undefined
  const files = await openFileStore(options, (objects) => {
    made = signingObjects(objects)
    return made.signing
  })
  if (made === undefined) throw new Error('The objects were wrapped')
  return { ...files, client: made.client }
}

describe('an object store that signs for itself', () => {
  test('is where the bytes go, and what was put there becomes the file', async () => {
    const { team, client, read, listed, clock } = await openSigning()
    const about = { ...ABOUT, contentLength: 5 }
    const { uploadId, target, expiresAt } = await team.files.createUpload(about)
    expect(target).toMatch(/^https:\/\/bucket\.example\/[0-9a-f]{32}$/)
    expect(expiresAt).toBe(clock.now() + 900_000)
    expect(client.terms(target)).toMatchObject({
      contentType: 'text/plain',
      contentLength: 5,
      bytesMax: 5,
      ttlMs: 900_000,
    })
    expect(await codeOf(team.files.completeUpload(uploadId))).toBe('UPLOAD_INCOMPLETE')
    await client.put(target, 'hello')
    const file = await team.files.completeUpload(uploadId)

    expect(file.sha256).toBe(createHash('sha256').update('hello').digest('hex'))
    expect(await read(file)).toBe('hello')
    expect(await listed()).toHaveLength(1)
    expect(await team.files.completeUpload(uploadId)).toEqual(file)
  })

  test('cannot be used to change a file that is completed', async () => {
    const { team, client, read, listed, store, clock } = await openSigning({ orphanGraceMs: 0 })
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await client.put(target, 'good')
    const file = await team.files.completeUpload(uploadId)
    await client.put(target, 'evil')

    expect(await read(file)).toBe('good')
    expect(await team.files.completeUpload(uploadId)).toEqual(file)
    await store.maintain()
    clock.pass(1)
    await store.maintain()
    expect(await listed()).toHaveLength(1)
    expect(await read(file)).toBe('good')
  })

  test('that took what breaks the rules makes no file of it, and may be tried again', async () => {
    const { team, client, read, listed } = await openSigning({ fileBytesMax: 10 })
    const cases = [
      [{ ...ABOUT, contentLength: 5 }, 'hell', 'CONTENT_LENGTH_MISMATCH'],
      [{ ...ABOUT, contentLength: 5 }, 'helloo', 'CONTENT_LENGTH_MISMATCH'],
      [ABOUT, 'hello hello', 'FILE_TOO_LARGE'],
    ] as const
    for (const [about, wrong, code] of cases) {
      const before = await listed()
      const { uploadId, target } = await team.files.createUpload(about)
      await client.put(target, wrong)
      expect(await codeOf(team.files.completeUpload(uploadId))).toBe(code)
      expect(await listed()).toEqual(before)
      await client.put(target, 'hello')

      expect(await read(await team.files.completeUpload(uploadId))).toBe('hello')
    }
  })

  test('loses nothing of an open upload to garbage collection, and keeps nothing of a refused one', async () => {
    const options = { orphanGraceMs: 0, quota: ({ bytes }: { bytes: number }) => bytes < 5 }
    const { team, client, store, clock, read, listed } = await openSigning(options)
    const [good, bad] = [await team.files.createUpload(ABOUT), await team.files.createUpload(ABOUT)]
    await client.put(good.target, 'good')
    await client.put(bad.target, 'too much')
    for (let runs = 0; runs < 3; runs++) {
      clock.pass(1)
      expect((await store.maintain()).objects).toBe(0)
    }
    expect(await codeOf(team.files.completeUpload(bad.uploadId))).toBe('PAYMENT_REQUIRED')
    const files: StoredFile[] = await Promise.all(
      [1, 2, 3].map(() => team.files.completeUpload(good.uploadId)),
    )

    expect(new Set(files.map(({ id }) => id)).size).toBe(1)
    expect(await read(good.uploadId.replace(/.*/, files[0]?.id ?? ''))).toBe('good')
    expect(await listed()).toHaveLength(1)
  })

  test('loses no copy to a garbage collection just before the commit that names it', async () => {
    let maintain: (() => Promise<unknown>) | undefined
    const { signing, client } = signingObjects(memoryObjects())
    const beforeCommit: BeforeCommit = async ({ puts = [] }) => {
      const now = puts.length === 0 ? undefined : maintain
      if (now === undefined) return
      maintain = undefined
      for (let runs = 0; runs < 3; runs++) await now()
    }
    const files = await openFileStore({ orphanGraceMs: 0 }, () => signing, beforeCommit)
    const { uploadId, target } = await files.team.files.createUpload(ABOUT)
    await client.put(target, 'hello')
    maintain = () => files.store.maintain()

    expect(await files.read(await files.team.files.completeUpload(uploadId))).toBe('hello')
  })

  test('has locations that only it honours', async () => {
    const { team, store, kv, listed } = await openSigning()
    const { uploadId } = await team.files.createUpload(ABOUT)
    const signingKeys = await kv.partition('').read((view) => view.get(SIGNING_KEYS_KEY))
    const [[, upload] = []] = await kv
      .partition('acme')
      .read((view) => view.scan({ ...UPLOADS_RANGE, count: 1 }))
    const [key] = decodeSigningKeys(signingKeys ?? new Uint8Array())
    if (key === undefined || upload === undefined) throw new Error('There are such records')
    const target = renderTarget(key, uploadId, decodeUpload(upload))

    const action = store.files.receive(putTo(target, ['x']))
    expect(await codeOf(action)).toBe('UPLOAD_SIGNATURE_INVALID')
    expect(await listed()).toEqual([])
  })
})

describe('after close', () => {
  test('everything about uploads fails with STORE_CLOSED', async () => {
    const { store, team, put } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await closeTwice(store)

    expect(await codeOf(team.files.createUpload(ABOUT))).toBe('STORE_CLOSED')
    expect(await codeOf(team.files.completeUpload(uploadId))).toBe('STORE_CLOSED')
    expect(await codeOf(put(target, ['x']))).toBe('STORE_CLOSED')
  })
})

async function closeTwice(store: Store): Promise<void> {
  await store.close()
  await store.close()
}
