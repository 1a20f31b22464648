// The order in which the requests of one connection are served.
//
// Invariants:
// - Requests are served in order. node:http starts pipelined requests concurrently, so a read could overtake the write
//   before it (RFC 9112, 9.3.2).
// - The event loop turns between two requests, so that one connection cannot block all others.
// - A request that cannot be answered is not served: its connection is dead, or an earlier answer was the last one.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The maximum number of requests of one connection that wait while another request is served. */
const WAITING_MAX = 16

/**
 * The maximum number of further requests that are dropped before the connection is cut. A client that pipelines sends
 * dropped requests again.
 * Requests that arrive together are parsed before the parser can be stopped, and each takes about 2 KB.
 */
const DROPPED_MAX = 100

type Waiting = Readonly<{
  request: IncomingMessage
  response: ServerResponse
  serve: () => Promise<void>
}>

type Line = {
  readonly waiting: Waiting[]
  isServing: boolean
  dropped: number
}

/** @param serve - Handles the request. Must not fail. */
export type TakeTurn = (
  request: IncomingMessage,
  response: ServerResponse,
  serve: () => Promise<void>,
) => void

export function createTurns(): TakeTurn {
  const lines = new WeakMap<Socket, Line>()
  return (request, response, serve) => {
    const { socket } = request
    const line = lines.get(socket) ?? { waiting: [], isServing: false, dropped: 0 }
    lines.set(socket, line)
    if (line.dropped > 0 || line.waiting.length === WAITING_MAX) {
      drop(line, socket)
      return
    }
    line.waiting.push({ request, response, serve })
    if (!line.isServing) void serveLine(line)
  }
}

async function serveLine(line: Line): Promise<void> {
  line.isServing = true
  for (let next = line.waiting.shift(); next !== undefined; next = line.waiting.shift()) {
    const { request, response, serve } = next
    if (request.socket.destroyed) line.waiting.length = 0
    else await serve()
    if (response.getHeader('connection') === 'close') line.waiting.length = 0
    if (line.waiting.length > 0) await new Promise((turned) => setImmediate(turned))
  }
  line.isServing = false
}

/** Serves the waiting requests and then ends the connection; ends it at once beyond DROPPED_MAX. */
function drop(line: Line, socket: Socket): void {
  line.dropped++
  if (line.dropped > DROPPED_MAX) socket.destroy()
  if (line.dropped > 1) return
  line.waiting.at(-1)?.response.setHeader('connection', 'close')
  socket.pause()
  socket.on('resume', () => socket.pause()) // node:http resumes reading after each answer.
}
