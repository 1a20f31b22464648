// A proxy for a server. Its connections can be cut at any moment, be slow, or lose data, like those of a network.
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import type { Seeded } from './seeded.js'

export type CutProxy = Readonly<{
  port: number
  /** Cuts all connections. The server still handles what it received before. */
  cut(): void
  /** From now on some connections are slow, lose answers, or stay open and pass nothing on; null: none. */
  disturb(random: Seeded | null): void
  close(): Promise<void>
}>

const LATENCY_MS_MAX = 60
/** Most pieces that a connection passes on before it is disturbed. */
const PIECES_MAX = 300

type Direction = 'to' | 'from'

/** Only answers are lost, or both directions while the connection stays open. */
const LOSSES: readonly (readonly Direction[])[] = [['from'], ['to', 'from']]

/** The disturbance of a connection: it loses data in some directions after a number of pieces. */
type Disturbance = Readonly<{ latencyMs: number; losing: readonly Direction[]; after: number }>

/** @param target - The path of the Unix socket of the server, or its port. */
export async function openCutProxy(target: string | number): Promise<CutProxy> {
  const sockets = new Set<Socket>()
  let disturbing: Seeded | null = null
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const upstream =
      typeof target === 'string'
        ? createConnection({ path: target })
        : createConnection({ host: '127.0.0.1', port: target })
    for (const socket of [client, upstream]) keep(socket)
    if (disturbing === null) {
      client.pipe(upstream)
      upstream.pipe(client)
    } else {
      const disturbance = drawDisturbance(disturbing)
      client.pipe(disturbed('to', disturbance)).pipe(upstream)
      upstream.pipe(disturbed('from', disturbance)).pipe(client)
    }
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
    disturb(random) {
      disturbing = random
      cut() // ends connections with the previous disturbance
    },
    async close() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function drawDisturbance(random: Seeded): Disturbance {
  const latencyMs = random.once(3) ? random.below(LATENCY_MS_MAX) : 0
  const losing = random.once(4) ? random.pick(LOSSES) : []
  return { latencyMs, losing, after: random.below(PIECES_MAX) }
}

function disturbed(direction: Direction, { latencyMs, losing, after }: Disturbance): Transform {
  let pieces = 0
  return new Transform({
    transform(piece: Uint8Array, _, done) {
      const isLost = losing.includes(direction) && ++pieces > after
      const pass = (): void => (isLost ? done() : done(null, piece))
      if (latencyMs === 0) pass()
      else setTimeout(pass, latencyMs)
    },
  })
}
