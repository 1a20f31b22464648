import type { IncomingMessage } from 'node:http'

const QUICK_BYTES_MAX = 64 * 1_024
const DRAIN_BYTES_MAX = 64 * 1_024 * 1_024
const DRAIN_MS_MAX = 5_000

/** Whether so little is left of a request that its connection is worth keeping. */
export function drainsQuickly({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding === undefined && Number(length ?? 0) <= QUICK_BYTES_MAX
}

/**
 * Reads and drops what is left of a request, so that a client that is still writing comes to read its
 * answer: closing the connection on unread bytes would reset it and take the answer along.
 * Resolves at the end of the request, or when the bounds of bytes and time are reached.
 */
export function drainRequest(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    const timer = setTimeout(stop, DRAIN_MS_MAX)

    function stop(): void {
      clearTimeout(timer)
      request.off('data', count).off('end', stop).off('close', stop).off('error', stop)
      resolve()
    }

    function count(piece: Uint8Array): void {
      bytes += piece.length
      if (bytes > DRAIN_BYTES_MAX) stop()
    }

    if (request.complete && request.readableLength === 0) return stop()
    if (request.destroyed) return stop()
    request.on('data', count).on('end', stop).on('close', stop).on('error', stop)
    request.resume()
  })
}
