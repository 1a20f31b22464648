import { writeSync } from 'node:fs'

const STDOUT = 1
const RETRY_MS = 1

const clock = new Int32Array(new SharedArrayBuffer(4))

/** Writes a line to the standard output before it returns, even if the reader is slow. */
export function say(line: object): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STDOUT, bytes, at)
    } catch (failure) {
      const isFull = failure instanceof Error && 'code' in failure && failure.code === 'EAGAIN'
      if (!isFull) throw failure
      Atomics.wait(clock, 0, 0, RETRY_MS)
    }
  }
}
