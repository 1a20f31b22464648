// Counts the lines of csv and tsv files that have fewer fields than their header. The contract fills such a row up with
// empty cells, so nobody else would tell.
import { isJson } from '../../base/records.js'
import { findFields } from './csv-fields.js'
import { canReadAgain } from './import-bytes.js'
import { delimiterOfRun, placesAt, type RowRun } from './import-source.js'
import type { SourceFile } from './source-file.js'

/** Rows that are shorter than the header of their file. */
export type ShortRows = Readonly<{
  count: number
  /** The path of the file with the first. */
  path: string
  /** Its line, from 1. Absent: the file cannot be read again. */
  line?: number
}>

export class ShortLines {
  readonly #bounds: number[] = []
  #count = 0
  #first: Readonly<{ file: SourceFile; offset: number }> | undefined
  #header: Uint8Array | undefined
  #headerFields = 0

  /** Whether a line lacks fields. */
  get hasLacking(): boolean {
    return this.#count > 0
  }

  add(run: RowRun, file: SourceFile): void {
    const { format, header, bytes, starts, ends, offsets } = run
    if (isJson(format)) return
    const delimiter = delimiterOfRun(run)
    if (header !== this.#header) {
      this.#header = header
      this.#headerFields = findFields(header, 0, header.length, delimiter, this.#bounds)
    }
    if (this.#headerFields < 2) return
    for (let row = 0; row < starts.length; row++) {
      const fields = findFields(bytes, starts[row] ?? 0, ends[row] ?? 0, delimiter, this.#bounds)
      if (fields >= this.#headerFields) continue
      this.#count++
      this.#first ??= { file, offset: offsets[row] ?? 0 }
    }
  }

  /** The lines that lack fields; undefined: none does. */
  async found(): Promise<ShortRows | undefined> {
    if (this.#first === undefined) return undefined
    const { file, offset } = this.#first
    const found = { count: this.#count, path: file.path }
    if (!(await canReadAgain(file))) return found
    const [line = 1] = await placesAt(file, [offset])
    return { ...found, line }
  }
}

/** Where the first of the lines is. */
export function placeOfShort({ path, line }: ShortRows): string {
  return line === undefined ? path : `${path}, line ${line}`
}
