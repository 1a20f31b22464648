// A client without a key opens as many connections as it can and keeps each busy with requests that are refused.
// Another client at the same address has a key and opens a connection for each request.
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { runAttack } from './harness.mjs'

const CONNECTIONS = 1_200
const REFUSED = 'GET /tables HTTP/1.1\r\nhost: a\r\nauthorization: Bearer nobody-has-this\r\n\r\n'
/** Shorter than the time after which idle connections are closed. */
const REFUSED_EVERY_MS = 2_000
const PROBE_PAUSE_MS = 100
const PROBE_MS_MAX = 5_000

await runAttack({
  name: 'held connections',
  attackMs: 12_000,
  async attack({ url, key, signal }) {
    const { hostname, port } = new URL(url)
    const held = new Set()
    let opened = 0
    const hold = () => {
      const socket = connect(Number(port), hostname, () => held.add(socket))
      opened++
      socket.on('error', () => {})
      socket.on('close', () => held.delete(socket))
    }
    for (let made = 0; made < CONNECTIONS; made++) hold()
    const refresh = setInterval(() => {
      for (const socket of held) socket.write(REFUSED)
      for (let made = held.size; made < CONNECTIONS; made++) hold()
    }, REFUSED_EVERY_MS)
    let most = 0
    const answers = []
    let failed = 0
    await sleep(1_000)
    while (!signal.aborted) {
      most = Math.max(most, held.size)
      const ms = await probe(url, key)
      if (ms === undefined) failed++
      else answers.push(Math.round(ms))
      await sleep(PROBE_PAUSE_MS)
    }
    clearInterval(refresh)
    for (const socket of held) socket.destroy()
    answers.sort((a, b) => a - b)
    const p50 = answers[Math.floor(answers.length / 2)]
    return {
      opened,
      heldAtMost: most,
      probes: { answered: answers.length, failed, p50, max: answers.at(-1) },
    }
  },
})

/** How long a client with a key waits for a new connection and its answer; undefined: it gets no answer. */
function probe(url, key) {
  const begunAt = performance.now()
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` }
    const options = { headers, agent: false, timeout: PROBE_MS_MAX }
    const sent = request(`${url}/tables`, options, (response) => {
      response.resume()
      response.on('end', () => resolve(performance.now() - begunAt))
    })
    sent.on('timeout', () => sent.destroy(new Error('No answer in time')))
    sent.on('error', () => resolve(undefined))
    sent.end()
  })
}
