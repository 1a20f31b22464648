import { createHash, randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openS3Objects } from '../../../adapters/s3/s3-objects.js'
import type { S3Options } from '../../../adapters/s3/s3-options.js'
import { isStoreError, type StoreError } from '../../../src/index.js'
import type { ObjectStore } from '../../../src/ports.js'
import { type S3Asked, S3Double, type S3Fault } from '../../support/s3-double.js'
import { until } from '../../support/until.js'

const MIB = 1_024 * 1_024
const ID = '0123456789abcdef0000000000000001'
const OTHER = '0123456789abcdef0000000000000002'

async function startDouble(): Promise<S3Double> {
  const double = await S3Double.start()
  onTestFinished(() => double.stop())
  return double
}

type Opened = Readonly<{ double: S3Double; objects: ObjectStore }>

async function openObjects(options: Partial<S3Options> = {}): Promise<Opened> {
  const double = await startDouble()
  const objects = await openS3Objects(double.options(options))
  onTestFinished(() => objects.close())
  double.asked.length = 0
  return { double, objects }
}

async function failureOf(promise: unknown): Promise<StoreError> {
  const failure = await Promise.resolve(promise).then(
    () => 'no failure',
    (thrown: unknown) => thrown,
  )
  if (isStoreError(failure)) return failure
  throw new Error(`Not a StoreError: ${String(failure)}`)
}

/** Faults of the first requests, one each. */
function faultsOf(...faults: readonly S3Fault[]): S3Double['faultOf'] {
  const left = [...faults]
  return () => left.shift()
}

/** The same fault for every request that matches. */
function faultWhere(isMeant: (asked: S3Asked) => boolean, fault: S3Fault): S3Double['faultOf'] {
  return (asked) => (isMeant(asked) ? fault : undefined)
}

const isPut = ({ method }: S3Asked): boolean => method === 'PUT'
const isGet = ({ method, key }: S3Asked): boolean => method === 'GET' && key !== ''

/** Waits of the client up to this many milliseconds are pauses between attempts; longer ones are time limits. */
const WAIT_MS_MAX = 2_000

/** Makes pauses between attempts take only virtual time from here on. */
function passWaits(): readonly number[] {
  const waits: number[] = []
  const { setTimeout: start } = globalThis
  vi.useFakeTimers({ toFake: ['performance'] })
  vi.stubGlobal('setTimeout', (call: () => void, ms: number) => {
    if (ms > WAIT_MS_MAX) return start(call, ms)
    waits.push(ms)
    vi.advanceTimersByTime(ms)
    return start(call, 0)
  })
  onTestFinished(() => {
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })
  return waits
}

async function* piecesOf(whole: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(pieceBytes) // reused for each piece
  for (let at = 0; at < whole.length; at += pieceBytes) {
    const piece = whole.subarray(at, at + pieceBytes)
    memory.set(piece)
    yield memory.subarray(0, piece.length)
  }
}

async function collected(stream: AsyncIterable<Uint8Array> | null): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream ?? []) pieces.push(piece)
  return Buffer.concat(pieces)
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

describe('keys', () => {
  test('the key of an object is the prefix and its ID', async () => {
    const { double, objects } = await openObjects({ keyPrefix: 'stores/a/' })
    await objects.put(ID, Buffer.from('content'))

    expect([...double.bucket.objects.keys()]).toEqual([`stores/a/${ID}`])
    expect(await objects.list('')).toEqual([ID])
  })

  test('keys of others are neither listed nor read', async () => {
    const { double, objects } = await openObjects({ keyPrefix: 'a/' })
    const stored = { body: Buffer.from('x'), etag: '"x"', meta: {} }
    for (const key of ['a', 'a/', 'a/b.txt', `b/${ID}`, ID, `a/${ID}.tmp`, 'a/&<ü>']) {
      double.bucket.objects.set(key, stored)
    }
    for (let i = 0; i < 2_500; i++) double.bucket.objects.set(`a/0${i}`, stored)
    await objects.put(OTHER, Buffer.from('own'))

    expect(await objects.list('')).toEqual([OTHER])
    expect(await objects.list('', OTHER)).toEqual([])
    expect(await objects.get(ID)).toBeNull()
  })
})

