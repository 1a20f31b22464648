// Lines of csv and tsv files with more fields than their header. A server refuses the first one, so a check takes them
// out of what it sends, and reports them all itself.
import { EMPTY_ROW } from '../../base/intake.js'
import { isJson } from '../../base/records.js'
import { findFields } from './csv-fields.js'
import { canReadAgain } from './import-bytes.js'
import type { RowPlace } from './import-places.js'
import { delimiterOfRun, placesAt, type RowRun } from './import-source.js'
import type { SourceFile } from './source-file.js'

/** Lines whose places are kept; the others are only counted. */
const LINES_MAX = 1_000

/** A line with too many fields. */
export type LongLine = Readonly<{
  /** undefined: the file cannot be read again. */
  place: RowPlace | undefined
  rule: string
}>

type NotedLine = Readonly<{ file: SourceFile; offset: number; rule: string }>

const LINE_END = Buffer.from('\n')

export class LongLines {
  count = 0
  readonly #keepsCells: boolean
  readonly #noted: NotedLine[] = []
  readonly #bounds: number[] = []

  /**
   * @param keepsCells - Whether the cells that have a column are sent, so that a key counts; else a row of empty cells
   *   takes the place of the line, so that no type is inferred of cells that may be in wrong columns.
   */
  constructor(keepsCells: boolean) {
    this.#keepsCells = keepsCells
  }

  /** The run with as many rows, none of which has too many fields. */
  shorten(run: RowRun, file: SourceFile): RowRun {
    if (isJson(run.format)) return run
    const { header, bytes, starts, ends, offsets } = run
    const delimiter = delimiterOfRun(run)
    const columns = findFields(header, 0, header.length, delimiter, this.#bounds)
    const shortened = new Map<number, readonly Uint8Array[]>()
    for (let record = 0; record < starts.length; record++) {
      const start = starts[record] ?? 0
      const fields = findFields(bytes, start, ends[record] ?? 0, delimiter, this.#bounds)
      if (fields <= columns) continue
      this.#note(file, offsets[record] ?? 0, `${fields} fields for ${columns} columns`)
      const cells = bytes.subarray(start, this.#bounds[2 * columns - 1])
      shortened.set(record, this.#keepsCells ? [cells, LINE_END] : [Buffer.from(EMPTY_ROW)])
    }
    return shortened.size === 0 ? run : withRecords(run, shortened)
  }

  async found(): Promise<readonly LongLine[]> {
    const found: LongLine[] = []
    for (const file of new Set(this.#noted.map((noted) => noted.file))) {
      const noted = this.#noted.filter((one) => one.file === file)
      const offsets = noted.map(({ offset }) => offset)
      const lines = (await canReadAgain(file)) ? await placesAt(file, offsets) : []
      for (const [i, { rule }] of noted.entries()) {
        const line = lines[i]
        const place =
          line === undefined ? undefined : ({ path: file.path, line, unit: 'line' } as const)
        found.push({ place, rule })
      }
    }
    return found
  }

  #note(file: SourceFile, offset: number, rule: string): void {
    if (this.count++ < LINES_MAX) this.#noted.push({ file, offset, rule })
  }
}

/** A run with other bytes for some of its records. */
function withRecords(run: RowRun, changed: ReadonlyMap<number, readonly Uint8Array[]>): RowRun {
  const pieces: Uint8Array[] = []
  const starts: number[] = []
  const ends: number[] = []
  let length = 0
  for (let record = 0; record < run.starts.length; record++) {
    starts.push(length)
    const own = run.bytes.subarray(run.starts[record], run.ends[record])
    for (const piece of changed.get(record) ?? [own]) {
      pieces.push(piece)
      length += piece.length
    }
    ends.push(length)
  }
  return { ...run, bytes: Buffer.concat(pieces), starts, ends }
}
