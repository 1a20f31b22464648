// Converts values of another realm or implementation into those that fetch of this realm accepts.
import { bytesOf } from '../base/bytes.js'
import { hasMethods, tagOf } from '../base/options.js'
import { readWebStream } from '../base/web-stream.js'

export function isBlob(given: unknown): given is Blob {
  return hasMethods(given, ['stream']) && /^(?:Blob|File)$/.test(tagOf(given as object))
}

/**
 * The same Blob, or a copy if it is of another realm: of such a Blob, fetch would send the type name instead of the
 * content.
 */
export async function ownBlob(given: Blob): Promise<Blob> {
  if (given instanceof Blob) return given
  const pieces: BlobPart[] = []
  for await (const piece of readWebStream((given as Blob).stream())) {
    pieces.push((bytesOf(piece) ?? piece) as BlobPart)
  }
  return new Blob(pieces)
}

/** The same signal; or, because fetch rejects a signal of another realm, one of this realm that follows it. */
export function ownSignal(given: AbortSignal | undefined): AbortSignal | undefined {
  if (given === undefined || given instanceof AbortSignal) return given
  const signal = given as AbortSignal
  const follower = new AbortController()
  const follow = (): void => follower.abort(signal.reason)
  if (signal.aborted) follow()
  else signal.addEventListener('abort', follow, { once: true })
  return follower.signal
}
