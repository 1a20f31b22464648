// What the bytes of every row that matches have in them, if they have no backslash: it is searched for in whole frames.
import { type Bytes, utf8 } from '../../base/bytes.js'
import type { CellTest, Condition } from './condition.js'

/** Needles that are searched for at the same time, at most: each is a search of its own. */
export const NEEDLES_MAX = 8

/** Shorter ones stand nearly everywhere. */
const NEEDLE_BYTES_MIN = 3

/**
 * Of longer ones the end is searched for. The built-in search of V8 is linear up to 250 bytes; of longer ones it takes as
 * long as both lengths multiplied, if they are chosen for it.
 */
const NEEDLE_BYTES_MAX = 128

/** Runs of bytes of which every row that matches has one, unless it has a backslash; null: unknown. */
export function needlesOf(condition: Condition): readonly Bytes[] | null {
  switch (condition.op) {
    case 'cell':
      return needlesOfCell(condition)
    case 'not':
      return null
    case 'any': {
      const parts = condition.conditions.map(needlesOf)
      if (parts.some((needles) => needles === null)) return null
      const all = parts.flatMap((needles) => needles ?? [])
      return all.length > NEEDLES_MAX ? null : all
    }
    case 'all':
      return condition.conditions.map(needlesOf).reduce(better, null)
  }
}

function needlesOfCell(cell: CellTest): readonly Bytes[] | null {
  if ('fold' in cell) return null // The text of a row may be any that is folded to the same.
  switch (cell.test) {
    case 'startsWith':
    case 'contains':
      return needles([cell.text])
    case 'in':
    case 'has':
      if (cell.comparison === 'text' || cell.comparison === 'date') {
        return needles(cell.values.map((value) => `${value}"`)) // Not from the first quote on: those are everywhere.
      }
      return null
    default:
      return null
  }
}

function needles(texts: readonly string[]): readonly Bytes[] | null {
  if (texts.length > NEEDLES_MAX) return null
  const found = texts.map((text) => utf8(text).slice(-NEEDLE_BYTES_MAX))
  return found.every((bytes) => bytes.length >= NEEDLE_BYTES_MIN) ? found : null
}

/** Those that are fewer, and then the longer ones. */
function better(
  left: readonly Bytes[] | null,
  right: readonly Bytes[] | null,
): readonly Bytes[] | null {
  if (left === null || right === null) return left ?? right
  if (left.length !== right.length) return left.length < right.length ? left : right
  return shortest(left) >= shortest(right) ? left : right
}

function shortest(needles: readonly Bytes[]): number {
  return Math.min(...needles.map(({ length }) => length))
}
