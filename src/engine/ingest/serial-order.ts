const DIGITS = /^[0-9]+$/

/**
 * The order of the serials of one stash: by number if all are digits, however many, else by code point.
 * `1` and `01` are two serials; equal numbers go by code point. CONTRACT.md, section 7.
 */
export function compareSerials(
  serials: readonly string[],
): (left: string, right: string) => number {
  return serials.every((serial) => DIGITS.test(serial)) ? compareNumbers : compareTexts
}

/** Without leading zeros, more digits are a greater number; no float is involved. */
function compareNumbers(left: string, right: string): number {
  const a = left.replace(/^0+/, '')
  const b = right.replace(/^0+/, '')
  return a.length - b.length || compareTexts(a, b) || compareTexts(left, right)
}

/** Serials are ASCII, so UTF-16 order is code point order. */
function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
