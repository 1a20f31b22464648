// The signed location of an upload: who may put bytes where, and until when.
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { StoreClock } from '../../src/base/clock.js'
import { hmacSha256, openHash, sameSecret } from '../../src/base/platform.js'
import { openSystemRandom } from '../../src/base/random.js'
import { SigningKeys } from '../../src/engine/ids/signing-keys.js'
import { decodeSigningKeys } from '../../src/format/file-records.js'
import { SIGNING_KEYS_KEY } from '../../src/format/keys.js'
import { openLevelKv } from '../../src/kv/level-kv.js'
import { partsOf } from '../conformance/store/upload-request.js'
import { plainDatabase } from '../support/plain-database.js'
import { runs } from '../support/runs.js'
import { randomTestSeed } from '../support/seed-record.js'
import { ABOUT, codeOf, type FileStore, openFileStore } from './file-store.js'

const DAY_MS = 24 * 60 * 60_000

async function keysOf({ kv }: FileStore) {
  const record = await kv.partition('').read((view) => view.get(SIGNING_KEYS_KEY))
  return record === null ? [] : decodeSigningKeys(record)
}

/** The rule of FORMAT.md, section 7, with Node's functions. */
function signatureOf(secret: Uint8Array, texts: readonly string[]): string {
  const parts = texts.flatMap((text) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(Buffer.byteLength(text))
    return [length, Buffer.from(text)]
  })
  return createHmac('sha256', secret).update(Buffer.concat(parts)).digest('base64url')
}

