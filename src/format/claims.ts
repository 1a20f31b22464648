// Claims: the `$rowID`s in the rows of a segment, which an overwrite may preserve. FORMAT.md section 6.
import { type Bytes, sameBytes } from '../base/bytes.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import type { RowId } from './row-id.js'

/** Consecutive rows with consecutive IDs: row `row + i` has slot `first.slot + i`. */
export type ClaimRun = Readonly<{ row: number; count: number; first: RowId }>

const CLAIM_BYTES = 24

/** Adds a row's claim to a list, extending its last run if possible. */
export function addClaim(runs: ClaimRun[], row: number, id: RowId): void {
  const last = runs[runs.length - 1]
  if (last !== undefined && continues(last, row, id)) {
    runs[runs.length - 1] = { ...last, count: last.count + 1 }
  } else {
    runs.push({ row, count: 1, first: id })
  }
}

function continues({ row, count, first }: ClaimRun, nextRow: number, id: RowId): boolean {
  const isNext = nextRow === row + count && id.slot === first.slot + count
  return isNext && id.extent === first.extent && sameBytes(id.nonce, first.nonce)
}

export function encodeClaims(runs: readonly ClaimRun[]): Bytes {
  const writer = new ByteWriter(CLAIM_BYTES * runs.length)
  for (const { row, count, first } of runs) {
    writer.u32(row).u32(count).bytes(first.nonce).u48(first.extent).u16(first.slot)
  }
  return writer.finish()
}

export function decodeClaims(bytes: Bytes): ClaimRun[] {
  const reader = new ByteReader(bytes, 'claims')
  const runs: ClaimRun[] = []
  while (reader.left > 0) {
    const row = reader.u32()
    const count = reader.u32()
    const nonce = reader.bytes(8)
    runs.push({ row, count, first: { nonce, extent: reader.u48(), slot: reader.u16() } })
  }
  return runs
}
