import { createHash, createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toHex, utf8 } from '../../../src/base/bytes.js'
import { hmacOfSha256, Sha256 } from '../../../src/base/sha256.js'
import { runOptions } from '../../support/fast-check-options.js'

/** Examples of FIPS 180-4. */
test.each([
  ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  [
    'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  ],
])('the digest of "%s"', (text, digest) => {
  expect(toHex(new Sha256().update(utf8(text)).digest())).toBe(digest)
})

test('the digest of bytes in any pieces is that of node:crypto', () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 6 })
  fc.assert(
    fc.property(pieces, (given) => {
      const [own, theirs] = [new Sha256(), createHash('sha256')]
      for (const piece of given) {
        own.update(piece)
        theirs.update(piece)
      }
      expect(toHex(own.digest())).toBe(theirs.digest('hex'))
    }),
    runOptions(500),
  )
})

test('the HMAC of any key and bytes is that of node:crypto', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 150 }),
      fc.uint8Array({ maxLength: 150 }),
      (key, bytes) => {
        const theirs = createHmac('sha256', key).update(bytes).digest('hex')
        expect(toHex(hmacOfSha256(key, bytes))).toBe(theirs)
      },
    ),
    runOptions(500),
  )
})
