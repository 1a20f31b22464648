// Lines of csv and tsv files with more fields than their header. A server reports only the first such line, so a check
// removes and reports all such lines itself.
import { EMPTY_ROW, findFields } from '../../base/intake.js'
import { isJson } from '../../base/records.js'
import { delimiterOfRun, type RowRun, withRecords } from './import-source.js'
import type { RowPlace } from './source-file.js'

/** The maximum number of lines whose places are remembered. Further lines are only counted. */
const LINES_MAX = 1_000

/** A line with too many fields. */
export type LongLine = Readonly<{ place: RowPlace; rule: string }>

const LINE_END = Buffer.from('\n')

export class LongLines {
  count = 0
  /** The first 1,000 lines with too many fields. */
  readonly found: LongLine[] = []
  readonly #keepsCells: boolean
  readonly #bounds: number[] = []

  /**
   * @param keepsCells - Whether a line keeps the cells that have a column, for the check of its key. Otherwise a row of
   *   empty cells replaces it, so that no type is inferred from cells in wrong columns.
   */
  constructor(keepsCells: boolean) {
    this.#keepsCells = keepsCells
  }

  /** Replaces lines with too many fields. @returns a run with the same number of rows */
  shorten(run: RowRun): RowRun {
    if (isJson(run.format)) return run
    const { header, bytes, starts, ends, offsets } = run
    const delimiter = delimiterOfRun(run)
    const columns = findFields(header, 0, header.length, delimiter, this.#bounds)
    const shortened = new Map<number, readonly Uint8Array[]>()
    for (let record = 0; record < starts.length; record++) {
      const start = starts[record] ?? 0
      const fields = findFields(bytes, start, ends[record] ?? 0, delimiter, this.#bounds)
      if (fields <= columns) continue
      if (this.count++ < LINES_MAX) {
        const rule = `${fields} fields for ${columns} columns`
        this.found.push({ place: run.placeOf(offsets[record] ?? 0), rule })
      }
      const cells = bytes.subarray(start, this.#bounds[2 * columns - 1])
      shortened.set(record, this.#keepsCells ? [cells, LINE_END] : [Buffer.from(EMPTY_ROW)])
    }
    return shortened.size === 0 ? run : withRecords(run, [...starts.keys()], shortened)
  }
}
