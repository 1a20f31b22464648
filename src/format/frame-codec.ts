// The codecs of frames. FORMAT.md section 6.

import { type Awaitable, isSync, tryCall } from '../base/awaitable.js'
import type { Bytes } from '../base/bytes.js'
import {
  type CodecName,
  type Codecs,
  codecs,
  codecToRead,
  type Effort,
  lacking,
} from '../base/codecs.js'

/** The codec of a frame's bytes. Written to disk: never change or reuse a number. */
export const CODEC = Object.freeze({ none: 0, deflate: 1, zstd: 2 })

const PACKED_NAMES: Readonly<Record<number, CodecName>> = {
  [CODEC.deflate]: 'deflate',
  [CODEC.zstd]: 'zstd',
}

/** The bit of a codec in the codecs record; 0 for `CODEC.none`. Written to disk. */
export function codecBit(codec: number): number {
  return codec === CODEC.none ? 0 : 2 ** (codec - 1)
}

/** The codecs allowed in a store of this version. */
export const EVERY_CODEC = codecBit(CODEC.deflate) | codecBit(CODEC.zstd)

/** Whether this runtime lacks one of these codecs. */
export function lacksCodec(codecs: number): boolean {
  return lackedNames(codecs).length > 0
}

/** @throws {StoreError} FORMAT_UNKNOWN if this runtime lacks one of these codecs. */
export function checkCodecs(codecs: number): void {
  const [name] = lackedNames(codecs)
  if (name !== undefined) throw lacking(name)
}

function lackedNames(bits: number): string[] {
  const names: string[] = []
  for (let codec = 1; codecBit(codec) <= bits; codec++) {
    if ((bits & codecBit(codec)) === 0) continue
    const name = PACKED_NAMES[codec]
    if (name === undefined || codecs[name] === null) names.push(name ?? `codec ${codec}`)
  }
  return names
}

/**
 * The maximum number of bytes of rows in a compressed frame: twice the largest row. Larger frames are not compressed.
 */
export const PACKED_RAW_BYTES_MAX = 128 * 1024 * 1024

/**
 * A frame is stored compressed only if it shrinks to this share of its size; otherwise decompressing it would cost
 * time and save little.
 */
const PACKED_SHARE_MAX = 0.95

export type StoredFrame = Readonly<{ codec: number; stored: Bytes }>

/** The compression of a segment's frames. */
export type Compression = 'none' | CodecName

/** The compression of segments with short rows, and of others. */
export type CompressionByRows = Readonly<{ short: Compression; other: Compression }>

/** Makes the stored form of a frame's raw bytes, which must not change until the promise settles. */
export async function packFrame(
  compression: CodecName,
  raw: Bytes,
  effort: Effort = 'fast',
): Promise<StoredFrame> {
  const { [compression]: codec } = codecs
  if (codec !== null && raw.length <= PACKED_RAW_BYTES_MAX) {
    const stored = await codec.compress(raw, Math.floor(PACKED_SHARE_MAX * raw.length), effort)
    if (stored !== null) return { codec: CODEC[compression], stored }
  }
  return { codec: CODEC.none, stored: raw }
}

/** Options for opening a frame. */
export type OpenStoredOptions = Readonly<{
  /** The available codecs. Default: those of this runtime. */
  available?: Codecs
  /** Memory for the decompressed bytes, used if it is large enough. */
  memory?: Bytes | undefined
}>

/**
 * The raw bytes of a frame with a verified checksum. The result is a promise only if there is much to decompress, or
 * decompression fails.
 * @param problem - Makes the error from the fault of a frame.
 * @throws {StoreError} FORMAT_UNKNOWN if this runtime lacks the codec; otherwise the error of `problem`.
 */
export function openStoredFrame(
  { codec, stored }: StoredFrame,
  rawBytes: number,
  problem: (what: string, cause?: unknown) => Error,
  { available = codecs, memory }: OpenStoredOptions = {},
): Awaitable<Bytes> {
  if (codec === CODEC.none) {
    if (rawBytes !== stored.length) throw problem('its sizes do not agree')
    return stored
  }
  const name = PACKED_NAMES[codec]
  if (name === undefined) throw problem(`its codec ${codec} is unknown`)
  if (rawBytes === 0 || rawBytes > PACKED_RAW_BYTES_MAX) {
    throw problem(`no compressed frame has ${rawBytes} bytes of rows`)
  }
  const reader = codecToRead(name, available)
  const raw = tryCall(() => reader.decompress(stored, rawBytes, memory))
  if (isSync(raw)) return raw
  return raw.catch((cause: unknown) => {
    throw problem('it does not decompress to the size in its header', cause)
  })
}
