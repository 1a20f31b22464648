// Any code point except surrogates, as the `unit` of `fc.string`. fast-check's unit 'binary' means the same, but takes
// a second to build in each thread.
import fc from 'fast-check'

const SURROGATES = { first: 0xd800, count: 0x800 } as const
const LAST = 0x10_ffff

export const anyCodePoint = fc
  .integer({ min: 0, max: LAST - SURROGATES.count })
  .map((index) => String.fromCodePoint(withoutGap(index)), indexOf)

function withoutGap(index: number): number {
  return index < SURROGATES.first ? index : index + SURROGATES.count
}

/** For shrinking. @throws unless the text is a code point */
function indexOf(text: unknown): number {
  const code = typeof text === 'string' ? text.codePointAt(0) : undefined
  if (code === undefined || text !== String.fromCodePoint(code)) throw new Error('No code point')
  if (code < SURROGATES.first) return code
  if (code < SURROGATES.first + SURROGATES.count) throw new Error('A surrogate')
  return code - SURROGATES.count
}
