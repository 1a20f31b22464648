// Chunks whose records have the row numbers that a server counts: it counts blank lines of CSV as rows.
import { CARRIAGE_RETURN, LINE_FEED } from '../base/ascii.js'
import { type Bytes, concatBytes } from '../base/bytes.js'
import { type CutRun, partsOfRun } from '../base/record-cutter.js'
import type { SourceFault } from '../base/record-scanner.js'
import { BODY_TYPE_OF_FORMAT, isJson, type SourceFormat } from '../base/source-format.js'
import type { RowChunk } from './import-types.js'

/** Maximum number of rows of a chunk. */
export const ROWS_MAX = 10_000

/** The longest row, in bytes of the input. */
export const ROW_BYTES_MAX = 16 * 1024 * 1024

/** A chunk that the client has cut. It knows how a server numbers its rows. */
export interface CountedChunk extends RowChunk {
  /** The number of rows before a record. Blank lines of CSV count as rows. */
  rowsBefore(record: number): number
}

export type Cut = Pick<CutRun, 'header' | 'bytes' | 'starts' | 'ends'> &
  Readonly<{
    /** The format of the chunk. Default: the format of the source. */
    format?: SourceFormat
  }>

/** Row i is the bytes from starts[i] up to ends[i]. */
export function makeCountedChunk(
  { header, bytes, starts, ends }: Cut,
  format: SourceFormat,
): CountedChunk {
  return {
    rows: starts.length,
    bytes: bytes.length,
    type: BODY_TYPE_OF_FORMAT[format],
    body(first, limit) {
      const rows = bytes.subarray(starts[first] ?? 0, limit > first ? ends[limit - 1] : 0)
      return concatBytes(partsOfRun({ header, bytes: rows }, format)) as Uint8Array<ArrayBuffer>
    },
    rowsBefore(record) {
      if (isJson(format)) return record
      let rows = record
      for (let i = 0; i < record; i++) rows += blankLines(bytes, starts[i] ?? 0, ends[i] ?? 0)
      return rows
    },
  }
}

/** The number of blank lines at the beginning of a CSV record. */
function blankLines(bytes: Bytes, start: number, end: number): number {
  let lines = 0
  for (let at = start; at < end; at++) {
    const isReturn = bytes[at] === CARRIAGE_RETURN
    if (!isReturn && bytes[at] !== LINE_FEED) break
    if (!isReturn || bytes[at + 1] !== LINE_FEED) lines++
  }
  return lines
}

/** The message of a fault, with its place. */
export function placeOfFault({ line, offset, message }: SourceFault): string {
  if (line !== undefined) return ` at line ${line}: ${message}`
  return offset === undefined ? `: ${message}` : ` at byte ${offset}: ${message}`
}
