// Counts the lines of csv and tsv files that have fewer fields than their header. The contract fills such a row up with
// empty cells, so nobody else would tell.
import { isJson } from '../../base/records.js'
import { findFields } from './csv-fields.js'
import { delimiterOfRun, type RowRun } from './import-source.js'

/** Rows that are shorter than the header of their file. */
export type ShortRows = Readonly<{
  count: number
  /** The path of the file with the first. */
  path: string
  /** Its line, from 1. */
  line: number
}>

export class ShortLines {
  readonly #bounds: number[] = []
  #found: ShortRows | undefined
  #header: Uint8Array | undefined
  #headerFields = 0

  /** The lines that lack fields; undefined: none does. */
  get found(): ShortRows | undefined {
    return this.#found
  }

  add(run: RowRun): void {
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
      const { path, line } = this.#found ?? run.placeOf(offsets[row] ?? 0)
      this.#found = { count: (this.#found?.count ?? 0) + 1, path, line }
    }
  }
}

/** Where the first of the lines is. */
export function placeOfShort({ path, line }: ShortRows): string {
  return `${path}, line ${line}`
}
