// Adds the values that a byte scanner found to a column summary.
//
// Invariant: the summary equals that of `summarizeToken` for the same token. The caller passes other values to
// `summarizeToken` as text.
import { KIND_BIT } from './column-kind.js'
import { type ColumnSummary, SEEN } from './column-summary.js'
import { ELEMENT, FORM } from './json-byte-values.js'
import { compactToken } from './scan-json.js'
import { summarizeToken } from './summarize.js'
import { PLAIN_TEXT_KINDS, RULED_TEXT_KINDS, textKindMask } from './value-rules.js'

const NUMBER_KINDS = KIND_BIT.number | KIND_BIT.duration

/**
 * Adds a non-null value to a summary.
 * @param form - FORM.ruledText only if the text fits all kinds with a rule that remain in the summary.
 * @returns true: further values of the same form and elements would not change the summary.
 */
export function summarizeBytes(
  summary: ColumnSummary,
  from: number,
  to: number,
  form: number,
  elements: number,
  textOf: (from: number, to: number) => string,
): boolean {
  switch (form) {
    case FORM.number:
      summary.seen |= SEEN.number | SEEN.scalarToken
      summary.scalarMask &= NUMBER_KINDS
      return true
    case FORM.boolean:
      summary.seen |= SEEN.boolean | SEEN.scalarToken
      summary.scalarMask &= KIND_BIT.boolean
      return true
    case FORM.emptyText:
      summary.seen |= SEEN.emptyText
      return true
    case FORM.ruledText:
      summary.seen |= SEEN.text | SEEN.scalarToken
      summary.scalarMask &= PLAIN_TEXT_KINDS | RULED_TEXT_KINDS
      return true
    case FORM.text:
    case FORM.escapedText: {
      const ruled = summary.scalarMask & RULED_TEXT_KINDS
      if (ruled === 0) {
        summary.scalarMask &= PLAIN_TEXT_KINDS
      } else if (form === FORM.escapedText) {
        summarizeToken(summary, textOf(from, to))
        return false
      } else {
        summary.scalarMask &= textKindMask(textOf(from + 1, to - 1), summary.scalarMask)
      }
      summary.seen |= SEEN.text | SEEN.scalarToken
      return ruled === 0
    }
    case FORM.array:
      if (judgeElementKinds(summary, elements)) return true
      break
    default:
  }
  summarizeToken(summary, compactToken(textOf(from, to)))
  return false
}

/** Judges an array by the forms of its elements. @returns false: whether they fit depends on their content. */
function judgeElementKinds(summary: ColumnSummary, elements: number): boolean {
  const mask = narrowByElements(summary.elementMask, elements)
  if (mask === undefined) return false
  let seen: number = SEEN.array
  if (elements & ELEMENT.text) seen |= SEEN.elementText
  if (elements & ELEMENT.number) seen |= SEEN.elementNumber
  if (elements & ELEMENT.boolean) seen |= SEEN.elementBoolean
  summary.seen |= seen
  summary.elementMask = mask
  return true
}

/** The kinds among `candidates` that elements of these forms fit; undefined: that depends on their content. */
export function narrowByElements(candidates: number, elements: number): number | undefined {
  let mask = candidates
  if (elements & ELEMENT.text) {
    if (mask & RULED_TEXT_KINDS) return undefined
    mask &= PLAIN_TEXT_KINDS
  }
  if (elements & ELEMENT.number) mask &= NUMBER_KINDS
  if (elements & ELEMENT.boolean) mask &= KIND_BIT.boolean
  return mask
}
