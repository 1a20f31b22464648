// Reads rows from CSV and TSV: RFC 4180, with a header line of column IDs; TSV has tabs instead of commas. The byte
// scanner (scan-csv-bytes) reads most bodies; this file reads all other bodies, and reports their errors.
//
// Invariants:
// - A record takes time linear in its bytes, even if it is malformed. Errors are reported in the order of records, and
//   within a record in the order of bytes. So the caller may pause after each row.
// - Line breaks are CRLF, LF or CR, in any mixture, also within quotes. A record is identified by the line on which it
//   starts.
// - An empty line is a record with one empty field, that is, a row without cells. One empty line at the end of the
//   input is ignored, whatever the number of columns (`""` is not an empty line).
import { CARRIAGE_RETURN, LINE_FEED, QUOTE } from '../base/ascii.js'
import { markLength, unquotedText, utf16Length } from '../base/bytes.js'
import { dataError } from '../base/data-error.js'
import { isUtf8, sliceReader } from '../base/platform.js'
import type { StoreError } from '../base/store-error.js'
import type { ScanLimits, ScannedRow } from './scanned-row.js'
import { repeatedColumn, reservedColumn } from './table-schema.js'

export type CsvOptions = Readonly<{ delimiter: ',' | '\t' }>

export type CsvScan = Readonly<{
  /** The column IDs of the header line, in order, without `$rowID`. */
  header: readonly string[]
  /** The rows, to be read once. A failure voids all rows returned before it. */
  rows: Generator<ScannedRow>
}>

/** The beginning of a record: its first byte, its line, and its row number. */
export type CsvPlace = Readonly<{ at: number; line: number; row: number }>

/** The characters of a record are counted at intervals of at least this many bytes. */
const COUNTED_BYTES_MIN = 64 * 1024

/**
 * Reads the header of a CSV or TSV body, and opens its rows.
 *
 * @throws {StoreError} `REQUEST_VALIDATION_ERROR` for input that is empty, malformed or over a limit, also while
 *   rows are read; then `COLUMN_ID_NOT_UNIQUE` and `COLUMN_ID_RESERVED` for the header, after the last row.
 */
export function openCsv(bytes: Uint8Array, options: CsvOptions, limits: ScanLimits): CsvScan {
  const reader = new RecordReader(bytes, options, limits)
  // More than the columns and a `$rowID` make the header invalid, so names of further fields are not needed.
  const first = reader.next(limits.columnsMax + 2)
  if (first === undefined) throw invalidCsv('The header line is missing')
  const problem = headerProblem(first.fields, limits)
  return {
    header: Object.freeze(first.fields.filter((id) => id !== '$rowID')),
    rows: readCsvRows(reader, first, problem),
  }
}

/**
 * Reads a single record. The part of the body before it is valid.
 *
 * @param fieldsMax - Number of fields of the header.
 * @throws {StoreError} If the record is malformed: the errors of `openCsv`.
 */
export function checkCsvRecord(
  bytes: Uint8Array,
  options: CsvOptions,
  limits: ScanLimits,
  place: CsvPlace,
  fieldsMax: number,
): void {
  const record = new RecordReader(bytes, options, limits, place).next(0)
  if (record !== undefined) checkFieldCount(record, fieldsMax, place.row)
}

/** Advice for lines of one field with commas, which may be decimal commas. */
const DIVIDED_OTHERWISE =
  '; if another character separates the fields, state it (over HTTP csv.delimiter=semicolon or csv.dialect=detect)'

/** @throws {StoreError} REQUEST_VALIDATION_ERROR if the record has more fields than the header. */
function checkFieldCount({ fieldCount, line }: CsvRecord, fieldsMax: number, row: number): void {
  if (fieldCount <= fieldsMax) return
  const advice = fieldsMax === 1 ? DIVIDED_OTHERWISE : ''
  throw invalidCsv(`${fieldCount} fields for ${fieldsMax} columns`, { row, line, advice })
}

/**
 * @returns the error about a column ID of the header, if there is one.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR for any other fault of the header
 */
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

const NONE: readonly string[] = Object.freeze([])
const EMPTY_FIELDS: readonly string[] = Object.freeze([''])

