// A proxy before a server, whose connections can be cut as a network cuts them: in the middle of anything.
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'

export type CutProxy = Readonly<{
  port: number
  /** Cuts all connections. What the server was sent before it will still do. */
  cut(): void
  close(): Promise<void>
}>

/** @param path - Of the Unix socket of the server. */
export async function openCutProxy(path: string): Promise<CutProxy> {
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const upstream = createConnection({ path })
    for (const socket of [client, upstream]) keep(socket)
    client.pipe(upstream)
    upstream.pipe(client)
    client.once('close', () => upstream.end())
    upstream.once('close', () => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    async close() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
