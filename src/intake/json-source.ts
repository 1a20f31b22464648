// Finds the rows in a JSON source: an array of rows; or consecutive values, on separate lines or not; or an object that
// contains the array, as in responses of servers.
//
// Invariant: an object has only one array of objects, or an option names the right one.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  LINE_FEED,
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
  /** Returns the difference between a row's offset in the source and in `bytes`. Must be called in row order. */
  shift: (offset: number) => number
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
  if (at !== undefined) return { ...plain, format: 'json', ...arrayAt(text.all, at, false) }
  if (!detects) return plain
  const found = new ArrayFinder()
  found.scan(text.start)
  if (found.values > 1) {
    const lines = found.besides.length === 0 ? plain : onLines(text.all)
    return { ...plain, ...lines, format: 'ndjson' }
  }
  if (found.isArray) return { ...plain, format: 'json' }
  const [array] = found.arrays
  if (!found.isObject || format !== 'json' || array === undefined) return plain
  checkOne(found)
  const only = arrayAt(text.all, array.path, true)
  return { ...plain, ...only, advice: [{ code: 'at', example: array.path }] }
}

/** @throws {SourceFault} if several arrays may have the rows */
function checkOne({ arrays }: ArrayFinder): void {
  if (arrays.length < 2) return
  const names = arrays.map(({ path }) => path).join(', ')
  throw new SourceFault(
    `the JSON object has several arrays of objects: ${names}; name the one with the rows`,
  )
}

/** An array of objects, or an empty array. */
type FoundArray = {
  /** The names of the enclosing objects' members, separated by points. */
  readonly path: string
  /** The beginning of its first element; if the array is empty, its end. */
  readonly first: number
  end: number | undefined
}

/** Greatest nesting depth that is searched. */
const DEPTH_MAX = 8

/** The maximum number of bytes kept of a member's name. */
const NAME_BYTES_MAX = 256

/** The maximum number of arrays kept if no option names one. Two arrays are already ambiguous. */
const ARRAYS_MAX = 8

type Opened = {
  isArray: boolean
  name: string
  start: number
  isFirst: boolean
  found?: FoundArray
}

/** Finds the arrays of objects in a JSON value, byte by byte. Malformed JSON is left to the reader of rows. */
class ArrayFinder {
  /** The arrays, except those within arrays, whose first element is an object. A wanted array may also be empty. */
  readonly arrays: FoundArray[] = []
  /** Number of top-level values. */
  values = 0
  isObject = false
  isArray = false
  /** Beginnings of top-level values before which another value ends on the same line. */
  besides: number[] = []
  #isOnNewLine = true
  readonly #wanted: string | undefined
  #scanned = 0
  /** The open objects and arrays, outermost first, except those that are too deep. */
  readonly #open: Opened[] = []
  #tooDeep = 0
  #isInString = false
  #isEscaped = false
  #name: number[] = []
  #last = ''
  #isInValue = false

  /** @param wanted - The path of the only array to find. Default: all arrays. */
  constructor(wanted?: string) {
    this.#wanted = wanted
  }

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
      if (this.#open.length === 0) {
        this.#isInValue = false
        this.#isOnNewLine ||= byte === LINE_FEED
      }
      return
    }
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      this.#close(offset)
      return
    }
    if (this.#open.length === 0 && !this.#isInValue) {
      this.values++
      if (!this.#isOnNewLine) this.besides.push(offset)
      this.#isOnNewLine = false
    }
    this.#isInValue = true
    if (byte === QUOTE) {
      this.#isInString = true
      this.#name = []
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET)
      this.#begin(byte === OPEN_BRACKET, offset)
    const top = this.#open.at(-1)
    if (top !== undefined && top.start !== offset) top.isFirst = false // It contains a value.
  }

  #begin(isArray: boolean, offset: number): void {
    const outer = this.#open.at(-1)
    if (outer === undefined && this.values === 1) {
      this.isObject = !isArray
      this.isArray = isArray
    }
    if (this.#tooDeep > 0 || this.#open.length > DEPTH_MAX) {
      this.#tooDeep++
      return
    }
    if (!isArray && outer?.isArray === true && outer.isFirst) {
      this.#add(outer, { path: this.#path(), first: offset, end: undefined })
    }
    if (outer !== undefined) outer.isFirst = false
    this.#open.push({ isArray, name: this.#last, start: offset, isFirst: true })
  }

  /** Keeps an array, unless it is within another array, too deep, or not the wanted array. */
  #add(opened: Opened, array: FoundArray): void {
    const isDeep = this.#open.length > DEPTH_MAX
    if (isDeep || this.#open.slice(0, -1).some(({ isArray }) => isArray)) return
    const isMissing =
      this.#wanted === undefined ? this.arrays.length < ARRAYS_MAX : this.arrays.length === 0
    if (!isMissing || array.path !== (this.#wanted ?? array.path)) return
    opened.found = array
    this.arrays.push(array)
  }

  #path(): string {
    return this.#open
      .slice(1)
      .map(({ name }) => name)
      .join('.')
  }

  #close(offset: number): void {
    if (this.#tooDeep > 0) {
      this.#tooDeep--
      return
    }
    const top = this.#open.at(-1)
    if (this.#wanted !== undefined && top?.isArray === true && top.isFirst) {
      this.#add(top, { path: this.#path(), first: offset, end: offset + 1 })
    }
    if (top?.found !== undefined) top.found.end = offset + 1
    this.#open.pop()
    if (this.#open.length === 0) this.#isInValue = false
  }
}

const LINE_BREAK = Uint8Array.of(LINE_FEED)

/** Puts consecutive JSON values on separate lines. */
function onLines(bytes: AsyncIterable<Uint8Array>): Pick<JsonSource, 'bytes' | 'shift'> {
  const finder = new ArrayFinder('')
  /** Offsets of added line breaks in the output that `shift` has not passed yet. */
  const added: number[] = []
  let count = 0
  async function* lines(): AsyncGenerator<Uint8Array> {
    let at = 0
    let all = 0
    for await (const piece of bytes) {
      finder.besides = []
      finder.scan(piece)
      let from = 0
      for (const start of finder.besides) {
        yield piece.subarray(from, start - at)
        added.push(start + all++)
        yield LINE_BREAK
        from = start - at
      }
      yield piece.subarray(from)
      at += piece.length
    }
  }
  const shift = (offset: number) => {
    while ((added[0] ?? offset) < offset) {
      added.shift()
      count++
    }
    return -count
  }
  return { bytes: lines(), shift }
}

const BEGIN = Uint8Array.of(OPEN_BRACKET)

/**
 * The bytes of an array within an object.
 * @param isOnly - Whether a second array of objects is a fault, because no option names the right one.
 */
function arrayAt(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  isOnly: boolean,
): Pick<JsonSource, 'bytes' | 'shift'> {
  const finder = new ArrayFinder(isOnly ? undefined : path)
  let array: FoundArray | undefined
  async function* bytesOfArray(): AsyncGenerator<Uint8Array> {
    let at = 0
    for await (const piece of bytes) {
      finder.scan(piece)
      if (isOnly) checkOne(finder)
      if (array === undefined && finder.arrays[0] !== undefined) {
        array = finder.arrays[0]
        yield BEGIN
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
