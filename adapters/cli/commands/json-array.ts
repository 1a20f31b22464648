// Converts NDJSON to a JSON array with one row per line.

const LINE_FEED = 0x0a
const COMMA = 0x2c

/** @param lines - NDJSON in pieces cut anywhere. A line feed always ends a row: within JSON it is escaped. */
export async function* jsonArrayOf(
  lines: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string | Uint8Array, void> {
  yield '['
  let isPending = false // Whether a row has ended, which needs a comma if another row follows.
  for await (const piece of lines) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    if (bytes.length === 0) continue
    if (isPending) yield ',\n'
    isPending = bytes.at(-1) === LINE_FEED
    yield withCommas(isPending ? bytes.subarray(0, -1) : bytes)
  }
  yield ']\n'
}

/** @returns the bytes with a comma before each line feed */
function withCommas(bytes: Uint8Array): Uint8Array {
  const ends: number[] = []
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
    ends.push(at)
  }
  const made = new Uint8Array(bytes.length + ends.length)
  let from = 0
  for (const [count, end] of ends.entries()) {
    made.set(bytes.subarray(from, end), from + count)
    made[end + count] = COMMA
    from = end
  }
  made.set(bytes.subarray(from), from + ends.length)
  return made
}
