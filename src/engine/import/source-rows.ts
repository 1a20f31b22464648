// Rows of a source of any length, read as its bytes arrive: cut into runs of rows, each of which becomes a chunk.
// Memory is bounded by a run, whatever the length of the source.
import type { Bytes } from '../../base/bytes.js'
import { shiftPlace } from '../../base/data-error.js'
import { cutRecords } from '../../base/record-cutter.js'
import { countLineBreaks, SourceFault } from '../../base/record-scanner.js'
import { isJson, type SourceFormat } from '../../base/source-format.js'
import type { ChunkColumn, StoredChunk } from '../../format/chunk-records.js'
import type { FileIds } from '../../format/file-references.js'
import type { TeamContext } from '../context/store-context.js'
import type { TextRows } from '../types/row-types.js'
import { prepareRows } from './prepare-rows.js'
import type { SourceLines } from './source-lines.js'
import {
  CharacterPlace,
  type GivenStream,
  makeFaultError,
  runLimits,
  textOfRun,
} from './stream-rows.js'

/** Rows and bytes of a source that were read so far. */
export type SourceProgress = Readonly<{ rows: number; bytes: number }>

/** A source of rows. It is read once. */
export class SourceRows {
  readonly pieces: AsyncIterable<Bytes>
  readonly format: SourceFormat
  /**
   * Whether a blank source counts as a source without rows; otherwise it is a fault. undefined: a fault, and the caller
   * has no option to allow it.
   */
  readonly allowEmpty: boolean | undefined
  /** The lines of rows that were rewritten. */
  readonly lines: SourceLines | undefined
  readonly onProgress: (progress: SourceProgress) => void

  /** @param onProgress - Called after each chunk. */
  constructor(
    {
      pieces,
      format,
      allowEmpty,
      lines,
    }: Omit<GivenStream, 'allowEmpty'> &
      Partial<GivenStream> &
      Readonly<{ lines?: SourceLines | undefined }>,
    onProgress: (progress: SourceProgress) => void = () => undefined,
  ) {
    this.pieces = pieces
    this.format = format
    this.allowEmpty = allowEmpty
    this.lines = lines
    this.onProgress = onProgress
  }
}

/** Receives the chunks of a source, in order, once they are stored. @returns whether it takes more chunks */
export type ChunkTaker = (chunk: StoredChunk, files: FileIds) => Promise<boolean>

/**
 * Reads a source to its end, or until the taker wants no more chunks. After a failure, the chunks taken before it stay
 * with the taker.
 * @throws {StoreError} as `prepareRows`; what the source throws
 */
export async function readSource(
  team: TeamContext,
  { pieces, format, allowEmpty, lines, onProgress }: SourceRows,
  take: ChunkTaker,
): Promise<void> {
  const limits = runLimits(team.options)
  let rows = 0
  let lineBreaks = 0 // Line breaks before the run. Those of the header count for the first run.
  const place = new CharacterPlace()
  let columns: readonly ChunkColumn[] = []
  try {
    for await (const run of cutRecords(pieces, format, limits, { allowEmpty })) {
      const text = textOfRun(run, format, place.of(run))
      const { chunk, files } = await prepareRun(team, text, { rows, lines: lineBreaks }, lines)
      columns = sharedColumns(columns, chunk)
      if (!(await take({ ...chunk, columns }, files))) return
      rows += run.starts.length
      if (isJson(format)) place.pass(run)
      else lineBreaks += countLineBreaks(run.bytes)
      onProgress({ rows, bytes: run.offset + run.bytes.length })
    }
  } catch (failure) {
    throw failure instanceof SourceFault
      ? makeFaultError(failure, allowEmpty !== undefined)
      : failure
  }
}

async function prepareRun(
  team: TeamContext,
  text: TextRows,
  before: Readonly<{ rows: number; lines: number }>,
  lines: SourceLines | undefined,
): Promise<Readonly<{ chunk: StoredChunk; files: FileIds }>> {
  try {
    const { chunk, files } = await prepareRows(team, text)
    const isKnown = lines === undefined && chunk.firstLine !== 0
    const firstLine =
      lines?.firstLine(before.rows, chunk.rowCount) ??
      (isKnown ? chunk.firstLine + before.lines : 0)
    return { chunk: { ...chunk, firstLine }, files }
  } catch (failure) {
    const placed = shiftPlace(failure, before)
    throw lines?.located(placed) ?? placed
  }
}

/**
 * The columns of a chunk: usually the list of the previous chunk, which is returned if it is equal, so that the chunks
 * share one list.
 */
export function sharedColumns(
  before: readonly ChunkColumn[] | undefined,
  { columns }: Pick<StoredChunk, 'columns'>,
): readonly ChunkColumn[] {
  return before !== undefined && sameColumns(before, columns) ? before : columns
}

function sameColumns(left: readonly ChunkColumn[], right: readonly ChunkColumn[]): boolean {
  if (left.length !== right.length) return false
  return left.every(({ summary, firstRow }, i) => {
    const other = right[i]
    return (
      other !== undefined &&
      firstRow === other.firstRow &&
      summary.id === other.summary.id &&
      summary.scalarMask === other.summary.scalarMask &&
      summary.elementMask === other.summary.elementMask &&
      summary.seen === other.summary.seen
    )
  })
}
