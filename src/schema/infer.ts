// Infers the type of a column from the summary of all its values (CONTRACT.md, section 3,
// Inference).

import type { ColumnKind, ColumnType } from './column-kind.js'
import { KIND_BIT } from './column-kind.js'
import type { ColumnSummary } from './column-summary.js'
import { SEEN } from './column-summary.js'
import { isDate, isDateTime } from './time-rules.js'
import { isBooleanText, isFiniteToken, isLongInteger, isNumberToken } from './value-rules.js'

const TEXT_KINDS_INFERRED = ['date', 'dateTime'] as const // The narrower one first: a date is both.

/**
 * The type that the values of a column show, or undefined when one of them fits no type. Numbers and
 * booleans in a column inferred as `string` do not fit it yet: see `needsTextForm`.
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
  // A long integer of CSV may be an identifier, and a reader's double would damage it.
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

/** The kind that inference gives a column whose only value is this string of JSON. */
export function kindOfText(text: string): 'date' | 'dateTime' | 'string' {
  if (isDate(text)) return 'date'
  return isDateTime(text) ? 'dateTime' : 'string'
}

/** The kind that inference gives a column whose only value is this field of CSV or TSV. */
export function kindOfField(text: string): 'number' | 'boolean' | ReturnType<typeof kindOfText> {
  if (isNumberToken(text) && isFiniteToken(text)) return isLongInteger(text) ? 'string' : 'number'
  return isBooleanText(text) ? 'boolean' : kindOfText(text)
}
