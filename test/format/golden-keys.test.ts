// Golden records of API keys.
import { describe, expect, test } from 'vitest'
import { type Bytes, toHex, utf8 } from '../../src/base/bytes.js'
import { decodeApiKey, encodeApiKey } from '../../src/format/api-key-records.js'
import * as keys from '../../src/format/keys.js'
import { golden, goldenBytes } from './golden-file.js'

const ID = utf8('id-of--8')
const OPEN = {
  digest: utf8('the SHA-256 of a key: 32 bytes.'.padEnd(32, '.')),
  scopes: 0x07,
  createdAt: 1_760_000_000_000,
  expiresAt: 0,
  team: 'Größe',
  label: '',
  tail: 'a-_Z',
  tables: null,
}
const LIMITED = {
  ...OPEN,
  scopes: 0x01,
  expiresAt: 1_790_000_000_000,
  label: 'a report ✓',
  tables: [utf8('table-key-16byte'), utf8('another-16-bytes')],
}

const GOLDEN: Readonly<Record<string, () => Bytes>> = {
  'api-key': () => encodeApiKey(OPEN),
  'api-key-limited': () => encodeApiKey(LIMITED),
  'key-api-key': () => keys.apiKeyKey(ID),
}

describe('records of API keys', () => {
  test.each(Object.entries(GOLDEN))('%s is written as FORMAT.md says', (name, write) => {
    const written = write()

    expect(toHex(written)).toBe(golden(name, written))
  })

  test('are read back to the values that were written', () => {
    expect(decodeApiKey(goldenBytes('api-key'))).toEqual(OPEN)
    expect(decodeApiKey(goldenBytes('api-key-limited'))).toEqual(LIMITED)
    expect(keys.idOfApiKeyKey(goldenBytes('key-api-key'))).toEqual(ID)
  })

  test.each(['api-key', 'api-key-limited'])(
    '%s is refused with another version, an unknown flag, and cut anywhere',
    (name) => {
      const bytes = goldenBytes(name)
      const refused = expect.objectContaining({ code: 'DATA_CORRUPT' })
      expect(() => decodeApiKey(Uint8Array.of(2, ...bytes.subarray(1)))).toThrow(refused)
      expect(() => decodeApiKey(bytes.with(34, 0x02))).toThrow(refused)
      for (let length = 0; length < bytes.length; length++) {
        expect(() => decodeApiKey(bytes.slice(0, length))).toThrow(refused)
      }
    },
  )
})
