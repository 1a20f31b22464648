// A proxy before a server, whose connections can be cut as a network cuts them, in the middle of anything, or be slow,
// or lose what they are sent.
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'
import type { Seeded } from './seeded.js'

export type CutProxy = Readonly<{
  port: number
  /** Cuts all connections. What the server was sent before it will still do. */
  cut(): void
  /** From now on some of the connections are slow, lose answers, or stay open and pass nothing on any more; null: none. */
  disturb(random: Seeded | null): void
  close(): Promise<void>
}>

const LATENCY_MS_MAX = 60
/** A connection passes so many pieces on, at most, before something happens to it. */
const PIECES_MAX = 300

type Direction = 'to' | 'from'

/** Of answers; of a connection that stays open on both sides alone. */
const LOSSES: readonly (readonly Direction[])[] = [['from'], ['to', 'from']]

/** What happens to a connection, and after how many pieces: it loses what comes in some directions. */
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
      cut() // No connection is left of the weather before.
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
