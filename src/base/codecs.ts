// Compression of pieces of bytes: what the runtime has, off the main thread, else what the core brings.
import { deflateSync, inflateSync } from 'fflate/browser'
import type { Bytes } from './bytes.js'
import { builtIn, yieldToEventLoop } from './platform.js'
import { StoreError } from './store-error.js'
import { ZlibLanes, type ZlibStream } from './zlib-lanes.js'
import { isZstdFrame } from './zstd-frame.js'

export type CodecName = 'deflate' | 'zstd'

/** One way to compress. Nobody changes bytes that were handed in before the promise settles. */
export interface Codec {
  /** The compressed bytes; null: they would be more than `outBytesMax`. */
  compress(raw: Bytes, outBytesMax: number): Promise<Bytes | null>

  /**
   * The bytes that were compressed, in memory of their own.
   * @param rawBytes - How many they must be; no more than that is ever made.
   * @throws {Error} of no special kind: it is not the compressed form of so many bytes.
   */
  decompress(stored: Bytes, rawBytes: number): Promise<Bytes>
}

/** null: the runtime lacks it. */
export type Codecs = Readonly<{ deflate: Codec; zstd: Codec | null }>

type StreamOptions = Readonly<{
  flush?: number
  level?: number
  chunkSize: number
  params?: Readonly<Record<number, number>>
}>

type OpenZlib = (options: StreamOptions) => ZlibStream & { reset(): void }

type ConvertOptions = Readonly<{
  level?: number
  maxOutputLength: number
  params?: Readonly<Record<number, number>>
}>

type Convert = (
  bytes: Bytes,
  options: ConvertOptions,
  done: (failure: unknown, out: Bytes) => void,
) => void

/** What is used of `node:zlib`; the parts of zstd came with Node 22.15. */
type Zlib = Readonly<{
  constants: Readonly<Record<string, number>>
  createDeflateRaw: OpenZlib
  createInflateRaw: OpenZlib
  deflateRaw: Convert
  inflateRaw: Convert
  createZstdCompress?: OpenZlib
  createZstdDecompress?: OpenZlib
  zstdCompress?: Convert
  zstdDecompress?: Convert
}>

/** Frames are compressed to be read often, so the fastest level of each; the next ones save 5 % more. */
const LEVEL = 1

/** Larger pieces go through a stream of their own: kept ones are made for many small pieces. */
const LANE_BYTES_MAX = 512 * 1024

/** Room for the output of some pieces. */
const LANE = { chunkSize: 128 * 1024 }

/** Memory that a frame of zstd may ask for, as a power of two: 8 MiB, which every decoder must give. */
const ZSTD_WINDOW_LOG_MAX = 23

/** @param zlib - `node:zlib`, or whatever a runtime has of it; undefined: nothing. */
export function openCodecs(zlib: unknown): Codecs {
  if (typeof zlib !== 'object' || zlib === null) return { deflate: portableDeflate, zstd: null }
  const found = zlib as Zlib
  return { deflate: zlibDeflate(found), zstd: zlibZstd(found) }
}

function zlibDeflate(zlib: Zlib): Codec {
  const packing = { ...LANE, flush: zlib.constants['Z_FINISH'] ?? 4, level: LEVEL }
  return codecOf(
    {
      lanes: new ZlibLanes(() => zlib.createDeflateRaw(packing), reset),
      convert: zlib.deflateRaw,
      settings: { level: LEVEL },
    },
    {
      lanes: new ZlibLanes(() => zlib.createInflateRaw(LANE), reset),
      convert: zlib.inflateRaw,
      settings: {},
    },
  )
}

