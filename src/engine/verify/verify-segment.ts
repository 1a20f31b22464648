// Checks one segment: only its footer, or all of its rows.
//
// Invariant: a finding depends on the bytes of the segment alone. Before the caller reports a finding, it checks that a
// record still names the segment.
import { isUtf8, yieldToEventLoop } from '../../base/platform.js'
import { isStoreError } from '../../base/store-error.js'
import type { SegmentRef } from '../../format/extent-page.js'
import { readSpans } from '../../format/row-text.js'
import type { FramePlace } from '../../format/segment-footer.js'
import type { Frame, SegmentFooter } from '../../format/segment-reader.js'
import { decodeSegmentValues } from '../../format/segment-values.js'
import { storedIn } from '../../format/shared-objects.js'
import type { ObjectStore } from '../../objects/objects.js'
import { KIND_BIT } from '../../schema/column-kind.js'
import { type ColumnSummary, SEEN } from '../../schema/column-summary.js'
import { newSummary, summarizeText, summarizeToken } from '../../schema/summarize.js'
import { openSegment, readSegmentPieces } from '../segments/read-segment.js'
import type { Problem } from '../types/verify-types.js'
import type { Findings } from './verify-findings.js'
import { ValuesCheck } from './verify-values.js'

/** Maximum number of problems that are reported for one segment. */
const PROBLEMS_MAX = 10

/** A segment's rows according to the records. */
export type SegmentExpectation = Readonly<{
  /** Whether a compaction wrote the segment. Then rows have their own versions, and no columns are listed. */
  compacted: boolean
  /** The newest version that a row may have: the version of its table. */
  versionMax: number
}>

export async function verifySegment(
  objects: ObjectStore,
  ref: SegmentRef,
  expected: SegmentExpectation,
  findings: Findings,
): Promise<readonly Problem[]> {
  const opened = await openSegment(objects, ref)
  findings.countObject(storedIn(ref))
  if ('kind' in opened) return [opened]
  const { footer } = opened
  findings.counts.bytes += opened.bytes.length
  const problems = [...formProblems(footer, expected), ...versionProblems(footer, expected)]
  if (!findings.full) return problems
  const rows = new RowCheck(footer, expected.compacted)
  const values = decodeSegmentValues(ref, opened.bytes)
  const valuesCheck = values === null ? null : new ValuesCheck(values)
  for await (const piece of readSegmentPieces(objects, ref, footer)) {
    const { bytes, frames, codecs, problems: unreadable } = piece
    findings.checkGoesOn()
    findings.codecs |= codecs
    findings.counts.bytes += bytes.length
    problems.push(...unreadable)
    for (const { place, frame } of frames) {
      if (!isUtf8(frame.texts)) problems.push(notUtf8(place))
      const texts = frame.rowTexts(0, frame.rowCount)
      texts.forEach((text, row) => void rows.add(place.firstRow + row, text))
      if (rows.problems.length === 0) problems.push(...valueProblems(valuesCheck, place, frame))
      await yieldToEventLoop() // To check the rows of a frame takes several milliseconds.
    }
    if (problems.length + rows.problems.length >= PROBLEMS_MAX) break
  }
  const isWhole = problems.length === 0 && rows.problems.length === 0
  const summaries = isWhole && !expected.compacted ? rows.summaryProblems() : []
  return [...problems, ...rows.problems, ...summaries].slice(0, PROBLEMS_MAX)
}

function valueProblems(
  check: ValuesCheck | null,
  { firstRow }: FramePlace,
  frame: Frame,
): Problem[] {
  const wrong = check?.wrongCell(frame) ?? null
  if (wrong === null) return []
  const message = `The value filter does not cover the value of column ${wrong.key.slice(0, -1)}`
  return [{ kind: 'summary', message, place: `row ${firstRow + wrong.row}` }]
}

function notUtf8({ offset }: FramePlace): Problem {
  return { kind: 'row', message: 'Its texts are not UTF-8', place: `frame at ${offset}` }
}

