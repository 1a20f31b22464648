// Finds the file IDs that the texts of rows name. FORMAT.md section 6.
//
// Invariants:
// - Every ID in a cell (or a column ID) is found, whatever is before and after it, with its characters as they are
//   stored or with their escapes resolved: `"\u0072sf-…"` names a file too. More may be found, such as `"\rsf-…"`,
//   which may show that ID once it is quoted; never less.
// - An ID never crosses the end of a string, so texts of rows may follow each other.
//
// This runs over every byte that is imported. Most of it has neither the prefix of an ID nor an escape that may stand
// for a part of it, which a native search shows at once. The rest is searched closely: an ID is 36 characters, each of
// which is stored as a letter, a digit, `-`, `_` or a part of an escape. Other bytes end such a run every few
// characters, so the search looks for a run of 36 from its end, and skips what cannot be one.
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

/** This many bytes at the end of a possible ID are looked at in one step, without a branch (PERFORMANCE.md, P33). */
const PROBE_BYTES = 6

/** How far a search may leap on when these of them may be of a run; zero: all six may. */
const LEAP = Uint8Array.from({ length: 1 << PROBE_BYTES }, (_, bits) => {
  for (let i = 0; i < PROBE_BYTES; i++) if ((bits & (1 << i)) === 0) return ID_CHARS - i
  return 0
})

/** How far the prefix may move on when this byte stands where its last one would. */
const STEP = new Uint8Array(256).fill(PREFIX.length)
PREFIX.subarray(0, -1).forEach((byte, i) => {
  STEP[byte] = PREFIX.length - 1 - i
})

/** Distinct file IDs, as many as it may hold; with more it holds none and says so. */
export class FileIds {
  readonly #countMax: number
  /** IDs without their prefix. */
  readonly #names = new Set<string>()
  #isOverfull = false

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  /** Nothing was found: not the same as holding none. */
  get isEmpty(): boolean {
    return this.#names.size === 0 && !this.#isOverfull
  }

  /** There were more than it may hold. */
  get isOverfull(): boolean {
    return this.#isOverfull
  }

  /** Takes up what the texts of rows name, given as the bytes of one or of several. */
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

  /** The files that the IDs name, whatever the team. */
  *keys(): Generator<FileKey> {
    for (const name of this.#names) yield decodeName(name).subarray(ALIAS_BYTES)
  }

  /** As a segment lists them: ascending. No bytes if there were more than it may hold. */
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

/** The files that a list of IDs names. @param list - What `encode` gave. */
export function* listedFiles(list: Bytes): Generator<FileKey> {
  invariant(list.length % NAME_BYTES === 0, 'a list has whole IDs')
  for (let at = 0; at < list.length; at += NAME_BYTES) {
    yield list.subarray(at + ALIAS_BYTES, at + NAME_BYTES)
  }
}

/** Whether a list read from a segment has whole IDs. */
export function isFileList(list: Bytes): boolean {
  return list.length % NAME_BYTES === 0
}

/** Whether the texts of rows name a file at all. */
export function nameFiles(texts: Bytes): boolean {
  for (const _ of namesInTexts(texts)) return true
  return false
}

/** The files that the text of rows names, some more than once. */
export function* filesIn(texts: Bytes): Generator<FileKey> {
  for (const name of namesInTexts(texts)) yield decodeName(name).subarray(ALIAS_BYTES)
}

function decodeName(name: string): Bytes {
  const bytes = fromBase64Url(name)
  invariant(bytes !== null && bytes.length === NAME_BYTES, 'an ID has 24 bytes')
  return bytes
}

/** A dash is rarer than other bytes of the prefix, and a backslash than a `u`. */
function surelyNameNone(texts: Bytes): boolean {
  if (byteSearch === null) return false
  return byteSearch.lastIndexOf(texts, PREFIX) < 0 && byteSearch.indexOf(texts, ESCAPE) < 0
}

/** IDs without their prefix, in order, some more than once. */
function* namesInTexts(texts: Bytes): Generator<string> {
  let start = findRun(texts, 0)
  while (start >= 0) {
    const end = endOfRun(texts, start + ID_CHARS)
    if (findPrefix(texts, start, end) >= 0) yield* namesInRun(texts.subarray(start, end))
    if (hasEscape(texts, start, end)) yield* namesInRun(unescapeRun(texts.subarray(start, end)))
    start = findRun(texts, end)
  }
}

/** Where a run of at least 36 bytes begins, from `from` on, where none goes on; -1: there is none. */
function findRun(texts: Bytes, from: number): number {
  const inRun = IN_RUN // Constants of the function are looked up faster.
  const leaps = LEAP
  const before = ID_CHARS - 1
  const limit = texts.length - before
  let start = from
  while (start < limit) {
    const last = start + before
    // A bit for each of the last six bytes, the lowest for the last one: whether it may be of a run.
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

/** Where the prefix stands from `from` on; -1: nowhere. */
function findPrefix(texts: Bytes, from: number, end: number): number {
  for (let at = from; at + PREFIX.length <= end; ) {
    const last = texts[at + PREFIX.length - 1] ?? 0
    if (last === DASH && isPrefix(texts, at)) return at
    at += STEP[last] ?? 1
  }
  return -1
}

/** Also those that begin within another: `rsf-rsf-…` names two files. */
function* namesInRun(run: Bytes): Generator<string> {
  const limit = run.length - FILE_ID_CHARS
  let at = findPrefix(run, 0, limit)
  let last = NO_BYTES
  while (at >= 0) {
    const name = run.subarray(at + PREFIX.length, at + ID_CHARS)
    // A long text may be nothing but one name, over and over.
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

/** A run with its escapes resolved. What is in no ID becomes a zero. A run never begins within an escape. */
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

/** The character of an ID that the escape at `at` stands for; zero: it stands for another. */
function escapedInId(run: Bytes, at: number): number {
  if (run[at + 2] !== DIGIT_ZERO || run[at + 3] !== DIGIT_ZERO) return 0
  const code = 16 * (HEX_DIGIT[run[at + 4] ?? 0] ?? 0) + (HEX_DIGIT[run[at + 5] ?? 0] ?? 0)
  return IN_ID[code] === 1 ? code : 0
}
