// A TCP server that treats each connection as a test wants, and counts.
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { onTestFinished } from 'vitest'

export type RawServer = Readonly<{
  port: number
  /** Connections ever made. */
  connections: () => number
  /** Open connections. */
  open: () => number
  /** Heads of the received requests, in order. */
  requests: readonly string[]
  /** Total bytes received on all connections. */
  bytesReceived: () => number
}>

/** Called when the head of a request is complete. */
export type Behaviour = (socket: Socket, path: string, head: string) => void

export type RawServerOptions = Readonly<{
  host?: string
  tls?: { key: string; cert: string }
  /** Called as soon as a connection is made. */
  onConnect?: (socket: Socket) => void
}>

export async function rawServer(
  behave: Behaviour,
  { host = '127.0.0.1', tls, onConnect }: RawServerOptions = {},
): Promise<RawServer> {
  const sockets = new Set<Socket>()
  const requests: string[] = []
  let connections = 0
  let bytes = 0

  function accept(socket: Socket): void {
    connections++
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => sockets.delete(socket))
    let text = ''
    socket.on('data', (piece: Buffer) => {
      bytes += piece.length
      text += piece.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end)
        text = text.slice(end + 4)
        requests.push(head)
        behave(socket, head.split(' ')[1] ?? '', head)
      }
    })
    onConnect?.(socket)
  }

  const server: Server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept)
  await new Promise<void>((listening, reject) => {
    server.once('error', reject)
    server.listen(0, host, listening)
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    requests,
    connections: () => connections,
    open: () => sockets.size,
    bytesReceived: () => bytes,
  }
}

/** A regular answer with a length. */
export function goodAnswer(body: string | Uint8Array, headers: readonly string[] = []): Buffer {
  const bytes = Buffer.from(body)
  const lines = ['HTTP/1.1 200 OK', `Content-Length: ${bytes.length}`, ...headers]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes])
}

export function redirectAnswer(location: string, status = 302): string {
  return `HTTP/1.1 ${status} Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`
}
