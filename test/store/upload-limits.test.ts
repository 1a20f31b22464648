// Goal: a client that puts files or opens uploads takes neither places nor space from others, however little it
// completes.
import { describe, expect, test } from 'vitest'
import { TransferLimit } from '../../src/engine/limits/transfer-limit.js'
import {
  decodeUpload,
  encodeUpload,
  type StoredContent,
  type UploadRecord,
} from '../../src/format/file-records.js'
import { UPLOADS_RANGE } from '../../src/format/keys.js'
import { putTo } from '../conformance/store/upload-request.js'
import { ABOUT, codeOf, type FileStore, gate, openFileStore, pausedBody } from './file-store.js'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((done) => setImmediate(done))
}

describe('bodies that are read at one time', () => {
  /** Transfers that are held until they are released, with a list of those that have begun. */
  function holding(max: number) {
    const transfers = new TransferLimit(max)
    const begun: string[] = []
    const letGo = new Map<string, () => void>()
    const ran = new Map<string, Promise<string>>()
    function run(team: string, name: string, ended?: AbortSignal): void {
      const held = gate()
      letGo.set(name, held.open)
      const transfer = async () => {
        begun.push(name)
        await held.opened
      }
      ran.set(name, codeOf(transfers.run(team, transfer, ended)))
    }
    return {
      run,
      begun,
      async end(name: string) {
        letGo.get(name)?.()
        await ran.get(name)
        await turns(1)
      },
      code: (name: string) => ran.get(name),
    }
  }

  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [64, 32],
  ])('of %i places one team alone has %i', async (max, most) => {
    const { run, begun } = holding(max)
    for (let n = 0; n < max + 3; n++) run('a', `a${n}`)
    await turns(1)

    expect(begun).toHaveLength(most)
  })

  test('a team that would have all leaves some to each of the others', async () => {
    const { run, begun } = holding(8)
    for (const team of ['a', 'b', 'c']) for (let n = 0; n < 8; n++) run(team, `${team}${n}`)
    await turns(1)

    expect(begun).toEqual(['a0', 'a1', 'a2', 'a3', 'b0', 'b1', 'c0'])
  })

  test('those that wait begin as they came, but for those whose team must wait', async () => {
    const { run, begun, end } = holding(3)
    for (const name of ['a0', 'a1', 'a2', 'a3']) run('a', name)
    run('b', 'b0')
    run('b', 'b1')
    await turns(1)
    expect(begun).toEqual(['a0', 'a1', 'b0'])
    await end('b0')
    expect(begun).toEqual(['a0', 'a1', 'b0', 'b1'])
    await end('a0')
    expect(begun).toEqual(['a0', 'a1', 'b0', 'b1'])
    await end('a1')
    expect(begun.slice(4)).toEqual(['a2'])
    await end('b1')

    expect(begun.slice(4)).toEqual(['a2', 'a3'])
  })

  test('500 of one team wait, and 1,000 of all', async () => {
    const { run, code, end } = holding(2)
    for (const team of ['a', 'b', 'c']) for (let n = 0; n < 501; n++) run(team, `${team}${n}`)
    run('a', 'too many')
    expect(await code('too many')).toBe('RATE_LIMITED')
    expect(await code('c500')).toBe('RATE_LIMITED')
    await end('a0')
    run('a', 'one more')
    expect(await Promise.race([code('one more'), turns(2)])).toBeUndefined()
  })

  test('one that has ended waits no more, and takes no turn', async () => {
    const { run, code, begun, end } = holding(1)
    const ending = new AbortController()
    run('a', 'first')
    run('a', 'ended', ending.signal)
    run('a', 'last')
    ending.abort(Object.assign(new Error('over'), { code: 'OVER' }))
    expect(await code('ended')).toBe('OVER')
    await end('first')

    expect(begun).toEqual(['first', 'last'])
  })

  test('are those of PUTs too, team by team', async () => {
    const { store, team, put } = await openFileStore({ filesInFlightMax: 4 })
    const bodies = Array.from({ length: 4 }, () => pausedBody(['a', 'b']))
    let reached = 0
    for (const body of bodies) void body.reached.then(() => reached++)
    const puts: Promise<void>[] = []
    for (const { body } of bodies) {
      const { target } = await team.files.createUpload(ABOUT)
      puts.push(put(target, [], { body, contentLength: undefined }))
    }
    await turns(20)
    expect(reached).toBe(2)
    const { target } = await store.team('other').files.createUpload(ABOUT)
    await put(target, ['of another team'])
    for (const { release } of bodies) release()
    await Promise.all(puts)

    expect(reached).toBe(4)
  })
})

