// As golden.test.ts, for the records of receipts.
import { describe, expect, test } from 'vitest'
import { type Bytes, toHex, utf8 } from '../../src/base/bytes.js'
import * as keys from '../../src/format/keys.js'
import {
  decodeReceipt,
  decodeReceiptList,
  encodeReceipt,
  encodeReceiptList,
} from '../../src/format/receipt-records.js'
import { golden, goldenBytes } from './golden-file.js'

const TABLE = utf8('table-key-16byte')
const DIGEST = utf8('a digest is 32 bytes, like this.')
const RECEIPT = {
  operation: 'overwrite',
  at: 1_760_000_000_000,
  versionBefore: 2 ** 40,
  rows: 2 ** 33,
  about: '{"columns":{"added":["größe"]}}',
  chunks: [
    { serial: '10', rows: 2 ** 32, digest: DIGEST },
    { serial: null, rows: 0, digest: DIGEST },
  ],
} as const
const ABOUT_MERGE = {
  columns: { added: [], changed: [], removed: [] },
  dropped: { count: 0, columns: [], first: [] },
  merge: { mode: 'replace', key: ['größe', 'n'], added: 2, changed: 1, unchanged: 3, removed: 4 },
}
const OF_MERGE = {
  operation: 'merge',
  at: 1_760_000_000_001,
  versionBefore: 6,
  rows: 6,
  about: JSON.stringify(ABOUT_MERGE),
  chunks: [{ serial: null, rows: 6, digest: DIGEST }],
} as const
const LIST = [
  { version: 7, base: 0, bytes: 300 },
  { version: 2 ** 40 + 1, base: 2 ** 20, bytes: 2 ** 31 },
]

const GOLDEN: Readonly<Record<string, () => Bytes>> = {
  receipt: () => encodeReceipt(RECEIPT),
  'receipt-merge': () => encodeReceipt(OF_MERGE),
  'receipt-list': () => encodeReceiptList(LIST),
  'key-receipt': () => keys.receiptKey(TABLE, 2 ** 40 + 1),
  'key-receipt-list': () => keys.receiptListKey(TABLE),
}

describe('records of receipts', () => {
  test.each(Object.entries(GOLDEN))('%s is written as FORMAT.md says', (name, write) => {
    const written = write()

    expect(toHex(written)).toBe(golden(name, written))
  })

  test('are read back to the values that were written', () => {
    expect(decodeReceipt(goldenBytes('receipt'))).toEqual(RECEIPT)
    expect(decodeReceipt(goldenBytes('receipt-merge'))).toEqual(OF_MERGE)
    expect(decodeReceiptList(goldenBytes('receipt-list'))).toEqual(LIST)
  })

  test('a receipt is refused with another version or operation, and cut anywhere', () => {
    const bytes = goldenBytes('receipt')
    const refused = expect.objectContaining({ code: 'DATA_CORRUPT' })
    for (const at of [0, 1]) expect(() => decodeReceipt(bytes.with(at, 9))).toThrow(refused)
    for (let length = 0; length < bytes.length; length++) {
      expect(() => decodeReceipt(bytes.slice(0, length))).toThrow(refused)
    }
  })

  test('the list sorts before the receipts of its table', () => {
    expect(toHex(keys.receiptListKey(TABLE)) < toHex(keys.receiptKey(TABLE, 0))).toBe(true)
  })
})
