// A separate `rowstash serve`, measured from outside.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const CLI = fileURLToPath(new URL('./dist/cli.js', import.meta.url))

/**
 * @param keys - In the form that `rowstash serve` takes.
 * @param options - Further options of `rowstash serve`.
 */
export function startServerProcess(directory, keys, options = []) {
  const given = keys.map((key) => `--key=${key}`)
  return startWatched([CLI, 'serve', '--directory', directory, '--port', '0', ...given, ...options])
}

/** Starts a script that prints `listening on URL` when it is ready. */
export async function startWatched(args) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (\S+)$/.exec(line)?.[1]
    if (url === undefined) continue
    return {
      url,
      pid: child.pid,
      async stop() {
        child.kill('SIGTERM')
        await ended
      },
    }
  }
  throw new Error('The server ended before it was ready')
}

/** Resident memory of a process in bytes; undefined without /proc. */
export function residentBytes(pid) {
  return statusBytes(pid, 'VmRSS')
}

/**
 * The peak of resident memory since the process began. Node's `maxRSS` is not used: a process inherits its parent's
 * value, if that is greater.
 */
export function peakBytes(pid) {
  return statusBytes(pid, 'VmHWM')
}

/** Linux counts CPU time in ticks. */
const TICKS_PER_SECOND = 100

/** CPU time of all threads of a process; undefined without /proc. */
export function cpuSecondsOf(pid) {
  const text = readProc(pid, 'stat')
  if (text === undefined) return undefined
  // The program's name, in parentheses, may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

function statusBytes(pid, field) {
  const status = readProc(pid, 'status') ?? ''
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}

function readProc(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch (failure) {
    if (failure.code === 'ENOENT') return undefined
    throw failure
  }
}

/** Samples a process's memory repeatedly; `stop` returns the samples. */
export function sampleMemory(pid, everyMs) {
  const samples = []
  const sample = () => {
    const bytes = residentBytes(pid)
    if (bytes !== undefined) samples.push(bytes)
  }
  sample()
  const timer = setInterval(sample, everyMs)
  return {
    stop() {
      clearInterval(timer)
      sample()
      return samples
    },
  }
}
