// Compression by the runtime, or else by a bundled library. Large pieces are compressed on other threads; small ones on
// the main thread, because a trip to another thread takes longer.
import { deflateSync, inflateSync } from 'fflate'
import type { Awaitable } from './awaitable.js'
import { type Bytes, plainView } from './bytes.js'
import { KeptZlib } from './kept-zlib.js'
import { builtIn, runtimeName, yieldToEventLoop } from './platform.js'
import { StoreError } from './store-error.js'
import { ZlibLanes, type ZlibStream } from './zlib-lanes.js'
import { soleZstdFrame, zstdContentBytes } from './zstd-frame.js'

export type CodecName = 'deflate' | 'zstd'

/** `fast` is for data on its way into the store, `thorough` for data that is rewritten once and then kept. */
export type Effort = 'fast' | 'thorough'

/** A compression method. Input bytes must not change until the result is there. */
export interface Codec {
  /** The compressed bytes; null: they would be more than `outBytesMax`. Default effort: `fast`. */
  compress(raw: Bytes, outBytesMax: number, effort?: Effort): Promise<Bytes | null>

  /**
   * Decompresses bytes. The result is a view of `memory`, if the codec can use it, and otherwise of a new buffer that
   * nothing else uses; this buffer may be longer than the bytes.
   * @param rawBytes - The required number of decompressed bytes. At most one byte more is ever produced.
   * @param memory - The codec may write the bytes into it, if it is large enough.
   * @throws {Error} if `stored` is not the compressed form of exactly `rawBytes` bytes. The error may be of any
   *   class; it is thrown, or the returned promise rejects with it.
   */
  decompress(stored: Bytes, rawBytes: number, memory?: Bytes): Awaitable<Bytes>
}

/** The codecs of a runtime. null: the runtime lacks zstd. */
export type Codecs = Readonly<{ deflate: Codec; zstd: Codec | null }>

type StreamOptions = Readonly<{
  flush?: number
  level?: number
  chunkSize: number
  maxOutputLength?: number
  params?: Readonly<Record<number, number>>
}>

type OpenZlib = (options: StreamOptions) => ZlibStream & { reset(): void }

type ConvertOptions = Readonly<{
  chunkSize: number
  level?: number
  maxOutputLength: number
  params?: Readonly<Record<number, number>>
}>

/** Makes a call also return the engine, which knows how many input bytes were consumed. */
const WITH_ENGINE = { info: true } as const

type Converted = Readonly<{ buffer: Bytes; engine: Readonly<{ bytesWritten: number }> }>

type ConvertSync = (bytes: Bytes, options: ConvertOptions & typeof WITH_ENGINE) => Converted

type Convert = (
  bytes: Bytes,
  options: ConvertOptions & typeof WITH_ENGINE,
  done: (failure: unknown, out: Converted) => void,
) => void

/** The used members of `node:zlib`. Those of zstd exist from Node 22.15 on. */
type Zlib = Readonly<{
  constants: Readonly<Record<string, number>>
  createDeflateRaw: OpenZlib
  deflateRaw: Convert
  inflateRaw: Convert
  inflateRawSync?: ConvertSync
  createZstdCompress?: OpenZlib
  createZstdDecompress?: (options: StreamOptions) => unknown
  zstdCompress?: Convert
  zstdCompressSync?: () => unknown
  zstdDecompress?: Convert
  zstdDecompressSync?: ConvertSync
}>

/**
 * `fast` is the fastest level of each codec (PERFORMANCE.md, P10). Output of zstd's level 3 takes 5 % less space than
 * that of level 1, and is read faster (P36).
 */
const DEFLATE_LEVEL = { fast: 1, thorough: 6 } as const satisfies Record<Effort, number>
const ZSTD_LEVEL: Readonly<Record<Effort, number>> = { fast: 1, thorough: 3 }

/**
 * Larger pieces are decompressed on another thread, each with a new stream; a piece of this size takes the main thread
 * a millisecond (PERFORMANCE.md, P9). Only frames of one large row are larger.
 */
const SMALL_BYTES_MAX = 512 * 1024

/**
 * Pieces of at most this size, such as frames of short rows, are compressed on the main thread. For larger pieces,
 * another thread costs the main thread less (PERFORMANCE.md, P41).
 */
const AT_ONCE_BYTES_MAX = 24 * 1024

/** Room for the output of several pieces, or for a part of the output of a large piece. */
const ROOM = { chunkSize: 128 * 1024 }

/** With less room than this, Node may put the output into memory shared with other buffers. */
const OWN_BYTES_MIN = 32 * 1024

/** The maximum memory for a zstd frame, as the exponent of a power of two: 8 MiB, which every decoder must support. */
const ZSTD_WINDOW_LOG_MAX = 23

