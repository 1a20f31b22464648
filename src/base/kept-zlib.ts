// Converts pieces on the calling thread with one zlib stream that is kept. The public calls make a stream for each piece,
// which takes as long as decompressing a frame, and a trip to another thread takes longer than compressing a small one
// (PERFORMANCE.md, P37 and P41).
//
// Node has no documented call for it. `_processChunk` of a zlib stream, which Node keeps for programs that grew on it,
// converts a piece at once, then closes the stream; here the close is held off. The handle below it is never called:
// a call on a closed one would end the process.
//
// Invariants:
// - A result is given only if the stream took the whole piece, the result is what the caller expects, and the stream is
//   not destroyed. After anything else the stream is closed for good, as the next piece might be taken for a rest of this
//   one.
// - It never refuses: undefined means that the public call must decide. If that call then succeeds, this way is not
//   understood by the runtime, and not tried again.
import { type Bytes, plainView } from './bytes.js'

/** The members of a zlib stream that are used. */
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
   * @param open - Opens a stream of zlib that has room for one byte more than the largest result.
   * @param flush - How the stream ends a piece.
   */
  constructor(open: () => unknown, flush: number) {
    this.#open = open
    this.#flush = flush
  }

  /**
   * @param isExpected - Whether the result can be that of the piece.
   * @returns what the piece is converted to, in memory that the next call overwrites; undefined: do it otherwise.
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

  /** The public call has converted what `run` did not. */
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

/** What one call gives; undefined: it failed, or left a part of the piece. */
function convertPiece({ stream, handle }: Kept, piece: Bytes, flush: number): Bytes | undefined {
  try {
    const result = stream._processChunk(piece, flush)
    stream.removeAllListeners('error') // The call has added one.
    if (stream.destroyed || stream.bytesWritten !== piece.length) return undefined
    return plainView(result)
  } catch {
    stream.on('error', () => undefined) // It is emitted later, too.
    return undefined
  } finally {
    stream._handle = handle // The call has forgotten it, as it seemed closed.
  }
}
