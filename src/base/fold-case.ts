// Texts without case, and without accents: two texts that differ in nothing else are folded to the same one. The case
// mapping of the runtime is near Unicode's full case folding (C and F of CaseFolding.txt): where it differs is below.

/** The dotless i of Turkish, whose upper case is that of i, has no other case. */
const DOTLESS = 'ı'

/** The folded form of Cherokee is the upper case. */
const CHEROKEE = /[\u13f8-\u13fd\uab70-\uabbf]+/g

const MARKS = /\p{M}+/gu

/**
 * Unicode's full case folding, of the version that the runtime has: `ẞ` and `ß` are `ss`, `ς` is `σ`. Each code point is
 * folded alone. Linear in the text.
 */
export function foldCase(text: string): string {
  return text.split(DOTLESS).map(foldMapped).join(DOTLESS)
}

function foldMapped(text: string): string {
  const lower = text.toLowerCase().toUpperCase().toLowerCase()
  return lower.replaceAll('ς', 'σ').replace(CHEROKEE, (letters) => letters.toUpperCase())
}

/** Small letters of `à` to `ſ` without a decomposition that Unicode's root collation takes for those of `a` to `z`. */
const PLAIN: Readonly<Record<string, string>> = Object.freeze({
  ...{ æ: 'ae', ð: 'd', ø: 'o', đ: 'd', ħ: 'h', ł: 'l', œ: 'oe' },
})
const LETTERS = /[æðøđħłœ]/g

/**
 * The text without its combining marks after canonical decomposition, composed again: `é` is `e`, and `ø` is `o`. Linear
 * in the text: the runtime sorts long runs of marks slowly, so those are dropped first.
 */
export function dropAccents(text: string): string {
  const plain = text.replace(MARKS, '').normalize('NFD').replace(MARKS, '').normalize('NFC')
  return plain.replace(LETTERS, (letter) => PLAIN[letter] ?? letter)
}

export const FOLDED_GROWTH = 3

/** What of texts is not compared: `noCase` their case; `noAccents` their case and their accents. */
export type Fold = 'noCase' | 'noAccents'

/**
 * Folds each code point alone, but for syllables of Hangul that are not composed. In UTF-8 a text may become
 * `FOLDED_GROWTH` times as long.
 */
export function foldText(fold: Fold, text: string): string {
  const folded = foldCase(text)
  return fold === 'noCase' ? folded : dropAccents(folded)
}
