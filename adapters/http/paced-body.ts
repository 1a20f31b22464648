// The body of a request, with a minimum rate.
import type { IncomingMessage } from 'node:http'
import { FramingCost } from './framing-cost.js'
import { Patience } from './patience.js'

/** Patience with the sender of a body, in milliseconds: see patience.ts. */
const SENDER_PATIENCE_MS = 10_000

/** Events that may end a wait for more of a request. */
const EVENTS = ['readable', 'end', 'error', 'close'] as const

/**
 * The bytes of a request. Ending it does not destroy the request, whose connection still carries the response. Unlike a
 * generator, it can be ended by `return` while a piece is awaited.
 *
 * @param onSlow - Called once if the bytes arrive too slowly. They then end with an error; the request is left open.
 */
export function pacedBody(
  request: IncomingMessage,
  onSlow: () => void,
): AsyncIterableIterator<Uint8Array> {
  const patience = new Patience(SENDER_PATIENCE_MS)
  const framing = new FramingCost(request)
  let state: 'new' | 'open' | 'over' = 'new'
  let isSlow = false
  let wake = (): void => {}
  const onEvent = (): void => wake()

  function begin(): void {
    state = 'open'
    for (const event of EVENTS) request.on(event, onEvent)
  }

  function end(): void {
    state = 'over'
    for (const event of EVENTS) request.off(event, onEvent)
    wake()
  }

  function giveUp(): void {
    isSlow = true
    end()
    onSlow()
  }

  async function next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (state === 'new') begin()
    while (state === 'open') {
      const piece: Uint8Array | null = request.destroyed ? null : request.read()
      if (piece !== null) {
        patience.earn(piece.length)
        const pause = framing.note(piece.length)
        if (pause !== undefined) await pause
        return { value: piece, done: false }
      }
      if (request.readableEnded) end()
      else if (request.destroyed) throw broken(request, end)
      else await patience.wait(new Promise<void>((done) => (wake = done)), giveUp)
    }
    if (isSlow) throw new Error('The request body came too slowly')
    return { value: undefined, done: true }
  }

  return {
    next,
    async return() {
      end()
      return { value: undefined, done: true }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function broken({ errored }: IncomingMessage, end: () => void): Error {
  end()
  return errored ?? new Error('The connection was closed')
}
