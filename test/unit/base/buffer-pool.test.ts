import { expect, test } from 'vitest'
import { BufferPool } from '../../../src/base/buffer-pool.js'

const SIZE = 128 * 1024

test('a buffer that was given back is taken again', () => {
  const pool = new BufferPool(SIZE)
  const buffer = pool.take(SIZE)
  expect(pool.bytes).toBe(0)
  pool.give(buffer.subarray(3, 10))
  expect(pool.bytes).toBe(SIZE)
  expect(pool.take(SIZE - 1).buffer).toBe(buffer.buffer)
  expect(pool.bytes).toBe(0)
})

test('no more bytes are kept than the limit allows', () => {
  const pool = new BufferPool(3 * SIZE)
  const buffers = Array.from({ length: 5 }, () => pool.take(SIZE))
  for (const buffer of buffers) pool.give(buffer)
  expect(pool.bytes).toBe(3 * SIZE)
})

test('a pool without memory gives buffers and keeps none', () => {
  const pool = new BufferPool(0)
  const buffer = pool.take(SIZE)
  expect(buffer.length).toBeGreaterThanOrEqual(SIZE)
  pool.give(buffer)
  expect(pool.bytes).toBe(0)
  expect(pool.take(SIZE)).not.toBe(buffer)
})