test('a listing is full also where the server sends short pages', async () => {
  const { double, objects } = await openObjects()
  const ids = Array.from({ length: 1_100 }, (_, i) => i.toString(16).padStart(32, '0'))
  for (const id of ids) double.bucket.objects.set(id, { body: Buffer.of(), etag: '"x"', meta: {} })
  const { bucket } = double
  const answer = bucket.answer.bind(bucket)
  bucket.answer = (question) => {
    const { query } = question
    if (query.has('max-keys'))
      query.set('max-keys', String(Math.min(99, Number(query.get('max-keys')))))
    return answer(question)
  }

  expect(await objects.list('')).toEqual(ids.slice(0, 1_000))
  expect(await objects.list('', ids[999])).toEqual(ids.slice(1_000))
  expect(await objects.list('', ids[1_099])).toEqual([])
})

describe('big objects', () => {
  test('go up in parts, of which two are under way at the same time', async () => {
    const { double, objects } = await openObjects()
    const content = randomBytes(20 * MIB + 5)

    expect(await objects.put(ID, piecesOf(content, 300_001))).toBe(content.length)

    const parts = double.asked.filter(({ query }) => query.has('partNumber'))
    expect(parts.map(({ bytes }) => bytes).sort()).toEqual([
      20 * MIB + 5 - 16 * MIB,
      8 * MIB,
      8 * MIB,
    ])
    expect(double.bucket.uploads.size).toBe(0)
    expect(digestOf(await collected(await objects.stream(ID)))).toBe(digestOf(content))
    expect(double.connectionsPeak).toBeGreaterThan(1)
  })

  test('of exactly one part go up by one request, of two parts by parts', async () => {
    const { double, objects } = await openObjects()
    await objects.put(ID, randomBytes(8 * MIB))
    expect(double.asked.map(({ method }) => method)).toEqual(['PUT'])
    await objects.put(OTHER, randomBytes(16 * MIB))

    expect(double.asked.filter(({ query }) => query.has('partNumber'))).toHaveLength(2)
  })

  test('are aborted when their source fails, when a part fails and when they cannot be completed', async () => {
    const { double, objects } = await openObjects({ attemptsMax: 2 })
    const content = randomBytes(17 * MIB)
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield* piecesOf(content, MIB)
      throw new RangeError('of the source')
    }
    await expect(objects.put(ID, failing())).rejects.toThrow('of the source')
    double.faultOf = faultWhere(({ query }) => query.get('partNumber') === '2', { kind: 'error' })
    expect(await failureOf(objects.put(ID, content))).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      outcome: 'unchanged',
    })
    const isEnd = ({ method, query }: S3Asked) => method === 'POST' && query.has('uploadId')
    for (const kind of ['error', 'reset', 'late'] as const) {
      for (const effect of [false, true]) {
        double.faultOf = faultWhere(isEnd, { kind, effect })
        const failure = await objects.put(ID, content).catch((thrown: unknown) => thrown)
        double.faultOf = () => undefined
        const listed = await objects.list('')
        expect([kind, effect, isStoreError(failure), listed]).toEqual([kind, effect, true, []])
        expect(double.bucket.objects.size).toBe(0)
      }
    }

    expect(double.bucket.uploads.size).toBe(0)
  })

  test('whose beginning was not answered leave no second upload', async () => {
    const { double, objects } = await openObjects()
    double.faultOf = faultsOf({ kind: 'reset', effect: true })
    await objects.put(ID, randomBytes(17 * MIB))

    expect(double.bucket.uploads.size).toBe(0)
    expect(await objects.list('')).toEqual([ID])
  })

  test('that were completed by an attempt without an answer are whole', async () => {
    const { double, objects } = await openObjects()
    let isFirst = true
    double.faultOf = ({ method, query }) => {
      if (method !== 'POST' || !query.has('uploadId') || !isFirst) return undefined
      isFirst = false
      return { kind: 'reset', effect: true }
    }

    expect(await objects.put(ID, randomBytes(17 * MIB))).toBe(17 * MIB)
    expect(await objects.list('')).toEqual([ID])
  })
})

