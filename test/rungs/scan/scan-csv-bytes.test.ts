// The byte scanner of CSV and TSV against the exact path: it never accepts what that path refuses, and makes the same
// segments of the same row texts, with the same summaries, claims and lines.
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BuilderLimits } from '../../../src/engine/import/columns-of-chunk.js'
import { runOptions } from '../../support/fast-check-options.js'
import { seeded } from '../../support/seeded.js'
import { BUFFERS, readExactly, readQuickly } from './csv-paths.js'
import { type CsvBody, grammarBody, mutatedBody, realFiles, realLines } from './csv-row-bodies.js'

/** Limits that some bodies reach, chosen by the seed. */
function limitsOf(seed: number): BuilderLimits {
  const random = seeded(seed)
  return {
    columnsMax: random.once(10) ? 3 : 30,
    rowBytesMax: random.once(10) ? random.pick([10, 22, 30, 100, 300]) : ROW_BYTES_MAX,
    segmentRowsMax: random.pick([1, 2, 3, 65_536]),
    segmentBytesMax: random.pick([10, 40, 100, 1e9, 1e9]),
  }
}

const ROW_BYTES_MAX = 4_000
const BODIES_A_RUN = 500

/** Counts over all runs, which show whether the bodies were useful. */
const seen = { bodies: 0, accepted: 0, handedOver: 0 }

async function checkBody(body: CsvBody, limits: BuilderLimits, name: string): Promise<void> {
  const expected = readExactly(body, limits)
  const made = await readQuickly(body, limits)
  seen.bodies++
  if (expected !== null) seen.accepted++
  // The scanner may sometimes hand over a valid body, but may accept nothing that the exact path refuses.
  if (made === null && expected !== null) {
    if (limits.rowBytesMax === ROW_BYTES_MAX) seen.handedOver++
  } else if (!isDeepStrictEqual(made, expected)) {
    const text = JSON.stringify(new TextDecoder().decode(body.bytes))
    expect(made, `${name}, ${JSON.stringify(limits)}: ${text}`).toEqual(expected)
    expect.unreachable(name)
  }
}

/** Texts that are arrays of texts, or nearly. */
const NEAR_ARRAYS = [
  '["a"]',
  '["a","b"]',
  '["","é"]',
  '["a"]x',
  '["a"],["b"]',
  '["a" ]',
  '["a", "b"]',
  '["a",]',
  '["a"',
  '["a',
  '[,"a"]',
  '["a"b"]',
  '["a\n"]',
  '["a\t"]',
  '["\\u0041"]',
  '["\\x"]',
  '["a\\"]',
  '["a",1]',
  '["2024-01-01"]',
  '[]',
  '[""]',
  '["a","b"',
  `["${'x'.repeat(4_100)}"]`,
] as const

describe('the byte scanner agrees with the exact path', () => {
  test.each(NEAR_ARRAYS)('of a column with the cell %j among arrays of texts', async (cell) => {
    for (const cells of [[cell], ['["a","b"]', cell], [cell, '["a","b"]', 'x']]) {
      const lines = cells.map((text) => `"${text.replaceAll('"', '""')}",1`)
      const bytes = Buffer.from(['a,b', ...lines].join('\n'))
      const limits = { ...limitsOf(1), columnsMax: 30, rowBytesMax: 10_000 }
      const wide = { ...limits, segmentRowsMax: 65_536, segmentBytesMax: 1e9 }
      await checkBody({ bytes, delimiter: ',' }, wide, cell)
    }
  })

  test('of bodies with many cells, in memory that others had before', async () => {
    const random = seeded(5)
    for (const cells of [7_000, 9_000, 7_000, 60_000, 7_000, 20_000, 150_000, 8_000]) {
      const lines = ['a,b,c,$rowID']
      for (let row = 0; row < cells / 3; row++) {
        const field = (): string =>
          random.pick(['', 'x', '1', '"a""b"', 'é', '\\', '2024-01-01', `${row}`])
        lines.push(`${field()},${field()},${field()},`)
      }
      const bytes = Buffer.from(lines.join('\n'))
      const limits = { ...limitsOf(1), columnsMax: 30, rowBytesMax: ROW_BYTES_MAX }
      const wide = { ...limits, segmentRowsMax: 65_536, segmentBytesMax: 1e9 }
      await checkBody({ bytes, delimiter: ',' }, wide, `${cells} cells`)
    }
    expect(BUFFERS.bytes).toBeGreaterThan(0)
  })

  test('on 100,000 bodies of a grammar and of changed files, a third of them CSV at least', async () => {
    const files = realLines()
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 - 1 }), async (first) => {
        for (let seed = first; seed < first + BODIES_A_RUN; seed += 2) {
          await checkBody(grammarBody(seed), limitsOf(seed), `grammar ${seed}`)
          await checkBody(mutatedBody(seed + 1, files), limitsOf(seed + 1), `changed ${seed + 1}`)
        }
      }),
      { ...runOptions(200), endOnFailure: true },
    )

    expect(seen.accepted / seen.bodies).toBeGreaterThan(0.3)
    expect(seen.handedOver / seen.accepted).toBeLessThan(0.01)
  }, 300_000)

  test('on records of every length near the limit, also when all but the row ID is empty', async () => {
    const id = 'A'.repeat(22)
    const records = ['1,2', '"",""', '1', `,,${id}`, `"","","${id}"`, `,,${id},`, 'é,é', '🚀,"\n"']
    const bodies = records.map((record) => `a,b,$rowID,c\n${record}\n${record}`)
    for (const text of [...bodies, 'a,b', 'a,"b"\n', 'a,b\r\n\r\n']) {
      const body = { bytes: new TextEncoder().encode(text), delimiter: ',' } as const
      for (let rowBytesMax = 1; rowBytesMax < 60; rowBytesMax++) {
        await checkBody(body, { ...limitsOf(1), rowBytesMax }, `limit ${rowBytesMax}`)
      }
    }
  })

  test.each(realFiles().map((file) => [file.name, file] as const))(
    'and accepts all of %s',
    async (_, file) => {
      const limits = {
        columnsMax: 1_000,
        rowBytesMax: 100_000,
        segmentRowsMax: 65_536,
        segmentBytesMax: 300_000,
      }

      const made = await readQuickly(file, limits)

      expect(made).not.toBeNull()
      expect(isDeepStrictEqual(made, readExactly(file, limits))).toBe(true)
    },
  )
})
