// Golden records of the logs of tables, and of receipts of earlier versions, which can still be read.
import { describe, expect, test } from 'vitest'
import { type Bytes, toHex, utf8 } from '../../src/base/bytes.js'
import * as keys from '../../src/format/keys.js'
import * as log from '../../src/format/log-records.js'
import { golden, goldenBytes } from './golden-file.js'

const TABLE = utf8('table-key-16byte')
const DIGEST = utf8('a digest is 32 bytes, like this.')
const DETAIL = {
  rows: 2 ** 33,
  about: '{"columns":{"added":["größe"]}}',
  chunks: [
    { serial: '10', rows: 2 ** 32, digest: DIGEST },
    { serial: null, rows: 0, digest: DIGEST },
  ],
}
const SMALL = {
  operation: 'update',
  at: 1_760_000_000_000,
  base: 0,
  counts: { added: 0, changed: 1, removed: 0 },
  author: null,
  note: null,
  detail: null,
} as const
const WHOLE = {
  operation: 'transaction',
  at: 2 ** 47,
  base: 2 ** 32,
  counts: { added: 2 ** 33, changed: 2 ** 34, removed: 2 ** 35 },
  author: 'Zoë',
  note: 'größere Preise',
  detail: DETAIL,
} as const

const GOLDEN: Readonly<Record<string, () => Bytes>> = {
  'log-entry': () => log.encodeLogEntry(SMALL),
  'log-entry-whole': () => log.encodeLogEntry(WHOLE),
  'key-log': () => log.logKey(TABLE, 2 ** 40 + 1),
}

describe('records of the log', () => {
  test.each(Object.entries(GOLDEN))('%s is written as FORMAT.md says', (name, write) => {
    const written = write()

    expect(toHex(written)).toBe(golden(name, written))
  })

  test('are read back to the values that were written', () => {
    expect(log.decodeLogEntry(goldenBytes('log-entry'))).toEqual(SMALL)
    expect(log.decodeLogEntry(goldenBytes('log-entry-whole'))).toEqual(WHOLE)
    expect(log.timeOfLogEntry(goldenBytes('log-entry-whole'))).toBe(WHOLE.at)
    expect(log.versionOfLogKey(goldenBytes('key-log'))).toBe(2 ** 40 + 1)
  })

  test('an entry says each operation by a number of its own', () => {
    const operations = [
      'create',
      'add',
      'overwrite',
      'merge',
      'update',
      'delete',
      'alter',
      'transaction',
    ] as const

    expect(operations.map((operation) => log.encodeLogEntry({ ...SMALL, operation })[1])).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8,
    ])
  })

  test('an entry is refused with another version or operation, and cut anywhere', () => {
    const bytes = goldenBytes('log-entry-whole')
    const refused = expect.objectContaining({ code: 'DATA_CORRUPT' })
    for (const at of [0, 1]) expect(() => log.decodeLogEntry(bytes.with(at, 9))).toThrow(refused)
    for (let length = 0; length < bytes.length; length++) {
      expect(() => log.decodeLogEntry(bytes.slice(0, length))).toThrow(refused)
    }
  })

  test('the entries of a table sort by version', () => {
    const { start, limit } = log.logRange(TABLE, 1)
    const sorted = [start, log.logKey(TABLE, 255), log.logKey(TABLE, 256), limit].map(toHex)

    expect(sorted.toSorted()).toEqual(sorted)
  })
})

describe('receipts of earlier versions', () => {
  test('are read', () => {
    const { about, ...old } = log.decodeOldReceipt(goldenBytes('receipt-merge')).detail

    expect(log.decodeOldReceipt(goldenBytes('receipt'))).toEqual({
      operation: 'overwrite',
      at: 1_760_000_000_000,
      detail: DETAIL,
    })
    expect(old).toEqual({ rows: 6, chunks: [{ serial: null, rows: 6, digest: DIGEST }] })
    expect(JSON.parse(about).merge.key).toEqual(['größe', 'n'])
    expect(log.decodeReceiptList(goldenBytes('receipt-list'))).toEqual([
      { version: 7, base: 0 },
      { version: 2 ** 40 + 1, base: 2 ** 20 },
    ])
    expect(keys.receiptKey(TABLE, 2 ** 40 + 1)).toEqual(goldenBytes('key-receipt'))
    expect(keys.receiptListKey(TABLE)).toEqual(goldenBytes('key-receipt-list'))
  })

  test('are refused when they are cut', () => {
    const bytes = goldenBytes('receipt')
    const refused = expect.objectContaining({ code: 'DATA_CORRUPT' })
    for (let length = 0; length < bytes.length; length++) {
      expect(() => log.decodeOldReceipt(bytes.slice(0, length))).toThrow(refused)
    }
  })
})
