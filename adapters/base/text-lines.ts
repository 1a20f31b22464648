/** The non-empty lines of a text that arrives in pieces. Text after the last line end is dropped. */
export async function* linesOf(
  pieces: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of pieces) {
    const text = typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true })
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield line
  }
}
