// Reads rows from CSV and TSV: RFC 4180, with a header line of column IDs, and a tab for a comma in TSV.
//
// csv-parse validates and splits the records. This file feeds it slices that end with a record, so that no synchronous
// stretch is long, and turns records into rows.
//
// Invariants:
// - Slices do not change the result. In well-formed input a record ends at a line break with an even number of quotes
//   before it. The first slice in which it does not contains the error, so csv-parse finds it at the same record
//   wherever the slices began. Errors come in the order of the records.
// - Line breaks are CRLF, LF or CR, mixed as they come, in quotes too. Lines are counted here, since
//   csv-parse counts a CRLF in quotes twice. A record is named by the line on which it starts.
// - An empty line is a record with one empty field, that is a row without cells, but as the last line
//   of the input it is ignored (one such line, in files of any width; `""` is not an empty line).

import { CsvError, parse } from '#csv-parse'
import { CARRIAGE_RETURN, LINE_FEED, QUOTE } from '../base/ascii.js'
import { fromUtf8, markLength } from '../base/bytes.js'
import { dataError } from '../base/data-error.js'
import { invariant } from '../base/invariant.js'
import type { StoreError } from '../base/store-error.js'
import type { ScanLimits, ScannedRow } from './scanned-row.js'
import { repeatedColumn, reservedColumn } from './table-schema.js'

export type CsvOptions = Readonly<{
  delimiter: ',' | '\t'
  /** Bytes after which a slice ends with the record it is in; for tests. Default: 64 KiB. */
  sliceBytes?: number
}>

export type CsvScan = Readonly<{
  /** The column IDs of the header line, in order, without `$rowID`. */
  header: readonly string[]
  /** To be read once. A failure comes when it is reached: rows handed on before it are void. */
  rows: Generator<ScannedRow>
}>

const SLICE_BYTES = 64 * 1024

/** UTF-8 bytes of one UTF-16 unit, at most. */
const BYTES_PER_CHAR_MAX = 3

/**
 * Reads the header of a CSV or TSV body, and opens its rows.
 *
 * @throws {StoreError} `REQUEST_VALIDATION_ERROR` for input that is empty, malformed or over a limit, also while
 *   rows are read; then `COLUMN_ID_NOT_UNIQUE` and `COLUMN_ID_RESERVED` for the header, after the last row.
 */
export function openCsv(bytes: Uint8Array, options: CsvOptions, limits: ScanLimits): CsvScan {
  const records = readRecords(bytes, markLength(bytes), options, limits)
  const first = records.next()
  if (first.done === true) throw invalidCsv('The header line is missing')
  const fields = first.value.fields
  const problem = headerProblem(fields, limits)
  return {
    header: Object.freeze(fields.filter((id) => id !== '$rowID')),
    rows: readRows(records, fields, problem),
  }
}

/** @returns the error of a column ID. @throws {StoreError} REQUEST_VALIDATION_ERROR */
function headerProblem(
  fields: readonly string[],
  { columnsMax }: ScanLimits,
): StoreError | undefined {
  const seen = new Set<string>()
  let problem: StoreError | undefined
  for (const id of fields) {
    if (id === '') throw invalidCsv('A column has no name', { line: 1 })
    if (id === '$stashID') problem ??= reservedColumn(id, { line: 1 })
    if (seen.has(id)) problem ??= repeatedColumn(id, { line: 1 })
    seen.add(id)
  }
  const columnCount = seen.size - (seen.has('$rowID') ? 1 : 0)
  if (columnCount > columnsMax) throw invalidCsv(`More than ${columnsMax} columns`, { line: 1 })
  return problem
}

/** @param problem - Of the header: it is thrown at the end, because a body that is malformed is refused first. */
function* readRows(
  records: Iterable<CsvRecord>,
  header: readonly string[],
  problem: StoreError | undefined,
): Generator<ScannedRow> {
  let row = 0
  for (const { fields, line } of records) {
    if (fields.length > header.length) {
      throw invalidCsv(`${fields.length} fields for ${header.length} columns`, { row, line })
    }
    const ids: string[] = []
    const tokens: string[] = []
    let rowId: string | undefined
    for (const [place, field] of fields.entries()) {
      if (field === '') continue
      const id = header[place] ?? ''
      if (id === '$rowID') {
        rowId = field
      } else {
        ids.push(id)
        tokens.push(field)
      }
    }
    yield { ids, tokens, rowId, line }
    row++
  }
  if (problem !== undefined) throw problem
}

type CsvRecord = Readonly<{ fields: string[]; line: number }>

