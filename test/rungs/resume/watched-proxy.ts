// A proxy between a client and a server, which reports each answer before the client gets it.
import { request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Answered = Readonly<{ method: string; path: string; status: number }>

export type WatchedProxy = Readonly<{ url: string; close(): void }>

/** @param onAnswer - Called before the head of an answer is passed on. */
export async function openWatchedProxy(
  port: number,
  onAnswer: (answered: Answered) => void,
): Promise<WatchedProxy> {
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request
    const upstream = ask({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      const status = answer.statusCode ?? 0
      onAnswer({ method, path, status })
      response.writeHead(status, answer.headers)
      answer.on('error', () => response.destroy())
      answer.pipe(response)
    })
    upstream.on('error', () => response.destroy())
    request.on('error', () => upstream.destroy())
    response.on('error', () => undefined)
    request.pipe(upstream)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}