describe('what the files of a team may hold', () => {
  async function uploadOf(files: FileStore, more = {}) {
    return files.team.files.createUpload({ ...ABOUT, ...more })
  }

  test('counts what uploads have received', async () => {
    const files = await openFileStore({ teamFileBytesMax: 10 })
    const { team, store, put } = files
    const [first, second] = [await uploadOf(files), await uploadOf(files)]
    await put(first.target, ['123456'])
    expect(await codeOf(put(second.target, ['12345']))).toBe('FILE_TOO_LARGE')
    expect(await codeOf(put(second.target, ['12', '345'], { contentLength: undefined }))).toBe(
      'FILE_TOO_LARGE',
    )
    expect(await codeOf(uploadOf(files, { contentLength: 5 }))).toBe('FILE_TOO_LARGE')
    expect(await codeOf(team.files.put('12345', ABOUT))).toBe('FILE_TOO_LARGE')
    expect(await codeOf(store.team('other').files.put('1234567890', ABOUT))).toBe('no failure')
    await put(second.target, ['1234'])
    await team.files.completeUpload(first.uploadId)
    await team.files.completeUpload(second.uploadId)

    expect(await codeOf(team.files.put('1', ABOUT))).toBe('FILE_TOO_LARGE')
    expect(await files.listed()).toHaveLength(3)
  })

  test('counts what is on its way, and no more when that ends', async () => {
    const files = await openFileStore({ teamFileBytesMax: 10 })
    const { team, put } = files
    const [first, second] = [await uploadOf(files), await uploadOf(files)]
    const slow = pausedBody(['123456', '7'])
    const putting = codeOf(put(first.target, [], { body: slow.body, contentLength: 8 }))
    await slow.reached
    expect(await codeOf(put(second.target, ['12345']))).toBe('FILE_TOO_LARGE')
    expect(await codeOf(team.files.put('12345', ABOUT))).toBe('FILE_TOO_LARGE')
    slow.release()
    expect(await putting).toBe('CONTENT_LENGTH_MISMATCH')

    await put(second.target, ['12345'])
    expect((await team.files.put('12345', ABOUT)).bytes).toBe(5)
  })

  test('counts once what is put again, completed, refused or collected', async () => {
    const options = {
      teamFileBytesMax: 10,
      quota: ({ bytes }: { bytes: number }) => bytes !== 3,
    }
    const files = await openFileStore(options)
    const { team, store, put, clock } = files
    const again = await uploadOf(files)
    for (const text of ['1234', '12', '12345']) await put(again.target, [text])
    const refused = await uploadOf(files)
    await put(refused.target, ['123'])
    expect(await codeOf(team.files.completeUpload(refused.uploadId))).toBe('PAYMENT_REQUIRED')
    const report = await uploadOf(files)
    await put(report.target, ['12345'])
    await team.files.completeUpload(again.uploadId)
    expect(await codeOf(team.files.put('1', ABOUT))).toBe('FILE_TOO_LARGE')
    clock.pass(HOUR_MS + 1)
    expect((await store.maintain()).uploads).toBe(1)

    expect((await team.files.put('12345', ABOUT)).bytes).toBe(5)
    expect(await codeOf(team.files.put('1', ABOUT))).toBe('FILE_TOO_LARGE')
  })

  test('counts what was received before the store was opened', async () => {
    const files = await openFileStore({ teamFileBytesMax: 10 })
    const { target } = await uploadOf(files)
    await files.put(target, ['1234567'])
    for (let n = 0; n < 1_001; n++) {
      // More teams than a store remembers.
      await codeOf(files.store.team(`team ${n}`).files.put('12345678901', ABOUT))
    }

    expect(await codeOf(files.team.files.put('1234', ABOUT))).toBe('FILE_TOO_LARGE')
    expect(await codeOf(files.team.files.put('123', ABOUT))).toBe('no failure')
  })
})

