// How long a body may take. node:http has one limit for all requests of a server, which is either too
// short for the bytes of a large file or lets everybody else hold a connection for hours.
import type { IncomingMessage } from 'node:http'

/** From when the body is first asked for. */
const BODY_MS_MAX = 120_000

/** Bytes of a file win more time, so that only a client that is slower than this for long is cut off. */
const FILE_BYTES_PER_MS_MIN = 16

const CHECK_MS = 1_000

/**
 * The bytes of a request. Ends without destroying it: its connection still has to carry the answer.
 *
 * @param isFile - Whether its bytes may be many.
 * @param onSlow - Called once if they come too slowly. It must end the request, or this waits on.
 */
export async function* pacedBody(
  request: IncomingMessage,
  isFile: boolean,
  onSlow: () => void,
): AsyncGenerator<Uint8Array, void> {
  const startedAt = performance.now()
  let bytes = 0
  const check = setInterval(() => {
    const msMax = BODY_MS_MAX + (isFile ? bytes / FILE_BYTES_PER_MS_MIN : 0)
    if (performance.now() - startedAt < msMax) return
    clearInterval(check)
    onSlow()
  }, CHECK_MS)
  check.unref()
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      bytes += piece.length
      yield piece
    }
  } finally {
    clearInterval(check)
  }
}