describe('a location', () => {
  test('is signed as FORMAT.md says', async () => {
    const files = await openFileStore()
    const about = { fileName: 'é.png', contentType: 'Image/PNG' }
    const sized = { ...about, contentLength: 7, appId: 'app é' }
    const [withLength, without] = [
      await files.team.files.createUpload(sized),
      await files.team.files.createUpload(about),
    ]
    const [key] = await keysOf(files)
    const secret = key?.secret ?? new Uint8Array()
    const expires = String(files.clock.now() + 15 * 60_000)
    const texts = (app: string, id: string, length: string) => {
      return ['v1', '1', 'PUT', app, id, 'image/png', length, expires]
    }

    const { uploadId: sizedId, target: sizedTarget } = withLength
    expect(sizedTarget).toBe(
      `uploads/${sizedId}?expires=${expires}&key=1&signature=${signatureOf(secret, texts('app é', sizedId, '7'))}`,
    )
    const { uploadId, target } = without
    expect(target).toBe(
      `uploads/${uploadId}?expires=${expires}&key=1&signature=${signatureOf(secret, texts('', uploadId, 'max:5368709120'))}`,
    )
    expect(withLength.expiresAt).toBe(Number(expires))
  })

  test('is refused when any of many random bits of it is flipped', async () => {
    const { team, store, listed } = await openFileStore()
    const { target } = await team.files.createUpload(ABOUT)
    const good = Buffer.from(target)
    let read = 0
    const body = {
      async *[Symbol.asyncIterator]() {
        read++
        yield* []
      },
    }
    const request = { contentType: 'text/plain', contentLength: 0, body }
    const seed = randomTestSeed()
    const pathBits = 'uploads/'.length * 8 // The router reads these, not the store.
    const anyBit = fc.integer({ min: pathBits, max: good.length * 8 - 1 })
    const bits = fc.sample(anyBit, { numRuns: runs(100_000), seed })
    const codes = new Map<string, number>()
    for (const bit of bits) {
      const bad = Uint8Array.from(good)
      bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const parts = partsOf(Buffer.from(bad).toString('latin1'))
      const code = await codeOf(store.files.receive({ ...request, ...parts }))
      codes.set(code, (codes.get(code) ?? 0) + 1)
    }

    expect([...codes], `seed ${seed}`).toEqual([['UPLOAD_SIGNATURE_INVALID', bits.length]])
    expect(read).toBe(0)
    expect(await listed()).toEqual([])
    await store.files.receive({ ...request, ...partsOf(target) })
    expect(read).toBe(1)
  })

  const expires = 'expires=1700000900000'
  const CHANGED: Readonly<Record<string, (query: string) => string>> = {
    'a later expiry': (query) => query.replace(expires, 'expires=1700000900001'),
    'an expiry with a zero before it': (query) => query.replace(expires, 'expires=01700000900000'),
    'an expiry with a sign': (query) => query.replace(expires, 'expires=%2B1700000900000'),
    'no expiry': (query) => query.replace(`${expires}&`, ''),
    'two expiries': (query) => `${expires}&${query}`,
    'an encoded expiry': (query) => query.replace('expires=1', 'expires=%31'),
    'an encoded name': (query) => query.replace('expires', '%65xpires'),
    'a name in capitals': (query) => query.replace('expires', 'Expires'),
    'another key': (query) => query.replace('key=1', 'key=2'),
    'a key with a zero before it': (query) => query.replace('key=1', 'key=01'),
    'no key': (query) => query.replace('&key=1', ''),
    'two keys': (query) => query.replace('key=1', 'key=1&key=1'),
    'an encoded key': (query) => query.replace('key=1', 'key=%31'),
    'no signature': (query) => query.replace(/&signature=.*$/, ''),
    'an empty signature': (query) => query.replace(/signature=.*$/, 'signature='),
    'two signatures': (query) => query.replace(/(&signature=.*)$/, '$1$1'),
    'a shorter signature': (query) => query.slice(0, -1),
    'a longer signature': (query) => `${query}A`,
    padding: (query) => `${query}=`,
    'an encoded signature': (query) =>
      query.replace(
        /signature=(.)/,
        (_, first: string) => `signature=%${first.charCodeAt(0).toString(16)}`,
      ),
    'a signature with spare bits': (query) => {
      const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      return query.slice(0, -1) + digits.charAt(digits.indexOf(query.slice(-1)) ^ 1)
    },
    'another order': (query) => query.split('&').reverse().join('&'),
    'one more parameter': (query) => `${query}&x=1`,
    'an empty parameter': (query) => `${query}&`,
    'another separator': (query) => query.replace('&', ';'),
    'an encoded separator': (query) => query.replace('&', '%26'),
    'an encoded equals sign': (query) => query.replace('=', '%3D'),
    'a line break at its end': (query) => `${query}\n`,
    'a space before it': (query) => ` ${query}`,
    'a second question mark': (query) => `?${query}`,
    nothing: () => '',
  }

  test.each(Object.entries(CHANGED))('with %s is refused', async (_, change) => {
    const { team, put, listed } = await openFileStore()
    const { target } = await team.files.createUpload(ABOUT)
    const { uploadId, query } = partsOf(target)
    expect(change(query)).not.toBe(query)

    expect(await codeOf(put(`uploads/${uploadId}?${change(query)}`, ['x']))).toBe(
      'UPLOAD_SIGNATURE_INVALID',
    )
    expect(await listed()).toEqual([])
  })

  test('is good for its own upload only, written as it was', async () => {
    const { team, put } = await openFileStore()
    const [one, other] = [
      await team.files.createUpload(ABOUT),
      await team.files.createUpload(ABOUT),
    ]
    const { query } = partsOf(one.target)
    const id = one.uploadId
    const ids = [
      other.uploadId,
      id.toUpperCase(),
      id.replace('rsu-', 'rsf-'),
      id.replace('rsu-', 'rsu%2D'),
      id.replace('rsu-', '%72su-'),
      `${id}/`,
      `${id}.`,
      `./${id}`,
      id.slice(0, -1),
      '',
    ]
    for (const uploadId of ids) {
      const action = put(one.target, ['x'], { uploadId, query })

      expect(await codeOf(action), uploadId).toBe('UPLOAD_SIGNATURE_INVALID')
    }
  })

  test('of one upload says nothing about another: what the record says is signed, to the letter', async () => {
    const { team, put } = await openFileStore()
    const base = { ...ABOUT, contentLength: 1, appId: 'a' }
    const { target } = await team.files.createUpload(base)
    const { query } = partsOf(target)
    for (const about of [
      { ...base, appId: 'b' },
      { ...base, contentType: 'text/html' },
      { ...base, contentLength: 2 },
      ABOUT,
    ]) {
      const { uploadId } = await team.files.createUpload(about)

      expect(await codeOf(put('', ['x'], { uploadId, query }))).toBe('UPLOAD_SIGNATURE_INVALID')
    }
  })

  test('ends at its time, and is good again when the clock was set back', async () => {
    const { team, put, clock } = await openFileStore({ uploadUrlTtlMs: 60_000 })
    const { target, expiresAt } = await team.files.createUpload(ABOUT)
    expect(expiresAt).toBe(clock.now() + 60_000)

    clock.pass(59_999)
    await put(target, ['x'])
    clock.pass(1)
    expect(await codeOf(put(target, ['x']))).toBe('UPLOAD_EXPIRED')
    clock.pass(10 * 365 * DAY_MS)
    expect(await codeOf(put(target, ['x']))).toBe('UPLOAD_EXPIRED')
    clock.pass(-10 * 365 * DAY_MS - 1)
    await put(target, ['x'])
  })

  test('that is wrong is refused as wrong also when its time is over', async () => {
    const { team, put, clock } = await openFileStore()
    const { target } = await team.files.createUpload(ABOUT)
    clock.pass(DAY_MS)

    expect(await codeOf(put(`${target}x`, ['x']))).toBe('UPLOAD_SIGNATURE_INVALID')
  })

  test('never outlives its upload', async () => {
    const { team, clock } = await openFileStore({ uploadUrlTtlMs: DAY_MS, uploadTtlMs: 60_000 })
    const { expiresAt } = await team.files.createUpload(ABOUT)

    expect(expiresAt).toBe(clock.now() + 60_000)
  })
})

