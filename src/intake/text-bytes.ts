// Converts a text source of any encoding to UTF-8, and rejects other sources.
import { concatBytes } from '../base/bytes.js'
import { withoutByteOrderMark } from '../base/record-cutter.js'
import { SourceFault } from '../base/record-scanner.js'
import { isJson, type SourceFormat } from '../base/source-format.js'
import { readWebStream } from '../base/web-stream.js'
import {
  binaryKindOf,
  guessEncoding,
  isBinary,
  isHtml,
  markedEncodingOf,
  refusalOf,
  SNIFFED_BYTES,
} from './sniff.js'

/** Number of bytes at the beginning of a source from which its plan is made. */
export const SAMPLE_BYTES = 1024 * 1024

/** The beginning of a source, and all its bytes. */
export type Begun = Readonly<{
  start: Uint8Array
  /** Whether `start` has all bytes. */
  isWhole: boolean
  all: AsyncIterable<Uint8Array>
}>

/** Reads the first `wanted` bytes of a source, or all if there are fewer. */
export async function begin(source: AsyncIterable<Uint8Array>, wanted: number): Promise<Begun> {
  const rest = source[Symbol.asyncIterator]()
  const pieces: Uint8Array[] = []
  let length = 0
  let isWhole = false
  try {
    while (length < wanted && !isWhole) {
      const next = await rest.next()
      if (next.done === true) isWhole = true
      else pieces.push(next.value)
      length += next.value?.length ?? 0
    }
  } catch (failure) {
    await rest.return?.()
    throw failure
  }
  const bytes = concatBytes(pieces)
  return { start: bytes.subarray(0, wanted), isWhole, all: continued(bytes, rest) }
}

async function* continued(
  start: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    if (start.length > 0) yield start
    for (let next = await rest.next(); next.done !== true; next = await rest.next())
      yield next.value
  } finally {
    await rest.return?.()
  }
}

/** Unpacks a source if its bytes are gzip. @throws {SourceFault} while it is read, if it is damaged or truncated */
export async function* unpackGzip(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { start, all } = await begin(source, SNIFFED_BYTES)
  if (binaryKindOf(start) !== 'gzip') return yield* all
  const pieces = all[Symbol.asyncIterator]()
  let failed: unknown
  const packed = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(to) {
      try {
        const { done, value } = await pieces.next()
        if (done === true) to.close()
        else to.enqueue(value as Uint8Array<ArrayBuffer>)
      } catch (failure) {
        failed = failure
        throw failure
      }
    },
    cancel: async () => {
      await pieces.return?.()
    },
  })
  try {
    yield* readWebStream(packed.pipeThrough(new DecompressionStream('gzip')))
  } catch {
    throw failed ?? new SourceFault('the gzip data is damaged or cut off')
  }
}

/** A source as UTF-8 without a byte order mark. */
export type TextBytes = Begun & Readonly<{ encoding: string; isGuessed: boolean }>

/**
 * @param given - The given encoding. undefined: UTF-8, or the encoding of the byte order mark.
 * @param guesses - Which encodings may be guessed from the bytes, if none is given. For JSON, only encodings of
 *   Unicode may be guessed.
 * @throws {SourceFault} if the input is not text, or has the byte order mark of another encoding than the given one
 */
export async function openTextBytes(
  source: AsyncIterable<Uint8Array>,
  given: string | undefined,
  guesses: 'none' | 'unicode' | 'all',
): Promise<TextBytes> {
  const begun = await begin(source, SAMPLE_BYTES)
  const kind = binaryKindOf(begun.start)
  if (kind !== undefined) throw new SourceFault(refusalOf(kind))
  const marked = markedEncodingOf(begun.start)
  const guessed = guesses === 'none' ? 'utf-8' : guessEncoding(begun.start, begun.isWhole)
  const isTaken = guesses === 'all' || guessed.startsWith('utf-')
  const encoding = reconcileEncoding(marked, given) ?? (isTaken ? guessed : 'utf-8')
  const isGuessed = marked === undefined && given === undefined && encoding !== 'utf-8'
  const decoded = encoding === 'utf-8' ? begun.all : transcoded(begun.all, encoding)
  const text = await begin(withoutByteOrderMark(decoded), SAMPLE_BYTES)
  if (guesses !== 'none' && isBinary(text.start, isGuessed))
    throw new SourceFault('the file is not text')
  const beginning = new TextDecoder().decode(text.start.subarray(0, HTML_BYTES))
  if (isHtml(beginning)) throw new SourceFault('the file is an HTML page, and no table')
  return { ...text, encoding, isGuessed }
}

/** Number of bytes in which an HTML page is recognized. */
const HTML_BYTES = 1024

/** The encodings that may be guessed for a source. */
export function allowedGuesses(format: SourceFormat, detects: boolean): 'none' | 'unicode' | 'all' {
  if (!detects) return 'none'
  return isJson(format) ? 'unicode' : 'all'
}

/** @throws {SourceFault} if the mark contradicts the given encoding, or no decoder supports it */
function reconcileEncoding(
  marked: string | undefined,
  given: string | undefined,
): string | undefined {
  if (marked === undefined) return given === undefined ? undefined : encodingOfLabel(given)
  if (marked.startsWith('utf-32')) {
    throw new SourceFault(`the file is ${marked} text: convert it to UTF-8 first`)
  }
  if (given === undefined || marked === encodingOfLabel(given)) return marked
  if (marked.startsWith('utf-16') && encodingOfLabel(given).startsWith('utf-16')) return marked
  if (marked === 'utf-8') return encodingOfLabel(given)
  const problem = `the file begins with the byte order mark of ${marked}, which contradicts the encoding ${given}`
  throw new SourceFault(`${problem}: leave the encoding out`)
}

function encodingOfLabel(label: string): string {
  return new TextDecoder(label).encoding
}

async function* transcoded(
  bytes: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding, { fatal: true })
  const encoder = new TextEncoder()
  let at = 0
  try {
    for await (const piece of bytes) {
      yield encoder.encode(decoder.decode(piece, { stream: true }))
      at += piece.length
    }
    yield encoder.encode(decoder.decode())
  } catch (failure) {
    if (!(failure instanceof TypeError)) throw failure
    throw new SourceFault(`not valid ${encoding} after byte ${at}`)
  }
}