describe('an upload that was received and is not completed', () => {
  test('is over after an hour: it is gone for completions, expired for PUTs, and then collected', async () => {
    const { team, put, store, clock, listed } = await openFileStore({
      orphanGraceMs: 0,
      uploadUrlTtlMs: DAY_MS,
    })
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    clock.pass(5 * HOUR_MS)
    await put(target, ['x'])
    clock.pass(HOUR_MS - 1)
    expect((await store.maintain()).uploads).toBe(0)
    clock.pass(1)
    expect(await codeOf(team.files.completeUpload(uploadId))).toBe('UPLOAD_NOT_FOUND')
    expect(await codeOf(put(target, ['y']))).toBe('UPLOAD_EXPIRED')
    clock.pass(1)
    expect((await store.maintain()).uploads).toBe(1)
    clock.pass(1)
    await store.maintain()

    expect(await listed()).toEqual([])
    expect(await codeOf(put(target, ['y']))).toBe('UPLOAD_SIGNATURE_INVALID')
  })

  test('gets another hour with each PUT, and no more than an upload may take', async () => {
    const options = {
      uploadUrlTtlMs: DAY_MS,
      uploadTtlMs: 2 * HOUR_MS,
      uploadReceivedTtlMs: 90 * MINUTE_MS,
    }
    const { team, put, clock } = await openFileStore(options)
    const [first, second] = [
      await team.files.createUpload(ABOUT),
      await team.files.createUpload(ABOUT),
    ]
    for (const { target } of [first, second]) await put(target, ['x'])
    clock.pass(80 * MINUTE_MS)
    for (const { target } of [first, second]) await put(target, ['y'])
    clock.pass(40 * MINUTE_MS - 1)
    expect((await team.files.completeUpload(first.uploadId)).bytes).toBe(1)
    clock.pass(1)

    expect(await codeOf(team.files.completeUpload(second.uploadId))).toBe('UPLOAD_NOT_FOUND')
  })

  test('makes room for another of its owner when it is over', async () => {
    const { team, put, clock } = await openFileStore({ uploadsOpenMax: 1 })
    const about = { ...ABOUT, owner: 'key' }
    const { target } = await team.files.createUpload(about)
    await put(target, ['x'])
    expect(await codeOf(team.files.createUpload(about))).toBe('RATE_LIMITED')
    clock.pass(HOUR_MS)

    expect(await codeOf(team.files.createUpload(about))).toBe('no failure')
  })

  test('by a version that did not note when is over with its session', async () => {
    const { team, store, kv, clock, read } = await openFileStore()
    const { uploadId, target } = await team.files.createUpload(ABOUT)
    await store.files.receive(putTo(target, ['old']))
    const partition = kv.partition('acme')
    const [[key, record] = []] = await partition.read((view) =>
      view.scan({ ...UPLOADS_RANGE, count: 1 }),
    )
    if (key === undefined || record === undefined) throw new Error('There is a record')
    const upload = decodeUpload(record) as UploadRecord & { received: StoredContent }
    const old = encodeUpload({ ...upload, state: 'received', receivedAt: null })
    await partition.commit({ puts: [[key, old]] })
    clock.pass(DAY_MS - 1)
    expect((await store.maintain()).uploads).toBe(0)

    expect(await read(await team.files.completeUpload(uploadId))).toBe('old')
  })
})
