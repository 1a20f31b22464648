// Finds the file IDs that the texts of rows name. FORMAT.md section 6.
//
// Invariants:
// - Every ID in a cell (or a column ID) is found, whatever surrounds it, both as stored and with escapes resolved:
//   `"\u0072sf-…"` names a file too. False matches are possible: `"\rsf-…"` may show an ID once it is quoted. Misses
//   are impossible.
// - An ID never crosses the end of a string, so several row texts may be searched at once.
//
// Every imported byte passes here. Most texts have neither the prefix of an ID nor an escape that may encode part of
// it, which a native search finds out quickly. The rest is searched for runs of 36 characters, each stored as a letter,
// a digit, `-`, `_` or a part of an escape. Other bytes interrupt most runs early, so the search tests a possible run
// from its end, and skips ahead.
import { BACKSLASH, DIGIT_ZERO, LOWER_U } from '../base/ascii.js'
import {
  type Bytes,
  compareBytes,
  fromBase64Url,
  fromUtf8,
  NO_BYTES,
  sameBytes,
  utf8,
} from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import { byteSearch } from '../base/platform.js'
import { ByteWriter } from './byte-writer.js'
import { ALIAS_BYTES, FILE_ID_CHARS, FILE_ID_PREFIX, FILE_KEY_BYTES } from './file-id.js'
import type { FileKey } from './keys.js'

const PREFIX = utf8(FILE_ID_PREFIX)
const [LETTER_R, LETTER_S, LETTER_F, DASH] = PREFIX
const ID_CHARS = PREFIX.length + FILE_ID_CHARS
const NAME_BYTES = ALIAS_BYTES + FILE_KEY_BYTES
const ESCAPE = utf8('\\u')
const ESCAPE_CHARS = 6

const IN_ID = new Uint8Array(256)
for (const byte of utf8('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')) {
  IN_ID[byte] = 1
}
const IN_RUN = IN_ID.slice()
IN_RUN[BACKSLASH] = 1

const HEX_DIGIT = new Uint8Array(256)
utf8('0123456789abcdef').forEach((byte, digit) => {
  HEX_DIGIT[byte] = digit
})
utf8('ABCDEF').forEach((byte, i) => {
  HEX_DIGIT[byte] = 10 + i
})

/** Number of bytes at the end of a possible ID that are tested in one step, without a branch (PERFORMANCE.md, P33). */
const PROBE_BYTES = 6

/**
 * How far a search may skip, by six bits: bit i says whether the byte that is i places before the end of a possible ID
 * may belong to a run. 0: all six bytes may, so the search must not skip.
 */
const LEAP = Uint8Array.from({ length: 1 << PROBE_BYTES }, (_, bits) => {
  for (let i = 0; i < PROBE_BYTES; i++) if ((bits & (1 << i)) === 0) return ID_CHARS - i
  return 0
})

/** For each byte at the place of the prefix's last byte: how far the search for the prefix may move. */
const STEP = new Uint8Array(256).fill(PREFIX.length)
PREFIX.subarray(0, -1).forEach((byte, i) => {
  STEP[byte] = PREFIX.length - 1 - i
})

/** Distinct file IDs up to a limit. If there are more, the set is overfull and holds no ID. */
export class FileIds {
  readonly #countMax: number
  /** The IDs, without prefix. */
  readonly #names = new Set<string>()
  #isOverfull = false

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  /** Whether no ID was found. False for an overfull set. */
  get isEmpty(): boolean {
    return this.#names.size === 0 && !this.#isOverfull
  }

  /** Whether there were more IDs than the limit. */
  get isOverfull(): boolean {
    return this.#isOverfull
  }

