// Decompresses frames of zstd on the calling thread with one decoder that is kept. The public call makes a decoder for
// each frame, which takes as long as decompressing one (PERFORMANCE.md, P37).
//
// Node has no documented call for it. `_processChunk` of a zlib stream, which Node keeps for programs that grew on it,
// converts a piece at once, then closes the stream; here the close is held off. The handle below it is never called:
// a call on a closed one would end the process.
//
// Invariants:
// - A result is given only if the stream took the whole frame, gave as many bytes as the frame claims, and is not
//   destroyed. After anything else the decoder is closed for good, as the next frame might be taken for a rest of this one.
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

type Decoder = Readonly<{ stream: KeptStream; handle: Handle; close: () => void }>

export class KeptUnzstd {
  readonly #open: () => unknown
  readonly #flush: number
  #decoder: Decoder | undefined
  #isUsable = true

  /**
   * @param open - Opens a stream of zlib that decompresses zstd, with room for one byte more than the largest frame.
   * @param flush - Of zstd: more may follow.
   */
  constructor(open: () => unknown, flush: number) {
    this.#open = open
    this.#flush = flush
  }

  /**
   * @param stored - One whole frame, which says that it has `rawBytes` bytes.
   * @returns what it decompresses to, in memory that the next call overwrites; undefined: it has to be done otherwise.
   */
  run(stored: Bytes, rawBytes: number): Bytes | undefined {
    if (!this.#isUsable) return undefined
    this.#decoder ??= openDecoder(this.#open)
    if (this.#decoder === undefined) return undefined
    const raw = converted(this.#decoder, stored, this.#flush)
    if (raw?.length !== rawBytes) {
      this.#decoder.close()
      this.#decoder = undefined
      return undefined
    }
    return raw
  }

  /** The public call has decompressed what `run` did not. */
  giveUp(): void {
    this.#isUsable = false
  }
}

function openDecoder(open: () => unknown): Decoder | undefined {
  const stream = open() as Partial<KeptStream>
  const { _handle: handle } = stream
  if (typeof stream._processChunk !== 'function' || typeof handle?.close !== 'function') return
  const { close } = handle
  handle.close = () => undefined
  return { stream: stream as KeptStream, handle, close: () => close.call(handle) }
}

/** What one call gives; undefined: it failed, or left a part of the frame. */
function converted({ stream, handle }: Decoder, stored: Bytes, flush: number): Bytes | undefined {
  try {
    const raw = stream._processChunk(stored, flush)
    stream.removeAllListeners('error') // The call has added one.
    if (stream.destroyed || stream.bytesWritten !== stored.length) return undefined
    return plainView(raw)
  } catch {
    stream.on('error', () => undefined) // It is emitted later, too.
    return undefined
  } finally {
    stream._handle = handle // The call has forgotten it, as it seemed closed.
  }
}
