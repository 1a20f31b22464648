// The forward object of a generation: its rows with IDs from earlier generations. FORMAT.md section 8.
//
// Invariants:
// - Runs are in order of position and do not overlap; no ID is in two runs.
// - Extents are counted from the generation's first one, so the object can be written before a commit determines the
//   first extent.

import { type Bytes, compareBytes } from '../base/bytes.js'
import type { ObjectId } from '../objects/objects.js'
import { ByteReader } from './byte-reader.js'
import { ByteWriter } from './byte-writer.js'
import { type Position, SLOTS_MAX } from './keys.js'
import { objectIdCrc, pieceCrc } from './piece-crc.js'
import type { RowId } from './row-id.js'

/**
 * Consecutive rows from the position `at`, with consecutive IDs from `first`. `at.extent` counts from the
 * generation's first extent.
 */
export type ForwardRun = Readonly<{ at: Position; count: number; first: RowId }>

const FORWARD_MAGIC = 0x52534657 // "RSFW"
const HEADER_BYTES = 8
const RUN_BYTES = 28

export function encodeForward(object: ObjectId, runs: readonly ForwardRun[]): Bytes {
  const writer = new ByteWriter(HEADER_BYTES + RUN_BYTES * runs.length + 4)
  writer.u32(FORWARD_MAGIC).u32(runs.length)
  for (const { at, count, first } of runs) {
    writer.u48(at.extent).u16(at.slot).u32(count)
    writer.bytes(first.nonce).u48(first.extent).u16(first.slot)
  }
  return writer.u32(pieceCrc(objectIdCrc(object), 0, writer.finish())).finish()
}

/** Finds preserved IDs by position, and positions by preserved ID, by binary search in the bytes. */
export class ForwardMap {
  readonly bytes: number
  readonly #runs: Bytes
  readonly #view: DataView
  readonly #count: number
  /** The indexes of runs, in the order of their IDs. */
  readonly #byId: Uint32Array

  /** @throws {StoreError} DATA_CORRUPT if the content is no intact forward object. */
  constructor(object: ObjectId, content: Bytes) {
    const reader = new ByteReader(content, `forward object ${object}`)
    if (reader.u32() !== FORWARD_MAGIC) throw reader.corrupt('its magic number is missing')
    this.#count = reader.u32()
    this.#runs = reader.bytes(RUN_BYTES * this.#count)
    const covered = content.subarray(0, content.length - 4)
    if (reader.u32() !== pieceCrc(objectIdCrc(object), 0, covered)) {
      throw reader.corrupt('its checksum is wrong')
    }
    reader.end()
    this.#view = new DataView(this.#runs.buffer, this.#runs.byteOffset, this.#runs.byteLength)
    this.#byId = Uint32Array.from({ length: this.#count }, (_, run) => run)
    this.#byId.sort((left, right) => this.#compareIds(left, right))
    this.bytes = content.length + this.#byId.byteLength
  }

  /**
   * What is wrong with the runs, given the extents of their generation; null: nothing. The runs must be in order, lie
   * within the generation, and preserve each ID of an earlier generation at most once.
   */
  problem(firstExtent: number, nextExtent: number): string | null {
    let end: Position = { extent: 0, slot: 0 }
    for (let run = 0; run < this.#count; run++) {
      const start = RUN_BYTES * run
      const at = { extent: this.#uint48(start), slot: this.#view.getUint16(start + 6) }
      const count = this.#view.getUint32(start + 8)
      const minted = this.#view.getUint16(start + 26)
      const isAfter = at.extent > end.extent || (at.extent === end.extent && at.slot >= end.slot)
      if (!isAfter) return `run ${run} of kept IDs does not follow the one before it`
      end = { extent: at.extent, slot: at.slot + count }
      const isWithin = at.extent < nextExtent - firstExtent && end.slot <= SLOTS_MAX
      if (count < 1 || !isWithin || minted + count > SLOTS_MAX) {
        return `run ${run} of kept IDs leaves its extent`
      }
      if (this.#uint48(start + 20) >= firstExtent)
        return `run ${run} keeps an ID that is not an old one`
    }
    for (let i = 1; i < this.#count; i++) {
      if (this.#overlaps(this.#byId[i - 1] ?? 0, this.#byId[i] ?? 0))
        return 'an ID is kept by two rows'
    }
    return null
  }

  /** Whether a run shares an ID with the run before it in ID order. */
  #overlaps(before: number, run: number): boolean {
    const [a, b] = [RUN_BYTES * before, RUN_BYTES * run]
    const ofExtent = (start: number): Bytes => this.#runs.subarray(start + 12, start + 26)
    if (compareBytes(ofExtent(a), ofExtent(b)) !== 0) return false
    return this.#view.getUint16(a + 26) + this.#view.getUint32(a + 8) > this.#view.getUint16(b + 26)
  }

  /** The preserved ID of the row at a position; null: the row has its own ID. */
  idAt({ extent, slot }: Position): RowId | null {
    const run = lastNotAfter(this.#count, (at) => {
      const start = RUN_BYTES * at
      return this.#uint48(start) - extent || this.#view.getUint16(start + 6) - slot
    })
    if (run < 0) return null
    const start = RUN_BYTES * run
    const ahead = slot - this.#view.getUint16(start + 6)
    if (this.#uint48(start) !== extent || ahead >= this.#view.getUint32(start + 8)) return null
    return {
      nonce: this.#runs.subarray(start + 12, start + 20),
      extent: this.#uint48(start + 20),
      slot: this.#view.getUint16(start + 26) + ahead,
    }
  }

  /** The position of the row with a preserved ID; null: none. */
  positionOf({ nonce, extent, slot }: RowId): Position | null {
    const place = lastNotAfter(this.#count, (at) => {
      const start = RUN_BYTES * (this.#byId[at] ?? 0)
      return (
        compareBytes(this.#runs.subarray(start + 12, start + 20), nonce) ||
        this.#uint48(start + 20) - extent ||
        this.#view.getUint16(start + 26) - slot
      )
    })
    if (place < 0) return null
    const start = RUN_BYTES * (this.#byId[place] ?? 0)
    const ahead = slot - this.#view.getUint16(start + 26)
    const isInRun =
      this.#uint48(start + 20) === extent &&
      ahead < this.#view.getUint32(start + 8) &&
      compareBytes(this.#runs.subarray(start + 12, start + 20), nonce) === 0
    if (!isInRun) return null
    return { extent: this.#uint48(start), slot: this.#view.getUint16(start + 6) + ahead }
  }

  #compareIds(left: number, right: number): number {
    const a = RUN_BYTES * left
    const b = RUN_BYTES * right
    return compareBytes(
      this.#runs.subarray(a + 12, a + RUN_BYTES),
      this.#runs.subarray(b + 12, b + RUN_BYTES),
    )
  }

  #uint48(at: number): number {
    return this.#view.getUint16(at) * 2 ** 32 + this.#view.getUint32(at + 2)
  }
}

/** The index of the last of `count` sorted entries that does not sort after the sought entry; -1: none. */
function lastNotAfter(count: number, compare: (index: number) => number): number {
  let low = -1
  let high = count - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (compare(middle) <= 0) low = middle
    else high = middle - 1
  }
  return low
}
