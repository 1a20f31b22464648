// CPU time of a process's main thread, and of all its threads. On a machine with spare cores the main thread is the
// limit.
import { readFileSync } from 'node:fs'

const NANOSECONDS_PER_US = 1_000

/** Microseconds so far. `main` is undefined except on Linux. */
export function cpuUsed() {
  const { user, system } = process.cpuUsage()
  return { main: mainMicros(), all: user + system }
}

function mainMicros() {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(
      ' ',
    )
    return Number(nanoseconds) / NANOSECONDS_PER_US
  } catch {
    return undefined
  }
}

/** The CPU time since `before`, divided by `count`. */
export function cpuSince(before, count) {
  const now = cpuUsed()
  const main = now.main === undefined ? undefined : (now.main - before.main) / count
  return { main, all: (now.all - before.all) / count }
}
