import type { ServerResponse } from 'node:http'
import type { ContractResponse } from '../../src/ports.js'
import { Patience } from './patience.js'

/**
 * Patience with the reader of a response, in milliseconds; see patience.ts. The system buffers a few megabytes and takes
 * no more until many of them were read, so the rate of a client shows only over a minute.
 */
const READER_PATIENCE_MS = 60_000

/**
 * Writes the body without ending the response, no faster than the client reads.
 *
 * @returns false if the client disconnected or read too slowly; the rest of the body is then not created.
 */
export async function sendBody(
  response: ServerResponse,
  body: ContractResponse['body'],
  signal?: AbortSignal,
): Promise<boolean> {
  response.setTimeout(READER_PATIENCE_MS, () => response.destroy()) // Also for what is left after the body.
  if (body === null) {
    response.flushHeaders()
    return !response.destroyed
  }
  const patience = new Patience(READER_PATIENCE_MS)
  if (typeof body === 'string' || body instanceof Uint8Array)
    return writePiece(response, body, patience)
  const cut = (): void => void response.destroy()
  signal?.addEventListener('abort', cut)
  try {
    if (signal?.aborted) cut()
    for await (const piece of body) {
      if (response.destroyed || response.closed) return false
      if (!(await writePiece(response, piece, patience))) return false
    }
    return true
  } finally {
    signal?.removeEventListener('abort', cut)
  }
}

async function writePiece(
  response: ServerResponse,
  piece: string | Uint8Array,
  patience: Patience,
): Promise<boolean> {
  const isTaken =
    response.write(piece) || (await patience.wait(drained(response), () => response.destroy()))
  patience.earn(piece.length)
  return isTaken
}

/** Waits for the client: true if it has read more, false if it has disconnected. */
function drained(response: ServerResponse): Promise<boolean> {
  if (response.destroyed || response.closed) return Promise.resolve(false)
  return new Promise((resolve) => {
    function settle(isDrained: boolean): void {
      response.off('drain', onDrain).off('close', onClose)
      resolve(isDrained)
    }
    const onDrain = () => settle(true)
    const onClose = () => settle(false)
    response.on('drain', onDrain).on('close', onClose)
  })
}
