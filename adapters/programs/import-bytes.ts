// The bytes and lines of an imported file: as UTF-8, whatever its compression and its encoding.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { type Duplex, Readable } from 'node:stream'
import * as zlib from 'node:zlib'
import { CARRIAGE_RETURN, LINE_FEED } from '../base/ascii.js'
import { withoutByteOrderMark } from '../base/records.js'
import { ProgramFailure } from './program-failure.js'

export const PIECE_BYTES = 1024 * 1024

/** The path that stands for the standard input. */
export const STANDARD_INPUT = '-'

/** What is read of a file: its bytes, and what must be done with them before they are rows. */
export type FileBytes = Readonly<{
  path: string
  /**
   * A label of the Encoding Standard, such as `windows-1252`. Default: UTF-8, passed on as it is, or UTF-16 where the file
   * begins with its byte order mark.
   */
  encoding?: string
}>

/** The compression that a file's name announces. */
export function compressionOf(path: string): keyof typeof PACKED | undefined {
  if (/\.gz$/i.test(path)) return 'gzip'
  return /\.zst$/i.test(path) ? 'zstd' : undefined
}

/**
 * @param onRead - Told the bytes of the file, as they are on disk.
 * @throws {ProgramFailure} while they are read, if they begin with a mark of another encoding than the given one, or are
 *   those of a zip archive
 */
export function openFileBytes(
  { path, encoding }: FileBytes,
  onRead?: (bytes: number) => void,
): AsyncIterable<Uint8Array> {
  const input =
    path === STANDARD_INPUT ? process.stdin : createReadStream(path, { highWaterMark: PIECE_BYTES })
  if (onRead !== undefined) input.on('data', (piece: Uint8Array) => onRead(piece.length))
  input.pause()
  return asUtf8(unpackedIfPacked(input), encoding)
}

/** How compressed files begin. No text does, in any encoding but by a far-fetched choice of its first characters. */
const PACKED = { gzip: [0x1f, 0x8b], zstd: [0x28, 0xb5, 0x2f, 0xfd] } as const
/** How zip archives begin, which workbooks of Excel are. */
const ZIP = [0x50, 0x4b, 0x03, 0x04]
/** How a page begins, such as the one that asks to sign in where a file was expected. */
const HTML = /^(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)[\s>]/i
const SIGNATURE_BYTES = 64

/** The bytes of a file, unpacked if they are compressed, whatever its name: a browser unpacks what it stores as `.gz`. */
function unpackedIfPacked(input: NodeJS.ReadableStream): AsyncIterable<Uint8Array> {
  return asBegun(input as AsyncIterable<Uint8Array>, (start, all) => {
    if (beginsWith(start, PACKED.gzip)) return unpacked(Readable.from(all), 'gzip')
    if (beginsWith(start, PACKED.zstd)) return unpacked(Readable.from(all), 'zstd')
    return all
  })
}

/** What becomes of bytes, as their first ones tell. @param read - Gets the first ones, and all. */
async function* asBegun(
  bytes: AsyncIterable<Uint8Array>,
  read: (start: Uint8Array, all: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const rest = bytes[Symbol.asyncIterator]()
  try {
    const start = await startOf(rest)
    yield* read(start, continued(start, rest))
  } finally {
    await rest.return?.()
  }
}

/** The first bytes: as many as tell what they are, unless there are fewer. */
async function startOf(rest: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  let start = Buffer.alloc(0)
  while (start.length < SIGNATURE_BYTES) {
    const next = await rest.next()
    if (next.done === true) break
    start = Buffer.concat([start, next.value])
  }
  return start
}

function beginsWith(bytes: Uint8Array, signature: readonly number[]): boolean {
  return signature.every((byte, i) => byte === bytes[i])
}

/** The byte order marks of UTF-16. No file of UTF-8 begins with them. */
const MARKS = Object.freeze({ 'utf-16le': [0xff, 0xfe], 'utf-16be': [0xfe, 0xff] })

function asUtf8(
  bytes: AsyncIterable<Uint8Array>,
  given: string | undefined,
): AsyncIterable<Uint8Array> {
  return asBegun(bytes, (start, all) => {
    if (beginsWith(start, ZIP)) {
      const problem = 'the file is a zip archive, such as an Excel workbook, and not text'
      throw new ProgramFailure('failed', `${problem}: unzip it, or save the sheet as CSV`)
    }
    if (HTML.test(Buffer.from(start.subarray(0, SIGNATURE_BYTES)).toString('latin1'))) {
      throw new ProgramFailure('failed', 'the file is an HTML page, and no table')
    }
    const encoding = encodingOf(start, given)
    return encoding === undefined ? all : transcoded(all, encoding)
  })
}

async function* continued(
  start: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (start.length > 0) yield start
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
}

/** The encoding that a mark shows, or else the given one. @throws {ProgramFailure} if they contradict each other */
function encodingOf(start: Uint8Array, given: string | undefined): string | undefined {
  const marked = Object.entries(MARKS).find(([, mark]) => beginsWith(start, mark))
  if (marked === undefined) return given
  const [encoding] = marked
  if (given === undefined || given in MARKS) return encoding
  const problem = `the file begins with the byte order mark of ${encoding}, and not with ${given} text`
  throw new ProgramFailure('failed', `${problem}: leave --encoding out`)
}

function unpacked(
  input: NodeJS.ReadableStream,
  compression: keyof typeof PACKED,
): AsyncIterable<Uint8Array> {
  const unpack = compression === 'gzip' ? zlib.createGunzip({ chunkSize: PIECE_BYTES }) : zstd()
  input.on('error', (failure) => unpack.destroy(failure))
  return input.pipe(unpack)
}

/** What a version of Node with zstd has. */
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

/** Node 22 reads a truncated zstd file without an error: its rows would be taken for all rows. */
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

async function* transcoded(
  bytes: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding, { fatal: true })
  const encoder = new TextEncoder()
  for await (const piece of bytes) yield encoder.encode(decoder.decode(piece, { stream: true }))
  yield encoder.encode(decoder.decode())
}

/** Whether all of a file can be read a second time: a pipe cannot. */
export async function canReadAgain({ path }: FileBytes): Promise<boolean> {
  return path !== STANDARD_INPUT && (await stat(path)).isFile()
}

/** The line in which a byte of a file is, as linesAt; null if the file cannot be read again. */
export async function lineAt(file: FileBytes, offset: number): Promise<number | null> {
  if (!(await canReadAgain(file))) return null
  const [line = 1] = await linesAt(file, [offset])
  return line
}

/**
 * The numbers of the lines, from 1, in which bytes of a file are.
 * @param offsets - Of the bytes as they are read, in ascending order, the byte order mark not counted.
 */
export async function linesAt(file: FileBytes, offsets: readonly number[]): Promise<number[]> {
  const lines: number[] = []
  let line = 1
  let at = 0
  let afterReturn = false // A line feed after it does not end another line.
  for await (const piece of withoutByteOrderMark(openFileBytes(file))) {
    for (let i = 0; i < piece.length && lines.length < offsets.length; i++) {
      while (offsets[lines.length] === at + i) lines.push(line)
      const byte = piece[i]
      if (byte === CARRIAGE_RETURN || (byte === LINE_FEED && !afterReturn)) line++
      afterReturn = byte === CARRIAGE_RETURN
    }
    at += piece.length
    if (lines.length === offsets.length) break
  }
  while (lines.length < offsets.length) lines.push(line)
  return lines
}
