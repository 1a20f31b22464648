import type { ServerResponse } from 'node:http'
import type { ContractResponse } from '../src/index.js'

/** A reader that takes nothing for this long is gone, or wants to hold our memory. */
const READER_IDLE_MS_MAX = 60_000

/**
 * Writes the body without ending the response, no faster than the client reads.
 *
 * @returns false when the client went away; then the rest of the body was not even made.
 */
export async function sendBody(
  response: ServerResponse,
  body: ContractResponse['body'],
): Promise<boolean> {
  response.setTimeout(READER_IDLE_MS_MAX, () => response.destroy())
  if (body === null) {
    response.flushHeaders()
    return !response.destroyed
  }
  if (typeof body === 'string' || body instanceof Uint8Array) {
    return response.write(body) || drained(response)
  }
  for await (const piece of body) {
    if (response.destroyed || response.closed) return false
    if (!response.write(piece) && !(await drained(response))) return false
  }
  return true
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
