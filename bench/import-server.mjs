// A server process for imports over HTTP: rowstash, or a server that only parses the bodies. It sends its URL in a
// message, and answers `begin` and `end` with measurements of the import.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { watchLoop } from './loop-delay.mjs'
import { cpuSince, cpuUsed } from './main-thread.mjs'
import { peakBytes } from './server-process.mjs'

const [, , kind, directory] = process.argv

async function startRowstash() {
  const { serveStore } = await import('./served-store.mjs')
  return serveStore(directory)
}

/** Node's fastest parsing: every body becomes objects, which are dropped. */
async function startParser() {
  const server = createServer((request, response) => {
    const pieces = []
    request.on('data', (piece) => pieces.push(piece))
    request.on('end', () => {
      const rows = JSON.parse(Buffer.concat(pieces).toString())
      response.writeHead(Array.isArray(rows) ? 200 : 400, { 'content-type': 'application/json' })
      response.end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    key: 'none',
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const served = await (kind === 'rowstash' ? startRowstash() : startParser())

let usedBefore = cpuUsed()
let endWatch

const ANSWERS = {
  begin() {
    endWatch = watchLoop()
    usedBefore = cpuUsed()
    return {}
  },
  end() {
    return { loopMs: endWatch(), peakBytes: peakBytes(process.pid), cpu: cpuSince(usedBefore, 1) }
  },
  async stop() {
    await served.close()
    process.disconnect()
    return undefined
  },
}

process.on('message', async (name) => {
  const answer = await ANSWERS[name]()
  if (answer !== undefined) process.send(answer)
})
process.send({ url: served.url, key: served.key })
