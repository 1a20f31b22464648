import type { ServerResponse } from 'node:http'
import type { ContractResponse } from '../../src/ports.js'
import { Patience } from './patience.js'

/**
 * Patience with the reader of a response, in milliseconds: see patience.ts. The system buffers a few megabytes and
 * accepts no more until many were read, so the rate of a client shows only over a minute.
 */
const READER_PATIENCE_MS = 60_000

export type SendOptions = Readonly<{
  /** Cuts the connection when it is aborted. */
  signal?: AbortSignal | undefined
  /** Whether the memory of a piece may be reused when the next piece is requested. */
  releases?: boolean
}>

/**
 * Writes the body without ending the response, no faster than the client reads.
 *
 * @returns false: the client disconnected or read too slowly; the rest of the body is then not created.
 */
export async function sendBody(
  response: ServerResponse,
  body: ContractResponse['body'],
  { signal, releases = false }: SendOptions = {},
): Promise<boolean> {
  response.setTimeout(READER_PATIENCE_MS, () => response.destroy()) // Also applies after the body.
  if (body === null) {
    response.flushHeaders()
    return !response.destroyed
  }
  const patience = new Patience(READER_PATIENCE_MS)
  if (typeof body === 'string' || body instanceof Uint8Array)
    return writePiece(response, body, patience, false)
  const cut = (): void => void response.destroy()
  signal?.addEventListener('abort', cut)
  try {
    if (signal?.aborted) cut()
    for await (const piece of body) {
      if (response.destroyed || response.closed) return false
      if (!(await writePiece(response, piece, patience, releases))) return false
    }
    return true
  } finally {
    signal?.removeEventListener('abort', cut)
  }
}

/**
 * Whether a response reports when it no longer uses the memory of a piece. It does not if its `write` was replaced, for
 * example for compression.
 */
export function tellsRelease(response: ServerResponse): boolean {
  return !Object.hasOwn(response, 'write')
}

/** @param releases - Whether to wait until the memory of the piece may be reused. */
async function writePiece(
  response: ServerResponse,
  piece: string | Uint8Array,
  patience: Patience,
  releases: boolean,
): Promise<boolean> {
  const cut = (): void => void response.destroy()
  const isTaken = releases
    ? await patience.wait(released(response, piece), cut)
    : response.write(piece) || (await patience.wait(drained(response), cut))
  patience.earn(piece.length)
  return isTaken
}

/** Writes a piece. @returns true when the system has accepted the piece; false: the client has disconnected */
function released(response: ServerResponse, piece: string | Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    const onClose = () => resolve(false)
    response.once('close', onClose)
    response.write(piece, (failure) => {
      response.off('close', onClose)
      resolve(!failure)
    })
  })
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