describe('keys', () => {
  test('are replaced after 30 days, and the one before stays good', async () => {
    const options = { uploadUrlTtlMs: DAY_MS }
    const files = await openFileStore(options)
    const { team, put, clock } = files
    await team.files.createUpload(ABOUT)
    clock.pass(30 * DAY_MS)
    const old = await team.files.createUpload(ABOUT)
    expect((await keysOf(files)).map(({ id }) => id)).toEqual([1])
    clock.pass(1)
    const fresh = await team.files.createUpload(ABOUT)

    expect((await keysOf(files)).map(({ id }) => id)).toEqual([2, 1])
    expect([partsOf(old.target).query, partsOf(fresh.target).query]).toEqual([
      expect.stringContaining('&key=1&'),
      expect.stringContaining('&key=2&'),
    ])
    await put(old.target, ['old'])
    await put(fresh.target, ['fresh'])
  })

  test('are two at most: a key that a third one replaced verifies nothing any more', async () => {
    const files = await openFileStore()
    const { team, put, clock } = files
    const old = await team.files.createUpload(ABOUT)
    for (let i = 0; i < 2; i++) {
      clock.pass(30 * DAY_MS + 1)
      await team.files.createUpload(ABOUT)
    }

    expect((await keysOf(files)).map(({ id }) => id)).toEqual([3, 2])
    expect(await codeOf(put(old.target, ['x']))).toBe('UPLOAD_SIGNATURE_INVALID')
  })

  test('from a future that was an error are replaced too', async () => {
    const files = await openFileStore()
    files.clock.pass(1_000 * DAY_MS)
    await files.team.files.createUpload(ABOUT)
    files.clock.pass(-1_000 * DAY_MS)
    await files.team.files.createUpload(ABOUT)

    expect((await keysOf(files)).map(({ id }) => id)).toEqual([2, 1])
  })

  test('are replaced by no process whose clock is known to be wrong', async () => {
    const time = { right: 1_700_000_000_000, aheadMs: 0 }
    const clock = new StoreClock({ now: () => time.right + time.aheadMs }, 60_000)
    const kv = await openLevelKv(plainDatabase())
    const keys = new SigningKeys(kv, { clock, random: openSystemRandom() })
    const { id } = await keys.newest()

    time.aheadMs = 400 * DAY_MS
    await clock.compare(async () => time.right)
    await expect(keys.newest()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })

    time.aheadMs = 0
    await clock.compare(async () => time.right)
    expect((await keys.newest()).id).toBe(id)
    await kv.close()
  })

  test('are made once by many at the same time', async () => {
    const files = await openFileStore()
    const tickets = await Promise.all(
      Array.from({ length: 20 }, () => files.team.files.createUpload(ABOUT)),
    )

    expect((await keysOf(files)).map(({ id }) => id)).toEqual([1])
    await Promise.all(tickets.map(({ target }) => files.put(target, ['x'])))
  })
})

describe('digests', () => {
  test('are those of RFC 4231 and FIPS 180-4', () => {
    const hash = openHash('sha256')
    hash.update(Buffer.from('a'))
    hash.update(Buffer.from('bc'))

    expect(Buffer.from(hash.digest()).toString('hex')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
    const mac = hmacSha256(Buffer.from('Jefe'), Buffer.from('what do ya want for nothing?'))
    expect(Buffer.from(mac).toString('hex')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
    expect([sameSecret(mac, mac.slice()), sameSecret(mac, mac.slice(1))]).toEqual([true, false])
  })

  test('that a runtime lacks are computed, but for MD5', async () => {
    const { team } = await openFileStore()
    const { sha256: digest } = await team.files.put('x', ABOUT)
    const bytes = Uint8Array.of(1, 2, 3)
    const mac = hmacSha256(bytes, bytes)
    const builtIn = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    try {
      expect((await team.files.put('x', ABOUT)).sha256).toBe(digest)
      expect(await team.files.createUpload(ABOUT)).toHaveProperty('target')
      expect(hmacSha256(bytes, bytes)).toEqual(mac)
      expect([sameSecret(mac, mac.slice()), sameSecret(mac, mac.slice(1))]).toEqual([true, false])
      expect(sameSecret(mac, mac.with(0, (mac[0] ?? 0) ^ 1))).toBe(false)
      expect(() => openHash('md5')).toThrow('MD5')
    } finally {
      builtIn.mockRestore()
    }
  })
})