describe('a put', () => {
  test('that was done by an attempt without an answer succeeds', async () => {
    const { double, objects } = await openObjects({ idleTimeoutMs: 150 })
    for (const fault of [{ kind: 'reset' }, { kind: 'error' }, { kind: 'hang' }] as const) {
      double.faultOf = faultsOf({ ...fault, effect: true })

      expect(await objects.put(ID, Buffer.from('content'))).toBe(7)
      await objects.delete([ID])
    }
  })

  test('that fails after an attempt without an answer removes its object', async () => {
    const { double, objects } = await openObjects({ attemptsMax: 1 })
    double.faultOf = faultsOf({ kind: 'reset', effect: true })
    const failure = await failureOf(objects.put(ID, Buffer.from('content')))

    expect(failure).toMatchObject({ code: 'STORAGE_UNAVAILABLE', outcome: 'unchanged' })
    expect(double.bucket.objects.size).toBe(0)
  })

  test('whose object cannot be removed hides it, and the next listing removes it', async () => {
    const { double, objects } = await openObjects({ attemptsMax: 2 })
    double.faultOf = () => ({ kind: 'error', effect: true })
    await failureOf(objects.put(ID, Buffer.from('content')))
    expect(double.bucket.objects.size).toBe(1)
    expect(await objects.get(ID)).toBeNull()
    expect(await objects.stream(ID)).toBeNull()
    double.faultOf = faultWhere(({ method }) => method !== 'GET', { kind: 'error' })
    expect(await objects.list('')).toEqual([])
    expect(double.bucket.objects.size).toBe(1)
    double.faultOf = () => undefined

    expect(await objects.list('')).toEqual([])
    expect(double.bucket.objects.size).toBe(0)
  })

  test('that fails removes nothing that another put has stored', async () => {
    const { double, objects } = await openObjects({ attemptsMax: 1 })
    await objects.put(ID, Buffer.from('first'))
    double.faultOf = faultWhere(isPut, { kind: 'reset' })
    await failureOf(objects.put(ID, Buffer.from('second')))

    expect(Buffer.from((await objects.get(ID)) ?? []).toString()).toBe('first')
  })

  test('is refused by the server if its bytes change on the way', async () => {
    const { double, objects } = await openObjects()
    await objects.put(ID, Buffer.from('content'))
    const [asked] = double.asked

    expect(asked?.headers['x-amz-content-sha256']).toBe(digestOf(Buffer.from('content')))
    expect(asked?.headers['if-none-match']).toBe('*')
  })

  test('has no condition where the server takes none', async () => {
    const { double, objects } = await openObjects({ conditionalPuts: false })
    await objects.put(ID, Buffer.from('content'))
    await objects.put(OTHER, randomBytes(17 * MIB))

    expect(double.asked.filter(({ headers }) => 'if-none-match' in headers)).toEqual([])
  })
})