/**
 * @param problem - The error of the header. It is thrown at the end, because a malformed body has precedence. If
 *   there is one, or if some bytes are not UTF-8, rows are returned without cells, because they will be discarded.
 */
function* readCsvRows(
  reader: RecordReader,
  { fields: header, fieldCount: fieldsMax }: CsvRecord,
  problem: StoreError | undefined,
): Generator<ScannedRow> {
  const isRefused = problem !== undefined || !reader.isUtf8
  for (let row = 0; ; row++) {
    const record = reader.next(isRefused ? 0 : header.length)
    if (record === undefined) break
    checkFieldCount(record, fieldsMax, row)
    const { fields, fieldCount, line, length } = record
    if (isRefused || (fieldCount === 1 && fields[0] === '')) {
      yield { ids: NONE, tokens: NONE, rowId: undefined, line, work: length } // A discarded row also took time to read.
      continue
    }
    const ids: string[] = []
    const tokens: string[] = []
    let rowId: string | undefined
    for (let place = 0; place < fields.length; place++) {
      const field = fields[place] ?? ''
      if (field === '') continue
      const id = header[place] ?? ''
      if (id === '$rowID') {
        rowId = field
      } else {
        ids.push(id)
        tokens.push(field)
      }
    }
    yield { ids, tokens, rowId, line, work: length }
  }
  if (problem !== undefined) throw problem
}

/** A record that was read. */
type CsvRecord = Readonly<{
  /** The record's first fields, as many as requested. */
  fields: readonly string[]
  fieldCount: number
  line: number
  /** The record's length in bytes, with its line break. */
  length: number
}>

const FAULT = Object.freeze({
  openQuote: 'A quote is not closed',
  quoteInField: 'A quote in an unquoted field',
  afterQuote: 'Text after a closing quote',
  notUtf8: 'Not valid UTF-8',
})

/** Reads one record after the other: the header, then the rows. An empty last line is no record. */
class RecordReader {
  readonly #bytes: Uint8Array
  readonly #delimiter: number
  readonly #charsMax: number
  readonly isUtf8: boolean
  readonly #textOf: (from: number, to: number) => string
  /** The beginning of the next record. */
  #at: number
  /** Number of line breaks so far, including those of the current record. */
  #lineBreaks: number
  /** The index of the current record in the whole input, and the line on which it starts. */
  #index: number
  #line = 1
  /** All bytes of the current record so far, joined by OR: below 0x80, all are ASCII. */
  #bits = 0
  /** UTF-16 units of the record counted so far, and the position up to which they were counted. */
  #chars = 0
  #counted = 0
  /** The position up to which the record certainly does not exceed its limit. */
  #limit = 0

  /** @param place - The beginning of the first record to read. Default: the header. */
  constructor(
    bytes: Uint8Array,
    { delimiter }: CsvOptions,
    { rowCharsMax }: ScanLimits,
    { at, line, row }: CsvPlace = { at: markLength(bytes), line: 1, row: -1 },
  ) {
    this.#bytes = bytes
    this.#delimiter = delimiter.charCodeAt(0)
    this.#charsMax = rowCharsMax
    this.isUtf8 = isUtf8(bytes)
    this.#textOf = sliceReader(bytes)
    this.#at = at
    this.#lineBreaks = line - 1
    this.#index = row
  }

