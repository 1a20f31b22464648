// Answers requests that node:http rejects before a handler. Node's own responses have no body, which clients that parse
// every error cannot read.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { responsesUnderWay } from './connections.js'
import { errorJson, JSON_TYPE, SECURITY_HEADERS } from './refusal.js'

type ParseError = Error & Readonly<{ code?: string; reason?: string }>

type Refusal = Readonly<{ status: number; type: string; message: string }>

/** Sends errors of the contract for requests that the parser of `server` rejects, and ignores unknown expectations. */
export function answerUnparsed(server: Server): void {
  if (server.listenerCount('clientError') === 0) {
    server.on('clientError', (failure: ParseError, socket: Socket) => {
      if (server.listenerCount('clientError') > 1) return // A listener of the host answers.
      refuseInTurn(socket, refusalOfParseError(failure), responsesUnderWay(server, socket))
    })
  }
  if (server.listenerCount('checkExpectation') === 0) {
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      server.emit('request', request, response)
    })
  }
}

/**
 * Sends a refusal after the responses to the complete requests before it: a client takes a response for that of its
 * oldest unanswered request. If the response to the broken request has begun, the connection is cut.
 */
function refuseInTurn(socket: Socket, refusal: Refusal, underWay: readonly ServerResponse[]): void {
  const before = underWay.filter(({ req }) => req.complete).at(-1)
  if (before !== undefined) {
    socket.pause() // Meanwhile no later bytes are parsed, and rejected again.
    const own = underWay.filter(({ req }) => !req.complete)
    before.once('close', () => refuseInTurn(socket, refusal, own))
    return
  }
  if (!socket.writable || underWay.some(({ headersSent }) => headersSent)) {
    return void socket.destroy()
  }
  socket.write(renderRefusal(refusal))
  socket.destroySoon()
}

function refusalOfParseError({ code, reason = '' }: ParseError): Refusal {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, type: 'request_timeout', message: 'The request came too slowly' }
    case 'HPE_HEADER_OVERFLOW':
      return invalidRefusal(431, 'its headers are too long')
    case 'HPE_INVALID_TRANSFER_ENCODING':
      if (reason.includes('Content-Length')) break
      return {
        ...invalidRefusal(501, 'the Transfer-Encoding must be chunked'),
        type: 'not_implemented',
      }
  }
  return invalidRefusal(400, reason === '' ? 'it is malformed' : `it is malformed: ${reason}`)
}

function invalidRefusal(status: number, problem: string): Refusal {
  return { status, type: 'request_validation_error', message: `Invalid request: ${problem}` }
}

function renderRefusal({ status, type, message }: Refusal): string {
  const body = errorJson(type, message)
  const headers = {
    ...SECURITY_HEADERS,
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  // Loaded on first use: PERFORMANCE.md, P47.
  const { STATUS_CODES } = process.getBuiltinModule('node:http')
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}
