// The input rows of a merge in their stored form: either all rows are read in order, or some rows by their numbers.
import type { ErrorPlace } from '../../base/store-error.js'
import { convertRowText } from '../../format/row-text.js'
import type { Column } from '../../schema/column-kind.js'
import type { TeamContext } from '../context/store-context.js'
import type { LinkableRows, LinkableSegment, OperationRows } from '../import/rows-reader.js'
import type { FrameRows } from '../segments/frame-runs.js'
import { WALK_AT_WILL } from '../segments/read-ahead.js'
import type { RowRun } from '../segments/segment-opening.js'
import { packTexts, type RowPiece } from './packed-texts.js'

/** A segment of the input, and the number of its first row. */
export type IncomingSegment = LinkableSegment & Readonly<{ first: number }>

/** The text of a row, and its index in the requested list. */
type TextAt = readonly [at: number, text: string]

export class IncomingRows {
  readonly count: number
  /** null: the rows are few, and their texts are in memory. */
  readonly segments: readonly IncomingSegment[] | null
  readonly #team: TeamContext
  readonly #texts: readonly string[]
  readonly #chunks: OperationRows['chunks']
  readonly #columns: ReadonlyMap<string, Column>
  #chars = 0

  /** @param columns - The columns of the schema that the rows fit. */
  constructor(
    team: TeamContext,
    source: OperationRows,
    rows: LinkableRows,
    columns: ReadonlyMap<string, Column>,
  ) {
    this.#team = team
    this.#chunks = source.chunks
    this.#columns = columns
    this.#texts = 'texts' in rows ? rows.texts : []
    let first = this.#texts.length
    const segments: IncomingSegment[] = []
    for (const segment of 'texts' in rows ? [] : rows.segments) {
      segments.push({ ...segment, first })
      first += segment.ref.rowCount
    }
    this.segments = 'texts' in rows ? null : segments
    this.count = first
  }

  /** The average number of characters of the rows, measured when the rows were last read in order. */
  get averageChars(): number {
    return this.#chars / Math.max(1, this.count)
  }

  /** All rows in order. Each piece is valid until the next is requested. */
  async *pieces(): AsyncGenerator<readonly RowPiece[]> {
    this.#chars = 0
    if (this.segments === null) {
      yield [packTexts(this.#texts, 0)]
      return
    }
    const runs = this.segments.map(({ ref }): RowRun => ({ ref, start: 0, limit: ref.rowCount }))
    const walk = this.#team.segments.walk(() => runs, WALK_AT_WILL)
    try {
      for (const [i, { first, needsQuoting }] of this.segments.entries()) {
        const run = runs[i]
        if (run === undefined) continue
        for await (const frames of walk.frames(run)) {
          for (const rows of frames) {
            this.#chars += rows.frame.texts.length
            const slot = first + rows.slot
            if (!needsQuoting) yield [{ ...rows, slot }]
            else {
              const texts = this.#converted(rows.frame.rowTexts(rows.first, rows.limit))
              yield [packTexts(texts, slot)]
            }
          }
        }
      }
    } finally {
      await walk.close()
    }
  }

  /** The texts of some rows, one frame at a time. @param rows - The numbers of the rows, ascending. */
  async *textsAt(rows: Uint32Array): AsyncGenerator<readonly TextAt[]> {
    if (this.segments === null) {
      yield Array.from(rows, (row, at): TextAt => [at, this.#texts[row] ?? ''])
      return
    }
    const wanted = await this.#runsOf(rows, this.segments)
    const walk = this.#team.segments.walk(() => wanted.map(({ run }) => run), WALK_AT_WILL)
    const slices = this.#team.slices.begin()
    let at = 0
    try {
      for (const { run, segment } of wanted) {
        for await (const frames of walk.frames(run)) {
          for (const frame of frames) {
            const texts: TextAt[] = []
            const limit = segment.first + frame.slot + frame.limit - frame.first
            for (; (rows[at] ?? limit) < limit; at++) {
              texts.push([at, this.#textIn(frame, segment, rows[at] ?? 0)])
            }
            yield texts
            if (slices.spend(frame.frame.texts.length)) await slices.pause()
          }
        }
      }
    } finally {
      await walk.close()
    }
  }

  #textIn(rows: FrameRows, { first, needsQuoting }: IncomingSegment, row: number): string {
    const text = rows.frame.rowText(rows.first + row - first - rows.slot)
    return needsQuoting ? convertRowText(text, this.#columns) : text
  }

  /** The frames to read for some rows. */
  async #runsOf(
    rows: Uint32Array,
    segments: readonly IncomingSegment[],
  ): Promise<{ run: RowRun; segment: IncomingSegment }[]> {
    const runs: {
      run: { ref: RowRun['ref']; start: number; limit: number }
      segment: IncomingSegment
    }[] = []
    let at = 0
    for (const segment of segments) {
      const { ref, first } = segment
      const end = first + ref.rowCount
      if ((rows[at] ?? end) >= end) continue
      const { frames, frameOf } = await this.#team.segments.footerOnce(ref)
      while ((rows[at] ?? end) < end) {
        const row = (rows[at] ?? 0) - first
        const place = frames[frameOf(row)]
        const start = place?.firstRow ?? row
        const limit = place === undefined ? row + 1 : start + place.rowCount
        const last = runs[runs.length - 1]
        if (last?.segment === segment && last.run.limit === start) last.run.limit = limit
        else runs.push({ run: { ref, start, limit }, segment })
        while ((rows[at] ?? end) < first + limit) at++
      }
    }
    return runs
  }

  #converted(texts: readonly string[]): string[] {
    return texts.map((text) => convertRowText(text, this.#columns))
  }

  /** The place of a row in the input, for errors. */
  placeOf(row: number): ErrorPlace {
    let first = 0
    for (const { chunk, serial } of this.#chunks) {
      if (row < first + chunk.rowCount) {
        const inChunk = row - first
        const line = chunk.firstLine === 0 ? {} : { line: chunk.firstLine + inChunk }
        return serial === undefined ? { row, ...line } : { row: inChunk, chunk: serial, ...line }
      }
      first += chunk.rowCount
    }
    return { row }
  }
}
