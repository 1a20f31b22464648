// Counts the rows of an export as its text passes.

/** Counts the rows of NDJSON, or of CSV with a header. */
export class ExportedCount {
  #lines = 0
  #isQuoted = false

  /** Lines that ended outside quotes. The header of CSV counts. */
  get lines(): number {
    return this.#lines
  }

  async *pass(
    pieces: AsyncIterable<string | Uint8Array>,
    isCsv: boolean,
  ): AsyncGenerator<string | Uint8Array, void> {
    for await (const piece of pieces) {
      // One unit per byte: the bytes of quotes and line feeds occur in no other character.
      const text = typeof piece === 'string' ? piece : Buffer.from(piece).toString('latin1')
      if (isCsv && (this.#isQuoted || text.includes('"'))) this.#countQuoted(text)
      else this.#countLines(text)
      yield piece
    }
  }

  #countLines(text: string): void {
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#lines++
  }

  /** Counts the line feeds outside quotes. A doubled quote closes its field and opens it again. */
  #countQuoted(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const char = text[at]
      if (char === '"') this.#isQuoted = !this.#isQuoted
      else if (char === '\n' && !this.#isQuoted) this.#lines++
    }
  }
}
