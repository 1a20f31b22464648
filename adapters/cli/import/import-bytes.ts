// The bytes of an imported file, whatever its compression.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Duplex, Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import { begin, binaryKindOf, SNIFFED_BYTES } from '../../base/intake.js'
import { ProgramFailure } from '../command/program-failure.js'
import type { SourceFile } from './source-file.js'

export const PIECE_BYTES = 1024 * 1024

/** The path that means the standard input. */
export const STANDARD_INPUT = '-'

/** The compression by a file's extension. */
export function compressionOf(path: string): 'gzip' | 'zstd' | undefined {
  if (/\.gz$/i.test(path)) return 'gzip'
  return /\.zst$/i.test(path) ? 'zstd' : undefined
}

/**
 * The bytes of a file, unpacked if they are compressed. The extension does not matter: browsers unpack files that they
 * store as `.gz`.
 * @param onRead - Called with the number of bytes read from disk.
 */
export async function* openFileBytes(
  path: string,
  onRead?: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const input =
    path === STANDARD_INPUT ? process.stdin : createReadStream(path, { highWaterMark: PIECE_BYTES })
  if (onRead !== undefined) input.on('data', (piece: Uint8Array) => onRead(piece.length))
  input.pause()
  const { start, all } = await begin(input as AsyncIterable<Uint8Array>, SNIFFED_BYTES)
  const kind = binaryKindOf(start)
  yield* kind === 'gzip' || kind === 'zstd' ? unpacked(Readable.from(all), kind) : all
}

function unpacked(
  input: NodeJS.ReadableStream,
  compression: 'gzip' | 'zstd',
): AsyncIterable<Uint8Array> {
  const unpack = compression === 'gzip' ? zlib.createGunzip({ chunkSize: PIECE_BYTES }) : zstd()
  input.on('error', (failure) => unpack.destroy(failure))
  return input.pipe(unpack)
}

/** The zstd functions of newer versions of Node. */
type Zstd = Readonly<{
  createZstdDecompress: () => Duplex
  zstdCompressSync: (bytes: Uint8Array) => Uint8Array
  zstdDecompressSync: (bytes: Uint8Array) => Uint8Array
}>

function zstd(): Duplex {
  const given = zlib as Partial<Zstd>
  if (reportsCutZstd(given)) return given.createZstdDecompress()
  const reason = 'This version of Node cannot read zstd files safely; 24 and later can'
  throw new ProgramFailure('failed', `${reason}. Decompress the file first (zstd -d)`)
}

/** Whether truncated files are reported. Node 22 reads them without an error, so rows would be lost silently. */
function reportsCutZstd(given: Partial<Zstd>): given is Zstd {
  const { zstdCompressSync: pack, zstdDecompressSync: unpack } = given
  if (pack === undefined || unpack === undefined) return false
  try {
    unpack(pack(new Uint8Array(1)).subarray(0, -1))
    return false
  } catch {
    return true
  }
}

/** Whether the whole file can be read twice: a pipe cannot. */
export async function canReadAgain({ path }: Pick<SourceFile, 'path'>): Promise<boolean> {
  return path !== STANDARD_INPUT && (await stat(path)).isFile()
}
