// The beginning of a CSV or TSV source. Tries marks on it, and finds the marks for which its records agree best.
import { CARRIAGE_RETURN, LINE_FEED } from '../base/ascii.js'
import { countLineBreaks, type RecordScanner, SourceFault } from '../base/record-scanner.js'
import type { TimeSlices } from '../base/time-slices.js'
import type { Dialect } from './dialect.js'
import { delimiterOf } from './dialect-rules.js'
import { type Field, type Marks, resolveMarks, splitRecordFields } from './fields.js'
import { openDialectScanner } from './record-bounds.js'

/** The beginning of a source. */
export type Sample = Readonly<{
  bytes: Uint8Array
  /** Whether `bytes` is the whole source. */
  isWhole: boolean
}>

export type SampleOptions = Readonly<{
  format: 'csv' | 'tsv'
  dialect: Dialect
  /** Whether the intake detects what the options do not state. */
  detects: boolean
  /** Yields to other work. Default: never. */
  slices?: Slices | undefined
}>

/** The time slices of one operation. */
export type Slices = Pick<TimeSlices, 'spend' | 'pause'>

/** Bytes of a sample in which delimiters and quotes are tried. */
const TRIED_BYTES = 64 * 1024
export const TRIED_RECORDS = 200

/** The part of a source before its records. */
type Beginning = Readonly<{
  sample: Sample
  bytes: number
  lines: number
  /** The delimiter that the first line states, as Excel writes it; that line is not the header. */
  separator: string | undefined
}>

const SEPARATOR_LINE_BYTES_MAX = 16

export function readBeginning({ bytes, isWhole }: Sample, { skipLines = 0 }: Dialect): Beginning {
  const first = decodeSample(bytes.subarray(0, SEPARATOR_LINE_BYTES_MAX))
  const [line = '', said] = /^"?sep=(.)"?(?:\r\n|\r|\n)/i.exec(first) ?? []
  const separator = said === undefined ? undefined : delimiterOf(said)
  let at = separator === undefined ? 0 : line.length
  const lines = Math.max(skipLines, separator === undefined ? 0 : 1)
  for (let i = at > 0 ? 1 : 0; i < lines; i++) {
    const end = endOfLine(bytes, at)
    if (end === at && !isWhole) {
      throw new SourceFault(`the lines to skip are longer than ${bytes.length} bytes`)
    }
    at = end
  }
  return { sample: { bytes: bytes.subarray(at), isWhole }, bytes: at, lines, separator }
}

/** The beginning of the next line after `start`; the end if there is none. */
function endOfLine(bytes: Uint8Array, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at] === CARRIAGE_RETURN) return bytes[at + 1] === LINE_FEED ? at + 2 : at + 1
    if (bytes[at] === LINE_FEED) return at + 1
  }
  return bytes.length
}

const DECODER = new TextDecoder()

function decodeSample(bytes: Uint8Array): string {
  return DECODER.decode(bytes)
}

/** The part of a sample in which delimiters and quotes are tried. */
export function triedOf({ bytes, isWhole }: Sample): Sample {
  if (bytes.length <= TRIED_BYTES) return { bytes, isWhole }
  return { bytes: bytes.subarray(0, TRIED_BYTES), isWhole: false }
}

/** A record of the sample. */
export type Tried = Readonly<{ fields: readonly Field[]; blankLines: number; start: number }>

/** The fields of a record without an end, probably because a quote is misplaced. They make the tried marks fail. */
const OPEN: readonly Field[] = [{ text: '', isQuoted: false, isBroken: true }]

/** Bytes of a sample scanned per step; the part in which marks are tried is one step. */
export const STEP_BYTES = TRIED_BYTES

/**
 * Yields the complete records of a sample, without comments, and `undefined` after each step. Then yields `OPEN` if the
 * last record has no end in the whole source, or takes more than half of the sample.
 */
export function* sampleRecords(
  { bytes, isWhole }: Sample,
  marks: Marks,
  comment: string | undefined,
): Generator<Tried | undefined, void> {
  const scanner = openDialectScanner(marks, comment)
  const { starts, ends } = scanner
  let hasEnded = true
  for (let at = 0, i = 0; at < bytes.length; at += STEP_BYTES) {
    scanner.scan(bytes.subarray(at, at + STEP_BYTES))
    if (isWhole && at + STEP_BYTES >= bytes.length) hasEnded = finishScan(scanner)
    for (; i < ends.length; i++) {
      const end = ends[i] ?? 0
      const from = starts[i] ?? 0
      let start = from
      while (start < end && isLineBreak(bytes[start])) start++
      if (start === end || bytes[start] === comment?.charCodeAt(0)) continue
      const record = decodeSample(bytes.subarray(start, end))
      const blankLines = countLineBreaks(bytes.subarray(from, start))
      yield { fields: splitRecordFields(record, marks), blankLines, start }
    }
    yield undefined
  }
  const openBytes = starts.length > ends.length ? bytes.length - (starts.at(-1) ?? 0) : 0
  if (!hasEnded || openBytes > bytes.length / 2) {
    yield { fields: OPEN, blankLines: 0, start: starts.at(-1) ?? 0 }
  }
}

