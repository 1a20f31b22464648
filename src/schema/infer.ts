// Infers the type of a column from the summary of all its values (CONTRACT.md, section 3,
// Inference).

import type { ColumnKind, ColumnType } from './column-kind.js'
import { KIND_BIT } from './column-kind.js'
import type { ColumnSummary } from './column-summary.js'
import { SEEN } from './column-summary.js'
import { isDate, isDateTime } from './time-rules.js'
import { isBooleanText, isFiniteToken, isLongInteger, isNumberToken } from './value-rules.js'

const TEXT_KINDS_INFERRED = ['date', 'dateTime'] as const // The narrower kind first: a date is both.

/**
 * The narrowest type of a column's values, or undefined if a value fits no type. In a column inferred as `string`,
 * numbers and booleans still need their text form: see `needsTextForm`.
 */
export function inferType(merged: ColumnSummary): ColumnType | undefined {
  const { seen } = merged
  if (seen & (SEEN.object | SEEN.misfit)) return undefined
  const scalars = seen & (SEEN.number | SEEN.boolean | SEEN.text)
  if (seen & SEEN.array) {
    return scalars === 0
      ? { kind: 'array', items: { kind: inferElementKind(merged) } }
      : { kind: 'string' }
  }
  if (scalars === SEEN.boolean) return { kind: 'boolean' }
  // A long integer in CSV may be an identifier, whose last digits a reader's double would lose.
  if (scalars === SEEN.number) return { kind: seen & SEEN.longInteger ? 'string' : 'number' }
  return { kind: scalars === SEEN.text ? inferTextKind(merged.scalarMask) : 'string' }
}

function inferElementKind({ seen, elementMask }: ColumnSummary): ColumnKind {
  const elements = seen & (SEEN.elementNumber | SEEN.elementBoolean | SEEN.elementText)
  if (elements === SEEN.elementNumber) return 'number'
  if (elements === SEEN.elementBoolean) return 'boolean'
  return elements === SEEN.elementText ? inferTextKind(elementMask) : 'string'
}

function inferTextKind(mask: number): ColumnKind {
  return TEXT_KINDS_INFERRED.find((kind) => (mask & KIND_BIT[kind]) !== 0) ?? 'string'
}

/** The inferred kind of a column whose only value is this JSON string. */
export function kindOfText(text: string): 'date' | 'dateTime' | 'string' {
  if (isDate(text)) return 'date'
  return isDateTime(text) ? 'dateTime' : 'string'
}

/** The inferred kind of a column whose only value is this CSV or TSV field. */
export function kindOfField(text: string): 'number' | 'boolean' | ReturnType<typeof kindOfText> {
  if (isNumberToken(text) && isFiniteToken(text)) return isLongInteger(text) ? 'string' : 'number'
  return isBooleanText(text) ? 'boolean' : kindOfText(text)
}
