// Functions that a runtime may provide faster than plain TypeScript. The core imports no `node:` module: it asks the
// runtime for the built-in, and falls back to its own code (browsers, workers).
import { hmacOfSha256, Sha256 } from './sha256.js'
import { StoreError } from './store-error.js'

type Crc32 = (bytes: Uint8Array, seed?: number) => number

/** CRC-32 (IEEE 802.3, as in zlib) of the bytes, continued from `seed`, as an unsigned integer. */
export const crc32: Crc32 = /* @__PURE__ */ builtInCrc32() ?? tableCrc32

/** Lets other work of the process run. Resolves in a later turn of the event loop. */
export const yieldToEventLoop: () => Promise<void> =
  typeof setImmediate === 'function'
    ? () => new Promise((resolve) => setImmediate(resolve))
    : () => new Promise((resolve) => setTimeout(resolve, 0))

/** A built-in module of the runtime, if it exists. */
export function builtIn(id: string): unknown {
  const { process } = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }
  return process?.getBuiltinModule?.(id)
}

type NodeModule = Readonly<{ createRequire?: (from: string) => (name: string) => unknown }>

/**
 * A package as Node resolves it from a module at run time; undefined: the runtime is not Node, or there is no such
 * package. It serves CommonJS packages that require modules of Node; bundled into an ES module, they could not.
 */
export function requirePackage(name: string, from: string): unknown {
  const { createRequire } = (builtIn('node:module') as NodeModule | undefined) ?? {}
  try {
    return createRequire?.(from)(name)
  } catch {
    return undefined // The caller falls back to an import, whose error says what is missing.
  }
}

/** The runtime, for messages: `Node 20.19.0`. */
export function runtimeName(): string {
  const { process } = globalThis as { process?: { versions?: { node?: string } } }
  const version = process?.versions?.node
  return version === undefined ? 'this runtime' : `Node ${version}`
}

function builtInCrc32(): Crc32 | undefined {
  const zlib = builtIn('node:zlib') as { crc32?: Crc32 } | undefined
  const crc32 = zlib?.crc32
  if (crc32 === undefined) return undefined
  // For an empty array without memory, zlib ignores the seed.
  return (bytes, seed = 0) => (bytes.length === 0 ? seed : crc32(bytes, seed))
}

const CRC_POLYNOMIAL = 0xedb88320

const CRC_TABLE = /* @__PURE__ */ Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte
  for (let bit = 0; bit < 8; bit++) {
    remainder = remainder & 1 ? (remainder >>> 1) ^ CRC_POLYNOMIAL : remainder >>> 1
  }
  return remainder
})

/** The crc32 of a number's four big-endian bytes: calling the built-in for four bytes costs more. */
export function crc32OfUint32(value: number, seed: number): number {
  let crc = ~seed
  crc = (CRC_TABLE[(crc ^ (value >>> 24)) & 0xff] ?? 0) ^ (crc >>> 8)
  crc = (CRC_TABLE[(crc ^ (value >>> 16)) & 0xff] ?? 0) ^ (crc >>> 8)
  crc = (CRC_TABLE[(crc ^ (value >>> 8)) & 0xff] ?? 0) ^ (crc >>> 8)
  crc = (CRC_TABLE[(crc ^ value) & 0xff] ?? 0) ^ (crc >>> 8)
  return ~crc >>> 0
}

/** The portable implementation of crc32; exported so that tests can compare it with the built-in. */
export function tableCrc32(bytes: Uint8Array, seed = 0): number {
  let crc = ~seed
  for (const byte of bytes) crc = (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8)
  return ~crc >>> 0
}

/** Calls a function at an interval in milliseconds. It does not keep the process alive. */
export function every(intervalMs: number, call: () => void): () => void {
  const timer: unknown = setInterval(call, intervalMs)
  letGo(timer)
  return () => clearInterval(timer as Parameters<typeof clearInterval>[0])
}

/** Emits a process warning. If the runtime has none, writes the warning to the console. */
export function warn(message: string, code: string): void {
  const { process, console } = globalThis as {
    process?: { emitWarning?: (message: string, options: { type: string; code: string }) => void }
    console?: { warn?: (message: string) => void }
  }
  if (process?.emitWarning === undefined) console?.warn?.(`${message} (${code})`)
  else process.emitWarning(message, { type: 'RowstashWarning', code })
}

/**
 * Resolves when the promise has settled, or after a time in milliseconds.
 * @param timer - `unref`: does not keep the process alive.
 */
export function waitAtMost(
  settled: Promise<unknown>,
  ms: number,
  timer: 'ref' | 'unref' = 'ref',
): Promise<void> {
  return new Promise((resolve) => {
    const waiting: unknown = setTimeout(resolve, ms)
    if (timer === 'unref') letGo(waiting)
    const done = (): void => {
      clearTimeout(waiting as Parameters<typeof clearTimeout>[0])
      resolve()
    }
    settled.then(done, done)
  })
}

