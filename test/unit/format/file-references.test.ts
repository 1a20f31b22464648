// Goal: the finder finds the file IDs that rows name, compared with an oracle that parses each row and checks every
// position of every string.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareBytes, concatBytes, toHex, utf8 } from '../../../src/base/bytes.js'
import { parseFileId, renderFileId } from '../../../src/format/file-id.js'
import { FileIds, filesIn, listedFiles, nameFiles } from '../../../src/format/file-references.js'
import { decodeFooter, footerRange } from '../../../src/format/segment-reader.js'
import { SegmentBuilder } from '../../../src/format/segment-writer.js'
import { runOptions } from '../../support/fast-check-options.js'
import { runs } from '../../support/runs.js'

const OBJECT = '00112233445566770000000000000001'

/** IDs of few files, so that rows often name the same one. */
const ID_COUNT = 40

function idOf(index: number): string {
  const alias = Uint8Array.of(0xff, 0xfb, 3, 4, 5, 6, 7, 8) // Its text contains `-` and `_`.
  const key = Uint8Array.from({ length: 16 }, (_, i) => (index * 101 + i * i * 7 + 3) & 0xff)
  return renderFileId({ alias, key })
}

const anyId = fc.integer({ min: 0, max: ID_COUNT - 1 }).map(idOf)

/** In forms that a serializer may use: some characters escaped, with digits of either case. */
const escapedId = fc
  .tuple(anyId, fc.array(fc.nat(35), { minLength: 1, maxLength: 36 }), fc.boolean())
  .map(([id, places, isUpper]) =>
    [...id].map((char, i) => (places.includes(i) ? escapeOf(char, isUpper) : char)).join(''),
  )

function escapeOf(char: string, isUpper: boolean): string {
  const digits = char.charCodeAt(0).toString(16).padStart(4, '0')
  return `\\u${isUpper ? digits.toUpperCase() : digits}`
}

/** Texts that look like an ID and are none, or are one by chance. */
const nearMiss = fc.oneof(
  anyId.map((id) => id.slice(0, 35)),
  anyId.map((id) => id.slice(1)),
  anyId.map((id) => `RSF-${id.slice(4)}`),
  anyId.map((id) => `rsu-${id.slice(4)}`),
  anyId.map((id) => `${id.slice(0, 20)}.${id.slice(21)}`),
  anyId.map((id) => `${id.slice(0, 20)}\\n${id.slice(21)}`),
  anyId.map((id) => `${id.slice(0, 20)}\\u00e9${id.slice(21)}`),
  anyId.map((id) => `\\${id}`), // A carriage return, then `sf-…`.
  anyId.map((id) => `\\\\${id}`),
  anyId.map((id) => `\\\\u0072${id.slice(1)}`), // A backslash, then `u0072sf-…`.
  anyId.map((id) => `\\\\\\u0072${id.slice(1)}`),
  anyId.map((id) => `${id}${id.slice(0, 30)}`),
  anyId.map((id) => `rsf-${id}`),
  anyId.map((id) => `rsf-rsf-${id.slice(4, 32)}`),
)

const plain = fc.oneof(
  fc.constantFrom('', ' ', 'x', '/files/', 'https://a.example/files/', '-', 'rsf-', 'r', 'rs', '"'),
  fc.constantFrom('\\u4f60\\u597d', '\\u003c', 'é', '🚀', '\\/', '\\\\', '\\"', '\\r', '\\u0041'),
  fc.constantFrom('550e8400-e29b-41d4-a716-446655440000', 'A'.repeat(70), '_'.repeat(36)),
  fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text).slice(1, -1)),
)

const piece = fc.oneof(
  { weight: 3, arbitrary: anyId },
  { weight: 2, arbitrary: escapedId },
  { weight: 2, arbitrary: nearMiss },
  { weight: 5, arbitrary: plain.map((text) => text.replace(/^"$/, '\\"')) },
)

const stringToken = fc.array(piece, { maxLength: 4 }).map((pieces) => `"${pieces.join('')}"`)

const token = fc.oneof(
  { weight: 4, arbitrary: stringToken },
  { weight: 2, arbitrary: fc.constantFrom('12', '-3.5e10', 'true', '[]', '{"a":[1]}') },
  {
    weight: 2,
    arbitrary: fc.array(stringToken, { maxLength: 3 }).map((tokens) => `[${tokens.join(',')}]`),
  },
  { weight: 1, arbitrary: stringToken.map((text) => `{"k":[[${text}]]}`) },
)

const rowText = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .array(token, { maxLength: 4 })
      .map((tokens) => tokens.map((text, i) => `"c${i}":${text}`).join(',')),
  },
  { weight: 1, arbitrary: anyId.map((id) => `"${id}":1`) },
)

/** The oracle. Names are hex: alias and key. */
function namedBy(row: string): Set<string> {
  const named = new Set<string>()
  const search = (text: string): void => {
    for (let i = 0; i < text.length; i++) {
      const id = parseFileId(text.slice(i, i + 36))
      if (id !== null) named.add(toHex(concatBytes([id.alias, id.key])))
    }
  }
  const visit = (value: unknown): void => {
    if (typeof value === 'string') search(value)
    else if (Array.isArray(value)) value.forEach(visit)
    else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        search(key)
        visit(inner)
      }
    }
  }
  visit(JSON.parse(`{${row}}`))
  search(row) // in stored form
  return named
}

