// The cost of chunked bodies besides their bytes: node:http makes a call per piece, so a body in pieces of one byte
// occupies the event loop as long as one of a thousand times its length.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** The minimum number of bytes around a piece: its length and two line breaks. */
const FRAME_BYTES = 5

/** Approximate milliseconds per piece. */
const PIECE_MS = 0.004

/** A pause is due after pieces that took this time, in milliseconds. */
const DUE_MS = 8

/** The last pause of any body. Pauses do not overlap, because all bodies of a process share its event loop. */
let pauses: Promise<unknown> = Promise.resolve()

/** Counts the pieces of one body, by the bytes on its connection that do not belong to the body. */
export class FramingCost {
  readonly #socket: Socket
  readonly #isChunked: boolean
  /** Bytes received on the connection when the body was last read. */
  #received: number
  #dueMs = 0

  constructor({ socket, headers }: IncomingMessage) {
    this.#socket = socket
    this.#isChunked = headers['transfer-encoding'] !== undefined
    this.#received = socket.bytesRead
  }

  /** Counts the bytes of the body that have arrived. @returns the pause to make before reading on; undefined: none */
  note(bytes: number): Promise<unknown> | undefined {
    if (!this.#isChunked) return undefined
    const { bytesRead } = this.#socket
    const framing = bytesRead - this.#received - bytes
    this.#received = bytesRead
    if (framing <= 0) return undefined
    this.#dueMs += (framing / FRAME_BYTES) * PIECE_MS
    if (this.#dueMs < DUE_MS) return undefined
    const ms = this.#dueMs
    this.#dueMs = 0
    pauses = pauses.then(() => delay(ms))
    return pauses
  }
}
