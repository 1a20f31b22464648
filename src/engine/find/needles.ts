// Needles: bytes that every matching row contains, except perhaps rows with a backslash. Whole frames are searched for
// them.
import { type Bytes, utf8 } from '../../base/bytes.js'
import type { CellTest, Condition } from './condition.js'

/**
 * @property isFolded - Whether ASCII letters may have either case. Then rows with non-ASCII characters may match
 *   without the needle.
 */
export type Needle = Readonly<{ bytes: Bytes; isFolded: boolean }>

/** Maximum number of needles to search for. Each needle takes a separate search. */
export const NEEDLES_MAX = 8

/** Minimum length of a needle, in bytes. Shorter needles occur nearly everywhere. */
const NEEDLE_BYTES_MIN = 3

/**
 * Maximum length of a needle, in bytes. Of a longer one, only the end is searched for. The built-in search of V8 is
 * linear up to 250 bytes; for longer needles chosen for the purpose, it takes the product of both lengths.
 */
const NEEDLE_BYTES_MAX = 128

const NOT_ASCII = /[^\0-\x7f]+/

/**
 * Needles of which every matching row contains at least one, unless the row has a backslash; null: no such needles are
 * known.
 */
export function needlesOf(condition: Condition): readonly Needle[] | null {
  switch (condition.op) {
    case 'cell':
      return needlesOfCell(condition)
    case 'not':
      return null
    case 'any': {
      const parts = condition.conditions.map(needlesOf)
      if (parts.some((needles) => needles === null)) return null
      const all = parts.flatMap((needles) => needles ?? [])
      const unique = new Map(all.map((needle) => [`${needle.isFolded} ${needle.bytes}`, needle]))
      return unique.size > NEEDLES_MAX ? null : [...unique.values()]
    }
    case 'all':
      return condition.conditions.map(needlesOf).reduce(better, null)
  }
}

function needlesOfCell(cell: CellTest): readonly Needle[] | null {
  switch (cell.test) {
    case 'startsWith':
    case 'contains':
      return needles([cell.text], cell.fold !== undefined)
    case 'in':
    case 'has':
      if (cell.comparison === 'text' || cell.comparison === 'date') {
        // The first quote is omitted, because quotes are everywhere.
        const texts = cell.values.map((value) => `${value}"`)
        return needles(texts, cell.fold !== undefined)
      }
      return null
    default:
      return null
  }
}

function needles(texts: readonly string[], isFolded: boolean): readonly Needle[] | null {
  if (texts.length > NEEDLES_MAX) return null
  const found = texts.map((text) => ({
    bytes: utf8(isFolded ? longestAscii(text) : text).slice(-NEEDLE_BYTES_MAX),
    isFolded,
  }))
  return found.every(({ bytes }) => bytes.length >= NEEDLE_BYTES_MIN) ? found : null
}

/** The ASCII part to search for in ASCII rows. Any part will do, so the longest is chosen. */
function longestAscii(text: string): string {
  return text.split(NOT_ASCII).reduce((best, part) => (part.length > best.length ? part : best))
}

/** The shorter list of needles; of two lists of the same length, the list with longer needles. */
function better(
  left: readonly Needle[] | null,
  right: readonly Needle[] | null,
): readonly Needle[] | null {
  if (left === null || right === null) return left ?? right
  if (left.length !== right.length) return left.length < right.length ? left : right
  return shortest(left) >= shortest(right) ? left : right
}

function shortest(needles: readonly Needle[]): number {
  return Math.min(...needles.map(({ bytes }) => bytes.length))
}