function listOf(ids: FileIds): string[] {
  const list = ids.encode()
  return Array.from({ length: list.length / 24 }, (_, i) =>
    toHex(list.subarray(24 * i, 24 * i + 24)),
  )
}

describe('the finder', () => {
  test('finds what an oracle finds that parses each row', () => {
    let rows = 0
    let naming = 0
    fc.assert(
      fc.property(fc.array(rowText, { minLength: 25, maxLength: 40 }), (texts) => {
        for (const text of texts) {
          const ids = new FileIds(1_000)
          ids.note(utf8(text))
          const expected = [...namedBy(text)].sort()
          const found = listOf(ids)
          if (found.join() !== expected.join()) expect(found, text).toEqual(expected)
          if (nameFiles(utf8(text)) !== expected.length > 0) expect.fail(`nameFiles: ${text}`)
          rows++
          if (expected.length > 0) naming++
        }
      }),
      runOptions(900),
    )
    expect(rows).toBeGreaterThanOrEqual(25 * runs(900))
    expect(naming / rows).toBeGreaterThan(0.2)
    expect(naming / rows).toBeLessThan(0.9)
  })

  test('finds in the rows of a frame, one after the other, what it finds in each', () => {
    fc.assert(
      fc.property(fc.array(rowText, { maxLength: 30 }), (texts) => {
        const ids = new FileIds(1_000)
        ids.note(utf8(texts.join('')))
        const expected = new Set(texts.flatMap((text) => [...namedBy(text)]))

        expect(listOf(ids)).toEqual([...expected].sort())
      }),
      runOptions(100),
    )
  })

  test('tells of each file by its key', () => {
    const text = utf8(`"a":"${idOf(1)}","b":["${idOf(2)}","${idOf(1)}"]`)
    const keyOf = (index: number): Uint8Array | undefined => parseFileId(idOf(index))?.key

    expect([...filesIn(text)]).toEqual([keyOf(1), keyOf(2), keyOf(1)])
  })

  test.each(['', 'r', idOf(1).slice(0, 35), '\\', '\\u', '\\u00'])(
    'reads no further than the end of the text: %j',
    (text) => {
      expect(nameFiles(utf8(text))).toBe(false)
    },
  )
})

describe('a segment', () => {
  async function build(
    texts: readonly string[],
  ): Promise<Readonly<{ files: Uint8Array | null; found: FileIds }>> {
    const builder = new SegmentBuilder(OBJECT, 64, 'none')
    for (const text of texts) builder.add(text)
    const { bytes, footerBytes, files: found } = await builder.finish([], [])
    const ref = {
      object: OBJECT,
      rowCount: texts.length,
      objectBytes: bytes.length,
      footerBytes,
    }
    const { start, limit } = footerRange(ref)
    return { files: decodeFooter(ref, bytes.subarray(start, limit)).files, found }
  }

  test('lists what the rows of all its frames name, once and ascending', async () => {
    const rows = Array.from({ length: 300 }, (_, i) => `"n":${i},"f":"${idOf((7 * i) % 30)}"`)
    const { files, found } = await build([...rows, '"n":300'])
    const listed = [...listedFiles(files ?? new Uint8Array())]

    expect(listed).toHaveLength(30)
    expect(found.encode()).toEqual(files)
    expect(listed).toEqual([...listed].sort(compareBytes)) // All IDs of this test have one alias.
  })

  test('has no list if its rows name none', async () => {
    expect((await build(['"n":1', '', '"t":"rsf-no"'])).files).toBeNull()
  })

  test('says so with an empty list if its rows name more than it lists', async () => {
    const ids = Array.from({ length: 66_000 }, (_, i) => {
      return renderFileId({ alias: new Uint8Array(8), key: keyOfNumber(i) })
    })
    const rows = Array.from({ length: 660 }, (_, row) => {
      return `"f":${JSON.stringify(ids.slice(100 * row, 100 * row + 100))}`
    })

    const { files, found } = await build(rows)

    expect(files).toEqual(new Uint8Array())
    expect([found.isEmpty, found.isOverfull]).toEqual([false, true])
  })
})

function keyOfNumber(number: number): Uint8Array {
  const key = new Uint8Array(16)
  new DataView(key.buffer).setUint32(0, number)
  return key
}

describe('a set of file IDs', () => {
  test('that takes over an overfull one is overfull too', () => {
    const small = new FileIds(1)
    small.note(utf8(`"a":"${idOf(1)}"`))
    expect([small.isOverfull, [...small.keys()].length]).toEqual([false, 1])
    small.note(utf8(`"a":"${idOf(2)}"`))
    const large = new FileIds(100)
    large.note(utf8(`"a":"${idOf(3)}"`))

    large.addAll(small)

    expect([large.isOverfull, large.isEmpty, [...large.keys()]]).toEqual([true, false, []])
  })
})
