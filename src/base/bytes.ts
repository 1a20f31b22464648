import { QUOTE } from './ascii.js'
import { tagOf } from './options.js'
import { builtInHex } from './platform.js'

/** Bytes that must not change after they were passed on. */
export type Bytes = Uint8Array

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export const NO_BYTES: Bytes = new Uint8Array(0)

/** The same memory as a plain Uint8Array. Views of it are made faster than of a subclass, such as Node's Buffer. */
export function plainView({ buffer, byteOffset, length }: Bytes): Bytes {
  return new Uint8Array(buffer, byteOffset, length)
}

/** Bytes of a caller, of any realm; shared memory is copied. undefined: not bytes. */
export function bytesOf(given: unknown): Bytes | undefined {
  if (!ArrayBuffer.isView(given) || tagOf(given) !== 'Uint8Array') return undefined
  const { buffer, byteOffset, byteLength } = given
  const bytes = new Uint8Array(buffer, byteOffset, byteLength)
  return tagOf(buffer) === 'SharedArrayBuffer' ? bytes.slice() : bytes
}

export function utf8(text: string): Bytes {
  return encoder.encode(text)
}

/** Decodes UTF-8; throws a TypeError for invalid bytes. Keeps a byte order mark. */
export function fromUtf8(bytes: Bytes): string {
  return decoder.decode(bytes)
}

const BYTE_ORDER_MARK = Object.freeze([0xef, 0xbb, 0xbf])

/** The length of the UTF-8 byte order mark at the beginning of a text: 3 or 0. */
export function markLength(text: Bytes): number {
  return BYTE_ORDER_MARK.every((byte, i) => text[i] === byte) ? BYTE_ORDER_MARK.length : 0
}

export function sameBytes(left: Bytes, right: Bytes): boolean {
  if (left === right) return true
  if (left.length !== right.length) return false
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}

/** Whether bytes before `limit` begin with `key` at a place. */
export function startsWith(bytes: Bytes, at: number, limit: number, key: Bytes): boolean {
  const { length } = key
  if (at + length > limit) return false
  for (let i = 0; i < length; i++) if (bytes[at + i] !== key[i]) return false
  return true
}

/** `sameBytes` for optional values: null equals only null. */
export function sameValue(left: Bytes | null, right: Bytes | null): boolean {
  return left === null || right === null ? left === right : sameBytes(left, right)
}