/** Reads the records from `start` on, the header too, less an empty last line. */
function* readRecords(
  bytes: Uint8Array,
  start: number,
  options: CsvOptions,
  limits: ScanLimits,
): Generator<CsvRecord, void> {
  let line = 1
  let index = 0 // Of the record in the whole input.
  let emptyLine: CsvRecord | undefined // Held back until a record follows.
  for (let at = start; at < bytes.length; ) {
    const slice = findSlice(bytes, at, options.sliceBytes ?? SLICE_BYTES, limits)
    const isUtf8 = isValidUtf8(bytes.subarray(at, slice.end))
    const { records, fault } = parseSlice(bytes.subarray(at, slice.end), options.delimiter)
    for (const { fields, end } of records) {
      const source = bytes.subarray(at, slice.start + end)
      at = slice.start + end
      if (!isUtf8 && !isValidUtf8(source)) throw invalidRecord('Not valid UTF-8', index, line)
      if (emptyLine !== undefined) yield emptyLine
      const record = { fields, line }
      emptyLine = isEmptyLine(source) ? record : undefined
      if (emptyLine === undefined) yield record
      line += countLineBreaks(source)
      index++
    }
    const problem = fault ?? slice.fault
    if (problem !== undefined) throw invalidRecord(problem, index, line)
    invariant(at === slice.end, 'a slice without a fault is records only')
  }
}

type Slice = Readonly<{
  start: number
  end: number
  /** The error of the record that starts at `end`. */
  fault: string | undefined
}>

/**
 * Finds the records from `start` on that are parsed together: those that begin within `sliceBytes`.
 * Refuses what csv-parse would take: a record over its limit, and a NUL after a closing quote.
 */
function findSlice(
  bytes: Uint8Array,
  start: number,
  sliceBytes: number,
  { rowCharsMax }: ScanLimits,
): Slice {
  const recordBytesMax = rowCharsMax * BYTES_PER_CHAR_MAX
  const tooLong = `The row is longer than ${rowCharsMax} characters, or has a quote that is not closed,`
  let isQuoted = false
  let recordStart = start
  for (let i = start; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      isQuoted = !isQuoted
      if (!isQuoted && bytes[i + 1] === 0) {
        return { start, end: recordStart, fault: FAULT_TEXT.CSV_INVALID_CLOSING_QUOTE }
      }
    } else if (!isQuoted && (byte === LINE_FEED || byte === CARRIAGE_RETURN)) {
      if (isOver(bytes, recordStart, i, rowCharsMax)) {
        return { start, end: recordStart, fault: tooLong }
      }
      if (byte === CARRIAGE_RETURN && bytes[i + 1] === LINE_FEED) i++
      recordStart = i + 1
      if (recordStart - start >= sliceBytes) return { start, end: recordStart, fault: undefined }
    } else if (i - recordStart >= recordBytesMax) {
      return { start, end: recordStart, fault: tooLong }
    }
  }
  if (isOver(bytes, recordStart, bytes.length, rowCharsMax)) {
    return { start, end: recordStart, fault: tooLong }
  }
  return { start, end: bytes.length, fault: undefined }
}

/** Whether the bytes decode to more than `charsMax` UTF-16 units. */
function isOver(bytes: Uint8Array, start: number, end: number, charsMax: number): boolean {
  if (end - start <= charsMax) return false
  let charCount = 0
  for (let i = start; i < end; i++) {
    const byte = bytes[i] ?? 0
    if ((byte & 0xc0) !== 0x80) charCount += byte >= 0xf0 ? 2 : 1
  }
  return charCount > charsMax
}

const FAULT_TEXT = Object.freeze({
  CSV_QUOTE_NOT_CLOSED: 'A quote is not closed',
  INVALID_OPENING_QUOTE: 'A quote in a field that does not begin with one',
  CSV_INVALID_CLOSING_QUOTE: 'Text after a closing quote',
} as const)

/** A record and where it ends in its slice, its line break included. */
type SliceRecord = Readonly<{ fields: string[]; end: number }>

/** Parses one slice: the records before the first fault, and the fault. */
function parseSlice(
  slice: Uint8Array,
  delimiter: string,
): { records: SliceRecord[]; fault: string | undefined } {
  const records: SliceRecord[] = []
  try {
    parse(slice, {
      delimiter,
      record_delimiter: ['\r\n', '\n', '\r'],
      quote: '"',
      escape: '"',
      relax_column_count: true,
      on_record: (fields: string[], { bytes }) => {
        records.push({ fields, end: bytes })
        return null
      },
    })
  } catch (failure) {
    if (!(failure instanceof CsvError)) throw failure
    const text = new Map<string, string>(Object.entries(FAULT_TEXT)).get(failure.code)
    return { records, fault: text ?? 'Not a record' }
  }
  return { records, fault: undefined }
}

function isEmptyLine(source: Uint8Array): boolean {
  return source[0] === LINE_FEED || source[0] === CARRIAGE_RETURN
}

function countLineBreaks(bytes: Uint8Array): number {
  let count = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === CARRIAGE_RETURN || (byte === LINE_FEED && bytes[i - 1] !== CARRIAGE_RETURN)) {
      count++
    }
  }
  return count
}

function isValidUtf8(bytes: Uint8Array): boolean {
  try {
    fromUtf8(bytes)
    return true
  } catch {
    return false
  }
}

/** The failure of a record, named by its index among all records: the first is the header. */
function invalidRecord(problem: string, index: number, line: number): StoreError {
  return invalidCsv(problem, index === 0 ? { line } : { row: index - 1, line })
}

function invalidCsv(problem: string, place: { row?: number; line?: number } = {}): StoreError {
  return dataError('REQUEST_VALIDATION_ERROR', problem, place)
}
