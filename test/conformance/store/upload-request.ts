// The bytes of an upload, as a server passes them to the store.
import type { UploadRequest } from '../../../src/ports.js'

/** A PUT to a target, with one piece per text. */
export function putTo(
  target: string,
  texts: readonly string[],
  more: Partial<UploadRequest> = {},
): UploadRequest {
  const pieces = texts.map((text) => new TextEncoder().encode(text))
  return {
    ...partsOf(target),
    contentType: 'text/plain',
    contentLength: pieces.reduce((sum, { length }) => sum + length, 0),
    body: inPieces(pieces),
    ...more,
  }
}

/** The upload ID and the query of a target, or of a forged target. */
export function partsOf(target: string): Readonly<{ uploadId: string; query: string }> {
  const question = target.indexOf('?')
  const path = question < 0 ? target : target.slice(0, question)
  return {
    uploadId: path.slice(path.indexOf('/') + 1),
    query: question < 0 ? '' : target.slice(question + 1),
  }
}

export async function* inPieces(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield piece
}

export async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of stream) text += decoder.decode(piece, { stream: true })
  return text + decoder.decode()
}
