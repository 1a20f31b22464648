// Counts the lines of csv and tsv files that have fewer fields than their header. The contract fills such a row up with
// empty cells, so nobody else would tell.
import { isJson } from '../base/records.js'
import { endOfLineBreak, findFields } from './csv-fields.js'
import { canReadAgain } from './import-bytes.js'
import { placesAt, type RowRun, type SourceFile } from './import-source.js'

/** Rows that were shorter than the header of their file. */
export type ShortRows = Readonly<{
  count: number
  /** The path of the file with the first. */
  path: string
  /** Its line, from 1. Absent: the file cannot be read again. */
  line?: number
}>

/**
 * An empty line is a row, so it is short if the header has two fields or more. The last line of a file is none if it is
 * empty; it ends a record of line breaks alone.
 */
export class ShortLines {
  readonly #bounds: number[] = []
  #header: Uint8Array | undefined
  #headerFields = 0
  #count = 0
  #first: Readonly<{ file: SourceFile; offset: number }> | undefined

  get count(): number {
    return this.#count
  }

  add(run: RowRun, file: SourceFile): void {
    if (isJson(run.format)) return
    const { header, bytes, starts, ends, delimiter } = run
    if (header !== this.#header) {
      this.#header = header
      this.#headerFields = findFields(header, 0, header.length, delimiter, this.#bounds)
    }
    if (this.#headerFields < 2) return
    for (let record = 0; record < starts.length; record++) {
      let at = starts[record] ?? 0
      const end = ends[record] ?? 0
      let next = endOfLineBreak(bytes, at)
      for (; next !== at && next < end; next = endOfLineBreak(bytes, at)) {
        this.#note(file, run.offset + at)
        at = next
      }
      if (next !== at) continue
      const fields = findFields(bytes, at, end, delimiter, this.#bounds)
      if (fields < this.#headerFields) this.#note(file, run.offset + at)
    }
  }

  #note(file: SourceFile, offset: number): void {
    this.#count++
    this.#first ??= { file, offset }
  }

  /** What was counted, with the place of the first; undefined: no line was short. */
  async found(): Promise<ShortRows | undefined> {
    if (this.#first === undefined) return undefined
    const { file, offset } = this.#first
    const found = { count: this.#count, path: file.path }
    if (!(await canReadAgain(file))) return found
    const [line = 1] = await placesAt(file, [offset])
    return { ...found, line }
  }
}

/** Where the first short line is. */
export function placeOfShort({ path, line }: ShortRows): string {
  return line === undefined ? path : `${path}, line ${line}`
}
