// The byte scanner against the exact path: it never accepts what that path refuses, and makes the same row texts,
// summaries and claims.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonByteScanner } from '../../../src/schema/scan-json-bytes.js'
import { runOptions } from '../../support/fast-check-options.js'
import { LIMITS, readExactly, readQuickly } from './json-paths.js'
import { asPython, grammarBody, mutatedBody, realRows } from './json-row-bodies.js'

const BODIES_A_RUN = 500

/** Counts over all runs, which show whether the bodies were useful. */
const seen = { bodies: 0, accepted: 0, handedOver: 0 }

async function checkBody(bytes: Uint8Array, name: string, segmentRowsMax: number): Promise<void> {
  const expected = readExactly(bytes, segmentRowsMax)
  const made = await readQuickly(bytes, segmentRowsMax)
  seen.bodies++
  if (expected !== null) seen.accepted++
  // The scanner may sometimes hand over a valid body, but may accept nothing that the exact path refuses.
  if (made === null && expected !== null) seen.handedOver++
  else expect(made, `${name}: ${new TextDecoder().decode(bytes)}`).toEqual(expected)
}

describe('the byte scanner agrees with the exact path', () => {
  test('on 100,000 bodies of a grammar and of changed files, a third of them JSON at least', async () => {
    const files = realRows()
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 2 ** 31 - 1 }), async (first) => {
        for (let seed = first; seed < first + BODIES_A_RUN; seed += 2) {
          const segmentRowsMax = seed % 4 < 2 ? LIMITS.segmentRowsMax : 1 + (Math.abs(seed) % 5)
          const body = new TextEncoder().encode(grammarBody(seed))
          await checkBody(body, `grammar ${seed}`, segmentRowsMax)
          await checkBody(mutatedBody(seed + 1, files), `changed ${seed + 1}`, segmentRowsMax)
        }
      }),
      { ...runOptions(200), endOnFailure: true },
    )

    expect(seen.accepted / seen.bodies).toBeGreaterThan(0.3)
    expect(seen.handedOver / seen.accepted).toBeLessThan(0.01)
  }, 300_000)

  test.each([
    ['JSON.stringify', (rows: object[]) => JSON.stringify(rows)],
    ['JSON.stringify with line breaks', (rows: object[]) => JSON.stringify(rows, null, 2)],
    ['json.dumps of Python', (rows: object[]) => asPython(rows)],
  ])('and accepts at least 95 of 100 rows, as %s writes them', async (_, write) => {
    let rows = 0
    let taken = 0
    for (const file of realRows()) {
      const bytes = new TextEncoder().encode(write(file))
      const limits = { columnsMax: 100, rowBytesMax: 100_000 }
      const textOf = (from: number, to: number) =>
        new TextDecoder().decode(bytes.subarray(from, to))
      const scanner = new JsonByteScanner(bytes, limits, textOf)
      for (let step = scanner.next(); step !== 'end'; step = scanner.next()) {
        expect(step).not.toBe('stop')
        rows++
        if (step === 'row') taken++
      }
    }

    expect(rows).toBeGreaterThan(3_000)
    expect(taken / rows).toBeGreaterThan(0.95)
  })
})
