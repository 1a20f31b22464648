// A keep-alive HTTP client of the contract, for the bench's client processes.
import { Agent, request } from 'node:http'

export function createClient({ url, key, sockets }) {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets })

  /** Sends a request, and parses the body of the answer, if there is one. */
  function send(method, path, body, headers = {}) {
    return new Promise((resolve, reject) => {
      const bytes = body === undefined ? undefined : Buffer.from(body)
      const given = { authorization: `Bearer ${key}`, ...headers }
      if (bytes !== undefined) {
        given['content-type'] ??= 'application/json'
        given['content-length'] = bytes.length
      }
      const sent = request(`${url}${path}`, { method, headers: given, agent })
      sent.on('error', reject)
      sent.on('response', (response) => {
        const pieces = []
        response.on('data', (piece) => pieces.push(piece)).on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(pieces).toString()
          const { statusCode: status, headers: answered } = response
          resolve({ status, etag: answered.etag, body: text === '' ? null : JSON.parse(text) })
        })
      })
      sent.end(bytes)
    })
  }

  /** Sends a request that must succeed. */
  async function expectOk(method, path, body, headers) {
    const answer = await send(method, path, body, headers)
    if (answer.status < 300) return answer
    throw new Error(
      `${method} ${path} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`,
    )
  }

  return { send, expectOk, close: () => agent.destroy() }
}

/** Runs `work` `times` times, `atOnce` at a time. */
export async function repeat(times, atOnce, work) {
  let next = 0
  const inTurn = async () => {
    while (next < times) await work(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, inTurn))
}
