import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromBase64Url, fromHex, toBase64Url, toHex } from '../../../src/base/bytes.js'
import { crc32, tableCrc32 } from '../../../src/base/platform.js'
import { jsonOfRowIds, rowIdsOf } from '../../../src/engine/ids/row-ids.js'
import { compareSerials } from '../../../src/engine/import/stash-records.js'
import { parseContinuation, renderContinuation } from '../../../src/format/continuation-token.js'
import { parseRowId, renderRowId } from '../../../src/format/row-id.js'
import { runOptions } from '../../support/fast-check-options.js'

const nonce = fc.uint8Array({ minLength: 8, maxLength: 8 })
const extent = fc.maxSafeNat().map((n) => n % 2 ** 48)
const slot = fc.nat(65_535)

describe('bytes', () => {
  test('hex and base64url give back what went in, and base64url is the standard one', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(fromHex(toHex(bytes))).toEqual(bytes)
        expect(fromBase64Url(toBase64Url(bytes))).toEqual(bytes)
        expect(toBase64Url(bytes)).toBe(Buffer.from(bytes).toString('base64url'))
      }),
      runOptions(1_000),
    )
  })

  test('the portable crc32 agrees with the built-in one, whole and continued', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(300), (bytes, cut) => {
        expect(tableCrc32(bytes)).toBe(crc32(bytes))
        expect(tableCrc32(bytes.subarray(cut), tableCrc32(bytes.subarray(0, cut)))).toBe(
          crc32(bytes),
        )
      }),
      runOptions(1_000),
    )
  })
})

describe('row IDs', () => {
  test('have 22 characters and give back nonce and position', () => {
    fc.assert(
      fc.property(nonce, extent, slot, (n, e, s) => {
        const id = renderRowId(n, e, s)

        expect(id).toMatch(/^[A-Za-z0-9_-]{22}$/)
        expect(parseRowId(id)).toEqual({ nonce: n, extent: e, slot: s })
      }),
      runOptions(1_000),
    )
  })

  test('a text that does not encode to itself is no row ID', () => {
    const id = renderRowId(new Uint8Array(8), 0, 0)
    const last = id.slice(0, -1)

    expect(parseRowId(id)).not.toBeNull()
    for (const other of [
      `${last}B`,
      `${last}=`,
      `${id}A`,
      last,
      '',
      'x'.repeat(22).replace('x', '+'),
    ]) {
      expect(parseRowId(other)).toBeNull()
    }
  })

  test('a sequence of them is computed from runs', () => {
    const n = Uint8Array.of(9, 9, 9, 9, 9, 9, 9, 9)
    const ids = rowIdsOf([
      { nonce: n, extent: 4, firstSlot: 2, count: 3 },
      { nonce: n, extent: 5, firstSlot: 0, count: 2 },
    ])
    const expected = [
      [4, 2],
      [4, 3],
      [4, 4],
      [5, 0],
      [5, 1],
    ].map(([e = 0, s = 0]) => renderRowId(n, e, s))

    expect(ids.length).toBe(5)
    expect([...ids]).toEqual(expected)
    expect(expected.map((_, i) => ids.at(i))).toEqual(expected)
    expect(expected.map((_, i) => ids.get(i))).toEqual(expected)
    for (const outside of [-1, 5, 0.5, Number.NaN, undefined, '0']) {
      const shown = typeof outside === 'string' ? `"${outside}"` : outside
      expect(() => ids.get(outside as number)).toThrow(
        expect.objectContaining({
          code: 'REQUEST_VALIDATION_ERROR',
          message: `There is no row at index ${shown}: the operation has 5 rows`,
        }),
      )
    }
    expect([ids.at(-1), ids.at(5), ids.at(-6), ids.at(0.5)]).toEqual([
      expected[4],
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('continuation tokens', () => {
  const table = new Uint8Array(16).fill(7)

  test('give back table, generation and position', () => {
    fc.assert(
      fc.property(nonce, extent, slot, (generation, e, s) => {
        const token = { table, generation, position: { extent: e, slot: s } }

        expect(parseContinuation(renderContinuation(token, 0), 0)).toEqual(token)
        const raised = renderContinuation(token, 2 ** 20)
        expect(parseContinuation(raised, 2 ** 20)).toEqual(token)
        expect(parseContinuation(raised, 0)).toBeNull()
      }),
      runOptions(500),
    )
  })

  test('with any character changed, dropped or added are refused', () => {
    const position = { extent: 3, slot: 4 }
    const token = renderContinuation({ table, generation: new Uint8Array(8), position }, 0)
    const edit = fc.tuple(fc.nat(token.length - 1), fc.string({ maxLength: 2 }))
    fc.assert(
      fc.property(edit, ([at, text]) => {
        const changed = token.slice(0, at) + text + token.slice(at + 1)
        fc.pre(changed !== token)

        expect(parseContinuation(changed, 0)).toBeNull()
      }),
      runOptions(10_000),
    )
  })
})

describe('serials', () => {
  const sorted = (serials: string[]): string[] => [...serials].sort(compareSerials(serials))

  test('that are all digits go by number of any size, equal ones by code point', () => {
    expect(sorted(['10', '2', '0', '9007199254740993', '9007199254740992', '01', '1'])).toEqual([
      '0',
      '01',
      '1',
      '2',
      '10',
      '9007199254740992',
      '9007199254740993',
    ])
  })

  test('go by code point as soon as one is not all digits', () => {
    expect(sorted(['10', '2', 'a', 'B', '1-1'])).toEqual(['1-1', '10', '2', 'B', 'a'])
  })

  test('have one order whatever the order they came in', () => {
    const digits = fc.string({ unit: fc.constantFrom('0', '1', '9'), minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(fc.uniqueArray(digits, { maxLength: 12 }), (serials) => {
        const numbers = sorted(serials).map((serial) => BigInt(serial))

        expect(numbers).toEqual([...numbers].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)))
        expect(sorted([...serials].reverse())).toEqual(sorted(serials))
      }),
      runOptions(500),
    )
  })
})

test('row IDs that another store gave are rendered as those of this one, in pieces', () => {
  const ids = Array.from({ length: 7 }, (_, n) => `id ${n} "`)
  const foreign = {
    length: ids.length,
    get: (i: number) => ids[i] ?? '',
    at: (i: number) => ids.at(i),
    [Symbol.iterator]: () => ids.values(),
  }
  const pieces = [...jsonOfRowIds(foreign, 3)].map((piece) => Buffer.from(piece).toString())

  expect(pieces).toHaveLength(3)
  expect(JSON.parse(`[${pieces.join('')}]`)).toEqual(ids)
  expect(
    [...jsonOfRowIds({ ...foreign, length: 0, [Symbol.iterator]: () => [].values() }, 3)].join(''),
  ).toBe('')
})
