// What the pieces of a chunked body cost beside their bytes: node:http makes a call for each piece, so a body in pieces of
// one byte holds the event loop as long as one of a thousand times its length.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Bytes around a piece, at least: its length and two line breaks. */
const FRAME_BYTES = 5

/** Milliseconds that a piece takes of the event loop, about. */
const PIECE_MS = 0.004

/** A pause is due for so many milliseconds of pieces. */
const DUE_MS = 8

/** All bodies of a process share its event loop: their pauses follow each other. */
let pauses: Promise<unknown> = Promise.resolve()

/** Counts the pieces of one body, by the bytes of its connection that are not of the body. */
export class FramingCost {
  readonly #socket: Socket
  readonly #isChunked: boolean
  /** Bytes that had come on the connection when the body was last read. */
  #received: number
  #dueMs = 0

  constructor({ socket, headers }: IncomingMessage) {
    this.#socket = socket
    this.#isChunked = headers['transfer-encoding'] !== undefined
    this.#received = socket.bytesRead
  }

  /** Notes bytes of the body: all that had come. @returns the pause to make before more is read; undefined: none */
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
