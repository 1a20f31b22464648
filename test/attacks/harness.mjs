// The parts of every attack: its server, a healthy client in another process, and the measurements of both. An attack
// is a script that calls `runAttack`; README.md tells how to run one.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
const HEALTHY_CLIENT = fileURLToPath(new URL('healthy-client.mjs', import.meta.url))

/** Keys of the server: the attacker's, and the healthy client's, which belongs to another team. */
export const ATTACKER_KEY = 'key-of-the-attacker'
export const HEALTHY_KEY = 'key-of-the-healthy-client'

const MEMORY_SAMPLE_MS = 50
const QUIET_MS = 3_000
const AFTER_MS = 3_000

/**
 * Runs one attack: the healthy client alone, then beside the attack, then alone again. Prints the
 * client's latencies and the server's memory in each phase, and what the attack returns.
 *
 * @param name - The target of the attack, for the first line.
 * @param attack - Does the attack until it is over or `signal` is aborted; what it returns is printed.
 *   It gets `{ url, key, pid, dist, signal }`: a key of its own, and the folder of the build under attack.
 * @param attackMs - When `signal` is aborted, in milliseconds.
 * @param serve - Further arguments of `rowstash serve`.
 * @param node - Arguments of the server's Node, like `--max-old-space-size=128`.
 */
export async function runAttack({ name, attack, attackMs = 15_000, serve = [], node = [] }) {
  const { values } = parseArgs({ options: { dist: { type: 'string', default: DIST } } })
  const dist = resolve(values.dist)
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-attack-'))
  const server = await startServer({ dist, node, serve: ['--directory', folder, ...serve] })
  console.log(
    `${name}: ${attackMs / 1_000} s at most, Node ${process.version}, build ${values.dist}`,
  )
  try {
    const memory = sampleMemory(server.pid)
    const client = await startHealthyClient(server.url)
    const report = async (phase) => print(phase, await client.latencies(), memory.take())
    await sleep(QUIET_MS)
    await report('before')
    const result = await attackWithin(attackMs, attack, { ...server, key: ATTACKER_KEY, dist })
    await report('during')
    await sleep(AFTER_MS)
    await report('after')
    console.log(
      `attack: ${JSON.stringify(result)}; the server ${server.isAlive() ? 'lives' : 'died'}`,
    )
    memory.stop()
    client.stop()
  } finally {
    server.kill()
    await rm(folder, { recursive: true, force: true })
  }
}

async function attackWithin(attackMs, attack, { url, key, pid, dist }) {
  const ending = new AbortController()
  const timer = setTimeout(() => ending.abort(), attackMs)
  try {
    return await attack({ url, key, pid, dist, signal: ending.signal })
  } finally {
    clearTimeout(timer)
    ending.abort()
  }
}

async function startServer({ dist, node, serve }) {
  const keys = [`--key=${ATTACKER_KEY}=attacker`, `--key=${HEALTHY_KEY}=healthy`]
  const args = [...node, join(dist, 'cli.js'), 'serve', '--port', '0', ...keys, ...serve]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (\S+)$/.exec(line)?.[1]
    if (url === undefined) continue
    child.stdout.resume()
    const isAlive = () => child.exitCode === null && child.signalCode === null
    return { url, pid: child.pid, isAlive, kill: () => child.kill('SIGKILL') }
  }
  throw new Error('The server ended before it was ready')
}

async function startHealthyClient(url) {
  const child = fork(HEALTHY_CLIENT, [url, HEALTHY_KEY])
  await once(child, 'message')
  return {
    async latencies() {
      child.send('report')
      const [report] = await once(child, 'message')
      return report
    },
    stop: () => child.kill('SIGKILL'),
  }
}

/** Resident memory of the server, in megabytes: the least and the most since the previous `take`. */
function sampleMemory(pid) {
  let least = Number.POSITIVE_INFINITY
  let most = 0
  const timer = setInterval(() => {
    const megabytes = residentMegabytes(pid)
    least = Math.min(least, megabytes)
    most = Math.max(most, megabytes)
  }, MEMORY_SAMPLE_MS)
  return {
    take() {
      const taken = { least, most, now: residentMegabytes(pid) }
      least = Number.POSITIVE_INFINITY
      most = 0
      return taken
    },
    stop: () => clearInterval(timer),
  }
}

function residentMegabytes(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1_024)
  } catch {
    return 0 // The server has died.
  }
}

function print(phase, { count, failed, p50, p99, max, waiting }, memory) {
  const latencies = `p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`
  const open = waiting > 0 ? `, one has waited ${waiting} ms` : ''
  console.log(
    `${phase.padEnd(7)} healthy: ${count} answers, ${failed} failed, ${latencies}${open}; ` +
      `server: ${memory.most} MB at most, ${memory.now} MB at the end`,
  )
}