function letGo(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer) {
    ;(timer as { unref(): void }).unref()
  }
}

export type HashAlgorithm = 'md5' | 'sha256'

/** A digest computed incrementally. */
export interface Hash {
  update(bytes: Uint8Array): unknown
  /** Ends the digest. Must be called once, after the last bytes. */
  digest(): Uint8Array
}

type NodeCrypto = Readonly<{
  createHash(algorithm: HashAlgorithm): Hash
  /** Exists since Node 20.12. */
  hash?(algorithm: HashAlgorithm, bytes: Uint8Array, form: 'buffer'): Uint8Array
  createHmac(algorithm: HashAlgorithm, key: Uint8Array): Hash
  timingSafeEqual(left: Uint8Array, right: Uint8Array): boolean
}>

/** @throws {StoreError} OPTION_NOT_ALLOWED if the algorithm is md5 and the runtime lacks `node:crypto`. */
export function openHash(algorithm: HashAlgorithm): Hash {
  const hash = builtInCrypto()?.createHash(algorithm)
  if (hash !== undefined) {
    return { update: (bytes) => hash.update(bytes), digest: () => plain(hash.digest()) }
  }
  if (algorithm === 'sha256') return new Sha256()
  throw new StoreError('OPTION_NOT_ALLOWED', 'An MD5 digest needs a runtime that has node:crypto')
}

/** The SHA-256 of a few bytes. */
export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return sha256Now(bytes)
}

/** `sha256`, synchronously. */
export function sha256Now(bytes: Uint8Array): Uint8Array {
  const crypto = builtInCrypto()
  if (typeof crypto?.hash === 'function') return plain(crypto.hash('sha256', bytes, 'buffer'))
  const hash = crypto?.createHash('sha256') ?? new Sha256()
  hash.update(bytes)
  return plain(hash.digest())
}

export function hmacSha256(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  const hmac = builtInCrypto()?.createHmac('sha256', key)
  if (hmac === undefined) return hmacOfSha256(key, bytes)
  hmac.update(bytes)
  return plain(hmac.digest())
}

/** Compares two runs of equal length in constant time. */
export function sameSecret(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false
  const crypto = builtInCrypto()
  if (crypto !== undefined) return crypto.timingSafeEqual(left, right)
  return left.reduce((different, byte, at) => different | (byte ^ (right[at] ?? 0)), 0) === 0
}

/** The built-in crypto, if it has its functions: a bundler may replace the module with something else. */
function builtInCrypto(): NodeCrypto | undefined {
  const crypto = builtIn('node:crypto') as NodeCrypto | undefined
  return typeof crypto?.createHash === 'function' ? crypto : undefined
}

/** The bytes of a Buffer as a plain Uint8Array. */
function plain(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes)
}

/**
 * Frees the memory of bytes at once. Left to the garbage collector, every few megabytes would start a whole cycle.
 * The bytes must not be used afterwards. If the runtime cannot free memory at once, the collector will.
 */
export function freeMemory({ buffer }: Uint8Array): void {
  ;(buffer as { transfer?: (bytes: number) => unknown }).transfer?.(0)
}

/**
 * Frees a large array after its only use. In Node 20, `freeMemory` does nothing. There, a message without a receiver
 * takes the memory, and is freed with its channel; this takes tens of microseconds.
 */
export function freeLargeArray({ buffer }: Uint32Array): void {
  if ('transfer' in buffer) (buffer as { transfer: (bytes: number) => unknown }).transfer(0)
  else if (typeof MessageChannel === 'function' && buffer instanceof ArrayBuffer) {
    const { port1, port2 } = new MessageChannel()
    port1.postMessage(null, [buffer])
    port2.close()
  }
}

type NodeBuffer = Readonly<{
  isUtf8?: (bytes: Uint8Array) => boolean
  isAscii?: (bytes: Uint8Array) => boolean
  Buffer?: {
    prototype: {
      hexSlice?(this: Uint8Array, from: number, to: number): string
      indexOf?(this: Uint8Array, needle: Uint8Array): number
      lastIndexOf?(this: Uint8Array, needle: Uint8Array): number
      compare?(
        this: Uint8Array,
        other: Uint8Array,
        otherFrom?: number,
        otherTo?: number,
        from?: number,
        to?: number,
      ): number
      latin1Slice?(this: Uint8Array, from: number, to: number): string
      utf8Slice?(this: Uint8Array, from: number, to: number): string
    }
    from(memory: ArrayBufferLike, offset: number, length: number): NodeSlices
  }
}>

type NodeSlices = Readonly<{
  utf8Slice?(from: number, to: number): string
}>

function nodeBuffer(): NodeBuffer | undefined {
  return builtIn('node:buffer') as NodeBuffer | undefined
}