function formProblems(
  { versionOf, isDeleted }: SegmentFooter,
  { compacted }: SegmentExpectation,
): Problem[] {
  if (compacted === (versionOf !== null) && (compacted || isDeleted === null)) return []
  const message = `Its footer says that it was ${compacted ? 'not ' : ''}made by a compaction`
  return [{ kind: 'record-mismatch', message }]
}

function versionProblems(
  { rowCount, versionOf }: SegmentFooter,
  { versionMax }: SegmentExpectation,
): Problem[] {
  if (versionOf === null) return []
  for (let row = 0; row < rowCount; row++) {
    const version = versionOf(row)
    if (version >= 1 && version <= versionMax) continue
    const message = `A row has version ${version}; its table has versions 1 to ${versionMax}`
    return [{ kind: 'row-version', message, place: `row ${row}` }]
  }
  return []
}

/**
 * The kinds that are compared. Other kinds depend on rules for the content of texts, which may differ between versions
 * of this package.
 */
const SURE_KINDS = KIND_BIT.string | KIND_BIT.number | KIND_BIT.boolean
const SURE_SEEN = ~(SEEN.longInteger | SEEN.storedNumbers | SEEN.storedBooleans | SEEN.storedText)

/** Checks the rows of a segment against its columns. */
class RowCheck {
  readonly problems: Problem[] = []
  readonly #footer: SegmentFooter
  readonly #compacted: boolean
  readonly #fromText: boolean
  readonly #found: ReadonlyMap<string, ColumnSummary>

  constructor(footer: SegmentFooter, compacted: boolean) {
    this.#footer = footer
    this.#compacted = compacted
    this.#fromText = footer.columns.some(({ seen }) => (seen & SEEN.fromText) !== 0)
    // Only the compared kinds are determined: the rules of other kinds can be slow.
    const sure = { scalarMask: SURE_KINDS, elementMask: SURE_KINDS }
    this.#found = new Map(footer.columns.map(({ id }) => [id, { ...newSummary(id), ...sure }]))
  }

  add(row: number, text: string): void {
    if (this.#footer.isDeleted?.(row)) {
      if (text !== '') this.#tell(row, 'A deleted row has cells')
      return
    }
    const names = new Set<string>()
    try {
      for (const { id, valueStart, end } of readSpans(text)) {
        if (names.has(id)) this.#tell(row, `Column ${JSON.stringify(id)} occurs twice`)
        names.add(id)
        if (!this.#compacted) this.#checkCell(row, id, text.slice(valueStart, end))
      }
    } catch (failure) {
      if (!isStoreError(failure) && !(failure instanceof SyntaxError)) throw failure
      this.#tell(row, failure.message)
    }
  }

  summaryProblems(): Problem[] {
    return this.#footer.columns.flatMap((stored): Problem[] => {
      const found = this.#found.get(stored.id)
      const isSame =
        found !== undefined &&
        (stored.scalarMask & SURE_KINDS) === (found.scalarMask & SURE_KINDS) &&
        (stored.elementMask & SURE_KINDS) === (found.elementMask & SURE_KINDS) &&
        (stored.seen & SURE_SEEN) === (found.seen & SURE_SEEN)
      if (isSame) return []
      const message = `The summary of column ${JSON.stringify(stored.id)} does not match its values`
      return [{ kind: 'summary', message }]
    })
  }

  #checkCell(row: number, id: string, token: string): void {
    const summary = this.#found.get(id)
    if (summary === undefined) {
      this.#tell(row, `Column ${JSON.stringify(id)} is not listed by the segment`)
    } else if (this.#fromText) {
      summarizeText(summary, token.startsWith('"') ? String(JSON.parse(token)) : token)
    } else {
      summarizeToken(summary, token)
    }
  }

  #tell(row: number, message: string): void {
    if (this.problems.length >= PROBLEMS_MAX) return
    this.problems.push({ kind: 'row', message, place: `row ${row}` })
  }
}
