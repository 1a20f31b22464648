// Encodings in LevelDB's files that Node does not provide: checksum, compression, integers.

const CASTAGNOLI = 0x82f63b78
const SLICES = 4

/** Tables for four bytes per step. */
const TABLES = Array.from({ length: SLICES }, () => new Uint32Array(256))
for (let byte = 0; byte < 256; byte++) {
  let remainder = byte
  for (let slice = 0; slice < SLICES; slice++) {
    for (let bit = 0; bit < 8; bit++) {
      remainder = remainder & 1 ? (remainder >>> 1) ^ CASTAGNOLI : remainder >>> 1
    }
    const table = TABLES[slice]
    if (table !== undefined) table[byte] = remainder
  }
}
const [T0, T1, T2, T3] = TABLES as [Uint32Array, Uint32Array, Uint32Array, Uint32Array]

/** CRC-32C (Castagnoli). */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff
  let at = 0
  for (const limit = bytes.length - 3; at < limit; at += 4) {
    const word =
      crc ^
      ((bytes[at] ?? 0) |
        ((bytes[at + 1] ?? 0) << 8) |
        ((bytes[at + 2] ?? 0) << 16) |
        ((bytes[at + 3] ?? 0) << 24))
    crc =
      (T3[word & 0xff] ?? 0) ^
      (T2[(word >>> 8) & 0xff] ?? 0) ^
      (T1[(word >>> 16) & 0xff] ?? 0) ^
      (T0[word >>> 24] ?? 0)
  }
  for (; at < bytes.length; at++) {
    crc = (T0[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8)
  }
  return ~crc >>> 0
}

/** LevelDB masks stored checksums (rotate, add), because a CRC over bytes that contain CRCs is weak. */
export function maskCrc(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

/** Thrown for bytes that LevelDB does not write. */
export class Malformed extends Error {}

/** Reads integers and byte strings in sequence. @throws {Malformed} if the bytes end early. */
export class Cursor {
  readonly #bytes: Buffer
  #at: number

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes
    this.#at = at
  }

  get at(): number {
    return this.#at
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  byte(): number {
    this.#claim(1)
    return this.#bytes[this.#at++] ?? 0
  }

  /** A little-endian integer of a number of bytes. */
  integer(bytes: number): number {
    this.#claim(bytes)
    this.#at += bytes
    return this.#bytes.readUIntLE(this.#at - bytes, bytes)
  }

  /** An integer with seven bits per byte, lowest first. */
  varint(): number {
    let value = 0
    for (let factor = 1; factor < 2 ** 56; factor *= 128) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
    }
    throw new Malformed('a number is too long')
  }

  run(length: number): Buffer {
    this.#claim(length)
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }

  /** Copies the next bytes to a place in a buffer. */
  copy(length: number, target: Buffer, at: number): void {
    this.#claim(length)
    this.#bytes.copy(target, at, this.#at, this.#at + length)
    this.#at += length
  }

  #claim(length: number): void {
    if (length > this.left) throw new Malformed('it ends early')
  }

  /** A byte string after its length. */
  text(): Buffer {
    return this.run(this.varint())
  }
}

/** The order of LevelDB's internal keys: by user key, then the latest change first. */
export function compareInternalKeys(left: Buffer, right: Buffer): number {
  const [leftEnd, rightEnd] = [left.length - 8, right.length - 8]
  const order = Buffer.compare(left.subarray(0, leftEnd), right.subarray(0, rightEnd))
  if (order !== 0) return order
  const difference = right.readBigUInt64LE(rightEnd) - left.readBigUInt64LE(leftEnd)
  return difference === 0n ? 0 : difference > 0n ? 1 : -1
}

const UNPACKED_BYTES_MAX = 256 * 1024 * 1024

/**
 * Decompresses Snappy's raw format. It allocates no buffer per part: an open waits for all blocks of a database.
 * @throws {Malformed}
 */
export function unpackSnappy(packed: Buffer): Buffer {
  const cursor = new Cursor(packed)
  const length = cursor.varint()
  if (length > UNPACKED_BYTES_MAX) throw new Malformed('a block is too large')
  const whole = Buffer.alloc(length)
  let at = 0
  while (cursor.left > 0) {
    const tag = cursor.byte()
    if ((tag & 3) === 0) {
      const count = literalLength(cursor, tag >>> 2)
      if (at + count > length) throw new Malformed('a block is longer than its header says')
      cursor.copy(count, whole, at)
      at += count
    } else {
      const [count, offset] = readCopyTag(cursor, tag)
      if (offset === 0 || offset > at || at + count > length)
        throw new Malformed('a copy refers to bytes outside the block')
      for (let i = 0; i < count; i++, at++) whole[at] = whole[at - offset] ?? 0
    }
  }
  if (at !== length) throw new Malformed('a block is shorter than its header says')
  return whole
}

function literalLength(cursor: Cursor, size: number): number {
  if (size < 60) return size + 1
  return cursor.integer(size - 59) + 1
}

function readCopyTag(cursor: Cursor, tag: number): readonly [count: number, offset: number] {
  if ((tag & 3) === 1) return [4 + ((tag >>> 2) & 7), ((tag >>> 5) << 8) | cursor.byte()]
  return [1 + (tag >>> 2), cursor.integer((tag & 3) === 2 ? 2 : 4)]
}