type BufferMethods = NonNullable<NodeBuffer['Buffer']>['prototype']

/** Calls are marked as pure, so that a bundle contains only the methods that it uses. */
function bufferMethod<Name extends keyof BufferMethods>(name: Name): BufferMethods[Name] {
  return nodeBuffer()?.Buffer?.prototype[name]
}

const latin1Slice = /* @__PURE__ */ bufferMethod('latin1Slice')

/** Whether the bytes are valid UTF-8. */
export const isUtf8: (bytes: Uint8Array) => boolean = /* @__PURE__ */ (() =>
  nodeBuffer()?.isUtf8 ?? decodesAsUtf8)()

/** Whether all bytes are ASCII. */
export const isAscii: (bytes: Uint8Array) => boolean = /* @__PURE__ */ (() =>
  nodeBuffer()?.isAscii ?? ((bytes: Uint8Array) => bytes.every((byte) => byte < 128)))()

/** The length of valid UTF-8 as a string, in UTF-16 units. */
export function utf8StringLength(bytes: Uint8Array): number {
  // In most texts each character has one byte, so nothing is decoded.
  return isAscii(bytes) ? bytes.length : utf8Decoder.decode(bytes).length
}

function decodesAsUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false // The error only says that the bytes are invalid.
  }
}

const hexSlice = /* @__PURE__ */ bufferMethod('hexSlice')

/** The bytes as lower-case hex digits; undefined: the runtime has no function for it. */
export function builtInHex(bytes: Uint8Array): string | undefined {
  return hexSlice?.call(bytes, 0, bytes.length)
}

/** The bytes as a text with one UTF-16 unit per byte, usable as a Map key. */
export function byteText(bytes: Uint8Array): string {
  return byteTextUntil(bytes, bytes.length)
}

/** `byteText` of the bytes before `limit`. */
export function byteTextUntil(bytes: Uint8Array, limit: number): string {
  if (latin1Slice !== undefined) return latin1Slice.call(bytes, 0, limit)
  let text = ''
  for (const byte of bytes.subarray(0, limit)) text += String.fromCharCode(byte)
  return text
}

const utf8Slice = /* @__PURE__ */ bufferMethod('utf8Slice')
const utf8Decoder = /* @__PURE__ */ new TextDecoder('utf-8', { ignoreBOM: true })

/** Decodes a part of valid UTF-8 between character boundaries. */
export function sliceText(bytes: Uint8Array, from: number, to: number): string {
  if (utf8Slice !== undefined) return utf8Slice.call(bytes, from, to)
  return utf8Decoder.decode(bytes.subarray(from, to))
}

/** Returns a `sliceText` of some bytes that is fast for many short parts. */
export function sliceReader(bytes: Uint8Array): (from: number, to: number) => string {
  const slices = nodeBuffer()?.Buffer?.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const { utf8Slice } = slices ?? {}
  if (slices !== undefined && utf8Slice !== undefined) {
    return (from, to) => utf8Slice.call(slices, from, to)
  }
  return (from, to) => utf8Decoder.decode(bytes.subarray(from, to))
}

const indexOf = /* @__PURE__ */ bufferMethod('indexOf')
const lastIndexOf = /* @__PURE__ */ bufferMethod('lastIndexOf')

/**
 * The first or the last position of a needle in bytes; -1: none. `indexOf` is fast if the first byte of the needle is
 * rare, `lastIndexOf` if the last byte is rare. null: the runtime has no search that is faster than a loop.
 */
export const byteSearch: Readonly<{
  indexOf(bytes: Uint8Array, needle: Uint8Array): number
  lastIndexOf(bytes: Uint8Array, needle: Uint8Array): number
}> | null =
  indexOf === undefined || lastIndexOf === undefined
    ? null
    : {
        indexOf: (bytes, needle) => indexOf.call(bytes, needle),
        lastIndexOf: (bytes, needle) => lastIndexOf.call(bytes, needle),
      }

const compare = /* @__PURE__ */ bufferMethod('compare')

/** Whether `length` bytes of `left` at `leftFrom` equal those of `right` at `rightFrom`. Both must be long enough. */
export function sameRanges(
  left: Uint8Array,
  leftFrom: number,
  right: Uint8Array,
  rightFrom: number,
  length: number,
): boolean {
  if (compare !== undefined) {
    // A view is compared with the whole array. Until the code is optimized, the built-in takes twice as long with
    // ranges, because it checks each bound.
    if (length === right.length) {
      return compare.call(left.subarray(leftFrom, leftFrom + length), right) === 0
    }
    return (
      compare.call(left, right, rightFrom, rightFrom + length, leftFrom, leftFrom + length) === 0
    )
  }
  for (let i = 0; i < length; i++) if (left[leftFrom + i] !== right[rightFrom + i]) return false
  return true
}
