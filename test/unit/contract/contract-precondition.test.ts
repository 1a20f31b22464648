import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { createContract } from '../../../src/contract/contract.js'
import { parseIfMatch, renderETag } from '../../../src/contract/http/precondition.js'
import { openMemory } from '../../../src/index.js'
import { runOptions } from '../../support/fast-check-options.js'

const given = (...values: string[]) => values.map((value): [string, string] => ['If-Match', value])

test('without the header there is no precondition', () => {
  expect(parseIfMatch([])).toBeUndefined()
  expect(parseIfMatch([['if-none-match', '"1"']])).toBeUndefined()
})

test('a version of any number of digits is that number', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 300n }), fc.nat(50), (version, zeros) => {
      expect(parseIfMatch(given(`"${'0'.repeat(zeros)}${version}"`))).toBe(version)
    }),
    runOptions(500),
  )
})

test('beyond 400 digits the number only has to stay larger than any version', () => {
  const huge = parseIfMatch(given(`"${'1'.repeat(100_000)}"`)) ?? 0n
  expect(huge > BigInt(Number.MAX_SAFE_INTEGER)).toBe(true)
})

test('a header of zeros is refused in one pass: by pairs of them it would take minutes', () => {
  expect(() => parseIfMatch(given(`"${'0'.repeat(1_000_000)}`))).toThrow(
    /^Invalid request headers: /,
  )
})

test.each([
  '*',
  '1',
  '"1',
  '1"',
  '""',
  '"a"',
  '"-1"',
  '"+1"',
  '"1.0"',
  '"1e3"',
  'W/"1"',
  '"1","2"',
  '" 1"',
  "'1'",
  '"١"',
  '"1"\n"2"',
  '',
])('If-Match %j breaks its rule', (value) => {
  expect(() => parseIfMatch(given(value))).toThrow(
    expect.objectContaining({ code: 'REQUEST_VALIDATION_ERROR' }),
  )
})

test('two If-Match headers are refused, even equal ones', () => {
  expect(() => parseIfMatch(given('"1"', '"1"'))).toThrow(/^Invalid request headers: /)
})

test('what an ETag shows, If-Match takes', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (version) => {
      expect(parseIfMatch(given(renderETag(version)))).toBe(BigInt(version))
    }),
    runOptions(500),
  )
})

test('a page that the client has costs no row, wherever it begins', async () => {
  const store = await openMemory()
  onTestFinished(() => store.close())
  const rows = Array.from({ length: 1_000 }, (_, n) => ({ n }))
  const { tableId, version } = await store.team('t').createTable({ name: 'T', rows })
  const contract = createContract(store, { keys: [{ key: 'k'.repeat(16), teamId: 't' }] })
  const ask = (query: string, method = 'GET') => {
    const headers = [
      ['authorization', `Bearer ${'k'.repeat(16)}`],
      ['if-none-match', renderETag(version)],
    ] as const
    const body = (async function* () {})()
    return contract.handle({ method, path: `/tables/${tableId}/rows`, query, headers, body })
  }
  const readBefore = store.activity()

  for (const query of ['', 'limit=10', 'from=900', 'where={"n":{"gt":5}}', 'columns=n']) {
    expect(await ask(query)).toMatchObject({ status: 304, body: null })
  }
  const { rowsOut, segmentBytesRead } = store.activity()
  expect({ rowsOut, segmentBytesRead }).toEqual({
    rowsOut: readBefore.rowsOut,
    segmentBytesRead: readBefore.segmentBytesRead,
  })
  await store
    .team('t')
    .table(tableId)
    .addRows([{ n: 1 }])
  expect(await ask('limit=10')).toMatchObject({ status: 200 })
})
