// Limits, replaces and closes the connections of a server that faces untrusted clients.
//
// Invariants:
// - A connection with a known key is closed to make room only for a team or a key that has fewer connections.
// - Neither connections with a known key nor connections without one can take all places. If no place is free, a new
//   client replaces an idle connection.
// - A connection with a request in flight is closed only after its response, or at the end of the grace period.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { StoreError } from '../../src/index.js'
import { checkOptionNames, type IntegerRange, integerOption } from '../base/arguments.js'
import { KnownConnections, type Sender } from './known-connections.js'
import { addressOf, TrustedProxies } from './remote-address.js'

/** Limits of the connections of one server. Unknown names are rejected. */
export interface ConnectionLimits {
  /**
   * The maximum number of concurrent connections. A further connection replaces the oldest connection that has no known
   * key and no request in flight. If there is none, the further connection is closed. Connections with a known key may
   * take seven eighths of the places. Beyond that, a further one replaces an idle connection of the team that has most
   * connections. If that team is its own and has no idle connection, it gets 503 and is closed. Default: 1,000. Range:
   * 4 to 65,535.
   */
  readonly connectionsMax?: number
  /**
   * The maximum number of connections without a known key from one address (IPv6: its first 64 bits). A further
   * connection replaces the oldest idle one of them. If none is idle, it is closed. All connections of a proxy have its
   * address: raise the limit if it forwards many requests without a key, such as reads of files and bytes of uploads.
   * Default: 256. Range: 1 to 65,535.
   */
  readonly keylessPerAddressMax?: number
  /**
   * IP addresses and networks, such as `10.0.0.0/8`, of proxies in front of the server. All clients share a proxy's
   * connections, so the limit per address does not apply to them. Default: none.
   */
  readonly trustedProxies?: readonly string[]
}

type Limits = Readonly<Record<keyof typeof CONNECTION_LIMITS, number>> &
  Readonly<{ proxies: TrustedProxies }>

/** The options of `hardenServer`, with their defaults and ranges. */
export const CONNECTION_LIMITS = {
  connectionsMax: { default: 1_000, min: 4, max: 65_535 },
  keylessPerAddressMax: { default: 256, min: 1, max: 65_535 },
} as const satisfies Record<Exclude<keyof ConnectionLimits, 'trustedProxies'>, IntegerRange>

/** The share of all places that connections without a known key may take. */
const KEYLESS_SHARE = 3 / 4

/** The share of all places for connections with a known key, beyond which teams with fewer displace others. */
const KNOWN_SHARE = 7 / 8

/** Emitted on a response, with a `KnownKey`, when the key of its request turns out to be known. */
const KEY_KNOWN = Symbol('the key of the request is known')

type KnownKey = { readonly sender: Sender; isRefused: boolean }

/** Records whose key a request has. @returns false: its team has too many connections; the answer ends this one. */
export function admitsKey(response: ServerResponse, sender: Sender): boolean {
  const known: KnownKey = { sender, isRefused: false }
  response.emit(KEY_KNOWN, known)
  return !known.isRefused
}

type Connection = {
  readonly socket: Socket
  /** The client that the connection counts for. */
  readonly address: string
  readonly endpoint: string
  /** Unsent responses, in request order. */
  readonly underWay: Set<ServerResponse>
  /** Whether the host took the connection over for another protocol, such as WebSocket. */
  isTaken: boolean
  /** Whether `#admit` refused its key: it waits for the rest of its request, and may be replaced as if it were idle. */
  isRefused: boolean
}

/** Factor for the limit of node:http, whose count includes replaced connections that are still closing. */
const CLOSING_FACTOR = 2

/**
 * Module state, because `closeServer` and the responses know only the server, which `hardenServer` did not create. An
 * entry lives as long as its server.
 */
const watched = new WeakMap<Server, Connections>()

/** Sets the limits of a server's connections, and watches new ones from now on. */
export function limitConnections(server: Server, given: ConnectionLimits): void {
  const limits = resolveLimits(given)
  server.maxConnections = CLOSING_FACTOR * limits.connectionsMax
  const connections = watched.get(server)
  if (connections !== undefined) connections.limits = limits
  else watched.set(server, new Connections(server, limits))
}

