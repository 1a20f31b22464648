// Functions that a runtime may do better than plain TypeScript. The core imports no `node:` module: it asks the runtime
// for the built-in, and falls back to its own code where there is none (browsers, workers).
import { hmacOfSha256, Sha256 } from './sha256.js'
import { StoreError } from './store-error.js'

type Crc32 = (bytes: Uint8Array, seed?: number) => number

/** CRC-32 (IEEE 802.3, as in zlib) of the bytes, continued from `seed`, as an unsigned integer. */
export const crc32: Crc32 = /* @__PURE__ */ builtInCrc32() ?? tableCrc32

/** Lets other work of the process run: resolves in a later turn of the event loop. */
export const yieldToEventLoop: () => Promise<void> =
  typeof setImmediate === 'function'
    ? () => new Promise((resolve) => setImmediate(resolve))
    : () => new Promise((resolve) => setTimeout(resolve, 0))

/** A built-in module of the runtime, if it has that one. */
export function builtIn(id: string): unknown {
  const { process } = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }
  return process?.getBuiltinModule?.(id)
}

type NodeModule = Readonly<{ createRequire?: (from: string) => (name: string) => unknown }>

/**
 * A package as Node finds it from a module at run time; undefined where that is not Node, or has no such package.
 * For packages of CommonJS that require modules of Node: within the ES module of a bundler they could not.
 */
export function requirePackage(name: string, from: string): unknown {
  const { createRequire } = (builtIn('node:module') as NodeModule | undefined) ?? {}
  try {
    return createRequire?.(from)(name)
  } catch {
    return undefined // Who asks has another way, which says what is wrong if that fails too.
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
  // zlib starts anew, instead of continuing from the seed, at an empty array that has no memory.
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

/** The crc32 of four bytes, those of a number in big-endian order: to call the built-in for so few costs more. */
export function crc32OfUint32(value: number, seed: number): number {
  let crc = ~seed
  crc = (CRC_TABLE[(crc ^ (value >>> 24)) & 0xff] ?? 0) ^ (crc >>> 8)
  crc = (CRC_TABLE[(crc ^ (value >>> 16)) & 0xff] ?? 0) ^ (crc >>> 8)
  crc = (CRC_TABLE[(crc ^ (value >>> 8)) & 0xff] ?? 0) ^ (crc >>> 8)
  crc = (CRC_TABLE[(crc ^ value) & 0xff] ?? 0) ^ (crc >>> 8)
  return ~crc >>> 0
}

/** The portable twin of the built-in; exported so that tests can hold the two against each other. */
export function tableCrc32(bytes: Uint8Array, seed = 0): number {
  let crc = ~seed
  for (const byte of bytes) crc = (CRC_TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8)
  return ~crc >>> 0
}

/** Calls a function at an interval in milliseconds, without keeping the process alive for it. */
export function every(intervalMs: number, call: () => void): () => void {
  const timer: unknown = setInterval(call, intervalMs)
  letGo(timer)
  return () => clearInterval(timer as Parameters<typeof clearInterval>[0])
}

/** Warns whoever runs the program: a warning of the process, or of the console where there is none. */
export function warn(message: string, code: string): void {
  const { process, console } = globalThis as {
    process?: { emitWarning?: (message: string, options: { type: string; code: string }) => void }
    console?: { warn?: (message: string) => void }
  }
  if (process?.emitWarning === undefined) console?.warn?.(`${message} (${code})`)
  else process.emitWarning(message, { type: 'RowstashWarning', code })
}

/**
 * Resolves when the promise has settled, either way, or after a time in milliseconds.
 * @param timer - `unref`: it does not keep the process alive.
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

/** A digest that is computed as the bytes come. */
export interface Hash {
  update(bytes: Uint8Array): unknown
  /** Once, after the last bytes. */
  digest(): Uint8Array
}

type NodeCrypto = Readonly<{
  createHash(algorithm: HashAlgorithm): Hash
  /** From Node 20.12 on. */
  hash?(algorithm: HashAlgorithm, bytes: Uint8Array, form: 'buffer'): Uint8Array
  createHmac(algorithm: HashAlgorithm, key: Uint8Array): Hash
  timingSafeEqual(left: Uint8Array, right: Uint8Array): boolean
}>

/** @throws {StoreError} OPTION_NOT_ALLOWED: md5 in a runtime without `node:crypto`. */
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

/** As `sha256`, at once. */
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

/** Compares two runs of one length in a time that does not depend on where they differ. */
export function sameSecret(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false
  const crypto = builtInCrypto()
  if (crypto !== undefined) return crypto.timingSafeEqual(left, right)
  return left.reduce((different, byte, at) => different | (byte ^ (right[at] ?? 0)), 0) === 0
}

/** A bundler may put something else in the place of the module. */
function builtInCrypto(): NodeCrypto | undefined {
  const crypto = builtIn('node:crypto') as NodeCrypto | undefined
  return typeof crypto?.createHash === 'function' ? crypto : undefined
}

/** Without the methods that Node's Buffer adds. */
function plain(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes)
}

/**
 * Frees the memory that bytes stand in, at once: the garbage collector begins a whole round for every few
 * megabytes of such memory. Nobody may use it any more; where a runtime cannot do it, the collector will.
 */
export function freeMemory({ buffer }: Uint8Array): void {
  ;(buffer as { transfer?: (bytes: number) => unknown }).transfer?.(0)
}

/**
 * As `freeMemory`, for a large array that is used once. In Node 20, where `freeMemory` does nothing, it takes tens of
 * microseconds: a message that nobody receives takes the memory along, and goes with its channel.
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

/** Calls of it are marked as pure, so that a bundle has only the methods that it uses. */
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

/** The length of valid UTF-8 as a string. */
export function utf8StringLength(bytes: Uint8Array): number {
  // Mostly each character has one byte: then none is decoded.
  return isAscii(bytes) ? bytes.length : utf8Decoder.decode(bytes).length
}

function decodesAsUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false // It says only what the bytes are.
  }
}