describe('a read', () => {
  test('is repeated until it is whole', async () => {
    const content = randomBytes(300_000)
    const { double, objects } = await openObjects({ readBytes: 65_536, idleTimeoutMs: 150 })
    await objects.put(ID, content)
    for (const kind of ['cut', 'short', 'reset', 'hang', 'error', 'late'] as const) {
      double.faultOf = faultsOf({ kind }, { kind })
      expect(Buffer.compare((await objects.get(ID)) ?? Buffer.of(), content)).toBe(0)
      const range = { start: 5, limit: 100_000 }
      double.faultOf = faultsOf({ kind }, { kind })
      const part = (await objects.get(ID, range)) ?? Buffer.of()
      expect(Buffer.compare(part, content.subarray(5, 100_000))).toBe(0)
      double.faultOf = faultsOf({ kind }, { kind })
      expect(Buffer.compare(await collected(await objects.stream(ID)), content)).toBe(0)
    }
  })

  test('that is never whole fails, and gives no short bytes', async () => {
    const { double, objects } = await openObjects({ attemptsMax: 3 })
    await objects.put(ID, randomBytes(1_000))
    for (const kind of ['cut', 'short'] as const) {
      double.faultOf = faultWhere(isGet, { kind })
      expect(await failureOf(objects.get(ID))).toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
      expect(await failureOf(objects.stream(ID))).toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    }
    expect(double.asked.filter(isGet)).toHaveLength(12)
  })

  test('uses the memory it is given if there is room, and writes nothing behind its bytes', async () => {
    const { objects } = await openObjects()
    await objects.put(ID, Buffer.from('content'))
    const memory = new Uint8Array(10).fill(1)
    const found = await objects.get(ID, { start: 1, limit: 4 }, memory)

    expect(found?.buffer).toBe(memory.buffer)
    expect(Buffer.from(memory)).toEqual(Buffer.from('ont\x01\x01\x01\x01\x01\x01\x01'))
    expect((await objects.get(ID, undefined, new Uint8Array(3)))?.length).toBe(7)
  })

  test('of a stream that pauses holds no connection', async () => {
    const { objects } = await openObjects({ socketsMax: 1, readBytes: 65_536 })
    await objects.put(ID, randomBytes(500_000))
    const streams = await Promise.all(Array.from({ length: 5 }, () => objects.stream(ID)))
    const readers = streams.map((stream) => stream?.[Symbol.asyncIterator]())
    for (const reader of readers) await reader?.next()

    expect((await objects.get(ID))?.length).toBe(500_000)
    for (const reader of readers) await reader?.return?.()
  })

  test('of an object that is replaced or deleted meanwhile fails', async () => {
    const { double, objects } = await openObjects({ readBytes: 65_536 })
    for (const change of ['deleted', 'replaced']) {
      await objects.put(ID, randomBytes(500_000))
      const stream = await objects.stream(ID)
      const stored = { body: randomBytes(500_000), etag: '"other"', meta: {} }
      if (change === 'deleted') double.bucket.objects.delete(ID)
      else double.bucket.objects.set(ID, stored)

      const failure = await failureOf(collected(stream))
      expect([failure.code, failure.message]).toEqual([
        'STORAGE_UNAVAILABLE',
        `An object was ${change} while it was read`,
      ])
      await objects.delete([ID])
    }
  })
})