/** The unsent responses on a connection of a hardened server, in request order. */
export function responsesUnderWay(server: Server, socket: Socket): readonly ServerResponse[] {
  return watched.get(server)?.responsesUnderWay(socket) ?? []
}

const GRACE_MS = { default: 10_000, min: 0, max: 24 * 60 * 60_000 }

/**
 * Closes a hardened server: accepts no more connections, closes idle ones at once and others after their responses,
 * which carry `Connection: close`, and cuts the rest after the grace period.
 *
 * @param graceMs - Grace period for requests in flight, in milliseconds. Default: 10 seconds. Range: 0 to 1 day.
 * @throws {StoreError} OPTION_NOT_ALLOWED: `graceMs` is out of its range
 * @example
 * import { createServer } from 'node:http'
 * import { closeServer, hardenServer, nodeHandler, serverOptions } from 'rowstash/node'
 *
 * const handler = nodeHandler(store, { keys: [{ key: 'a-long-random-text', teamId: 'acme' }] })
 * const server = hardenServer(createServer(serverOptions, handler)).listen(0)
 * await closeServer(server, 5_000)
 * console.log(server.listening) // false
 */
export async function closeServer(server: Server, graceMs?: number): Promise<void> {
  const ms = integerOption('graceMs', graceMs, GRACE_MS)
  const connections = watched.get(server)
  if (connections === undefined) throw new StoreError('OPTION_NOT_ALLOWED', NOT_HARDENED)
  const grace = setTimeout(() => connections.cut(), ms)
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    connections.end()
  })
  clearTimeout(grace)
}

const NOT_HARDENED = 'The server was not hardened: call hardenServer before it listens'

class Connections {
  limits: Limits
  readonly #bySocket = new WeakMap<object, Connection>()
  /** Connections by their endpoints: a request of a TLS server has another socket than its connection. */
  readonly #byEndpoint = new Map<string, Connection>()
  /** All connections, oldest first, like every set of connections in this class. */
  readonly #all = new Set<Connection>()
  readonly #keyless = new Set<Connection>()
  readonly #keylessOf = new Map<string, Set<Connection>>()
  readonly #known = new KnownConnections<Connection>()
  #isEnding = false

