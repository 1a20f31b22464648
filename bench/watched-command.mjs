// A command in a separate process, measured from outside: its time, its CPU time, and its peak of memory.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { cpuSecondsOf, peakBytes } from './server-process.mjs'

/** What a process uses after the last sample, for at most this long, is not measured. */
const SAMPLE_MS = 10

/**
 * Runs a command to its end.
 * @param command.output - The file for its standard output. Default: `stdout` of the result.
 * @returns its seconds; with /proc also its CPU time and peak of memory
 */
export async function runWatched({ program, args, output }) {
  const file = output === undefined ? 'pipe' : openSync(output, 'w')
  const startMs = performance.now()
  const child = spawn(program, args, { stdio: ['ignore', file, 'pipe'] })
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) {
    child[name]?.setEncoding('utf8').on('data', (text) => {
      texts[name] += text
    })
  }
  const used = { cpuSeconds: undefined, peakBytes: undefined }
  const sample = () => {
    used.cpuSeconds = cpuSecondsOf(child.pid) ?? used.cpuSeconds
    used.peakBytes = peakBytes(child.pid) ?? used.peakBytes
  }
  const timer = setInterval(sample, SAMPLE_MS)
  let seconds
  child.once('exit', () => {
    seconds = (performance.now() - startMs) / 1_000
    clearInterval(timer)
  })
  try {
    const [code] = await once(child, 'close')
    if (code === 0) return { seconds, ...used, stdout: texts.stdout }
    const line = [program, ...args].join(' ')
    throw new Error(`${line} ended with code ${code}: ${texts.stderr.slice(-2_000)}`)
  } finally {
    clearInterval(timer)
    if (output !== undefined) closeSync(file)
  }
}