describe('repetitions', () => {
  test('stop after the attempts, and name the last failure', async () => {
    const { double, objects } = await openObjects({ attemptsMax: 4 })
    double.faultOf = () => ({ kind: 'slowDown' })
    const { message } = await failureOf(objects.get(ID))

    expect(double.asked).toHaveLength(4)
    expect(message).toBe(
      'An object cannot be read: the S3 server answered 503 SlowDown (It is <so>), at the last of 4 attempts',
    )
  })

  test.each([
    ['the longest waits double, up to a bound', 0xff, 20, [20, 40, 80, 80, 80]],
    ['the shortest are none', 0, 5_000, [0, 0, 0, 0, 0]],
  ])('wait for a random time: %s', async (_, byte, backoffBaseMs, expected) => {
    const random = { bytes: (count: number) => new Uint8Array(count).fill(byte) }
    const options = { backoffBaseMs, backoffMaxMs: 4 * backoffBaseMs, attemptsMax: 6, random }
    const { double, objects } = await openObjects(options)
    double.faultOf = () => ({ kind: 'error' })
    const waits = passWaits()
    await failureOf(objects.get(ID))

    expect(waits).toEqual(expected)
    expect(double.asked).toHaveLength(expected.length + 1)
  })

  test('come when the server wants them, but are not made if it wants them late', async () => {
    const { double, objects } = await openObjects({ retryAfterMaxMs: 2_000 })
    await objects.put(ID, Buffer.from('content'))
    double.faultOf = faultsOf({ kind: 'slowDown', retryAfter: '1' })
    const waits = passWaits()
    await objects.get(ID)
    expect(waits).toEqual([1_000])
    double.asked.length = 0
    const later = new Date(Date.now() + 3_600_000).toUTCString()
    for (const retryAfter of ['30', later]) {
      double.faultOf = faultsOf({ kind: 'slowDown', retryAfter })
      await failureOf(objects.get(ID))
    }

    expect(double.asked).toHaveLength(2)
  })

  test('are not made after retryTimeMs', async () => {
    const { double, objects } = await openObjects({
      retryTimeMs: 200,
      backoffBaseMs: 50,
      backoffMaxMs: 50,
      attemptsMax: 20,
      random: { bytes: (count) => new Uint8Array(count).fill(0xff) },
    })
    double.faultOf = () => ({ kind: 'error' })
    const waits = passWaits()
    await failureOf(objects.get(ID))

    expect(waits).toEqual([50, 50, 50, 50])
    expect(double.asked).toHaveLength(5)
  })

  test('are not made of refusals', async () => {
    const { double, objects } = await openObjects()
    double.bucket.answer = () => ({ status: 403, body: '<Error><Code>AccessDenied</Code></Error>' })
    const { message } = await failureOf(objects.put(ID, Buffer.from('x')))

    expect(double.asked).toHaveLength(1)
    expect(message).toBe(
      'An object cannot be written: the S3 server answered 403 AccessDenied; ' +
        'allow these credentials to get, put, delete and list objects of the bucket',
    )
  })

  test('of bulk deletes are made if one of the objects was not deleted', async () => {
    const { double, objects } = await openObjects()
    await objects.put(ID, Buffer.from('x'))
    await objects.put(OTHER, Buffer.from('x'))
    double.faultOf = faultsOf({ kind: 'late' })
    await objects.delete([ID, OTHER])

    expect(await objects.list('')).toEqual([])
  })

  test('a full server is INSUFFICIENT_STORAGE', async () => {
    const { double, objects } = await openObjects()
    double.bucket.answer = () => ({
      status: 403,
      body: '<Error><Code>QuotaExceeded</Code></Error>',
    })

    expect(await failureOf(objects.put(ID, Buffer.from('x')))).toMatchObject({
      code: 'INSUFFICIENT_STORAGE',
      outcome: 'unchanged',
    })
  })
})

describe('connections', () => {
  test('are at most socketsMax', async () => {
    const { double, objects } = await openObjects({ socketsMax: 3 })
    const ids = Array.from({ length: 50 }, (_, i) => i.toString(16).padStart(32, '0'))
    await Promise.all(ids.map((id) => objects.put(id, Buffer.from(id))))
    await Promise.all(ids.map((id) => objects.get(id)))

    expect(double.connectionsPeak).toBeLessThanOrEqual(3)
  })

  test('that the server closes while they are idle make no failure', async () => {
    const { double, objects } = await openObjects()
    for (let i = 0; i < 20; i++) {
      await objects.put(i.toString(16).padStart(32, '0'), Buffer.from('x'))
      double.closeIdle()
    }

    expect(await objects.list('')).toHaveLength(20)
  })

  test('that are never made fail in time', async () => {
    const double = await startDouble()
    const options = double.options({ attemptsMax: 2 })
    const { message } = await failureOf(
      openS3Objects({ ...options, endpoint: 'http://127.0.0.1:1' }),
    )

    expect(message).toContain('the S3 server cannot be reached')
    expect(message).toContain('ECONNREFUSED')
  })

  test('to a server that says nothing, or speaks no HTTP, fail in time', async () => {
    const double = await startDouble()
    for (const greeting of ['', 'no HTTP at all\r\n\r\n']) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined)
        if (greeting !== '') socket.write(greeting)
      })
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
      onTestFinished(() => void server.close())
      const { port } = server.address() as AddressInfo
      const options = double.options({ attemptsMax: 2, idleTimeoutMs: 50 })
      const endpoint = `http://127.0.0.1:${port}`

      expect(await failureOf(openS3Objects({ ...options, endpoint }))).toMatchObject({
        code: 'STORAGE_UNAVAILABLE',
      })
    }
  })

  test('an answer that never ends is cut at attemptTimeoutMs', async () => {
    const { objects, double } = await openObjects({
      attemptTimeoutMs: 60_000,
      attemptsMax: 1,
      idleTimeoutMs: 60_000,
    })
    await objects.put(ID, Buffer.from('x'))
    double.faultOf = () => ({ kind: 'hang' })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const failure = failureOf(objects.get(ID))
    await until(() => double.asked.length === 2)
    vi.advanceTimersByTime(60_000)

    expect((await failure).message).toContain('took longer than 60000 ms')
  })

  test('close waits for puts under way', async () => {
    const { double, objects } = await openObjects()
    const putting = objects.put(ID, randomBytes(100_000))
    await expect.poll(() => double.asked.length).toBe(1)
    await objects.close()

    expect(await putting).toBe(100_000)
  })
})

