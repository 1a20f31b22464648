// Converts pieces on the calling thread with one reused zlib stream. The public calls open a stream for each piece,
// which takes as long as decompressing a frame, and a trip to another thread takes longer than compressing a small
// piece (PERFORMANCE.md, P37 and P41).
//
// Node has no documented call for reusing a stream. `_processChunk` of a zlib stream, which Node keeps for
// compatibility, converts a piece synchronously and then closes the stream; this file prevents the close. The
// underlying handle is never called directly: a call on a closed one would end the process.
//
// Invariants:
// - A result is returned only if the stream consumed the whole piece, the result is as expected, and the stream is not
//   destroyed. Otherwise the stream is closed for good, because it might treat the next piece as the rest of this one.
// - `run` never fails: undefined means that the public call must decide. If that call then succeeds, the runtime does
//   not support this method, and it is not tried again.
import { type Bytes, plainView } from './bytes.js'

/** The used members of a zlib stream. */
type KeptStream = {
  _handle: Handle | null
  _processChunk(piece: Bytes, flush: number): Bytes
  readonly bytesWritten: number
  readonly destroyed: boolean
  on(event: 'error', call: () => void): unknown
  removeAllListeners(event: 'error'): unknown
}

type Handle = { close(): void }

type Kept = Readonly<{ stream: KeptStream; handle: Handle; close: () => void }>

export class KeptZlib {
  readonly #open: () => unknown
  readonly #flush: number
  #kept: Kept | undefined
  #isUsable = true

  /**
   * @param open - Opens a zlib stream with room for one byte more than the largest result.
   * @param flush - The flush mode that ends a piece.
   */
  constructor(open: () => unknown, flush: number) {
    this.#open = open
    this.#flush = flush
  }

  /**
   * @param isExpected - Whether the result is plausible for the piece.
   * @returns the converted piece, in memory that the next call overwrites; undefined: use the public call.
   */
  run(piece: Bytes, isExpected: (result: Bytes) => boolean): Bytes | undefined {
    if (!this.#isUsable) return undefined
    this.#kept ??= openKept(this.#open)
    if (this.#kept === undefined) return undefined
    const result = convertPiece(this.#kept, piece, this.#flush)
    if (result !== undefined && isExpected(result)) return result
    this.#kept.close()
    this.#kept = undefined
    return undefined
  }

  /** Ends the use of `run`. Must be called when the public call has converted a piece that `run` did not. */
  giveUp(): void {
    this.#isUsable = false
  }
}

function openKept(open: () => unknown): Kept | undefined {
  const stream = open() as Partial<KeptStream>
  const { _handle: handle } = stream
  if (typeof stream._processChunk !== 'function' || typeof handle?.close !== 'function') return
  const { close } = handle
  handle.close = () => undefined
  return { stream: stream as KeptStream, handle, close: () => close.call(handle) }
}

/** The result of one call; undefined: it failed, or left a part of the piece. */
function convertPiece({ stream, handle }: Kept, piece: Bytes, flush: number): Bytes | undefined {
  try {
    const result = stream._processChunk(piece, flush)
    stream.removeAllListeners('error') // The listener added by the call.
    if (stream.destroyed || stream.bytesWritten !== piece.length) return undefined
    return plainView(result)
  } catch {
    stream.on('error', () => undefined) // The error is also emitted later.
    return undefined
  } finally {
    stream._handle = handle // The call has cleared it, because it seemed closed.
  }
}
