import { expect, test } from 'vitest'
import { pooledBytes, utf8, utf8Behind } from '../../../src/base/bytes.js'

test('bytes from a pool are empty, and have no byte in common', () => {
  const all = Array.from({ length: 3_000 }, (_, n) => {
    const bytes = pooledBytes((7 * n) % 1_100)
    expect(bytes.every((byte) => byte === 0)).toBe(true)
    return bytes.fill(n)
  })
  for (const [n, bytes] of all.entries()) {
    expect(bytes).toHaveLength((7 * n) % 1_100)
    expect(bytes.every((byte) => byte === n % 256)).toBe(true)
  }
})

test('a text follows its free room, however many bytes its characters take', () => {
  for (const text of ['', 'a', 'ä'.repeat(80), 'a'.repeat(300), '🚀']) {
    expect(utf8Behind(3, text)).toEqual(Uint8Array.of(0, 0, 0, ...utf8(text)))
  }
})
