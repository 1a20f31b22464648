// Writes files in LevelDB's format, with any content.
import { crc32c, maskCrc } from '../../../adapters/leveldb/leveldb-codec.js'

const BLOCK_BYTES = 32_768
const HEADER_BYTES = 7

/** The bytes of a log or manifest with these records. */
export function logBytes(records: readonly Buffer[]): Buffer {
  const pieces: Buffer[] = []
  let length = 0
  const push = (piece: Buffer): void => {
    pieces.push(piece)
    length += piece.length
  }
  for (const record of records) {
    let at = 0
    do {
      const left = BLOCK_BYTES - (length % BLOCK_BYTES)
      if (left < HEADER_BYTES) {
        push(Buffer.alloc(left))
        continue
      }
      const bytes = record.subarray(at, at + left - HEADER_BYTES)
      const isLast = at + bytes.length === record.length
      const type = at === 0 ? (isLast ? 1 : 2) : isLast ? 4 : 3
      const part = Buffer.concat([Buffer.alloc(6), Buffer.from([type]), bytes])
      part.writeUInt32LE(maskCrc(crc32c(part.subarray(6))), 0)
      part.writeUInt16LE(bytes.length, 4)
      push(part)
      at += bytes.length
      if (isLast) break
    } while (at <= record.length)
  }
  return Buffer.concat(pieces)
}

type Table = Readonly<{ level: number; number: number; smallest: string; largest: string }>

/** An edit of a manifest. Numbers are below 2^31. */
export type Edit = Readonly<{
  comparator?: string
  log?: number
  previousLog?: number
  nextFile?: number
  lastSequence?: number
  deleted?: readonly Readonly<{ level: number; number: number }>[]
  added?: readonly Table[]
}>

export function editBytes(edit: Edit): Buffer {
  const bytes: number[] = []
  const varint = (value: number): void => {
    let rest = value
    for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128)
    bytes.push(rest)
  }
  const text = (content: Buffer): void => {
    varint(content.length)
    bytes.push(...content)
  }
  if (edit.comparator !== undefined) {
    varint(1)
    text(Buffer.from(edit.comparator))
  }
  const numbers = [
    [2, edit.log],
    [9, edit.previousLog],
    [3, edit.nextFile],
    [4, edit.lastSequence],
  ] as const
  for (const [tag, value] of numbers)
    if (value !== undefined) for (const n of [tag, value]) varint(n)
  for (const { level, number } of edit.deleted ?? []) for (const n of [6, level, number]) varint(n)
  for (const { level, number, smallest, largest } of edit.added ?? []) {
    for (const n of [7, level, number, 100]) varint(n)
    text(internalKey(smallest))
    text(internalKey(largest))
  }
  return Buffer.from(bytes)
}

/** LevelDB's internal form of a key, for its first change. */
function internalKey(key: string): Buffer {
  return Buffer.concat([Buffer.from(key), Buffer.from([1, 1, 0, 0, 0, 0, 0, 0])])
}
