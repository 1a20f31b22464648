// Processor time of the main thread of a process, beside that of all its threads. On a machine with cores to spare the
// main thread is the limit.
import { readFileSync } from 'node:fs'

const NANOSECONDS_PER_US = 1_000

/** Microseconds so far. `main` is undefined where the system does not tell (it is Linux that does). */
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

/** What was used since then, for each of so many. */
export function cpuSince(before, count) {
  const now = cpuUsed()
  const main = now.main === undefined ? undefined : (now.main - before.main) / count
  return { main, all: (now.all - before.all) / count }
}
