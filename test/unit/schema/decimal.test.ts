// The order and the canonical text of numbers, compared with exact integers. An exponent may have any number of digits.
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { utf8 } from '../../../src/base/bytes.js'
import { canonicalToken } from '../../../src/format/row-values.js'
import { hashOfLong, NumberToken } from '../../../src/format/value-hash.js'
import { Decimal, longDecimal, lowBitsOf } from '../../../src/schema/decimal.js'
import { runOptions } from '../../support/fast-check-options.js'

const DIGITS = fc.string({ unit: fc.constantFrom('0', '9', '1', '5'), maxLength: 24 })
const token = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.tuple(fc.constantFrom('0', '1', '9'), DIGITS).map(([first, more]) => {
      return first === '0' ? first : first + more
    }),
    DIGITS.map((digits) => (digits === '' ? '' : `.${digits}`)),
    fc
      .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), DIGITS)
      .map(([e, sign, digits]) => (digits === '' ? '' : e + sign + digits)),
  )
  .map((parts) => parts.join(''))

const PARTS = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]\+?(-?[0-9]+))?$/

/** The digits without zeros at either end, and their power of ten. */
function exact(text: string): Readonly<{ sign: string; digits: string; exponent: bigint }> {
  const [, sign = '', whole = '', fraction = '', power = '0'] = PARTS.exec(text) ?? []
  const padded = `${whole}${fraction}`.replace(/^0+/, '')
  const digits = padded.replace(/0+$/, '')
  if (digits === '') return { sign: '', digits, exponent: 0n }
  const exponent = BigInt(power) - BigInt(fraction.length) + BigInt(padded.length - digits.length)
  return { sign, digits, exponent }
}

function orderOf(left: string, right: string): number {
  const [one, other] = [exact(left), exact(right)]
  const signOf = ({ sign, digits }: ReturnType<typeof exact>) =>
    digits === '' ? 0 : sign === '' ? 1 : -1
  if (signOf(one) !== signOf(other) || one.digits === '') return signOf(one) - signOf(other)
  const places =
    one.exponent + BigInt(one.digits.length) - other.exponent - BigInt(other.digits.length)
  const length = Math.max(one.digits.length, other.digits.length)
  const [a, b] = [one.digits.padEnd(length, '0'), other.digits.padEnd(length, '0')]
  const sizes = places === 0n ? Number(a > b) - Number(a < b) : places > 0n ? 1 : -1
  return signOf(one) * sizes
}

function ordered(left: string, right: string): number {
  const bytes = utf8(left)
  return new Decimal(right).orderOf(bytes, 0, bytes.length)
}

test('numbers have the order of their values', () => {
  const check = (left: string, right: string): void => {
    expect(Math.sign(ordered(left, right))).toBe(Math.sign(orderOf(left, right)))
  }
  fc.assert(fc.property(token, token, check), runOptions(20_000))
})

test('a number has one text, and its hash the lowest bits of its exponent', () => {
  const check = (text: string): void => {
    const { sign, digits, exponent } = exact(text)
    const power = exponent === 0n ? '' : `e${exponent}`
    expect(canonicalToken(text)).toBe(digits === '' ? '0' : `${sign}${digits}${power}`)
    expect(longDecimal(text).exponent).toBe(String(exponent))
    expect(lowBitsOf(String(exponent))).toBe(Number(BigInt.asIntN(32, exponent)))
  }
  fc.assert(fc.property(token, check), runOptions(20_000))
})

test('a hash does not depend on how a number is written', () => {
  const bytes = utf8('34.50')
  const short = new NumberToken()
  short.read(bytes, 0, bytes.length)
  for (const long of ['34.5', '3.45e1', '345E-1', '0.345e+0002']) {
    expect(hashOfLong(long)).toBe(short.hash)
  }
})

test.each([
  ['1e-999999999999999', '1e-1000000000000000'],
  ['1e-1000000000000000', '1e-1000000000000001'],
  ['-1e-1000000000000001', '-1e-1000000000000000'],
  ['0.00001e-999999999999999', '1e-1000000000000005'],
  ['1000000000000000000000', '999999999999999999999'],
  ['9007199254740993', '9007199254740992.5'],
  ['1e-0000000000000000000', '0.99999999999999999999'],
])('%s is greater than %s', (greater, less) => {
  expect(ordered(greater, less)).toBeGreaterThan(0)
  expect(ordered(less, greater)).toBeLessThan(0)
  expect(Math.abs(ordered(greater, greater))).toBe(0)
})

test('an exponent of many digits does not become a BigInt, which takes quadratic time', () => {
  vi.stubGlobal('BigInt', () => expect.unreachable('BigInt'))
  onTestFinished(() => void vi.unstubAllGlobals())
  const long = `1e-${'9'.repeat(100_000)}`
  const longer = `10e-${'9'.repeat(100_000)}`

  expect(canonicalToken(long)).toBe(long)
  expect(canonicalToken(longer)).toBe(`1e-${'9'.repeat(99_999)}8`)
  expect(hashOfLong(long)).not.toBe(hashOfLong(longer))
  expect(ordered(long, longer)).toBeLessThan(0)
  expect(ordered(long, '0')).toBeGreaterThan(0)
})