  constructor(server: Server, limits: Limits) {
    this.limits = limits
    server.on('connection', (socket) => this.#enter(socket))
    server.on('request', (request, response) => this.#begin(request, response))
    this.#watchTakers(server)
  }

  /** Ends all connections. A connection with requests in flight ends after its last response. */
  end(): void {
    this.#isEnding = true
    for (const { socket, underWay, isTaken } of this.#all) {
      const last = [...underWay].at(-1)
      if (last !== undefined) sayClose(last)
      else if (!isTaken) socket.destroy()
    }
  }

  responsesUnderWay(socket: Socket): readonly ServerResponse[] {
    return [...(this.#find(socket)?.underWay ?? [])]
  }

  cut(): void {
    for (const { socket } of this.#all) socket.destroy()
  }

  #enter(socket: Socket): void {
    const address = addressOf(socket)
    const { connectionsMax, keylessPerAddressMax } = this.limits
    const keylessMax = Math.floor(connectionsMax * KEYLESS_SHARE)
    const isOfProxy = this.limits.proxies.has(socket)
    const hasRoom =
      (isOfProxy || this.#makeRoom(this.#keylessOf.get(address), keylessPerAddressMax)) &&
      this.#makeRoom(this.#keyless, keylessMax) &&
      this.#makeRoom(this.#all, connectionsMax)
    if (!hasRoom || this.#isEnding) {
      socket.destroy()
      return
    }
    const endpoint = endpointOf(socket)
    const underWay = new Set<never>()
    const connection = { socket, address, endpoint, underWay, isTaken: false, isRefused: false }
    const sameAddress = this.#keylessOf.get(address) ?? new Set()
    this.#keylessOf.set(address, sameAddress.add(connection))
    this.#keyless.add(connection)
    this.#all.add(connection)
    this.#bySocket.set(socket, connection)
    this.#byEndpoint.set(endpoint, connection)
    socket.once('close', () => this.#leave(connection))
  }

  /** Whether there is room for a new connection. At the limit, the oldest idle one without a known key is closed. */
  #makeRoom(connections: ReadonlySet<Connection> = new Set(), max: number): boolean {
    if (connections.size < max) return true
    for (const connection of connections === this.#all ? this.#keyless : connections) {
      if (connection.underWay.size > 0 && !connection.isRefused) continue
      this.#close(connection)
      return true
    }
    return false
  }

  #close(connection: Connection): void {
    connection.socket.destroy()
    this.#leave(connection)
  }

  #leave(connection: Connection): void {
    this.#all.delete(connection)
    this.#known.delete(connection)
    this.#endKeyless(connection)
    const { endpoint } = connection
    if (this.#byEndpoint.get(endpoint) === connection) this.#byEndpoint.delete(endpoint)
  }

  /** @returns false: there is no room for another connection of the team. */
  #admit(connection: Connection, sender: Sender): boolean {
    const knownMax = Math.floor(this.limits.connectionsMax * KNOWN_SHARE)
    if (!this.#known.has(connection) && this.#known.size >= knownMax) {
      const other = this.#known.givesWay(sender, ({ underWay }) => underWay.size === 0)
      if (other === 'refused') return false
      if (other !== 'busy') this.#close(other) // If `busy`, the connection is admitted beyond the share.
    }
    this.#known.set(connection, sender)
    this.#endKeyless(connection)
    return true
  }

  #endKeyless(connection: Connection): void {
    this.#keyless.delete(connection)
    const sameAddress = this.#keylessOf.get(connection.address)
    sameAddress?.delete(connection)
    if (sameAddress?.size === 0) this.#keylessOf.delete(connection.address)
  }

  #begin({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#find(socket)
    if (this.#isEnding) sayClose(response)
    if (connection === undefined) return
    connection.underWay.add(response)
    response.once(KEY_KNOWN, (known: KnownKey) => {
      // A connection closed meanwhile no longer counts.
      known.isRefused = this.#all.has(connection) && !this.#admit(connection, known.sender)
      if (!known.isRefused) return
      connection.isRefused = true
      sayClose(response)
    })
    response.once('close', () => {
      connection.underWay.delete(response)
      if (this.#isEnding && connection.underWay.size === 0) connection.socket.destroySoon()
    })
  }

  #find(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket) ?? this.#byEndpoint.get(endpointOf(socket))
  }

  /** Releases connections that a listener of the host takes over. Listeners may be added later. */
  #watchTakers(server: Server): void {
    for (const event of ['upgrade', 'connect']) {
      const onTaken = ({ socket }: IncomingMessage): void => {
        const connection = this.#find(socket)
        if (server.listenerCount(event) === 1) socket.destroy() // Only this listener is left.
        if (connection === undefined) return
        connection.isTaken = true
        this.#known.delete(connection)
        this.#endKeyless(connection)
      }
      if (server.listenerCount(event) > 0) server.on(event, onTaken)
      else
        server.on('newListener', (name, listener) => {
          const isFirst = name === event && server.listenerCount(event) === 0
          if (isFirst && listener !== onTaken) server.on(event, onTaken)
        })
    }
  }
}

function sayClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}

function endpointOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

function resolveLimits(given: ConnectionLimits): Limits {
  const isKnown = (name: string) =>
    name === 'trustedProxies' || Object.hasOwn(CONNECTION_LIMITS, name)
  checkOptionNames('hardenServer', given, isKnown)
  const { connectionsMax, keylessPerAddressMax } = given
  return {
    proxies: new TrustedProxies(given.trustedProxies),
    connectionsMax: integerOption(
      'connectionsMax',
      connectionsMax,
      CONNECTION_LIMITS.connectionsMax,
    ),
    keylessPerAddressMax: integerOption(
      'keylessPerAddressMax',
      keylessPerAddressMax,
      CONNECTION_LIMITS.keylessPerAddressMax,
    ),
  }
}
