import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bufferSharesOf, cacheSharesOf } from '../../../src/engine/caches/cache-shares.js'
import { runOptions } from '../../support/fast-check-options.js'

const MIB = 1024 * 1024
const GIB = 1024 * MIB

const sumOf = (shares: object): number =>
  Object.values(shares).reduce((sum: number, share: number) => sum + share, 0)

test('shares are whole bytes, and together never more than the option', () => {
  const property = fc.property(fc.nat({ max: 16 * GIB }), (bytesMax) => {
    for (const shares of [cacheSharesOf(bytesMax), bufferSharesOf(bytesMax)]) {
      expect(sumOf(shares)).toBeLessThanOrEqual(bytesMax)
      expect(sumOf(shares)).toBeGreaterThan(bytesMax - 16)
      for (const share of Object.values(shares)) expect(Number.isInteger(share)).toBe(true)
    }
  })
  fc.assert(property, runOptions(1_000))
})

test('by default no cache and no pool has less than when it had a limit of its own', () => {
  expect(cacheSharesOf(96 * MIB)).toMatchObject({
    segments: 16 * MIB,
    hotRows: 4 * MIB,
    forwards: 16 * MIB,
    schemas: 16 * MIB,
    aliases: 8 * MIB,
    records: 5 * MIB,
  })
  expect(bufferSharesOf(28 * MIB)).toEqual({ building: 16 * MIB, reading: 4 * MIB, lent: 8 * MIB })
})
