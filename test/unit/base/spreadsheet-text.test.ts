// Escaped formulas: no field begins like a formula, and everything else is unchanged.

import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { escapeFormulas } from '../../../src/base/spreadsheet-text.js'
import { runOptions } from '../../support/fast-check-options.js'

async function escaped(text: string, delimiter = ',', size = text.length + 1): Promise<string> {
  const bytes = new TextEncoder().encode(text)
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const found: Uint8Array[] = []
  for await (const piece of escapeFormulas(pieces(), delimiter.charCodeAt(0))) found.push(piece)
  return Buffer.concat(found).toString()
}

test.each([
  ['a,=1+2\n=x,@y\n', "a,'=1+2\n'=x,'@y\n"],
  ['-5,+1.5e3,-x,+49 170,-,--1\n', "-5,+1.5e3,'-x,'+49 170,'-,'--1\n"],
  ['"=1,""2""","a""=","-1"\n', '"\'=1,""2""","a""=","\'-1"\n'],
  ['"\r\n=x",\tx\r\n"",=', '"\'\r\n=x",\'\tx\r\n"",\'='],
  ['-7', '-7'],
])('%j', async (text, expected) => {
  expect(await escaped(text)).toBe(expected)
})

test('fields of tsv are divided by tabs', async () => {
  expect(await escaped('a\t=b\t,=c\n', '\t')).toBe("a\t'=b\t,=c\n")
})

test('any fields in any pieces', async () => {
  const field = fc.string({
    unit: fc.constantFrom('=', '-', '1', 'x', '"', ',', '\n', '\r', '\t', 'é'),
  })
  const rows = fc.array(fc.tuple(field, field), { minLength: 1, maxLength: 4 })
  const write = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  await fc.assert(
    fc.asyncProperty(rows, fc.integer({ min: 1, max: 5 }), async (given, size) => {
      const text = given.map((row) => `${row.map(write).join(',')}\n`).join('')
      const read = parse(await escaped(text, ',', size), { record_delimiter: '\n' }) as string[][]
      const expected = given.map((row) =>
        row.map((cell) => (/^[=+\-@\t\r]/.test(cell) && !/^-1+$/.test(cell) ? `'${cell}` : cell)),
      )
      expect(read).toEqual(expected)
    }),
    runOptions(300),
  )
})
