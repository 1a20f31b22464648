// Finds the line of an offset in a streamed text. The text from the last run on is kept, so that the lines of rows and
// faults in it can be found.
import { CARRIAGE_RETURN, LINE_FEED } from '../base/ascii.js'
import { countLineBreaks } from '../base/record-scanner.js'

/** An offset with a known line. */
type Counted = Readonly<{
  offset: number
  line: number
  /** Whether the byte before is a carriage return: a line feed at the offset belongs to the same line break. */
  isAfterReturn: boolean
}>

const BEGINNING: Counted = { offset: 0, line: 1, isAfterReturn: false }

export class PassedLines {
  /** The pieces after `#kept`. */
  #pieces: Uint8Array[] = []
  #kept = BEGINNING
  #asked = BEGINNING

  async *watch(text: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of text) {
      this.#pieces.push(piece)
      yield piece
    }
  }

  /** Drops the text before an offset. */
  forget(offset: number): void {
    this.lineAt(offset)
    let begin = this.#kept.offset
    let dropped = 0
    for (const { length } of this.#pieces) {
      if (begin + length > offset) break
      begin += length
      dropped++
    }
    const rest = this.#pieces.slice(dropped)
    const [first] = rest
    if (first !== undefined) rest[0] = first.subarray(Math.max(0, offset - begin))
    this.#pieces = rest
    this.#kept = this.#asked
  }

  /** The line, from 1, of the byte at an offset that was not dropped; after the end, the last line. */
  lineAt(offset: number): number {
    let counted = offset < this.#asked.offset ? this.#kept : this.#asked
    let begin = this.#kept.offset
    for (const piece of this.#pieces) {
      const end = Math.min(offset, begin + piece.length)
      if (end > counted.offset) {
        counted = countedOver(piece.subarray(counted.offset - begin, end - begin), counted)
      }
      if (end === offset) break
      begin = end
    }
    this.#asked = counted
    return counted.line
  }
}

function countedOver(bytes: Uint8Array, { offset, line, isAfterReturn }: Counted): Counted {
  const hasReturns = isAfterReturn || bytes.includes(CARRIAGE_RETURN)
  return {
    offset: offset + bytes.length,
    line: line + (hasReturns ? countLineBreaks(bytes, isAfterReturn) : feedsIn(bytes)),
    isAfterReturn: bytes.at(-1) === CARRIAGE_RETURN,
  }
}

function feedsIn(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) count++
  return count
}
