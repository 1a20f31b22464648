// One client after another sends 10,000 requests without a key in 270 KB, and reads no answer.
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { runAttack } from './harness.mjs'

const REQUESTS = 'GET /x HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(10_000)
const PAUSE_MS = 250
const BURSTS_MAX = 100

await runAttack({
  name: 'pipelined requests',
  attackMs: 10_000,
  async attack({ url, signal }) {
    const { hostname, port } = new URL(url)
    const sockets = []
    while (!signal.aborted && sockets.length < BURSTS_MAX) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      socket.end(REQUESTS)
      sockets.push(socket)
      await sleep(PAUSE_MS)
    }
    for (const socket of sockets) socket.destroy()
    return { bursts: sockets.length, requests: sockets.length * 10_000 }
  },
})
