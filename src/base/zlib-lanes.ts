// Compresses on the threads of Node's zlib, with streams that are kept: a new stream for each piece would cost the main
// thread more than compressing there (PERFORMANCE.md, P8).
//
// A stream works on one piece at a time, and is reused only if that piece succeeded.
import { type Bytes, concatBytes, NO_BYTES } from './bytes.js'

/** The members of a stream of `node:zlib` that are used. */
export interface ZlibStream {
  write(piece: Bytes, done: (failure?: unknown) => void): unknown
  on(event: 'data', call: (piece: Bytes) => void): unknown
  on(event: 'error', call: (failure: unknown) => void): unknown
  destroy(): void
}

/** Opens a stream that makes a whole output of each piece that is written to it. */
export type OpenStream = () => ZlibStream

type Job = Readonly<{
  piece: Bytes
  resolve: (out: Bytes) => void
  reject: (failure: unknown) => void
}>

/** Streams at work at one time: enough to keep the threads busy while the main thread does something else. */
const LANES_MAX = 8

/** Pieces on the way through streams of one kind, in turn. */
export class ZlibLanes {
  readonly #open: OpenStream
  /** Called between two pieces, for streams that need it. */
  readonly #renew: (stream: ZlibStream) => void
  readonly #idle: Lane[] = []
  readonly #waiting: Job[] = []
  #lanes = 0

  constructor(open: OpenStream, renew: (stream: ZlibStream) => void = () => undefined) {
    this.#open = open
    this.#renew = renew
  }

  /**
   * @returns the whole output, as a part of memory that holds others too.
   */
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
        lane.stream.destroy() // What is left in it would come out with the next piece.
        job.reject(failure)
      }
      this.#startNext()
    })
  }

  /** undefined: there are enough, and all are at work. */
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

  /** Once for each piece, whatever comes first. */
  #end(failure: unknown): void {
    const done = this.#done
    const out = this.#out
    this.#done = null
    this.#out = []
    const [only = NO_BYTES] = out
    done?.(failure, out.length > 1 ? concatBytes(out) : only)
  }
}