function isLineBreak(byte: number | undefined): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN
}

/** The first records of the part in which marks are tried. */
function triedRecords(
  tried: Sample,
  marks: Marks,
  comment: string | undefined,
  countMax: number,
): readonly Tried[] {
  const records: Tried[] = []
  for (const record of sampleRecords(tried, marks, comment)) {
    if (record !== undefined && (records.length < countMax || record.fields === OPEN)) {
      records.push(record)
    }
  }
  return records
}

/** @returns whether the last record has ended; if not, the reader of rows reports it */
function finishScan(scanner: RecordScanner): boolean {
  try {
    scanner.finish()
    return true
  } catch (failure) {
    if (failure instanceof SourceFault) return false
    throw failure
  }
}

/** The comma is last, because it occurs in numbers: on a tie, an earlier delimiter wins. */
const DELIMITERS = [';', '\t', '|', ','] as const

/** Finds the marks for which most records of a sample have as many fields as the header. Given marks stay. */
export async function detectMarks(
  tried: Sample,
  separator: string | undefined,
  { format, dialect, detects, slices }: SampleOptions,
): Promise<Marks> {
  const said = dialect.delimiter ?? separator ?? (format === 'tsv' ? '\t' : undefined)
  const first = resolveMarks(dialect, said ?? ',')
  if (!detects) return first
  const delimiters = said === undefined ? DELIMITERS : [said]
  const choices = delimiters.flatMap((delimiter) =>
    quotingVariants({ ...first, delimiter }, dialect),
  )
  let best = { marks: first, score: 0 }
  for (const marks of choices) {
    const score = agreementOf(triedRecords(tried, marks, dialect.comment, TRIED_RECORDS))
    if (score > best.score) best = { marks, score }
    if (slices?.spend(tried.bytes.length)) await slices.pause()
  }
  return best.marks
}

/** The quoting variants to try if none is given. */
function quotingVariants(marks: Marks, said: Dialect): readonly Marks[] {
  if ((said.quote ?? said.quotes ?? said.escape ?? said.trim) !== undefined) return [marks]
  return [marks, { ...marks, isTrimmed: true }, { ...marks, hasBackslashes: true }]
}

/** If delimiters agree about equally, one with the header in the first line wins, then one with more fields. */
const PREAMBLE_COST = 0.01
const FIELD_WEIGHT = 1e-9

/**
 * The share of records with as many fields as the header, 0 to 1; 0 if the header has one field, or quotes are
 * broken.
 */
function agreementOf(records: readonly Tried[]): number {
  const index = headerIndexOf(records)
  const rows = records.slice(Math.max(0, index))
  const width = rows[0]?.fields.length ?? 0
  if (width < 2 || rows.some(({ fields }) => fields.some(({ isBroken }) => isBroken))) return 0
  const count = rows.filter(({ fields }) => fields.length === width).length
  return count / rows.length + FIELD_WEIGHT * width - (index > 0 ? PREAMBLE_COST : 0)
}

/**
 * The index of the header. It follows comments, or a title: lines with one field, a blank line, and then records with
 * more fields. -1: neither was found, so the first record is the header.
 */
function headerIndexOf(records: readonly Tried[]): number {
  const first = records
    .slice(0, PREAMBLE_RECORDS_MAX + 1)
    .findIndex(({ fields }) => fields.length > 1)
  const header = records[first]
  if (first < 1 || header === undefined) return -1
  const isComment = records.slice(0, first).every(({ fields }) => fields[0]?.text.startsWith('#'))
  const next = records[first + 1]
  const isTable = next === undefined || next.fields.length === header.fields.length
  return isTable && (isComment || header.blankLines > 0) ? first : -1
}

/** Lines before the header, such as the title of a report. */
type Preamble = Readonly<{ bytes: number; lines: number }>

const PREAMBLE_RECORDS_MAX = 20

export function findPreamble(
  tried: Sample,
  marks: Marks,
  { dialect, detects }: SampleOptions,
): Preamble {
  const { comment, skipLines, header: names } = dialect
  const records = triedRecords(tried, marks, comment, PREAMBLE_RECORDS_MAX + 2)
  const isFound = detects && skipLines === undefined && !Array.isArray(names)
  // Comments before the header are skipped even if no header is searched for.
  const header = (isFound && records[headerIndexOf(records)]) || (comment && records[0])
  if (!header) return { bytes: 0, lines: 0 }
  return { bytes: header.start, lines: countLineBreaks(tried.bytes.subarray(0, header.start)) }
}
