// A tenant opens more connections than a server takes and shows its key on each. It keeps them idle, or busy with a
// request whose body never arrives. Another tenant opens a connection for each request, and a probe asks for /healthz.
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { HEALTHY_KEY, runAttack } from './harness.mjs'

const CONNECTIONS = 1_200
const PACED = 50
const REFRESH_EVERY_MS = 2_000
const PROBE_PAUSE_MS = 100
const PROBE_MS_MAX = 5_000

for (const kind of ['idle', 'busy']) {
  await runAttack({
    name: `${kind} connections of a known key`,
    attackMs: 12_000,
    async attack({ url, key, signal }) {
      const { hostname, port } = new URL(url)
      const head = `host: a\r\nauthorization: Bearer ${key}\r\n`
      const idle = `GET /jobs HTTP/1.1\r\n${head}\r\n`
      const begun = `POST /tables?name=x HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: 9\r\n\r\n`
      const held = new Set()
      const hold = () => {
        const socket = connect(Number(port), hostname, () => {
          held.add(socket)
          socket.write(kind === 'idle' ? idle : begun)
        })
        socket.on('data', () => {})
        socket.on('error', () => {})
        socket.on('close', () => held.delete(socket))
      }
      for (let made = 0; made < CONNECTIONS; made++) {
        hold()
        if (made % PACED === 0) await sleep(10) // The server bounds connections that have not shown a known key.
      }
      const refresh = setInterval(() => {
        if (kind === 'idle') for (const socket of held) socket.write(idle)
        for (let made = held.size; made < CONNECTIONS; made++) hold()
      }, REFRESH_EVERY_MS)
      let heldAtMost = 0
      const seen = { '/tables': [], '/healthz': [] }
      await sleep(1_000)
      while (!signal.aborted) {
        heldAtMost = Math.max(heldAtMost, held.size)
        for (const path of Object.keys(seen)) seen[path].push(await probe(url, path))
        await sleep(PROBE_PAUSE_MS)
      }
      clearInterval(refresh)
      for (const socket of held) socket.destroy()
      return { heldAtMost, tables: summary(seen['/tables']), healthz: summary(seen['/healthz']) }
    },
  })
}

function summary(probes) {
  const answered = probes.filter((ms) => ms !== undefined).sort((a, b) => a - b)
  const at = (share) => answered[Math.floor((answered.length - 1) * share)]
  const failed = probes.length - answered.length
  return { answered: answered.length, failed, p50: at(0.5), max: at(1) }
}

/** How long a client waits for a new connection and its answer, in milliseconds; undefined: no answer of 200. */
function probe(url, path) {
  const begunAt = performance.now()
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${HEALTHY_KEY}` }
    const options = { headers, agent: false, timeout: PROBE_MS_MAX }
    const sent = request(`${url}${path}`, options, (response) => {
      response.resume()
      response.on('end', () =>
        resolve(response.statusCode === 200 ? Math.round(performance.now() - begunAt) : undefined),
      )
    })
    sent.on('timeout', () => sent.destroy(new Error('No answer in time')))
    sent.on('error', () => resolve(undefined))
    sent.end()
  })
}
