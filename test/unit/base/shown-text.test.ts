// Goal: outside text, as it is shown to people, neither controls the terminal nor hides, and a line of JSON keeps its
// meaning.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { escapeControls } from '../../../src/base/shown-text.js'
import { runOptions } from '../../support/fast-check-options.js'

test.each([
  ['a control sequence of a terminal', '\u001b[31m', '\\u001b[31m'],
  ['the same in one character', '\u009b31m', '\\u009b31m'],
  ['line breaks', 'a\r\nb\u2028c\u2029d\u0085', 'a\\u000d\\u000ab\\u2028c\\u2029d\\u0085'],
  ['overrides of direction', '\u202egpj.exe\u202c', '\\u202egpj.exe\\u202c'],
  [
    'marks and isolates of direction',
    'a\u200e\u200f\u061c\u2066b',
    'a\\u200e\\u200f\\u061c\\u2066b',
  ],
  [
    'characters without a shape',
    'a\u200bd\u00admin\ufeff\u2060',
    'a\\u200bd\\u00admin\\ufeff\\u2060',
  ],
  ['tags', 'x\u{e0041}', 'x\\udb40\\udc41'],
  ['half of a pair', 'x\ud83d', 'x\\ud83d'],
  ['joiners and selectors that join nothing', 'ad\u200dmin\ufe0f', 'ad\\u200dmin\\ufe0f'],
])('%s is escaped', (_, text, shown) => {
  expect(escapeControls(text)).toBe(shown)
})

test.each(['Größe "x" \\u001b', '👩‍🚀 ❤️', 'می‌خواهم', 'क्‍ष', 'שלום', '日本', 'e\u0301'])(
  'what people write stays: %s',
  (text) => {
    expect(escapeControls(text)).toBe(text)
  },
)

test('JSON with escapes has the same value, and escaping twice changes nothing', () => {
  const nasty = fc.constantFrom(...'\u001b\u202e\u{e0041}\u200d\\"\u007fé\ud83d')
  const any = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })
  const text = fc.string({ unit: fc.oneof(nasty, any) })
  fc.assert(
    fc.property(text, (value) => {
      const shown = escapeControls(JSON.stringify(value))
      expect(JSON.parse(shown)).toBe(value)
      expect(escapeControls(shown)).toBe(shown)
    }),
    runOptions(500),
  )
})
