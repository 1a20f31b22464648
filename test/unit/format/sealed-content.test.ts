// The object of a file: leaves with checksums.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { utf8 } from '../../../src/base/bytes.js'
import {
  LEAF_BYTES,
  openLeaves,
  seal,
  sealedBytes,
  sealedRange,
} from '../../../src/format/sealed-content.js'
import { runOptions } from '../../support/fast-check-options.js'

const OBJECT = '00112233445566770000000000000001'

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

async function bytesOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const piece of pieces) all.push(piece)
  return Buffer.concat(all)
}

async function open(stored: Uint8Array, first = 0, object = OBJECT): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const { bytes } of openLeaves(object, first, inPieces(stored, [50_000]))) {
    all.push(bytes)
  }
  return Buffer.concat(all)
}

function sample(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) & 0xff)
}

test('a short content has these bytes', async () => {
  const golden = fileURLToPath(new URL('../../format/golden/sealed-content.hex', import.meta.url))
  const hex = (await bytesOf(seal(OBJECT, inPieces(utf8('content'), [2])))).toString('hex')
  if (!existsSync(golden) && process.env['ROWSTASH_WRITE_GOLDEN'] === '1') {
    writeFileSync(golden, `${hex}\n`)
  }

  expect(hex).toBe(readFileSync(golden, 'utf8').trim())
})

test('any range of any content is read back from the leaves that hold it', async () => {
  const length = fc.oneof(
    fc.nat(300),
    fc.integer({ min: LEAF_BYTES - 2, max: LEAF_BYTES + 2 }),
    fc.integer({ min: 2 * LEAF_BYTES - 1, max: 3 * LEAF_BYTES }),
  )
  const sizes = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 4 })
  const property = fc.asyncProperty(length, sizes, fc.nat(), fc.nat(), async (count, by, a, b) => {
    const content = sample(count)
    const pieces = count > 1_000 ? by.map((size) => size + 1_000) : by
    const stored = await bytesOf(seal(OBJECT, inPieces(content, pieces)))
    expect(stored.length).toBe(sealedBytes(count))
    const start = a % (count + 1)
    const limit = start + (b % (count - start + 1))
    const range = sealedRange({ start, limit }, count)
    const first = Math.floor(start / LEAF_BYTES)
    const read = await open(stored.subarray(range.start, range.limit), first)
    const from = start - LEAF_BYTES * first
    expect(read.subarray(from, from + limit - start).equals(content.subarray(start, limit))).toBe(
      true,
    )
  })
  await fc.assert(property, runOptions(150))
})

test('a leaf that was changed, moved, cut, or is of another object is refused', async () => {
  const content = sample(2 * LEAF_BYTES + 100)
  const stored = await bytesOf(seal(OBJECT, inPieces(content, [9_999])))
  const leaf = LEAF_BYTES + 4
  const flipped = [0, 65_535, 65_536, 65_539, leaf + 7, stored.length - 1].map((at) => {
    const bytes = Uint8Array.from(stored)
    bytes[at] = (bytes[at] ?? 0) ^ 8
    return bytes
  })
  const swapped = Buffer.concat([
    stored.subarray(leaf, 2 * leaf),
    stored.subarray(0, leaf),
    stored.subarray(2 * leaf),
  ])
  const cut = [stored.subarray(0, stored.length - 1), stored.subarray(0, 2 * leaf + 3)]
  for (const wrong of [...flipped, swapped, ...cut]) {
    await expect(open(wrong)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
  }
  const other = OBJECT.replace('1', '2')
  await expect(open(stored, 0, other)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
  await expect(open(stored, 1)).rejects.toMatchObject({ code: 'DATA_CORRUPT' })
})