/** @param zlib - `node:zlib` or a runtime's subset of it; undefined: none. */
export function openCodecs(zlib: unknown): Codecs {
  if (typeof zlib !== 'object' || zlib === null) return { deflate: portableDeflate, zstd: null }
  const found = zlib as Zlib
  return { deflate: zlibDeflate(found), zstd: zlibZstd(found) }
}

function zlibDeflate(zlib: Zlib): Codec {
  const { createDeflateRaw, deflateRaw, inflateRaw, inflateRawSync } = zlib
  const flush = zlib.constants['Z_FINISH'] ?? 4
  return {
    compress: packerOf((effort) => {
      const level = DEFLATE_LEVEL[effort]
      const lanes = new ZlibLanes(() => createDeflateRaw({ ...ROOM, flush, level }), reset)
      return { lanes, convert: deflateRaw, settings: { level } }
    }),
    decompress: unpackerOf({ convert: inflateRaw, convertSync: inflateRawSync, settings: {} }),
  }
}

function zlibZstd(zlib: Zlib): Codec | null {
  const { constants, createZstdCompress, zstdCompress, zstdDecompress, zstdDecompressSync } = zlib
  if (createZstdCompress === undefined) return null
  if (zstdCompress === undefined || zstdDecompress === undefined) return null
  const params = { [constants['ZSTD_d_windowLogMax'] ?? 100]: ZSTD_WINDOW_LOG_MAX }
  const decompress = unpackerOf({
    convert: zstdDecompress,
    convertSync: zstdDecompressSync,
    settings: { params },
  })
  const kept = keptUnzstd(zlib, params)
  const levelOf = (effort: Effort) => {
    return { [constants['ZSTD_c_compressionLevel'] ?? 100]: ZSTD_LEVEL[effort] }
  }
  const flush = constants['ZSTD_e_end'] ?? 2
  const openerOf = (effort: Effort) => () =>
    createZstdCompress({ ...ROOM, flush, params: levelOf(effort) })
  const compress = packerOf((effort) => {
    const lanes = new ZlibLanes(openerOf(effort))
    return { lanes, convert: zstdCompress, settings: { params: levelOf(effort) } }
  })
  // Without the synchronous public call, compress only on other threads.
  const packAtOnce = zlib.zstdCompressSync && new KeptZlib(openerOf('fast'), flush)
  return {
    async compress(raw, outBytesMax, effort = 'fast') {
      const isSmall = raw.length <= AT_ONCE_BYTES_MAX && effort === 'fast'
      const packed = isSmall ? packAtOnce?.run(raw, (out) => isWholeZstd(raw, out)) : undefined
      if (packed !== undefined) return packed.length > outBytesMax ? null : packed.slice()
      const stored = await compress(raw, outBytesMax, effort)
      if (isSmall && stored !== null) packAtOnce?.giveUp()
      return (stored && soleZstdFrame(stored)) ?? null
    },
    decompress(stored, rawBytes, memory) {
      const frame = soleZstdFrame(stored)
      if (frame === undefined) throw new Error('it is not a single complete zstd frame')
      const isSmall = rawBytes <= SMALL_BYTES_MAX && zstdContentBytes(frame) === rawBytes
      const raw = isSmall ? kept?.run(frame, (out) => out.length === rawBytes) : undefined
      if (raw !== undefined) return copied(raw, memory)
      const made = decompress(frame, rawBytes)
      if (isSmall) kept?.giveUp()
      return made
    },
  }
}

/** The reused decompressor of the main thread; null: the runtime decompresses only on other threads. */
function keptUnzstd(
  { constants, createZstdDecompress: open, zstdDecompressSync }: Zlib,
  params: Readonly<Record<number, number>>,
): KeptZlib | null {
  if (open === undefined || zstdDecompressSync === undefined) return null
  const options = { chunkSize: SMALL_BYTES_MAX + 1, maxOutputLength: SMALL_BYTES_MAX, params }
  return new KeptZlib(() => open(options), constants['ZSTD_e_continue'] ?? 0)
}

/** Whether the bytes are one zstd frame that states the length of `raw`. */
function isWholeZstd(raw: Bytes, stored: Bytes): boolean {
  return soleZstdFrame(stored)?.length === stored.length && zstdContentBytes(stored) === raw.length
}

/** A copy of the bytes, in the given memory if it is large enough, or else in new memory. */
function copied(bytes: Bytes, memory: Bytes | undefined): Bytes {
  if (memory === undefined || memory.length < bytes.length) return bytes.slice()
  memory.set(bytes)
  return memory.subarray(0, bytes.length)
}

/** Resets a DEFLATE stream. It ends with its piece, so it must be reset before the next one. */
function reset(stream: ZlibStream): void {
  ;(stream as ZlibStream & { reset(): void }).reset()
}

