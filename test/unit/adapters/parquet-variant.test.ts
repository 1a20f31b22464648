// Values of VARIANT columns: each type with all its digits, shredded parts, and damaged bytes.
import type { SchemaElement, SchemaTree } from 'hyparquet'
import { expect, test } from 'vitest'
import { takeRawValues } from '../../../adapters/cli/parquet/parquet-values.js'

const little = (value: bigint, width: number): number[] =>
  Array.from({ length: width }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn))

/** A value with a type number. */
const typed = (type: number, ...bytes: number[]): number[] => [type << 2, ...bytes]

const short = (text: string): number[] => {
  const bytes = [...Buffer.from(text)]
  return [(bytes.length << 2) | 1, ...bytes]
}

/** Concatenated values, with a one-byte offset for each. */
function placed(values: readonly number[][]): { offsets: number[]; bytes: number[] } {
  const offsets = values.map((_, i) => values.slice(0, i).flat().length)
  const bytes = values.flat()
  return { offsets: [...offsets, bytes.length], bytes }
}

const array = (...values: number[][]): number[] => {
  const { offsets, bytes } = placed(values)
  return [3, values.length, ...offsets, ...bytes]
}

const object = (ids: number[], ...values: number[][]): number[] => {
  const { offsets, bytes } = placed(values)
  return [2, ids.length, ...ids, ...offsets, ...bytes]
}

const names = (...texts: string[]): Uint8Array => {
  const { offsets, bytes } = placed(texts.map((text) => [...Buffer.from(text)]))
  return Uint8Array.of(1, texts.length, ...offsets, ...bytes)
}

const tree = (element: SchemaElement, ...children: SchemaTree[]): SchemaTree => ({
  element,
  children,
  count: 1,
  path: [element.name],
})

const binary = (name: string) => tree({ name, type: 'BYTE_ARRAY' })
const part = (name: string, value: SchemaTree) => tree({ name }, binary('value'), value)
const variant = (...parts: SchemaTree[]): SchemaTree =>
  tree(
    { name: 'v', logical_type: { type: 'VARIANT' } },
    binary('metadata'),
    binary('value'),
    ...parts,
  )

const rendered = (value: number[], metadata = names('a', 'b')): string =>
  takeRawValues(variant())({ metadata, value: Uint8Array.from(value) })

test.each([
  [typed(0), 'null'],
  [typed(1), 'true'],
  [typed(2), 'false'],
  [typed(3, 0xfb), '-5'],
  [typed(4, 0x2c, 1), '300'],
  [typed(5, ...little(-2147483648n, 4)), '-2147483648'],
  [typed(6, ...little(9223372036854775807n, 8)), '9223372036854775807'],
  [typed(7, 0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f), '0.1'],
  [typed(8, 2, ...little(-150n, 4)), '-1.50'],
  [typed(9, 9, ...little(-123456789987654321n, 8)), '-123456789.987654321'],
  [typed(10, 9, ...little(9876543210123456789n, 16)), '9876543210.123456789'],
  [typed(11, ...little(19_782n, 4)), '"2024-02-29"'],
  [typed(12, ...little(1n, 8)), '"1970-01-01T00:00:00.000001Z"'],
  [typed(13, ...little(-1n, 8)), '"1969-12-31T23:59:59.999999"'],
  [typed(14, 0xcd, 0xcc, 0x8c, 0x3f), '1.1'],
  [typed(16, ...little(2n, 4), 0xc3, 0xa4), '"ä"'],
  [typed(17, ...little(45_234_123_456n, 8)), '"12:33:54.123456"'],
  [typed(18, ...little(1730982834123456789n, 8)), '"2024-11-07T12:33:54.123456789Z"'],
  [typed(19, ...little(-383397965876543211n, 8)), '"1957-11-07T12:33:54.123456789"'],
  [typed(20, ...Array(16).fill(0x0f)), '"0f0f0f0f-0f0f-0f0f-0f0f-0f0f0f0f0f0f"'],
  [short('a"b'), String.raw`"a\"b"`],
  [array(typed(1), array(), short('x')), '[true,[],"x"]'],
  [object([1, 0], typed(3, 1), array(typed(0))), '{"b":1,"a":[null]}'],
])('%j is %s', (value, json) => {
  expect(rendered(value)).toBe(json)
})

test('typed values are taken before bytes, and an object has the members of both', () => {
  const decimal = tree({
    name: 'typed_value',
    type: 'INT64',
    converted_type: 'DECIMAL',
    scale: 2,
  })
  const fields = tree({ name: 'typed_value' }, part('a', decimal), part('c', binary('typed_value')))
  const render = takeRawValues(variant(fields))
  const metadata = names('a', 'b', 'c')
  const of = (typed_value: unknown, value?: number[]): string =>
    render({ metadata, typed_value, value: value && Uint8Array.from(value) })
  const shredded = { a: { typed_value: 12345678901234567n }, c: {} }
  expect(of(shredded)).toBe('{"a":123456789012345.67}')
  expect(of(shredded, object([1], typed(1)))).toBe('{"a":123456789012345.67,"b":true}')
  expect(of({ a: { value: Uint8Array.of(0) }, c: {} })).toBe('{"a":null}')
  expect(of(null, short('x'))).toBe('"x"')
  expect(of(undefined)).toBe('null')
  expect(() => of(shredded, short('x'))).toThrow('an invalid rest')
  expect(() => of({ c: { typed_value: Uint8Array.of(65) } })).toThrow('bytes in a VARIANT')
})

test('typed values in a list', () => {
  const int = tree({ name: 'typed_value', type: 'INT32' })
  const item = tree({ name: 'list', repetition_type: 'REPEATED' }, part('element', int))
  const list = tree({ name: 'typed_value', converted_type: 'LIST' }, item)
  const typed_value = [{ typed_value: 1 }, { value: Uint8Array.from(short('x')) }, {}]
  expect(takeRawValues(variant(list))({ metadata: names(), typed_value })).toBe('[1,"x",null]')
})

test('damaged and unknown values are refused, and work is bounded by their bytes', () => {
  const shared = array(...Array(100).fill([]))
  const deep = [3, 100, ...Array(100).fill(0), shared.length, ...shared]
  for (const value of [
    [3, 200, 0],
    object([7], typed(1)),
    typed(6, 1),
    [3, 1, 9, 9],
    [7, 255],
    [19, 255, 255, 255, 255],
    [3, 2, 0, 0, 3, 3, 1, 0],
    deep,
    [],
  ]) {
    expect(() => rendered(value)).toThrow('a VARIANT that is damaged')
  }
  let nested = typed(0)
  for (let level = 0; level < 66; level++) nested = array(nested)
  expect(() => rendered(nested)).toThrow('a VARIANT that is damaged')
  expect(() => rendered(typed(15, 1, 0, 0, 0, 9))).toThrow('bytes in a VARIANT')
  expect(() => rendered(typed(33))).toThrow('of type 33')
  expect(() => rendered(short('x').with(1, 0xff))).toThrow('bytes that are not UTF-8')
  expect(() => rendered(typed(1), Uint8Array.of(2, 0, 0))).toThrow('version 2')
})
