// Folds case and accents: texts that differ only in these become equal. The runtime's case mapping is close to
// Unicode's full case folding (C and F of CaseFolding.txt); the differences are handled here.

/** The dotless i of Turkish. Its upper case is that of i, but it has no other case. */
const DOTLESS = 'ı'

/** Small letters of Cherokee, whose folded form is the upper case. */
const CHEROKEE = /[\u13f8-\u13fd\uab70-\uabbf]+/g

const MARKS = /\p{M}+/gu

/**
 * Unicode's full case folding, in the runtime's Unicode version: `ẞ` and `ß` become `ss`, `ς` becomes `σ`. Each code
 * point is folded alone. Linear in the text.
 */
export function foldCase(text: string): string {
  return text.split(DOTLESS).map(foldMapped).join(DOTLESS)
}

function foldMapped(text: string): string {
  const lower = text.toLowerCase().toUpperCase().toLowerCase()
  return lower.replaceAll('ς', 'σ').replace(CHEROKEE, (letters) => letters.toUpperCase())
}

/** Lower-case letters from `à` to `ſ` that do not decompose, but count as `a` to `z` in Unicode's root collation. */
const PLAIN: Readonly<Record<string, string>> = Object.freeze({
  ...{ æ: 'ae', ð: 'd', ø: 'o', đ: 'd', ħ: 'h', ł: 'l', œ: 'oe' },
})
const LETTERS = /[æðøđħłœ]/g

/**
 * The text without combining marks: decomposed canonically, stripped and composed again. `é` becomes `e`, `ø` becomes
 * `o`. Linear in the text: the runtime is slow at sorting long runs of marks, so marks are dropped first.
 */
export function dropAccents(text: string): string {
  const plain = text.replace(MARKS, '').normalize('NFD').replace(MARKS, '').normalize('NFC')
  return plain.replace(LETTERS, (letter) => PLAIN[letter] ?? letter)
}

export const FOLDED_GROWTH = 3

/** What comparisons ignore: with `noCase`, case; with `noAccents`, case and accents. */
export type Fold = 'noCase' | 'noAccents'

/** Folds each code point alone, except uncomposed Hangul syllables. UTF-8 grows to `FOLDED_GROWTH` times at most. */
export function foldText(fold: Fold, text: string): string {
  const folded = foldCase(text)
  return fold === 'noCase' ? folded : dropAccents(folded)
}