type Settings = Omit<ConvertOptions, 'chunkSize' | 'maxOutputLength'>

type Packing = Readonly<{ lanes: ZlibLanes; convert: Convert; settings: Settings }>

function packerOf(packingOf: (effort: Effort) => Packing): Codec['compress'] {
  const packings = { fast: packingOf('fast'), thorough: packingOf('thorough') }
  const pack = async (
    raw: Bytes,
    outBytesMax: number,
    { lanes, convert, settings }: Packing,
  ): Promise<Bytes | null> => {
    if (raw.length > SMALL_BYTES_MAX) {
      const options = { ...ROOM, ...settings, maxOutputLength: outBytesMax }
      return plainView((await convertAsync(convert, raw, options)).buffer)
    }
    // The output is not cut off at `outBytesMax`, because that would destroy the stream.
    const stored = await lanes.run(raw)
    return stored.length > outBytesMax ? null : stored
  }
  return (raw, outBytesMax, effort = 'fast') =>
    pack(raw, outBytesMax, packings[effort]).catch(() => null) // The output would be too large.
}

type Unpacking = Readonly<{
  convert: Convert
  /**
   * The synchronous call for small pieces; undefined: the runtime lacks it, so small pieces are handled like large
   * ones.
   */
  convertSync: ConvertSync | undefined
  settings: Settings
}>

function unpackerOf({ convert, convertSync, settings }: Unpacking): Codec['decompress'] {
  return (stored, rawBytes) => {
    const bounded = { ...settings, maxOutputLength: rawBytes }
    if (convertSync === undefined || rawBytes > SMALL_BYTES_MAX) {
      return convertAsync(convert, stored, { ...ROOM, ...bounded }).then((out) =>
        takeWholeOutput(out, stored, rawBytes, ROOM.chunkSize),
      )
    }
    // One spare byte lets the call end in one step, and shows whether there would be more.
    const chunkSize = Math.max(OWN_BYTES_MIN, rawBytes + 1)
    const out = convertSync(stored, { ...bounded, ...WITH_ENGINE, chunkSize })
    return takeWholeOutput(out, stored, rawBytes, chunkSize)
  }
}

function convertAsync(convert: Convert, bytes: Bytes, options: ConvertOptions): Promise<Converted> {
  return new Promise((resolve, reject) => {
    convert(bytes, { ...options, ...WITH_ENGINE }, (failure, out) => {
      if (failure) reject(failure)
      else resolve(out)
    })
  })
}

/** The output, in a buffer that nothing else uses. @throws {Error} if stored bytes remain, or the length is wrong */
function takeWholeOutput(
  { buffer, engine }: Converted,
  stored: Bytes,
  rawBytes: number,
  roomBytes: number,
): Bytes {
  if (engine.bytesWritten !== stored.length) {
    throw new Error('there is data after the compressed bytes')
  }
  const raw = ofLength(plainView(buffer), rawBytes)
  const { byteLength } = raw.buffer
  const isAlone = byteLength === roomBytes || byteLength === rawBytes
  return isAlone && raw.byteOffset === 0 ? raw : raw.slice()
}

function ofLength(raw: Bytes, rawBytes: number): Bytes {
  if (raw.length === rawBytes) return raw
  throw new Error(`it decompresses to ${raw.length} bytes, not ${rawBytes}`)
}

/** Compresses on the main thread, one piece per turn of the event loop. */
const portableDeflate: Codec = {
  async compress(raw, outBytesMax, effort = 'fast') {
    await yieldToEventLoop()
    const stored = deflateSync(raw, { level: DEFLATE_LEVEL[effort] })
    return stored.length > outBytesMax ? null : stored
  },
  async decompress(stored, rawBytes) {
    await yieldToEventLoop()
    const raw = inflateSync(stored, { out: new Uint8Array(rawBytes + 1) }) // One spare byte shows whether there would be more.
    return ofLength(raw, rawBytes)
  },
}

/** The codecs of this runtime. */
export const codecs: Codecs = openCodecs(builtIn('node:zlib'))

/** The codec of stored rows. @throws {StoreError} FORMAT_UNKNOWN if the runtime lacks the codec. */
export function codecToRead(name: CodecName, { [name]: codec }: Codecs = codecs): Codec {
  if (codec !== null) return codec
  throw lacking(name)
}

/** @param name - A codec of stored rows that this runtime, or this version, lacks. */
export function lacking(name: string): StoreError {
  const remedy =
    name === 'zstd'
      ? "open it with Node 22.15 or later. For older versions of Node, write stores with the option compression: 'deflate' or 'none'"
      : 'open it with the version of rowstash that wrote it'
  const message = `The store has rows compressed with ${name}, which ${runtimeName()} does not support; ${remedy}`
  return new StoreError('FORMAT_UNKNOWN', message)
}
