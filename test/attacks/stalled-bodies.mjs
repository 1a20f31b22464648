// Four clients announce large bodies and never send them.
import { connect } from 'node:net'
import { runAttack } from './harness.mjs'

const CONNECTIONS = 4
const ANNOUNCED_BYTES = 16 * 1_024 * 1_024 - 1

await runAttack({
  name: 'stalled bodies',
  attackMs: 10_000,
  async attack({ url, key, signal }) {
    const { hostname, port } = new URL(url)
    const sockets = Array.from({ length: CONNECTIONS }, (_, n) => {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      socket.write(
        `PUT /stashes/attack/${n} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${key}\r\n` +
          `content-type: application/json\r\ncontent-length: ${ANNOUNCED_BYTES}\r\n\r\n[`,
      )
      return socket
    })
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    for (const socket of sockets) socket.destroy()
    return { connections: sockets.length }
  },
})