describe('an opening fails with what to do', () => {
  const open = async (change: Partial<S3Options>) => {
    const double = await startDouble()
    return await failureOf(openS3Objects(double.options(change)))
  }
  const keys = { accessKeyId: 'AKIDOUBLE', secretAccessKey: 'wrong' }

  test.each([
    [{ bucket: 'no-such' }, /^Option "bucket" .* create the bucket, or correct its name$/],
    [
      { credentials: keys },
      /^Option "credentials" .*SignatureDoesNotMatch.*correct secretAccessKey/,
    ],
    [{ credentials: { ...keys, accessKeyId: 'X' } }, /^Option "credentials" .*correct accessKeyId/],
    [
      { region: 'eu-other-1' },
      /^Option "region" .*set region and endpoint to those of the bucket$/,
    ],
  ])('%o', async (change, message) => {
    const failure = await open(change)

    expect(failure.code).toBe('OPTION_NOT_ALLOWED')
    expect(failure.message).toMatch(message)
    expect(failure.message).not.toContain('wrong')
  })

  test('a clock that is wrong', async () => {
    const failure = await open({ clock: { now: () => Date.now() - 3_600_000 } })

    expect(failure.code).toBe('STORAGE_UNAVAILABLE')
    expect(failure.message).toMatch(/RequestTimeTooSkewed.*; set the clock of this machine$/)
  })
})

describe('credentials from a function', () => {
  test('are asked for by each attempt', async () => {
    const double = await startDouble()
    const { credentials } = double.options()
    const given = [{ accessKeyId: 'EXPIRED', secretAccessKey: 'x' }]
    let asked = 0
    const options = double.options({
      async credentials() {
        asked++
        const next = given.shift() ?? credentials
        return typeof next === 'function' ? await next() : next
      },
    })
    const failure = await failureOf(openS3Objects(options))
    expect(failure.message).toContain('InvalidAccessKeyId')
    const objects = await openS3Objects(options)
    await objects.put(ID, Buffer.from('x'))
    await objects.close()

    expect(asked).toBe(3)
  })

  test('that cannot be had are asked for again, and then are a failure of the storage', async () => {
    const double = await startDouble()
    let asked = 0
    const credentials = async (): Promise<never> => {
      asked++
      throw new Error('no answer')
    }
    const failure = await failureOf(openS3Objects(double.options({ credentials, attemptsMax: 3 })))

    expect(asked).toBe(3)
    expect(failure.code).toBe('STORAGE_UNAVAILABLE')
    expect(failure.message).toContain('there are no credentials: no answer')
  })

  test('that have another form are refused', async () => {
    const double = await startDouble()
    const credentials = async () => ({ accessKeyId: 'x' }) as never

    expect(await failureOf(openS3Objects(double.options({ credentials })))).toMatchObject({
      code: 'OPTION_NOT_ALLOWED',
    })
  })
})