/** Compares in byte order, as LevelDB sorts keys. */
export function compareBytes(left: Bytes, right: Bytes): number {
  const shared = Math.min(left.length, right.length)
  for (let i = 0; i < shared; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

export function concatBytes(parts: readonly Bytes[]): Bytes {
  let length = 0
  for (const part of parts) length += part.length
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Reads four big-endian bytes at `at`. It uses no DataView, which costs more for a few numbers. */
export function readUint32(bytes: Bytes, at: number): number {
  const low = ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)
  return (bytes[at] ?? 0) * 0x100_0000 + low
}

/** Writes four bytes, big-endian. It uses no DataView, which makes small arrays allocate a buffer and costs more. */
export function putUint32(bytes: Bytes, at: number, value: number): void {
  bytes[at] = value >>> 24
  bytes[at + 1] = value >>> 16
  bytes[at + 2] = value >>> 8
  bytes[at + 3] = value
}

/** Writes eight bytes, big-endian. @param value - A nonnegative safe integer. */
export function putUint64(bytes: Bytes, at: number, value: number): void {
  putUint32(bytes, at, Math.floor(value / 2 ** 32))
  putUint32(bytes, at + 4, value % 2 ** 32)
}

/**
 * The minimum length of an array in a shared block: V8 keeps shorter arrays inside the object. For longer arrays, a
 * separate buffer costs ten times as much as a part of a block (PERFORMANCE.md, P56).
 */
const POOLED_BYTES_MIN = 65
const POOLED_BYTES_MAX = 1_024
const BLOCK_BYTES = 4_096

let block = new ArrayBuffer(0)
let taken = 0

/** Memory for short-lived bytes: as long as they are in use, they keep their whole block of 4 KiB in memory. */
export function pooledBytes(count: number): Uint8Array<ArrayBuffer> {
  if (count < POOLED_BYTES_MIN || count > POOLED_BYTES_MAX) return new Uint8Array(count)
  if (taken + count > block.byteLength) {
    block = new ArrayBuffer(BLOCK_BYTES)
    taken = 0
  }
  const bytes = new Uint8Array(block, taken, count)
  taken += count
  return bytes
}

/** A text as UTF-8, after `room` free bytes, in memory for short-lived bytes. */
export function utf8Behind(room: number, text: string): Bytes {
  const bytes = pooledBytes(room + text.length)
  // In most texts each character has one byte, so nothing needs to be copied.
  const { read } = encoder.encodeInto(text, bytes.subarray(room))
  return read === text.length ? bytes : concatBytes([new Uint8Array(room), encoder.encode(text)])
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function toHex(bytes: Bytes): string {
  const known = builtInHex(bytes)
  if (known !== undefined) return known
  let text = ''
  for (const byte of bytes) text += HEX[byte]
  return text
}

const HEX_DIGIT_OF_CODE = /* @__PURE__ */ digitsByCode('0123456789abcdef')

/** The place of each character in an alphabet, by character code; -1: not in it. */
function digitsByCode(alphabet: string): Int8Array {
  const digits = new Int8Array(128).fill(-1)
  for (let digit = 0; digit < alphabet.length; digit++) digits[alphabet.charCodeAt(digit)] = digit
  return digits
}

/** Decodes an even number of lower-case hex digits; null: the text is anything else. */
export function fromHex(text: string): Bytes | null {
  if (text.length % 2 !== 0) return null
  const bytes = new Uint8Array(text.length / 2)
  for (let i = 0; i < bytes.length; i++) {
    const high = HEX_DIGIT_OF_CODE[text.charCodeAt(2 * i)] ?? -1
    const low = HEX_DIGIT_OF_CODE[text.charCodeAt(2 * i + 1)] ?? -1
    if (high < 0 || low < 0) return null
    bytes[i] = (high << 4) | low
  }
  return bytes
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** The character code of each base64url digit. */
export const BASE64URL_CODES: Bytes = /* @__PURE__ */ Uint8Array.from(ALPHABET, (character) =>
  character.charCodeAt(0),
)
const DIGIT_OF_CODE = /* @__PURE__ */ digitsByCode(ALPHABET)

/** base64url without padding, RFC 4648 section 5. */
export function toBase64Url(bytes: Bytes): string {
  let text = ''
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i
    const group = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    text += ALPHABET.charAt(group >> 18) + ALPHABET.charAt((group >> 12) & 63)
    if (left > 1) text += ALPHABET.charAt((group >> 6) & 63)
    if (left > 2) text += ALPHABET.charAt(group & 63)
  }
  return text
}

/** Decodes canonical base64url; null: the text would not encode to itself. */
export function fromBase64Url(text: string): Bytes | null {
  const spare = text.length % 4
  if (spare === 1) return null
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4))
  let bits = 0
  let bitCount = 0
  let at = 0
  for (let i = 0; i < text.length; i++) {
    const digit = DIGIT_OF_CODE[text.charCodeAt(i)] ?? -1
    if (digit < 0) return null
    bits = ((bits << 6) | digit) & 0xffffff
    bitCount += 6
    if (bitCount >= 8) {
      bitCount -= 8
      bytes[at++] = (bits >> bitCount) & 0xff
    }
  }
  const left = bits & ((1 << bitCount) - 1)
  return left === 0 ? bytes : null
}

/** The number of UTF-16 units in valid UTF-8. */
export function utf16Length(bytes: Bytes, from: number, to: number): number {
  let units = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0
    if ((byte & 0xc0) !== 0x80) units += byte >= 0xf0 ? 2 : 1
  }
  return units
}

/**
 * The text of a quoted field, given without its quotes, with doubled quotes resolved. Works on bytes, since a field
 * may have millions of quotes.
 */
export function unquotedText(bytes: Bytes, from: number, to: number): string {
  const plain = new Uint8Array(to - from)
  let length = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0
    plain[length++] = byte
    if (byte === QUOTE) at++
  }
  return fromUtf8(plain.subarray(0, length))
}
