// Goal: texts are folded by Unicode's rules, code point by code point, whatever Unicode version the runtime has.
import process from 'node:process'
import { expect, test } from 'vitest'
import { dropAccents, FOLDED_GROWTH, foldCase } from '../../../src/base/fold-case.js'
import { readCaseFolding, UNICODE_VERSION } from './case-folding.js'

test('each code point is folded as CaseFolding.txt says', () => {
  const folded = readCaseFolding()
  const isNewer = Number.parseInt(process.versions['unicode'] ?? '0', 10) > UNICODE_VERSION
  // Both the runtime and the table know the code points.
  const isKnown = (text: string): boolean => (folded.has(text) ? !/\p{Cn}/u.test(text) : !isNewer)

  expect(folded.size).toBe(1_585)
  expectFolded(codePoints().filter(isKnown), foldCase, (text) => folded.get(text) ?? text)
})

test('a text is folded as its code points are, whatever stands beside them', () => {
  const letters = [..."aİıIßẞſKΣςσᾼᾳŉﬃՙꭰᏸᏰ𐐀́ʼ'. "]
  for (const first of letters) {
    for (const second of letters) {
      const wanted = foldCase('Α') + foldCase(first) + foldCase(second) + foldCase('Σ')

      expect(foldCase(`Α${first}${second}Σ`)).toBe(wanted)
    }
  }
})

test('no code point becomes longer than three times its bytes', () => {
  const grown = codePoints().filter((text) => {
    return Buffer.byteLength(foldCase(text)) > FOLDED_GROWTH * Buffer.byteLength(text)
  })

  expect(grown).toEqual([])
})

test('accents are the marks of the decomposed text, and what makes another letter of one of a to z', () => {
  const { compare } = new Intl.Collator('und', { sensitivity: 'base' })
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(97 + at))
  const plain = [...letters, ...letters.flatMap((one) => letters.map((other) => one + other))]
  const small = codePoints().filter(
    (text) => text >= 'à' && text < 'ſ' && text !== text.toUpperCase(),
  )
  const meant = new Map(
    small
      .filter((text) => text !== 'ß' && text.normalize('NFKD') === text)
      .map((text) => [text, plain.find((one) => compare(one, text) === 0) ?? text]),
  )
  expectFolded(codePoints(), dropAccents, (text) => {
    const bare = text.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC')
    return meant.get(bare) ?? bare
  })
  expect(dropAccents('søren łukasz œuf')).toBe('soren lukasz oeuf')
  expect(dropAccents('Crème brûlée, Ångström, Việt Nam, 각')).toBe(
    'Creme brulee, Angstrom, Viet Nam, 각',
  )
})

/** Folds all texts at once, and one at a time only if the result is wrong. */
function expectFolded(
  texts: readonly string[],
  fold: (text: string) => string,
  wantedOf: (text: string) => string,
): void {
  const wanted = texts.map(wantedOf)
  const isSame = fold(texts.join('\n')) === wanted.join('\n')

  expect(isSame ? [] : texts.filter((text, at) => fold(text) !== wanted[at])).toEqual([])
}

/** The code points of the first three planes: those beyond have neither case nor accents. */
function codePoints(): string[] {
  const codes = Array.from({ length: 0x30000 }, (_, code) => code)
  return codes
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
}
