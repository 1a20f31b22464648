// Where in a source of JSON the rows are: the source is their array, or one value follows the other, or an object has
// their array, as the answers of servers do.
//
// Invariant: an object has one array of objects only, or it is said which is meant.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../base/ascii.js'
import { SourceFault } from '../base/record-scanner.js'
import type { SourceFormat } from '../base/source-format.js'
import type { Advice } from './advice.js'
import type { TextBytes } from './text-bytes.js'

export type JsonSource = Readonly<{
  format: SourceFormat
  bytes: AsyncIterable<Uint8Array>
  /** What is in front of the bytes in the source; known when the first of them is. */
  shift: () => number
  advice: readonly Advice[]
}>

export function openJson(
  text: TextBytes,
  {
    format,
    detects,
    at,
  }: Readonly<{ format: SourceFormat; detects: boolean; at?: string | undefined }>,
): JsonSource {
  const plain: JsonSource = { format, bytes: text.all, shift: () => 0, advice: [] }
  if (at !== undefined) return { ...plain, format: 'json', ...arrayAt(text.all, at) }
  if (!detects || format !== 'json') return plain
  const found = new ArrayFinder()
  found.scan(text.start)
  if (found.values > 1) return { ...plain, format: 'ndjson' }
  const [array] = found.arrays
  if (!found.isObject || array === undefined) return plain
  checkOne(found)
  const only = arrayAt(text.all, array.path, checkOne)
  return { ...plain, ...only, advice: [{ code: 'at', example: array.path }] }
}

/** @throws {SourceFault} if it is open which array has the rows */
function checkOne({ arrays }: ArrayFinder): void {
  if (arrays.length < 2) return
  const names = arrays.map(({ path }) => path).join(', ')
  throw new SourceFault(
    `the JSON object has several arrays of objects: ${names}; say which has the rows`,
  )
}

/** An array of objects, or of nothing. */
type FoundArray = {
  /** The names of the objects that it is in, with points between them. */
  readonly path: string
  readonly start: number
  /** Where its first element begins; its end if it has none. */
  readonly first: number
  end: number | undefined
}

/** Nested objects that are looked into, at most. */
const DEPTH_MAX = 8

/** Members whose names are kept. */
const NAME_BYTES_MAX = 256

/** Finds the arrays of objects in a value of JSON, byte by byte. What is no JSON is refused where rows are read. */
class ArrayFinder {
  /** Those that are in no other array, and whose first element is an object. */
  readonly arrays: FoundArray[] = []
  readonly emptyArrays: FoundArray[] = []
  /** Values of the source itself. */
  values = 0
  isObject = false
  #scanned = 0
  /** The names of the open objects, from the outside in; an array has none. */
  readonly #open: { isArray: boolean; name: string; start: number; isFirst: boolean }[] = []
  #isInString = false
  #isEscaped = false
  #name: number[] = []
  #last = ''
  #isInValue = false

  scan(piece: Uint8Array): void {
    for (let i = 0; i < piece.length; i++) this.#take(piece[i] ?? 0, this.#scanned + i)
    this.#scanned += piece.length
  }

  #take(byte: number, offset: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) {
        this.#isInString = false
        this.#last = new TextDecoder().decode(Uint8Array.from(this.#name))
        return
      }
      if (this.#name.length < NAME_BYTES_MAX) this.#name.push(byte)
      return
    }
    if (byte <= 0x20 || byte === COMMA || byte === COLON) {
      if (this.#open.length === 0) this.#isInValue = false
      return
    }
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      this.#close(offset)
      return
    }
    if (this.#open.length === 0 && !this.#isInValue) this.values++
    this.#isInValue = true
    if (byte === QUOTE) {
      this.#isInString = true
      this.#name = []
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET)
      this.#begin(byte === OPEN_BRACKET, offset)
    const top = this.#open.at(-1)
    if (top !== undefined && top.start !== offset) top.isFirst = false // A value stands in it.
  }

  #begin(isArray: boolean, offset: number): void {
    const outer = this.#open.at(-1)
    if (outer === undefined && this.values === 1) this.isObject = !isArray
    if (!isArray && outer?.isArray === true && outer.isFirst && this.#isNear()) {
      const { start } = outer
      this.arrays.push({ path: this.#path(), start, first: offset, end: undefined })
    }
    if (outer !== undefined) outer.isFirst = false
    this.#open.push({ isArray, name: this.#last, start: offset, isFirst: true })
  }

  /** Whether the innermost open array is in no other one, and not too deep. */
  #isNear(): boolean {
    return (
      this.#open.length <= DEPTH_MAX && this.#open.slice(0, -1).every(({ isArray }) => !isArray)
    )
  }

  #path(): string {
    return this.#open
      .slice(1)
      .map(({ name }) => name)
      .join('.')
  }

  #close(offset: number): void {
    const top = this.#open.at(-1)
    if (top?.isArray === true && top.isFirst && this.#isNear()) {
      const end = offset + 1
      this.emptyArrays.push({ path: this.#path(), start: top.start, first: offset, end })
    }
    this.#open.pop()
    const found = this.arrays.find(({ start }) => start === top?.start)
    if (found !== undefined) found.end = offset + 1
    if (this.#open.length === 0) this.#isInValue = false
  }
}

const BEGIN = Uint8Array.of(OPEN_BRACKET)

/**
 * The bytes of an array in an object, alone.
 * @param check - Called with what was found so far.
 */
function arrayAt(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  check: (found: ArrayFinder) => void = () => undefined,
): Pick<JsonSource, 'bytes' | 'shift'> {
  const finder = new ArrayFinder()
  let array: FoundArray | undefined
  async function* bytesOfArray(): AsyncGenerator<Uint8Array> {
    let at = 0
    for await (const piece of bytes) {
      finder.scan(piece)
      check(finder)
      if (array === undefined) {
        array = [...finder.arrays, ...finder.emptyArrays].find((found) => found.path === path)
        if (array !== undefined) yield BEGIN
      }
      const from = Math.max((array?.first ?? Number.POSITIVE_INFINITY) - at, 0)
      const to = Math.min((array?.end ?? Number.POSITIVE_INFINITY) - at, piece.length)
      if (to > from) yield piece.subarray(from, to)
      at += piece.length
    }
    if (array === undefined) throw new SourceFault(`the JSON has no array of objects at ${path}`)
  }
  return { bytes: bytesOfArray(), shift: () => (array?.first ?? 1) - 1 }
}
