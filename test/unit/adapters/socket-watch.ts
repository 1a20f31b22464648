// Sees every TCP socket that this process opens, where Node opens it, and can redirect some of them, so that a test
// server represents a public host.
import { Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export type Opened = Readonly<{ socket: Socket; host: string; port: number }>

export type Detour = Readonly<{
  /** undefined: nobody ever answers. */
  port: number | undefined
  /** The address that the socket claims to have reached; undefined: the real one. */
  shownAddress?: string
}>

export interface SocketWatch {
  /** Sockets in the order of their connection attempts. */
  readonly opened: readonly Opened[]
  /** Addresses to which sockets report an attempt, except redirected ones. */
  readonly attempts: readonly string[]
  /** Redirects connections to this host, a name or an address, to 127.0.0.1. */
  divert(host: string, detour: Detour): void
}

type ConnectOptions = { host?: string; port?: number }

/** Watches until the test ends. */
export function watchSockets(): SocketWatch {
  const opened: Opened[] = []
  const attempts: string[] = []
  const detours = new Map<string, Detour>()
  const original = Socket.prototype.connect

  function connect(this: Socket, ...given: unknown[]): Socket {
    const options = optionsOf(given)
    const { host = 'localhost', port = 0 } = options
    opened.push({ socket: this, host, port })
    const detour = detours.get(host)
    if (detour === undefined) {
      this.on('connectionAttempt', (address: string) => attempts.push(address))
    } else {
      const { port: detourPort, shownAddress } = detour
      if (detourPort === undefined) return this
      options.host = '127.0.0.1'
      options.port = detourPort
      if (shownAddress !== undefined) {
        Object.defineProperty(this, 'remoteAddress', { get: () => shownAddress })
      }
    }
    return Reflect.apply(original, this, given)
  }

  Object.assign(Socket.prototype, { connect })
  onTestFinished(() => {
    Object.assign(Socket.prototype, { connect: original })
  })
  return { opened, attempts, divert: (host, detour) => detours.set(host, detour) }
}

/** `net.connect` passes an array of normalised arguments, other callers pass the options themselves. */
function optionsOf(given: readonly unknown[]): ConnectOptions {
  const first: unknown = Array.isArray(given[0]) ? given[0][0] : given[0]
  if (typeof first !== 'object' || first === null) throw new Error('A socket without options')
  return first
}
