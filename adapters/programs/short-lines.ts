// Counts the lines of csv and tsv files that have fewer fields than their header, and the blank ones. The contract fills
// such a row up with empty cells, so nobody else would tell.
import { isJson } from '../base/records.js'
import { endOfLineBreak, findFields } from './csv-fields.js'
import { canReadAgain } from './import-bytes.js'
import { placesAt, type RowRun, type SourceFile } from './import-source.js'

/** Rows of one kind: shorter than the header of their file, or blank. */
export type ShortRows = Readonly<{
  count: number
  /** The path of the file with the first. */
  path: string
  /** Its line, from 1. Absent: the file cannot be read again. */
  line?: number
}>

/** Lines that are rows with empty cells. Absent: there are none. */
export type FoundLines = Readonly<{
  /** With fewer fields than the header, but not blank. */
  shortLines?: ShortRows
  blankLines?: ShortRows
}>

class LineCount {
  count = 0
  #first: Readonly<{ file: SourceFile; offset: number }> | undefined

  add(file: SourceFile, offset: number): void {
    this.count++
    this.#first ??= { file, offset }
  }

  /** What was counted, with the place of the first; undefined: nothing. */
  async found(): Promise<ShortRows | undefined> {
    if (this.#first === undefined) return undefined
    const { file, offset } = this.#first
    const found = { count: this.count, path: file.path }
    if (!(await canReadAgain(file))) return found
    const [line = 1] = await placesAt(file, [offset])
    return { ...found, line }
  }
}

/**
 * A blank line is a row, so it has too few fields if the header has two or more. The last line of a file is none if it is
 * blank; it ends a record of line breaks alone.
 */
export class ShortLines {
  readonly #bounds: number[] = []
  readonly #short = new LineCount()
  readonly #blank = new LineCount()
  /** Both, but for blank lines of files with one column: there they are the empty cells. */
  readonly #lacking = new LineCount()
  #header: Uint8Array | undefined
  #headerFields = 0

  /** Whether a line lacks fields. */
  get hasLacking(): boolean {
    return this.#lacking.count > 0
  }

  add(run: RowRun, file: SourceFile): void {
    if (isJson(run.format)) return
    const { header, bytes, starts, ends, delimiter } = run
    if (header !== this.#header) {
      this.#header = header
      this.#headerFields = findFields(header, 0, header.length, delimiter, this.#bounds)
    }
    const isWide = this.#headerFields > 1
    for (let record = 0; record < starts.length; record++) {
      let at = starts[record] ?? 0
      const end = ends[record] ?? 0
      let next = endOfLineBreak(bytes, at)
      for (; next !== at && next < end; next = endOfLineBreak(bytes, at)) {
        this.#blank.add(file, run.offset + at)
        if (isWide) this.#lacking.add(file, run.offset + at)
        at = next
      }
      if (next !== at || !isWide) continue
      if (findFields(bytes, at, end, delimiter, this.#bounds) >= this.#headerFields) continue
      this.#short.add(file, run.offset + at)
      this.#lacking.add(file, run.offset + at)
    }
  }

  async found(): Promise<FoundLines> {
    const [shortLines, blankLines] = [await this.#short.found(), await this.#blank.found()]
    return { ...(shortLines && { shortLines }), ...(blankLines && { blankLines }) }
  }

  /** The lines that lack fields; undefined: none does. */
  lacking(): Promise<ShortRows | undefined> {
    return this.#lacking.found()
  }
}

/** Where the first of the lines is. */
export function placeOfShort({ path, line }: ShortRows): string {
  return line === undefined ? path : `${path}, line ${line}`
}
