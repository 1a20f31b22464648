// Rows of NDJSON as an array of JSON, one row a line.

/** @param lines - NDJSON, cut anywhere. A line feed ends a row: within JSON it is escaped. */
export async function* jsonArrayOf(
  lines: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string | Uint8Array, void> {
  yield '['
  let isPending = false // A row has ended; what follows it is not known yet.
  for await (const piece of lines) {
    // One unit for each byte: a line feed is no part of another character.
    const text = Buffer.from(piece).toString('latin1')
    if (text === '') continue
    const isEnd = text.endsWith('\n')
    const rows = (isEnd ? text.slice(0, -1) : text).replaceAll('\n', ',\n')
    yield Buffer.from(isPending ? `,\n${rows}` : rows, 'latin1')
    isPending = isEnd
  }
  yield ']\n'
}
