// Compresses on the threads of Node's zlib, with reused streams: a new stream per piece would cost the main thread more
// than compressing there (PERFORMANCE.md, P8).
//
// A stream processes one piece at a time, and is reused only after success.
import { type Bytes, concatBytes, NO_BYTES } from './bytes.js'

/** The used members of a `node:zlib` stream. */
export interface ZlibStream {
  write(piece: Bytes, done: (failure?: unknown) => void): unknown
  on(event: 'data', call: (piece: Bytes) => void): unknown
  on(event: 'error', call: (failure: unknown) => void): unknown
  destroy(): void
}

/** Opens a stream that makes a complete output from each piece written to it. */
export type OpenStream = () => ZlibStream

type Job = Readonly<{
  piece: Bytes
  resolve: (out: Bytes) => void
  reject: (failure: unknown) => void
}>

/**
 * The maximum number of streams at work at the same time: enough to keep the threads busy while the main thread does
 * other work.
 */
const LANES_MAX = 8

/** Distributes pieces to streams of one kind, in order. */
export class ZlibLanes {
  readonly #open: OpenStream
  /** Prepares a stream for its next piece, if its kind needs that. */
  readonly #renew: (stream: ZlibStream) => void
  readonly #idle: Lane[] = []
  readonly #waiting: Job[] = []
  #lanes = 0

  constructor(open: OpenStream, renew: (stream: ZlibStream) => void = () => undefined) {
    this.#open = open
    this.#renew = renew
  }

  /** @returns the whole output, as a view of shared memory. */
  run(piece: Bytes): Promise<Bytes> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ piece, resolve, reject })
      this.#startNext()
    })
  }

  #startNext(): void {
    if (this.#waiting.length === 0) return
    const lane = this.#idle.pop() ?? this.#openLane()
    const job = lane && this.#waiting.shift()
    if (job === undefined) return
    lane?.run(job.piece, (failure, out) => {
      if (failure === null) {
        this.#renew(lane.stream)
        this.#idle.push(lane)
        job.resolve(out)
      } else {
        this.#lanes--
        lane.stream.destroy() // Its remaining output would be mixed with the next piece.
        job.reject(failure)
      }
      this.#startNext()
    })
  }

  /** Opens one more stream; undefined: the maximum number of streams is open. */
  #openLane(): Lane | undefined {
    if (this.#lanes === LANES_MAX) return undefined
    const lane = new Lane(this.#open())
    this.#lanes++
    return lane
  }
}

type Ended = (failure: unknown, out: Bytes) => void

class Lane {
  readonly stream: ZlibStream
  #out: Bytes[] = []
  #done: Ended | null = null

  constructor(stream: ZlibStream) {
    this.stream = stream
    stream.on('data', (out) => this.#out.push(out))
    stream.on('error', (failure) => this.#end(failure))
  }

  run(piece: Bytes, done: Ended): void {
    this.#done = done
    this.stream.write(piece, (failure) => this.#end(failure ?? null))
  }

  /** Ends a piece. Several events may call it; only the first call counts. */
  #end(failure: unknown): void {
    const done = this.#done
    const out = this.#out
    this.#done = null
    this.#out = []
    const [only = NO_BYTES] = out
    done?.(failure, out.length > 1 ? concatBytes(out) : only)
  }
}
