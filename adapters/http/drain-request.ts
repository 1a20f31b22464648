import type { IncomingMessage } from 'node:http'
import { FramingCost } from './framing-cost.js'

const QUICK_BYTES_MAX = 64 * 1_024
const DRAIN_BYTES_MAX = 64 * 1_024 * 1_024
const DRAIN_MS_MAX = 5_000

/** Whether the rest of a request is short enough to keep its connection. */
export function drainsQuickly({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding === undefined && Number(length ?? 0) <= QUICK_BYTES_MAX
}

/**
 * Reads and drops the rest of a request, so that a client that is still writing can read its
 * response: closing a connection with unread bytes resets it, and the response is lost.
 * Resolves at the end of the request, or at a limit of bytes or time.
 */
export function drainRequest(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const framing = new FramingCost(request)
    let bytes = 0
    let isOver = false
    let isPausing = false
    const timer = setTimeout(stop, DRAIN_MS_MAX)

    function stop(): void {
      isOver = true
      clearTimeout(timer)
      request.off('readable', drop).off('end', stop).off('close', stop).off('error', stop)
      resolve()
    }

    function drop(): void {
      while (!isOver && !isPausing) {
        const piece: Uint8Array | null = request.read()
        if (piece === null) return
        bytes += piece.length
        if (bytes > DRAIN_BYTES_MAX) stop()
        const pause = framing.note(piece.length)
        if (pause !== undefined) void dropAfter(pause)
      }
    }

    async function dropAfter(pause: Promise<unknown>): Promise<void> {
      isPausing = true
      await pause
      isPausing = false
      drop()
    }

    if (request.complete && request.readableLength === 0) return stop()
    if (request.destroyed) return stop()
    request.on('readable', drop).on('end', stop).on('close', stop).on('error', stop)
    drop()
  })
}
