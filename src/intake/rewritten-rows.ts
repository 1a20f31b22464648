// Rewrites the records of a CSV or TSV source into the contract's form, by a plan.
//
// Invariants:
// - Record i of a run is row i of a body that consists of the run. So a blank line becomes a record, or is left out.
// - A malformed record is passed on, so that the reader of rows rejects it.
import { CARRIAGE_RETURN, LINE_FEED } from '../base/ascii.js'
import { fromUtf8, NO_BYTES, utf8 } from '../base/bytes.js'
import type { CutRun } from '../base/record-cutter.js'
import { SourceFault } from '../base/record-scanner.js'
import type { Advice, AdviceCode } from './advice.js'
import type { Conversion } from './conversions.js'
import { EMPTY_ROW, type Field, splitRecordFields, writeField } from './fields.js'
import type { PassedLines } from './passed-lines.js'
import type { Plan } from './plan.js'

/** The rows of a run. Row i is the bytes from starts[i] up to ends[i]. */
export type RewrittenRun = Readonly<{
  header: Uint8Array
  bytes: Uint8Array
  starts: readonly number[]
  ends: readonly number[]
  /** The offset of each row in the source. */
  offsets: readonly number[]
}>

/** The maximum number of rows of a rewritten run: a record may have any number of blank lines. */
const BATCH_ROWS_MAX = 16_384

/** The unit of work is a character; each row adds `ROW_WORK`. After `STEP_WORK`, other work has a turn. */
const ROW_WORK = 16
const STEP_WORK = 4 * 1024

/** How often a change was made, and the line of the first one. */
type Tally = { count: number; line: number }

export class RowRewriter {
  readonly #plan: Plan
  readonly #delimiter: string
  readonly #tallies = new Map<AdviceCode, Tally>()
  readonly #converters: ReadonlyMap<number, Converter>
  readonly #lines: PassedLines
  #header: Uint8Array | undefined

  constructor(plan: Plan, isTabbed: boolean, lines: PassedLines) {
    this.#plan = plan
    this.#lines = lines
    this.#delimiter = isTabbed ? '\t' : ','
    const converters = [...plan.conversions].map(([i, conversion]) => {
      return [i, new Converter(conversion, plan.columns[i] ?? '')] as const
    })
    this.#converters = new Map(converters)
  }

  /** The changes so far. */
  get advice(): readonly Advice[] {
    const done = [...this.#tallies].map(([code, { count, line }]): Advice => {
      const told = { code, count, line }
      const remedy = { option: 'blankLines', value: 'keep' } as const
      return code === 'blankLines' && this.#plan.mayKeepBlankLines ? { ...told, remedy } : told
    })
    const converted = [...this.#converters.values()].flatMap((converter) => converter.advice)
    return [...done, ...converted]
  }

  /** Yields the rows of a run, as one or several runs; and in between, the amount of work done. */
  *rewrite(run: CutRun): Generator<RewrittenRun | number, void> {
    this.#header ??= this.#headerOf(run.header)
    const { bytes, starts, ends } = run
    const offset = run.offset + this.#plan.skippedBytes
    this.#lines.forget(offset)
    const isPlain =
      this.#plan.isPlain && starts.every((start, i) => !this.#isBlank(bytes, start, ends[i] ?? 0))
    if (!isPlain) return yield* this.#rewritten(run, offset)
    yield bytes.length + ROW_WORK * starts.length
    yield { header: this.#header, bytes, starts, ends, offsets: starts.map((at) => offset + at) }
  }

  /** Whether a record begins with a blank line, or has only delimiters. */
  #isBlank(bytes: Uint8Array, start: number, end: number): boolean {
    let at = start
    if (this.#plan.skipsBlankLines) {
      const delimiter = this.#delimiter.charCodeAt(0)
      while (at < end && bytes[at] === delimiter) at++
    }
    return at >= end || bytes[at] === LINE_FEED || bytes[at] === CARRIAGE_RETURN
  }

