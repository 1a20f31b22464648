// Recognizes a source by its first bytes: its name and media type only decide what the bytes leave open.
import type { Bytes } from '../base/bytes.js'

/** Files that are not text. `ole` is an Excel workbook from before 2007, `zip` a current one. */
export type BinaryKind = 'gzip' | 'zstd' | 'xz' | 'bzip2' | 'zip' | 'ole' | 'parquet'

/** Number of bytes that are examined, or all of a shorter source. */
export const SNIFFED_BYTES = 1024

/** The first bytes of files. No realistic text begins with them, in any encoding. */
const SIGNATURES: readonly (readonly [BinaryKind, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
  ['bzip2', [0x42, 0x5a, 0x68]],
  ['zip', [0x50, 0x4b, 0x03, 0x04]],
  ['ole', [0xd0, 0xcf, 0x11, 0xe0]],
  ['parquet', [0x50, 0x41, 0x52, 0x31]],
]

/** The bytes after `BZh` and a digit in a bzip2 stream, but not in a text. */
const BZIP2_BLOCK = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59]
const BZIP2_BLOCK_AT = 4

/** @returns undefined: not a known binary file, so perhaps a text */
export function binaryKindOf(start: Bytes): BinaryKind | undefined {
  const found = SIGNATURES.find(([, signature]) => hasAt(start, 0, signature))?.[0]
  if (found === 'bzip2' && !hasAt(start, BZIP2_BLOCK_AT, BZIP2_BLOCK)) return undefined
  return found
}

/** Why a source is not text, and what to do. */
export function refusalOf(kind: BinaryKind): string {
  switch (kind) {
    case 'zip':
      return 'the file is a zip archive, such as an Excel workbook, and not text: unzip it, or save the sheet as CSV'
    case 'ole':
      return 'the file is an Excel workbook, and not text: save the sheet as CSV'
    case 'parquet':
      return 'the file is a Parquet file, and not text'
    default:
      return `the file is compressed with ${kind}: decompress it first`
  }
}

function hasAt(bytes: Bytes, at: number, signature: readonly number[]): boolean {
  return signature.every((byte, i) => byte === bytes[at + i])
}

/** The beginning of an HTML page, such as a sign-in page returned instead of a file. */
const HTML = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)*<(?:!doctype\s+html|html)[\s>]/i

export function isHtml(text: string): boolean {
  return HTML.test(text)
}

/** Control bytes that a text may contain: tab, line breaks, and the end-of-file mark of DOS. */
const TEXT_CONTROLS: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1a, 0x1b])

/** The maximum share of zero bytes in a text, in percent. */
const ZEROS_OF_TEXT_PERCENT_MAX = 1

/**
 * Whether bytes without a known signature are binary.
 * @param isGuessed - Whether the encoding was guessed: in a guessed encoding, nearly all bytes are valid.
 */
export function isBinary(beginning: Bytes, isGuessed: boolean): boolean {
  let zeros = 0
  let controls = 0
  for (let at = 0; at < beginning.length; at++) {
    const byte = beginning[at] ?? 0
    if (byte === 0) zeros++
    else if (byte < 0x20 && !TEXT_CONTROLS.has(byte)) controls++
  }
  if (isGuessed && zeros + controls > 0) return true
  return zeros * 100 > beginning.length * ZEROS_OF_TEXT_PERCENT_MAX
}

/** Byte order marks, longer ones first. */
const MARKS: readonly (readonly [string, readonly number[]])[] = [
  ['utf-32le', [0xff, 0xfe, 0x00, 0x00]],
  ['utf-32be', [0x00, 0x00, 0xfe, 0xff]],
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]

/** The encoding of a byte order mark. */
export function markedEncodingOf(start: Bytes): string | undefined {
  return MARKS.find(([, mark]) => hasAt(start, 0, mark))?.[0]
}

/** The minimum share of zeros, in percent, at the even or the odd offsets of UTF-16 text; no other byte is zero. */
const ZEROS_PERCENT_MIN = 40

/**
 * Guesses the encoding of a text without a byte order mark: UTF-16 by its zero bytes, otherwise UTF-8 if it is valid,
 * otherwise the code page of Western Europe, in which all bytes are valid.
 * @param isWhole - Whether `sample` is the whole text; otherwise its last character may be cut.
 */
export function guessEncoding(sample: Bytes, isWhole: boolean): string {
  const zeros = [0, 0]
  for (let at = 0; at < sample.length; at++)
    if (sample[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros.map((count) => (200 * count) / Math.max(1, sample.length))
  if (odd >= ZEROS_PERCENT_MIN && even === 0) return 'utf-16le'
  if (even >= ZEROS_PERCENT_MIN && odd === 0) return 'utf-16be'
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(sample, { stream: !isWhole })
    return 'utf-8'
  } catch {
    return 'windows-1252'
  }
}