describe('options', () => {
  const good = {
    endpoint: 'http://127.0.0.1:1',
    bucket: 'rows',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  }

  test.each([
    ['partSize', { partSize: 1 }, 'is not an option of openS3Objects'],
    ['endpoint', { endpoint: undefined }, 'must be an http or https URL, not undefined'],
    ['endpoint', { endpoint: 'ftp://x' }, 'without a path'],
    ['endpoint', { endpoint: 'http://x/bucket' }, 'without a path'],
    ['endpoint', { endpoint: 'http://user@x' }, 'a user name'],
    ['publicEndpoint', { publicEndpoint: 'x' }, 'must be an http or https URL, not "x"'],
    ['bucket', { bucket: 'Rows' }, 'lower-case'],
    ['bucket', { bucket: 'a/b' }, 'lower-case'],
    ['region', { region: 'a b' }, 'letters, digits and hyphens'],
    ['keyPrefix', { keyPrefix: 'a b' }, 'letters, digits'],
    ['keyPrefix', { keyPrefix: 'a/../b' }, 'without the parts'],
    ['credentials', { credentials: undefined }, 'not undefined'],
    ['credentials', { credentials: { accessKeyId: 'only' } }, 'secretAccessKey'],
    ['addressing', { addressing: 'dns' }, "must be 'path' or 'host'"],
    ['conditionalPuts', { conditionalPuts: 'yes' }, 'must be true or false'],
    ['ca', { ca: 1 }, 'must be a string'],
    ['clock', { clock: {} }, 'must have the method now'],
    ['random', { random: {} }, 'must have the method bytes'],
    ['partBytes', { partBytes: 1_000 }, 'from 8388608 to 1073741824'],
    ['attemptsMax', { attemptsMax: 0 }, 'from 1 to 100'],
    ['socketsMax', { socketsMax: 1.5 }, 'from 1 to 1000'],
  ])('%s is refused: %o', async (name, change, problem) => {
    const failure = await failureOf(openS3Objects({ ...good, ...change } as S3Options))

    expect(failure.code).toBe('OPTION_NOT_ALLOWED')
    expect(failure.message).toContain(`"${name}"`)
    expect(failure.message).toContain(problem)
  })
})

describe('a signed URL', () => {
  const terms = { contentType: 'text/plain', contentLength: 5, bytesMax: 5, ttlMs: 60_000 }
  const put = (url: string, body: string, contentType = 'text/plain') =>
    fetch(url, { method: 'PUT', body, headers: { 'content-type': contentType } })

  test('is good for the length and the type that were signed only', async () => {
    const { objects } = await openObjects({ keyPrefix: 'a/' })
    const url = (await objects.presignPut?.(ID, terms)) ?? ''

    expect((await put(url, 'four')).status).toBe(403)
    expect((await put(url, 'longer')).status).toBe(403)
    expect((await put(url, 'first', 'text/html')).status).toBe(403)
    expect(await objects.list('')).toEqual([])
    expect((await put(url, 'first')).status).toBe(200)
    expect(Buffer.from((await objects.get(ID)) ?? []).toString()).toBe('first')
    expect(url).not.toMatch(/checksum|sha256=/i)
  })

  test('without a length is good for any', async () => {
    const { objects } = await openObjects()
    const url = (await objects.presignPut?.(ID, { ...terms, contentLength: null })) ?? ''

    expect((await put(url, 'of any length')).status).toBe(200)
  })

  test('ends with its time', async () => {
    let now = Date.now()
    const { objects } = await openObjects({ clock: { now: () => now } })
    now -= 61_000
    const url = (await objects.presignPut?.(ID, terms)) ?? ''

    expect((await put(url, 'first')).status).toBe(403)
  })

  test('leads to the public endpoint, and to the host of the bucket where it has one', async () => {
    const double = await startDouble()
    const objects = await openS3Objects(double.options({ publicEndpoint: 'https://files.example' }))
    const url = new URL((await objects.presignPut?.(ID, terms)) ?? '')
    await objects.close()

    expect(`${url.origin}${url.pathname}`).toBe(`https://files.example/rows/${ID}`)
    expect(url.searchParams.get('X-Amz-SignedHeaders')).toBe('content-length;content-type;host')
    expect(url.searchParams.get('X-Amz-Expires')).toBe('60')
  })
})
