// Checks values: a single value against a type, or many values through a column summary.
//
// Invariant: for every type, `summaryFits` is true exactly if each value added to the summary fits by `tokenFits` or
// `textFieldFits`.

import { LOWER_F, LOWER_N, LOWER_T, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../base/ascii.js'
import type { Steps } from '../base/time-slices.js'
import { isWellFormed } from '../base/well-formed.js'
import type { ColumnKind, ColumnType } from './column-kind.js'
import { ALL_KINDS, KIND_BIT } from './column-kind.js'
import type { ColumnSummary } from './column-summary.js'
import { SEEN } from './column-summary.js'
import { isNested } from './json-cursor.js'
import {
  checkedBit,
  isBooleanText,
  isFiniteToken,
  isNumberToken,
  numberTokenOf,
  PLAIN_TEXT_KINDS,
  RULED_TEXT_KINDS,
  seenOfText,
  textKindMask,
} from './value-rules.js'

const NUMBER_KINDS = KIND_BIT.number | KIND_BIT.duration

export function newSummary(id: string): ColumnSummary {
  return { id, scalarMask: ALL_KINDS, elementMask: ALL_KINDS, seen: 0 }
}

/**
 * Adds one JSON value to a summary.
 *
 * @param token - A valid JSON token without white space around it.
 */
export function summarizeToken(summary: ColumnSummary, token: string): void {
  switch (token.charCodeAt(0)) {
    case QUOTE:
      judgeStringToken(summary, token)
      return
    case OPEN_BRACKET:
      judgeArray(summary, token)
      return
    case OPEN_BRACE:
      summary.seen |= SEEN.object
      return
    case LOWER_T:
    case LOWER_F:
      summary.seen |= SEEN.boolean | SEEN.scalarToken
      summary.scalarMask &= KIND_BIT.boolean
      return
    case LOWER_N:
      return // Empty cells are ignored.
    default:
      if (!isFiniteToken(token)) {
        summary.seen |= SEEN.misfit
        return
      }
      summary.seen |= SEEN.number | SEEN.scalarToken
      summary.scalarMask &= NUMBER_KINDS
  }
}

/** Adds a JSON value to a summary. An array is added in steps. */
export function* summarizeTokenInSteps(summary: ColumnSummary, token: string): Steps<void> {
  if (token.charCodeAt(0) !== OPEN_BRACKET) {
    summarizeToken(summary, token)
    return
  }
  const judging = beginArray(summary, token)
  while (summarizeElements(judging)) yield STEP_WORK
  endArray(summary, judging)
}

function judgeStringToken(summary: ColumnSummary, token: string): void {
  if (token === '""') {
    summary.seen |= SEEN.emptyText
    return
  }
  // Plain text is the common case: if no rule remains to check, its content need not be decoded.
  if ((summary.scalarMask & RULED_TEXT_KINDS) === 0 && !token.includes('\\u')) {
    if (isWellFormed(token)) {
      summary.seen |= SEEN.text | SEEN.scalarToken
      summary.scalarMask &= PLAIN_TEXT_KINDS
    } else {
      summary.seen |= SEEN.misfit
    }
    return
  }
  const text = stringOfToken(token)
  if (!isWellFormed(text)) {
    summary.seen |= SEEN.misfit
    return
  }
  summary.seen |= SEEN.text | SEEN.scalarToken
  summary.scalarMask &= textKindMask(text, summary.scalarMask)
}

function judgeArray(summary: ColumnSummary, token: string): void {
  const judging = beginArray(summary, token)
  while (summarizeElements(judging));
  endArray(summary, judging)
}

function beginArray({ elementMask }: ColumnSummary, token: string): SummarizedElements {
  return { elements: elementValues(token), at: 0, mask: elementMask, seen: 0 }
}

/** The elements of an array. If some are arrays or objects, which fit no kind, nothing is parsed, to save the time. */
function elementValues(array: string): readonly unknown[] {
  return isNested(array) ? NESTED : (JSON.parse(array) as unknown[])
}

const NESTED: readonly unknown[] = [[]]

function endArray(summary: ColumnSummary, { mask, seen }: SummarizedElements): void {
  if (seen & SEEN.misfit) {
    summary.seen |= SEEN.misfit
    return
  }
  summary.seen |= SEEN.array | seen
  summary.elementMask = mask
}

/**
 * The elements of an array, and the summary of the elements before `at`. `seen` has SEEN.misfit if an element fits no
 * kind.
 */
type SummarizedElements = {
  readonly elements: readonly unknown[]
  at: number
  mask: number
  seen: number
}

/** The unit of work is a character; each element adds `ELEMENT_WORK`. A step ends after `STEP_WORK`. */
const STEP_WORK = 4 * 1024
const ELEMENT_WORK = 16

/** Judges more elements of an array. @returns whether some remain */
function summarizeElements(judging: SummarizedElements): boolean {
  const { elements } = judging
  let { at, mask, seen } = judging
  for (let work = 0; at < elements.length && work < STEP_WORK; at++) {
    const element = elements[at]
    work += workOfElement(element)
    if (typeof element === 'string' && isWellFormed(element)) {
      seen |= SEEN.elementText
      mask = textKindMask(element, mask)
    } else if (typeof element === 'number' && Number.isFinite(element)) {
      seen |= SEEN.elementNumber
      mask &= NUMBER_KINDS
    } else if (typeof element === 'boolean') {
      seen |= SEEN.elementBoolean
      mask &= KIND_BIT.boolean
    } else {
      at = elements.length
      seen |= SEEN.misfit
    }
  }
  judging.at = at
  judging.mask = mask
  judging.seen = seen
  return at < elements.length
}

function workOfElement(element: unknown): number {
  return typeof element === 'string' ? ELEMENT_WORK + element.length : ELEMENT_WORK
}

/**
 * Adds one field of CSV or TSV to a summary.
 *
 * @param text - The unquoted field. It must not be empty: an empty field is an empty cell.
 */
export function summarizeText(summary: ColumnSummary, text: string): void {
  summarizeScalarText(summary, text)
  const { elementMask } = summary
  if (elementMask !== 0) summary.elementMask = fieldElementMask(text, elementMask)
}

/** Adds a CSV or TSV field to a summary. A field that spells an array is added in steps. */
export function* summarizeTextInSteps(summary: ColumnSummary, text: string): Steps<void> {
  summarizeScalarText(summary, text)
  const { elementMask } = summary
  if (elementMask === 0) return
  const judging = beginField(text, elementMask)
  while (summarizeElements(judging)) yield STEP_WORK
  summary.elementMask = maskOf(judging)
}

function summarizeScalarText(summary: ColumnSummary, text: string): void {
  summary.seen |= SEEN.fromText | seenOfText(text)
  summary.scalarMask &= fieldKindMask(text, summary.scalarMask)
}

/** The kinds among `candidates` that a CSV or TSV field fits. */
function fieldKindMask(text: string, candidates: number): number {
  let mask = textKindMask(text, candidates)
  if (candidates & KIND_BIT.number && numberTokenOf(text) !== undefined) mask |= KIND_BIT.number
  if (candidates & KIND_BIT.boolean && isBooleanText(text)) mask |= KIND_BIT.boolean
  // Only numbers may have spaces around them: a duration is stored unchanged.
  if (candidates & KIND_BIT.duration && isNumberToken(text) && isFiniteToken(text)) {
    mask |= KIND_BIT.duration
  }
  return mask
}

/** The kinds among `candidates` that fit the array spelled by a CSV or TSV field. */
function fieldElementMask(text: string, candidates: number): number {
  const judging = beginField(text, candidates)
  while (summarizeElements(judging));
  return maskOf(judging)
}

function beginField(text: string, candidates: number): SummarizedElements {
  const elements = arrayOfText(text)
  if (elements === undefined) return { elements: [], at: 0, mask: 0, seen: 0 }
  return { elements, at: 0, mask: candidates, seen: 0 }
}

function maskOf({ mask, seen }: SummarizedElements): number {
  return seen & SEEN.misfit ? 0 : mask
}

/** The array that a CSV or TSV text spells as JSON; undefined: none. */
function arrayOfText(text: string): readonly unknown[] | undefined {
  if (!/^[ \t\r\n]*\[/.test(text)) return undefined
  try {
    return elementValues(text)
  } catch {
    return undefined // It only begins like an array.
  }
}

/** Whether one JSON value fits the type. `null` and `""` are empty cells and fit every type. */
export function tokenFits(type: ColumnType, token: string, formatChecks: boolean): boolean {
  const first = token.charCodeAt(0)
  if (first === LOWER_N || token === '""') return true
  if (first === OPEN_BRACE) return false
  if (type.kind === 'array') {
    return (
      first === OPEN_BRACKET && elementsFit(type.items.kind, elementValues(token), formatChecks)
    )
  }
  if (first === OPEN_BRACKET) return false
  return valueFits(JSON.parse(token), checkedBit(type.kind, formatChecks))
}

/** Whether one field of CSV or TSV fits the type. An empty field is an empty cell and fits. */
export function textFieldFits(type: ColumnType, text: string, formatChecks: boolean): boolean {
  if (text === '') return true
  if (type.kind === 'array') {
    const elements = arrayOfText(text)
    return elements !== undefined && elementsFit(type.items.kind, elements, formatChecks)
  }
  const bit = checkedBit(type.kind, formatChecks)
  return fieldKindMask(text, bit) === bit
}

/** Whether a JSON value, or a CSV or TSV field, fits the type. An array is checked in steps. */
export function* fitsInSteps(
  type: ColumnType,
  text: string,
  formatChecks: boolean,
  isField: boolean,
): Steps<boolean> {
  const fits = isField ? textFieldFits : tokenFits
  const elements = type.kind === 'array' ? arrayOfText(text) : undefined
  if (type.kind !== 'array' || elements === undefined) return fits(type, text, formatChecks)
  const bit = checkedBit(type.items.kind, formatChecks)
  let work = 0
  for (const element of elements) {
    if (!valueFits(element, bit)) return false
    work += workOfElement(element)
    if (work < STEP_WORK) continue
    yield work
    work = 0
  }
  return true
}

function elementsFit(kind: ColumnKind, elements: unknown, formatChecks: boolean): boolean {
  const bit = checkedBit(kind, formatChecks)
  return Array.isArray(elements) && elements.every((element) => valueFits(element, bit))
}

function valueFits(value: unknown, bit: number): boolean {
  if (typeof value === 'string') return textKindMask(value, bit) === bit && isWellFormed(value)
  if (typeof value === 'number') return Number.isFinite(value) && (bit & NUMBER_KINDS) !== 0
  return typeof value === 'boolean' && bit === KIND_BIT.boolean
}

/** Whether every value in the summary fits the type. */
export function summaryFits(
  type: ColumnType,
  summary: ColumnSummary,
  formatChecks: boolean,
): boolean {
  const { seen } = summary
  if (seen & (SEEN.object | SEEN.misfit)) return false
  if (type.kind === 'array') {
    if (seen & SEEN.scalarToken) return false
    return (summary.elementMask & checkedBit(type.items.kind, formatChecks)) !== 0
  }
  if (seen & SEEN.array) return false
  return (summary.scalarMask & checkedBit(type.kind, formatChecks)) !== 0
}

/**
 * Whether a chunk stores tokens that a reader must quote for the column's type: `12` in a column of a text kind.
 * Durations may be numbers or text.
 *
 * @param summary - The summary of one chunk, or of several chunks merged. For several, the result is true if one of
 *   them stores such tokens.
 */
export function needsTextForm(type: ColumnType, summary: ColumnSummary): boolean {
  const { seen } = summary
  if (type.kind === 'array') {
    const bare = SEEN.elementNumber | SEEN.elementBoolean
    return isQuotedKind(type.items.kind) && (seen & bare) !== 0
  }
  let bare: number = SEEN.array | SEEN.storedNumbers | SEEN.storedBooleans
  // CSV text is stored as a string unless `storedNumbers` or `storedBooleans` is set.
  if ((seen & SEEN.fromText) === 0 || (seen & SEEN.scalarToken) !== 0) {
    bare |= SEEN.number | SEEN.boolean
  }
  return isQuotedKind(type.kind) && (seen & bare) !== 0
}

/** Whether values of the kind are always JSON strings. */
function isQuotedKind(kind: ColumnKind): boolean {
  return kind !== 'number' && kind !== 'boolean' && kind !== 'duration'
}

const URI_RULE =
  'that has a scheme, a valid host (if any), a port up to 65535 (if any), and no white space or <>"\\^`{|}'

const RULE_OF_KIND = {
  string: 'text',
  markdown: 'text',
  uri: `a URI ${URI_RULE}`,
  imageURI: `a URI of an image ${URI_RULE}`,
  audioURI: `a URI of audio ${URI_RULE}`,
  emailAddress: 'an e-mail address',
  phoneNumber: 'a phone number of 3 to 20 digits',
  emoji: 'one or more emoji',
  date: 'a calendar day as YYYY-MM-DD',
  time: 'a time of day as HH:mm or HH:mm:ss',
  dateTime: 'a date and time as YYYY-MM-DDTHH:mm:ss',
  duration: 'an ISO 8601 duration, H:mm:ss, or a number of milliseconds',
  number: 'a finite number',
  boolean: 'true or false',
} as const satisfies Record<ColumnKind, string>

/**
 * The rule of a type as a noun phrase, for messages.
 * @param fromText - For values of CSV and TSV, where numbers and arrays are JSON text.
 */
export function describeRule(type: ColumnType, fromText: boolean): string {
  if (type.kind === 'array') {
    const array = fromText ? 'a JSON array' : 'an array'
    return `${array} whose every element is ${RULE_OF_KIND[type.items.kind]}`
  }
  const isNumberText = fromText && type.kind === 'number'
  return isNumberText ? 'a finite number as JSON writes it' : RULE_OF_KIND[type.kind]
}

/** The rule for a JSON value that fits no type. */
export function describeMisfit(token: string): string {
  if (token.startsWith('{')) return 'text, a number, a boolean or an array'
  if (token.startsWith('[')) return 'an array with only text, finite numbers and booleans'
  return token.startsWith('"') ? 'well-formed text' : 'a finite number'
}

function stringOfToken(token: string): string {
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1)
}