const hexSlice = /* @__PURE__ */ bufferMethod('hexSlice')

/** The bytes as lower-case hex digits; undefined: the runtime has nothing of its own for it. */
export function builtInHex(bytes: Uint8Array): string | undefined {
  return hexSlice?.call(bytes, 0, bytes.length)
}

/** The bytes as a text with one UTF-16 unit a byte, so that they can be the key of a Map. */
export function byteText(bytes: Uint8Array): string {
  return byteTextUntil(bytes, bytes.length)
}

/** As `byteText`, of the bytes before `limit`. */
export function byteTextUntil(bytes: Uint8Array, limit: number): string {
  if (latin1Slice !== undefined) return latin1Slice.call(bytes, 0, limit)
  let text = ''
  for (const byte of bytes.subarray(0, limit)) text += String.fromCharCode(byte)
  return text
}

const utf8Slice = /* @__PURE__ */ bufferMethod('utf8Slice')
const utf8Decoder = /* @__PURE__ */ new TextDecoder('utf-8', { ignoreBOM: true })

/** Decodes a part of valid UTF-8 that begins and ends between characters. */
export function sliceText(bytes: Uint8Array, from: number, to: number): string {
  if (utf8Slice !== undefined) return utf8Slice.call(bytes, from, to)
  return utf8Decoder.decode(bytes.subarray(from, to))
}

/** As `sliceText`; many short parts of the same bytes are quick. */
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
 * Where other bytes stand in the bytes, -1: nowhere. Both are quick where one byte of the needle is rare, `indexOf`
 * its first one, `lastIndexOf` its last. null: the runtime has no such search that beats a loop.
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

/** Whether `length` bytes from `leftFrom` on are those of `right` from `rightFrom` on. Both have as many. */
export function sameRanges(
  left: Uint8Array,
  leftFrom: number,
  right: Uint8Array,
  rightFrom: number,
  length: number,
): boolean {
  if (compare !== undefined) {
    // Of a whole array: until it is compiled, the built-in takes twice as long with ranges, as it checks each bound.
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