  *#rewritten(
    { bytes, starts, ends }: CutRun,
    shift: number,
  ): Generator<RewrittenRun | number, void> {
    const rows: string[] = []
    const offsets: number[] = []
    const whole = decodeAscii(bytes)
    let work = 0
    for (let i = 0; i < starts.length; i++) {
      const start = starts[i] ?? 0
      const offset = shift + start
      const text =
        whole?.slice(start, ends[i]) ?? decodeSourceText(bytes.subarray(start, ends[i]), offset)
      let at = 0
      for (let next = endOfBreak(text, at); next > at; next = endOfBreak(text, at)) {
        // A blank last line of a source is not counted.
        if (this.#plan.skipsBlankLines) this.#note('blankLines', offset + at)
        else if (next < text.length) {
          rows.push(EMPTY_ROW)
          offsets.push(offset + at)
        }
        at = next
        work += ROW_WORK
        if (rows.length >= BATCH_ROWS_MAX) yield this.#take(rows, offsets)
        if (work >= STEP_WORK) {
          yield work
          work = 0
        }
      }
      const row = this.#rowOf(text.slice(at), offset + at)
      if (row !== undefined) {
        rows.push(row)
        offsets.push(offset + at)
      }
      work += text.length - at + ROW_WORK
      if (work >= STEP_WORK) {
        yield work
        work = 0
      }
    }
    yield this.#take(rows, offsets)
  }

  #take(rows: string[], offsets: number[]): RewrittenRun {
    const header = this.#header ?? NO_BYTES
    const text = rows.join('')
    const bytes = utf8(text)
    const isAscii = bytes.length === text.length
    const bounds = boundsOf(isAscii ? rows : rows.map((row) => utf8(row)))
    rows.length = 0
    return { header, bytes, ...bounds, offsets: offsets.splice(0) }
  }

  /** @returns the row of a record; undefined: the record is not a row */
  #rowOf(record: string, offset: number): string | undefined {
    const plan = this.#plan
    if (record === '') return undefined
    if (plan.comment !== undefined && record.startsWith(plan.comment)) {
      this.#note('comments', offset)
      return undefined
    }
    const fields = splitRecordFields(record, plan.marks)
    if (plan.skipsBlankLines && fields.length > 1 && fields.every(isBare)) {
      this.#note('blankLines', offset)
      return undefined
    }
    const kept = this.#kept(fields, offset)
    let row = ''
    let isFirst = true
    for (let i = 0; i < kept; i++) {
      const field = fields[i] ?? NO_FIELD
      if (plan.dropped.has(i)) {
        this.#checkDropped(field, i, offset)
        continue
      }
      row += isFirst ? this.#cell(field, i, offset) : this.#delimiter + this.#cell(field, i, offset)
      isFirst = false
    }
    return `${row}\n`
  }

  /** Number of fields to pass on. If extra fields are passed on, the reader of rows rejects the record. */
  #kept(fields: readonly Field[], offset: number): number {
    const { extraFields, fieldCount } = this.#plan
    if (fields.length <= fieldCount || extraFields === 'refuse') return fields.length
    if (extraFields === 'dropEmpty' && !fields.slice(fieldCount).every(isEmptyField))
      return fields.length
    this.#note('extraFields', offset)
    return fieldCount
  }

  #checkDropped({ text }: Field, i: number, offset: number): void {
    if (text === '' || i < this.#plan.rejectColumns || this.#plan.omitted.has(i)) return
    const place = { offset, line: this.#lines.lineAt(offset) }
    const name = `column${i + 1}`
    throw new SourceFault(`the column without a name has a value; name it, such as ${name}`, place)
  }

  #cell(field: Field, i: number, offset: number): string {
    if (field.isBroken) return field.text
    const { nulls } = this.#plan
    if (!field.isQuoted && nulls.has(field.text)) {
      this.#note('nulls', offset)
      return ''
    }
    const converter = field.text === '' ? undefined : this.#converters.get(i)
    const text = converter?.convert(field.text, offset, this.#lines) ?? field.text
    return writeField(text, field.isQuoted && text === field.text, false, this.#delimiter)
  }

  #note(code: AdviceCode, offset: number): void {
    const tally = this.#tallies.get(code)
    if (tally !== undefined) tally.count++
    else this.#tallies.set(code, { count: 1, line: this.#lines.lineAt(offset) })
  }

  #headerOf(header: Uint8Array): Uint8Array {
    const { names, dropped, marks, isPlain } = this.#plan
    if (isPlain) return header
    const known =
      names ?? splitRecordFields(decodeSourceText(header, 0).replace(/^[\r\n]+/, ''), marks)
    const kept = known.flatMap((name, i) => {
      if (dropped.has(i)) return []
      if (typeof name === 'string') return [writeField(name, false, false, this.#delimiter)]
      return [writeField(name.text, name.isQuoted, name.isBroken, this.#delimiter)]
    })
    return utf8(`${kept.join(this.#delimiter)}\n`)
  }
}

/** Converts the cells of a column until a value contradicts the conversion. */
class Converter {
  readonly #conversion: Conversion
  readonly #column: string
  #count = 0
  #first: Readonly<{ line: number; text: string }> | undefined
  #isOver = false

  constructor(conversion: Conversion, column: string) {
    this.#conversion = conversion
    this.#column = column
  }

  get advice(): readonly Advice[] {
    if (this.#first === undefined) return []
    const { code } = this.#conversion
    const { line, text } = this.#first
    return [{ code, column: this.#column, count: this.#count, line, example: text }]
  }

  /**
   * @throws {SourceFault} if the text is not of the form, and either a cell was already changed, or the text has
   *   another reading
   */
  convert(text: string, offset: number, lines: PassedLines): string {
    if (this.#isOver) return text
    const converted = this.#conversion.convert(text)
    if (converted === undefined) {
      if (this.#first !== undefined || this.#conversion.isAmbiguous(text))
        throw new SourceFault(contradiction(this.#column, text, this.#conversion), {
          offset,
          line: lines.lineAt(offset),
        })
      this.#isOver = true
      return text
    }
    if (converted !== text) {
      this.#count++
      this.#first ??= { line: lines.lineAt(offset), text }
    }
    return converted
  }
}

function contradiction(column: string, text: string, { form }: Conversion): string {
  return `column '${column}' is read as ${form}, but ${JSON.stringify(text)} has another form`
}

/** The end of the line break at `at`; `at` itself if there is none. */
function endOfBreak(text: string, at: number): number {
  const char = text[at]
  if (char === '\r') return text[at + 1] === '\n' ? at + 2 : at + 1
  return char === '\n' ? at + 1 : at
}

const NO_FIELD: Field = { text: '', isQuoted: false, isBroken: false }

/** Decodes ASCII; undefined: some bytes are not ASCII. */
function decodeAscii(bytes: Uint8Array): string | undefined {
  try {
    const text = fromUtf8(bytes)
    return text.length === bytes.length ? text : undefined
  } catch {
    return undefined // Invalid UTF-8 is reported per record.
  }
}

function isEmptyField({ text }: Field): boolean {
  return text === ''
}

/** Whether a field has no characters at all, not even quotes. */
function isBare({ text, isQuoted }: Field): boolean {
  return text === '' && !isQuoted
}

/** @throws {SourceFault} if the bytes are not UTF-8. */
function decodeSourceText(bytes: Uint8Array, offset: number): string {
  try {
    return fromUtf8(bytes)
  } catch {
    throw new SourceFault('not valid UTF-8', { offset })
  }
}

function boundsOf(
  rows: readonly Readonly<{ length: number }>[],
): Readonly<{ starts: number[]; ends: number[] }> {
  const starts: number[] = []
  const ends: number[] = []
  let at = 0
  for (const { length } of rows) {
    starts.push(at)
    at += length
    ends.push(at)
  }
  return { starts, ends }
}
