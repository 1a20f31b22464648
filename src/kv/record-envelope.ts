// The bytes of a LevelDB database: its keys, and the envelope around every value.
//
//     key :=
//       meta_key      0x00, what: uint8             // what is 0x01: the checkpoint, 0x02: the version base
//     | commit_key    0x01, sequence: uint64        // big-endian, so commits sort by number
//     | partition_key 0x02, length: uint16, name: utf8[length], key: uint8[]
//
//     value :=
//       format:  uint8                              // 0x01
//       crc:     uint32                             // big-endian, crc32 of the key's bytes, then payload
//       payload: uint8[]
//
//     payload of the checkpoint     := uint64       // big-endian, lowest commit number still kept
//     payload of the version base   := uint64       // big-endian
//     payload of a commit record    := uint32 uint32? // big-endian, puts and deletes of the batch; crc32 of the store's name
//     payload of a partition record := the record's value
//
// The length before the name separates partitions even if one name is a prefix of another. The checksum covers the key,
// so it detects a value read from the wrong place.
import type { Bytes } from '../base/bytes.js'
import {
  fromUtf8,
  putUint32,
  putUint64,
  readUint32,
  sameBytes,
  toHex,
  utf8,
} from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { crc32 } from '../base/platform.js'
import { StoreError } from '../base/store-error.js'

/** First byte of every LevelDB key. Written to disk: never change or reuse a number. */
export const LevelSpace = { Meta: 0x00, Commit: 0x01, Partition: 0x02 } as const

/** First byte of every LevelDB value. Written to disk: never change or reuse a number. */
const ENVELOPE_FORMAT = 0x01

export const ENVELOPE_BYTES = 5
const UINT64_BYTES = 8
const PARTITION_NAME_CHARS_MAX = 256

/** Key of the checkpoint record. */
export const CHECKPOINT_KEY: Bytes = Uint8Array.of(LevelSpace.Meta, 0x01)

/** Key of the version base record. */
export const VERSION_BASE_KEY: Bytes = Uint8Array.of(LevelSpace.Meta, 0x02)

export function encodeCommitKey(sequence: number): Bytes {
  const key = new Uint8Array(1 + UINT64_BYTES)
  key[0] = LevelSpace.Commit
  putUint64(key, 1, sequence)
  return key
}

export function decodeCommitKey(key: Bytes): number {
  if (key.length !== 1 + UINT64_BYTES || key[0] !== LevelSpace.Commit) {
    throw new StoreError('DATA_CORRUPT', `The key ${toHex(key)} is not that of a commit record`)
  }
  return decodeUint64(key.subarray(1), key)
}

/** Prefix of all LevelDB keys of a partition. */
export function encodePartitionPrefix(name: string): Bytes {
  invariant(name.length <= PARTITION_NAME_CHARS_MAX, 'a partition name has at most 256 units')
  invariant(!/\p{Surrogate}/u.test(name), 'a partition name is well-formed text')
  const nameBytes = utf8(name)
  const prefix = new Uint8Array(3 + nameBytes.length)
  prefix[0] = LevelSpace.Partition
  prefix[1] = nameBytes.length >>> 8
  prefix[2] = nameBytes.length & 0xff
  prefix.set(nameBytes, 3)
  return prefix
}

/** The partition name in a LevelDB key; null: not the key of a partition. */
export function partitionOfKey(key: Bytes): string | null {
  const length = ((key[1] ?? 0) << 8) | (key[2] ?? 0)
  if (key[0] !== LevelSpace.Partition || key.length < 3 + length) return null
  try {
    return fromUtf8(key.subarray(3, 3 + length))
  } catch {
    return null // The bytes are not a name.
  }
}

export function encodeUint64(value: number): Bytes {
  invariant(Number.isSafeInteger(value) && value >= 0, 'a stored number is a safe integer')
  const bytes = new Uint8Array(UINT64_BYTES)
  putUint64(bytes, 0, value)
  return bytes
}

/** Decodes eight bytes. `key` is only for the error. */
export function decodeUint64(bytes: Bytes, key: Bytes): number {
  const whole = bytes.length === UINT64_BYTES
  const value = whole ? Number(dataView(bytes).getBigUint64(0)) : Number.NaN
  if (!Number.isSafeInteger(value)) {
    throw new StoreError('DATA_CORRUPT', `The value at key ${toHex(key)} is not a sequence number`)
  }
  return value
}

export function encodeUint32(value: number): Bytes {
  invariant(Number.isInteger(value) && value >= 0 && value <= 0xffffffff, 'a count fits 32 bits')
  const bytes = new Uint8Array(4)
  putUint32(bytes, 0, value)
  return bytes
}

/** Encodes a commit record. @param storeCrc - undefined: the store has no name. */
export function encodeCommit(operations: number, storeCrc: number | undefined): Bytes {
  const bytes = new Uint8Array(storeCrc === undefined ? 4 : 8)
  putUint32(bytes, 0, operations)
  if (storeCrc !== undefined) putUint32(bytes, 4, storeCrc)
  return bytes
}

/** Whether a commit record may belong to this store. A store's first records may lack the checksum of its name. */
export function isOwnCommit(payload: Bytes, storeCrc: number | undefined): boolean {
  if (storeCrc === undefined || payload.length <= 4) return true
  return sameBytes(payload.subarray(4), encodeUint32(storeCrc))
}

/** Wraps a payload for storage under this LevelDB key. */
export function sealValue(key: Bytes, payload: Bytes): Bytes {
  const value = new Uint8Array(ENVELOPE_BYTES + payload.length)
  sealInto(value, key, payload)
  return value
}

/** Writes the result of `sealValue` into `value`, which must have the length of the result. */
export function sealInto(value: Uint8Array, key: Bytes, payload: Bytes): void {
  value[0] = ENVELOPE_FORMAT
  putUint32(value, 1, crc32(payload, crc32(key)))
  value.set(payload, ENVELOPE_BYTES)
}

/** The payload of a sealed value, unverified: a plain Uint8Array on the same memory. */
export function payloadOf(value: Bytes): Bytes {
  const at = value.byteOffset + ENVELOPE_BYTES
  return new Uint8Array(value.buffer, at, value.length - ENVELOPE_BYTES)
}

/**
 * Verifies and unwraps a result of `sealValue`. The payload is a plain Uint8Array on the memory of `value`.
 * @throws {StoreError} DATA_CORRUPT, with the key
 */
export function openValue(key: Bytes, value: Bytes): Bytes {
  if (value.length < ENVELOPE_BYTES) throw corruptValue(key, `has only ${value.length} bytes`)
  if (value[0] !== ENVELOPE_FORMAT) throw corruptValue(key, `has the unknown format ${value[0]}`)
  const payload = payloadOf(value)
  if (readUint32(value, 1) !== crc32(payload, crc32(key))) {
    throw corruptValue(key, 'fails its checksum')
  }
  return payload
}

const KEY_HEX_CHARS_MAX = 512

function corruptValue(key: Bytes, problem: string): StoreError {
  const hex = toHex(key.subarray(0, KEY_HEX_CHARS_MAX / 2))
  return new StoreError('DATA_CORRUPT', `The value at key ${hex} ${problem}`)
}

function dataView(bytes: Bytes): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