  /**
   * @param keptMax - The maximum number of fields to return; further fields are only counted.
   * @returns undefined: there are no more records.
   */
  next(keptMax: number): CsvRecord | undefined {
    const start = this.#at
    if (start === this.#bytes.length) return undefined
    this.#index++
    this.#line = this.#lineBreaks + 1
    this.#bits = 0
    if (this.#isLineBreak(start)) {
      this.#passLineBreak(start)
      if (this.#at === this.#bytes.length) return undefined // An empty last line is no record.
      const length = this.#at - start
      return { fields: EMPTY_FIELDS, fieldCount: 1, line: this.#line, length }
    }
    const ends: number[] = []
    let fieldCount = 0
    let end = start - 1
    this.#chars = 0
    this.#counted = start
    this.#limit = start + this.#charsMax + 1
    do {
      end = this.#bytes[end + 1] === this.#delimiter ? end + 1 : this.#endOfField(end + 1)
      if (fieldCount < keptMax) ends.push(end)
      fieldCount++
      if (end >= this.#limit) this.#countChars(end)
    } while (this.#bytes[end] === this.#delimiter)
    if (end - start > this.#charsMax) this.#countChars(end)
    if (!this.isUtf8 && this.#bits >= 0x80 && !isUtf8(this.#bytes.subarray(start, end))) {
      throw this.#refusal(FAULT.notUtf8)
    }
    this.#passLineBreak(end)
    const fields = ends.map((to, i) => this.#field(i === 0 ? start : (ends[i - 1] ?? 0) + 1, to))
    return { fields, fieldCount, line: this.#line, length: this.#at - start }
  }

  /** The end of a field: a delimiter, a line break or the end of the body. */
  #endOfField(start: number): number {
    const bytes = this.#bytes
    if (bytes[start] === QUOTE) return this.#endOfQuoted(start + 1)
    let bits = this.#bits
    let at = start
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      if (byte === QUOTE) throw this.#refusal(FAULT.quoteInField)
      if (this.#endsField(byte)) break
      bits |= byte
      if (at >= this.#limit) this.#countChars(at, bits)
    }
    this.#bits = bits
    return at
  }

  /** The end of a quoted field, from after the opening quote. */
  #endOfQuoted(start: number): number {
    const bytes = this.#bytes
    let bits = this.#bits
    let at = start
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      bits |= byte
      if (byte === QUOTE) {
        if (bytes[at + 1] !== QUOTE) break
        at++ // A doubled quote.
      } else if (byte === CARRIAGE_RETURN) this.#lineBreaks++
      else if (byte === LINE_FEED && bytes[at - 1] !== CARRIAGE_RETURN) this.#lineBreaks++
      if (at >= this.#limit) this.#countChars(at, bits)
    }
    this.#bits = bits
    if (at >= bytes.length) {
      if (bytes.length - this.#at > this.#charsMax) this.#countChars(bytes.length)
      throw this.#refusal(FAULT.openQuote)
    }
    const end = at + 1
    if (end < bytes.length && !this.#endsField(bytes[end] ?? 0)) {
      throw this.#refusal(FAULT.afterQuote)
    }
    return end
  }

  #endsField(byte: number): boolean {
    return byte === this.#delimiter || byte === LINE_FEED || byte === CARRIAGE_RETURN
  }

  /** The unquoted text of a field. */
  #field(from: number, to: number): string {
    if (from === to) return ''
    if (this.#bytes[from] !== QUOTE) return this.#textOf(from, to)
    return unquotedText(this.#bytes, from + 1, to - 1)
  }

  #isLineBreak(at: number): boolean {
    return this.#bytes[at] === LINE_FEED || this.#bytes[at] === CARRIAGE_RETURN
  }

  #passLineBreak(at: number): void {
    this.#at = at
    if (at === this.#bytes.length) return
    this.#lineBreaks++
    this.#at++
    if (this.#bytes[at] === CARRIAGE_RETURN && this.#bytes[at + 1] === LINE_FEED) this.#at++
  }

  /**
   * Counts the characters of the record before a byte.
   *
   * @param bits - All bytes of the record before `end`, joined by OR.
   * @throws {StoreError} The record is too long. Its rest is not read.
   */
  #countChars(end: number, bits = this.#bits): void {
    this.#chars += bits < 0x80 ? end - this.#counted : utf16Length(this.#bytes, this.#counted, end)
    this.#counted = end
    if (this.#chars > this.#charsMax) throw this.#tooLong()
    this.#limit = end + Math.max(COUNTED_BYTES_MIN, this.#charsMax - this.#chars)
  }

  #tooLong(): StoreError {
    const problem = `The row is longer than ${this.#charsMax} characters, or has a quote that is not closed,`
    return this.#refusal(problem)
  }

  /** The failure of the current record; index 0 is the header. */
  #refusal(problem: string): StoreError {
    const line = this.#line
    return invalidCsv(problem, this.#index === 0 ? { line } : { row: this.#index - 1, line })
  }
}

function invalidCsv(
  problem: string,
  place: { row?: number; line?: number; advice?: string } = {},
): StoreError {
  return dataError('REQUEST_VALIDATION_ERROR', problem, place)
}