  /** Collects the IDs in row texts, given as bytes. */
  note(texts: Bytes): void {
    if (this.#isOverfull || surelyNameNone(texts)) return
    for (const name of namesInTexts(texts)) {
      this.#add(name)
      if (this.#isOverfull) return
    }
  }

  addAll(other: FileIds): void {
    if (other.#isOverfull) this.#overfill()
    for (const name of other.#names) this.#add(name)
  }

  /** The keys of the files that the IDs name, without their teams. */
  *keys(): Generator<FileKey> {
    for (const name of this.#names) yield decodeName(name).subarray(ALIAS_BYTES)
  }

  /** The list of IDs in a segment, ascending. It has no bytes if the set is overfull. */
  encode(): Bytes {
    const names = [...this.#names].map(decodeName).sort(compareBytes)
    const writer = new ByteWriter(NAME_BYTES * names.length)
    for (const name of names) writer.bytes(name)
    return writer.finish()
  }

  #add(name: string): void {
    if (this.#isOverfull) return
    this.#names.add(name)
    if (this.#names.size > this.#countMax) this.#overfill()
  }

  #overfill(): void {
    this.#isOverfull = true
    this.#names.clear()
  }
}

/** The files in a list of IDs. @param list - The result of `encode`. */
export function* listedFiles(list: Bytes): Generator<FileKey> {
  invariant(list.length % NAME_BYTES === 0, 'a list has whole IDs')
  for (let at = 0; at < list.length; at += NAME_BYTES) {
    yield list.subarray(at + ALIAS_BYTES, at + NAME_BYTES)
  }
}

/** Whether a list from a segment consists of whole IDs. */
export function isFileList(list: Bytes): boolean {
  return list.length % NAME_BYTES === 0
}

/** Whether row texts name any file. */
export function nameFiles(texts: Bytes): boolean {
  for (const _ of namesInTexts(texts)) return true
  return false
}

/** The files named by row texts, perhaps with repetitions. */
export function* filesIn(texts: Bytes): Generator<FileKey> {
  for (const name of namesInTexts(texts)) yield decodeName(name).subarray(ALIAS_BYTES)
}

function decodeName(name: string): Bytes {
  const bytes = fromBase64Url(name)
  invariant(bytes !== null && bytes.length === NAME_BYTES, 'an ID has 24 bytes')
  return bytes
}

/**
 * Whether the texts certainly name no file. It searches for dashes, which are rarer than the other bytes of the
 * prefix, and for backslashes, which are rarer than `u`.
 */
function surelyNameNone(texts: Bytes): boolean {
  if (byteSearch === null) return false
  return byteSearch.lastIndexOf(texts, PREFIX) < 0 && byteSearch.indexOf(texts, ESCAPE) < 0
}

/** IDs without prefix, in order, perhaps with repetitions. */
function* namesInTexts(texts: Bytes): Generator<string> {
  let start = findRun(texts, 0)
  while (start >= 0) {
    const end = endOfRun(texts, start + ID_CHARS)
    if (findPrefix(texts, start, end) >= 0) yield* namesInRun(texts.subarray(start, end))
    if (hasEscape(texts, start, end)) yield* namesInRun(unescapeRun(texts.subarray(start, end)))
    start = findRun(texts, end)
  }
}

/** The beginning of the next run of at least 36 bytes from `from` on; -1: none. */
function findRun(texts: Bytes, from: number): number {
  const inRun = IN_RUN // A local constant is faster to read.
  const leaps = LEAP
  const before = ID_CHARS - 1
  const limit = texts.length - before
  let start = from
  while (start < limit) {
    const last = start + before
    // A bit for each of the last six bytes (the lowest for the last byte): whether it may belong to a run.
    const bits =
      (inRun[texts[last] ?? 0] ?? 0) |
      ((inRun[texts[last - 1] ?? 0] ?? 0) << 1) |
      ((inRun[texts[last - 2] ?? 0] ?? 0) << 2) |
      ((inRun[texts[last - 3] ?? 0] ?? 0) << 3) |
      ((inRun[texts[last - 4] ?? 0] ?? 0) << 4) |
      ((inRun[texts[last - 5] ?? 0] ?? 0) << 5)
    const leap = leaps[bits] ?? 0
    if (leap > 0) {
      start += leap
      continue
    }
    let at = last - PROBE_BYTES
    while (at >= start && inRun[texts[at] ?? 0] === 1) at--
    if (at < start) return start
    start = at + 1
  }
  return -1
}

function endOfRun(texts: Bytes, from: number): number {
  let end = from
  while (end < texts.length && IN_RUN[texts[end] ?? 0] === 1) end++
  return end
}

function hasEscape(texts: Bytes, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (texts[at] === BACKSLASH) return true
  return false
}

/** The next prefix from `from` on; -1: none. */
function findPrefix(texts: Bytes, from: number, end: number): number {
  for (let at = from; at + PREFIX.length <= end; ) {
    const last = texts[at + PREFIX.length - 1] ?? 0
    if (last === DASH && isPrefix(texts, at)) return at
    at += STEP[last] ?? 1
  }
  return -1
}

/** The IDs in a run, including IDs that begin within another: `rsf-rsf-…` may name two files. */
function* namesInRun(run: Bytes): Generator<string> {
  const limit = run.length - FILE_ID_CHARS
  let at = findPrefix(run, 0, limit)
  let last = NO_BYTES
  while (at >= 0) {
    const name = run.subarray(at + PREFIX.length, at + ID_CHARS)
    // Skips a repeated name: a long text may repeat one name over and over.
    if (!sameBytes(name, last) && isIdBytes(name)) {
      yield fromUtf8(name)
      last = name
    }
    at = findPrefix(run, at + PREFIX.length, limit)
  }
}

function isPrefix(run: Bytes, at: number): boolean {
  return run[at] === LETTER_R && run[at + 1] === LETTER_S && run[at + 2] === LETTER_F
}

function isIdBytes(bytes: Bytes): boolean {
  for (let i = 0; i < bytes.length; i++) if (IN_ID[bytes[i] ?? 0] !== 1) return false
  return true
}

/** A run with its escapes resolved. Characters that occur in no ID become zero. A run never begins within an escape. */
function unescapeRun(run: Bytes): Bytes {
  const plain = new Uint8Array(run.length)
  let length = 0
  for (let at = 0; at < run.length; ) {
    const byte = run[at] ?? 0
    if (byte !== BACKSLASH) {
      plain[length++] = byte
      at++
    } else if (run[at + 1] !== LOWER_U) {
      plain[length++] = 0
      at += 2
    } else {
      plain[length++] = escapedInId(run, at)
      at += ESCAPE_CHARS
    }
  }
  return plain.subarray(0, length)
}

/** The character of an ID encoded by the escape at `at`; zero: another character. */
function escapedInId(run: Bytes, at: number): number {
  if (run[at + 2] !== DIGIT_ZERO || run[at + 3] !== DIGIT_ZERO) return 0
  const code = 16 * (HEX_DIGIT[run[at + 4] ?? 0] ?? 0) + (HEX_DIGIT[run[at + 5] ?? 0] ?? 0)
  return IN_ID[code] === 1 ? code : 0
}
