// Clients of one team send large bodies just fast enough not to be cut. Meanwhile a client of another team, on a slow
// line, sends 10 MB steadily for more than two minutes: it must succeed.
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { runAttack } from './harness.mjs'

const CONNECTIONS = 100
const ANNOUNCED_BYTES = 16 * 1_024 * 1_024 - 1
/** A little more than the least rate, 16 KB a second. */
const PIECE = Buffer.alloc(17_000, ' ')
const PIECE_EVERY_MS = 1_000

const STEADY_KEY = 'key-of-a-client-with-a-slow-line'
const STEADY_BYTES = 10_000_000
const STEADY_PIECE = Buffer.alloc(20_000, ' ')
const STEADY_EVERY_MS = 250

await runAttack({
  name: 'slow bodies',
  attackMs: 160_000,
  serve: [`--key=${STEADY_KEY}=steady`],
  async attack({ url, key, signal }) {
    const { hostname, port } = new URL(url)
    const held = new Set()
    let opened = 0
    const hold = () => {
      const socket = connect(Number(port), hostname)
      held.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => held.delete(socket))
      socket.resume()
      socket.write(
        `PUT /stashes/attack/${opened++} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${key}\r\n` +
          `content-type: application/json\r\ncontent-length: ${ANNOUNCED_BYTES}\r\n\r\n`,
      )
    }
    const sending = setInterval(() => {
      while (held.size < CONNECTIONS) hold()
      for (const socket of held) socket.write(PIECE)
    }, PIECE_EVERY_MS)
    const steady = await sendSteadily(url, signal).catch(({ message }) => ({ failed: message }))
    clearInterval(sending)
    for (const socket of held) socket.destroy()
    return { opened, steady }
  },
})

/** Puts a chunk of one row that begins with much white space. */
async function sendSteadily(url, signal) {
  const begunAt = performance.now()
  const headers = {
    authorization: `Bearer ${STEADY_KEY}`,
    'content-type': 'application/json',
    'content-length': STEADY_BYTES,
  }
  const sent = request(`${url}/stashes/steady/0`, { method: 'PUT', headers, agent: false, signal })
  const status = new Promise((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', (response) => resolve(response.resume().statusCode))
  })
  const row = Buffer.from('[{"a":1}]')
  let isAnswered = false
  const answered = () => {
    isAnswered = true
  }
  status.then(answered, answered)
  for (let left = STEADY_BYTES - row.length; left > 0 && !isAnswered; left -= STEADY_PIECE.length) {
    sent.write(STEADY_PIECE.subarray(0, left))
    await sleep(STEADY_EVERY_MS)
  }
  sent.end(row)
  return { status: await status, seconds: Math.round((performance.now() - begunAt) / 1_000) }
}
