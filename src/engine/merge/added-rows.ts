// The input rows whose keys the table lacks, ready to be appended: if they are few, as texts. Otherwise a segment of
// the input whose rows are all added is linked as it is, and the other rows go to new segments.
import type { Bytes } from '../../base/bytes.js'
import type { TimeSlices } from '../../base/time-slices.js'
import type { FileIds } from '../../format/file-references.js'
import { newSummary } from '../../schema/summarize.js'
import { newMarkedFiles } from '../commit/file-markers.js'
import type { TeamContext } from '../context/store-context.js'
import type { LinkableRows, LinkableSegment } from '../import/rows-reader.js'
import { storeSegment } from '../import/segment-sink.js'
import { summarizeRows } from '../import/stored-form.js'
import type { IncomingRows } from './incoming-rows.js'

type AddedParts = Readonly<{
  team: TeamContext
  incoming: IncomingRows
  inputColumns: ReadonlySet<string>
  /** Called with the object of each new segment. */
  onSegment(written: Readonly<{ object: string }>): void
}>

/**
 * @param matched - One bit per input row: 1 if the table has its key, so that it is not added.
 * @param count - The number of added rows.
 */
export async function addedRows(
  parts: AddedParts,
  matched: Bytes,
  count: number,
): Promise<LinkableRows> {
  const { team, incoming } = parts
  const { inlineRowsMax, inlineBytesMax } = team.options
  if (count === 0) return { texts: [] }
  if (count <= inlineRowsMax) {
    const texts: string[] = []
    for await (const some of incoming.textsAt(listFreeRows(matched, 0, incoming.count, count))) {
      for (const [, text] of some) texts.push(text)
    }
    const chars = texts.reduce((sum, { length }) => sum + length, 0)
    if (incoming.segments === null || chars <= inlineBytesMax) return { texts }
  }
  const writer = new AddedSegments(parts)
  for (const segment of incoming.segments ?? []) {
    const { first, ref } = segment
    const free = countFree(matched, first, first + ref.rowCount)
    if (free === ref.rowCount) await writer.link(segment)
    else if (free > 0) await writer.addAll(listFreeRows(matched, first, first + ref.rowCount, free))
  }
  return writer.end()
}

class AddedSegments {
  readonly #parts: AddedParts
  readonly #segments: LinkableSegment[] = []
  readonly #files: FileIds = newMarkedFiles()
  readonly #slices: TimeSlices
  #texts: string[] = []
  #chars = 0

  constructor(parts: AddedParts) {
    this.#parts = parts
    this.#slices = parts.team.slices.begin()
  }

  async link({ ref, needsQuoting, namesFiles }: LinkableSegment): Promise<void> {
    await this.#flush()
    this.#segments.push({ ref, needsQuoting, namesFiles })
  }

  async addAll(rows: Uint32Array): Promise<void> {
    const { segmentRowsMax, segmentBytesMax } = this.#parts.team.options
    for await (const some of this.#parts.incoming.textsAt(rows)) {
      for (const [, text] of some) {
        this.#texts.push(text)
        this.#chars += text.length
        if (this.#texts.length >= segmentRowsMax || this.#chars >= segmentBytesMax) {
          await this.#flush()
        }
      }
    }
  }

  async #flush(): Promise<void> {
    if (this.#texts.length === 0) return
    const { team, inputColumns, onSegment } = this.#parts
    const texts = this.#texts
    this.#texts = []
    this.#chars = 0
    const before = [...inputColumns].map(newSummary)
    const columns = await this.#slices.run(summarizeRows(texts, before))
    const files = newMarkedFiles()
    const ref = await storeSegment(team, { texts, columns, claims: [] }, files)
    onSegment(ref)
    this.#files.addAll(files)
    this.#segments.push({ ref, needsQuoting: false, namesFiles: !files.isEmpty })
  }

  async end(): Promise<LinkableRows> {
    await this.#flush()
    return { segments: this.#segments, files: this.#files }
  }
}

function isFree(matched: Bytes, row: number): boolean {
  return ((matched[row >> 3] ?? 0) & (1 << (row & 7))) === 0
}

/** The number of rows from `first` to `limit` (not included) that have no partner. */
export function countFree(matched: Bytes, first: number, limit: number): number {
  let count = 0
  for (let row = first; row < limit; row++) if (isFree(matched, row)) count++
  return count
}

export function listFreeRows(
  matched: Bytes,
  first: number,
  limit: number,
  count: number,
): Uint32Array {
  const rows = new Uint32Array(count)
  let at = 0
  for (let row = first; row < limit; row++) if (isFree(matched, row)) rows[at++] = row
  return rows
}
