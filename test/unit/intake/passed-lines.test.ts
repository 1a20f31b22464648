// Goal: an offset has the same line as in the whole text, whatever its pieces are, and whatever was forgotten.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PassedLines } from '../../../src/intake/passed-lines.js'
import { runOptions } from '../../support/fast-check-options.js'

async function* piecesOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const lineIn = (text: string, offset: number): number =>
  1 +
  (text
    .slice(0, offset)
    .replaceAll('\r\n', '\r')
    .match(/[\r\n]/g)?.length ?? 0)

test('the line of an offset is found', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\r', '\n', '\r\n'), maxLength: 24 })
  const offsets = fc.array(fc.nat(24), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 5 }), offsets, async (whole, size, asked) => {
      const lines = new PassedLines()
      let passed = 0
      let forgotten = 0
      for await (const piece of lines.watch(piecesOf(whole, size))) {
        passed += piece.length
        for (const offset of asked) {
          if (offset < forgotten || offset > passed) continue
          expect(lines.lineAt(offset)).toBe(lineIn(whole, offset))
          if (offset % 3 !== 0) continue
          lines.forget(offset)
          forgotten = offset
        }
      }
      expect(lines.lineAt(99)).toBe(lineIn(whole, 99))
    }),
    runOptions(500),
  )
})
