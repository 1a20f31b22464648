import type { ServerResponse } from 'node:http'
import type { ContractResponse } from '../../src/index.js'
import { Patience } from './patience.js'

/**
 * An answer must be read at the least rate, see patience.ts. The system takes a few megabytes at once and then nothing
 * until a good part of them was read, so only a minute shows how fast a client is.
 */
const READER_PATIENCE_MS = 60_000

/**
 * Writes the body without ending the response, no faster than the client reads.
 *
 * @returns false when the client went away or read too slowly; then the rest of the body was not even made.
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
  if (typeof body === 'string' || body instanceof Uint8Array) return write(response, body, patience)
  const cut = (): void => void response.destroy()
  signal?.addEventListener('abort', cut)
  try {
    if (signal?.aborted) cut()
    for await (const piece of body) {
      if (response.destroyed || response.closed) return false
      if (!(await write(response, piece, patience))) return false
    }
    return true
  } finally {
    signal?.removeEventListener('abort', cut)
  }
}

async function write(
  response: ServerResponse,
  piece: string | Uint8Array,
  patience: Patience,
): Promise<boolean> {
  const isTaken =
    response.write(piece) || (await patience.wait(drained(response), () => response.destroy()))
  patience.earn(piece.length)
  return isTaken
}

/** Waits until the client has read on: true, or has gone: false. */
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
