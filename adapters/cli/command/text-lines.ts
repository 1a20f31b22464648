/** The lines of a text that comes in pieces, without empty ones. What follows the last line end is no line. */
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
