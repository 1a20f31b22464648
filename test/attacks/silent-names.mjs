// A tenant imports files from hosts whose name servers never answer, while another imports one from a host that
// is found at once. Run it where /etc/resolv.conf names 127.0.0.1 alone, as in a mount namespace of its own:
//   unshare --mount sh -c 'mount --bind FILE /etc/resolv.conf && node test/attacks/silent-names.mjs'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { ATTACKER_KEY, HEALTHY_KEY, runAttack } from './harness.mjs'

const DNS_PORT = 53
const AT_ONCE = 8
const FETCHES = 10

const silent = createSocket('udp4')
let asked = 0
silent.on('message', () => asked++)
silent.bind(DNS_PORT, '127.0.0.1')
await once(silent, 'listening')
const source = createServer((_, response) => response.end('a'))
source.listen(0, '127.0.0.1')
await once(source, 'listening')

await runAttack({
  name: 'names whose servers are silent',
  attackMs: 30_000,
  serve: ['--allow-private-sources'],
  async attack({ url, signal }) {
    const fetchFrom = async (key, sourceURL) => {
      const begunAt = performance.now()
      const response = await fetch(`${url}/apps/x/uploads`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ sourceURL }),
        signal,
      })
      await response.text()
      return [response.status, Math.round(performance.now() - begunAt)]
    }
    let names = 0
    const flood = Array.from({ length: AT_ONCE }, async () => {
      while (!signal.aborted) {
        const name = `http://n${names++}.example/`
        await fetchFrom(ATTACKER_KEY, name).catch(() => {})
      }
    })
    const file = `http://localhost:${source.address().port}/a`
    const fetched = []
    while (fetched.length < FETCHES && !signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 300))
      fetched.push(await fetchFrom(HEALTHY_KEY, file).catch((failure) => failure.name))
    }
    void Promise.all(flood)
    return { fetched, names, asked }
  },
})
silent.close()
source.closeAllConnections()
source.close()