function zlibZstd(zlib: Zlib): Codec | null {
  const { constants, createZstdCompress, createZstdDecompress, zstdCompress, zstdDecompress } = zlib
  if (createZstdCompress === undefined || createZstdDecompress === undefined) return null
  if (zstdCompress === undefined || zstdDecompress === undefined) return null
  const unpacking = {
    ...LANE,
    params: { [constants['ZSTD_d_windowLogMax'] ?? 100]: ZSTD_WINDOW_LOG_MAX },
  }
  const params = { [constants['ZSTD_c_compressionLevel'] ?? 100]: LEVEL }
  const codec = codecOf(
    {
      lanes: new ZlibLanes(() =>
        createZstdCompress({ ...LANE, flush: constants['ZSTD_e_end'] ?? 2, params }),
      ),
      convert: zstdCompress,
      settings: { params },
    },
    {
      lanes: new ZlibLanes(() => createZstdDecompress(unpacking)),
      convert: zstdDecompress,
      settings: { params: unpacking.params },
    },
  )
  return {
    compress: codec.compress,
    async decompress(stored, rawBytes) {
      if (!isZstdFrame(stored)) throw new Error('it is not one whole frame of zstd')
      return codec.decompress(stored, rawBytes)
    },
  }
}

/** A stream of DEFLATE ends with its piece, and begins anew. */
function reset(stream: ZlibStream): void {
  ;(stream as ZlibStream & { reset(): void }).reset()
}

type Direction = Readonly<{
  lanes: ZlibLanes
  convert: Convert
  settings: Omit<ConvertOptions, 'maxOutputLength'>
}>

function codecOf(packing: Direction, unpacking: Direction): Codec {
  const pack = async (raw: Bytes, outBytesMax: number): Promise<Bytes | null> => {
    if (raw.length > LANE_BYTES_MAX) return convertLarge(packing, raw, outBytesMax)
    // What grows is not cut short here, as that would cost the stream.
    const stored = await packing.lanes.run(raw, { min: 0, max: Number.POSITIVE_INFINITY })
    return stored.length > outBytesMax ? null : stored
  }
  return {
    compress: (raw, outBytesMax) => pack(raw, outBytesMax).catch(() => null), // Too large as well.
    async decompress(stored, rawBytes) {
      if (rawBytes > LANE_BYTES_MAX) {
        return ofLength(await convertLarge(unpacking, stored, rawBytes), rawBytes)
      }
      const raw = await unpacking.lanes.run(stored, { min: rawBytes, max: rawBytes })
      return new Uint8Array(raw) // A copy: a cache would keep all that stands beside it.
    },
  }
}

function convertLarge({ convert, settings }: Direction, bytes: Bytes, outBytesMax: number) {
  return new Promise<Bytes>((resolve, reject) => {
    convert(bytes, { ...settings, maxOutputLength: outBytesMax }, (failure, out) => {
      if (failure) reject(failure)
      else resolve(new Uint8Array(out.buffer, out.byteOffset, out.length))
    })
  })
}

function ofLength(raw: Bytes, rawBytes: number): Bytes {
  if (raw.length === rawBytes) return raw
  throw new Error(`${raw.length} bytes come out, not ${rawBytes}`)
}

/** Runs on the main thread, one piece a turn of the event loop. */
const portableDeflate: Codec = {
  async compress(raw, outBytesMax) {
    await yieldToEventLoop()
    const stored = deflateSync(raw, { level: LEVEL })
    return stored.length > outBytesMax ? null : stored
  },
  async decompress(stored, rawBytes) {
    await yieldToEventLoop()
    const raw = inflateSync(stored, { out: new Uint8Array(rawBytes + 1) }) // One more shows that more would come.
    return ofLength(raw, rawBytes)
  },
}

/** Those of this runtime. */
export const codecs: Codecs = openCodecs(builtIn('node:zlib'))

/** @throws {StoreError} FORMAT_UNKNOWN if the runtime lacks it. */
export function codecToRead(name: CodecName, { [name]: codec }: Codecs = codecs): Codec {
  if (codec !== null) return codec
  throw new StoreError(
    'FORMAT_UNKNOWN',
    `A frame is compressed with ${name}; this runtime has none: Node 22.15 or newer is needed`,
  )
}
