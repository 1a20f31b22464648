// A server of a store in one call, for programs that have no server of their own.
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Store, StoreError } from '../../src/index.js'
import { integerOption, optionError, shown } from '../base/arguments.js'
import { type ConnectionLimits, closeServer } from './connections.js'
import { hardenServer, type NodeHandlerOptions, nodeHandler, serverOptions } from './node-http.js'

/** Options of `startServer`: those of `nodeHandler`, and the address. Unknown names are rejected. */
export interface StartServerOptions extends NodeHandlerOptions {
  /** The address to listen on. `0.0.0.0` and `::`: every address of this machine. Default: `127.0.0.1`. */
  readonly host?: string | undefined
  /** The port. 0: any free port. Default: 8080. Range: 0 to 65,535. */
  readonly port?: number | undefined
  /** Limits of connections: see `ConnectionLimits`. Default: those of `hardenServer`. */
  readonly connections?: ConnectionLimits | undefined
}

/** A server that `startServer` has started. */
export interface StartedServer {
  /** The URL for programs on this machine, with the base path, without a trailing slash. */
  readonly url: string
  /** The address on which it listens. */
  readonly address: AddressInfo
  /** The server, for the host's own listeners. */
  readonly server: Server
  /**
   * Stops accepting, and gives requests in flight a grace period to finish, as `closeServer` does. The store stays
   * open.
   * @param graceMs - The grace period, in milliseconds. Default: 10 seconds. Range: 0 to 1 day.
   * @throws {StoreError} OPTION_NOT_ALLOWED: `graceMs` is out of its range
   */
  close(graceMs?: number): Promise<void>
  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void>
}

const PORT = { default: 8_080, min: 0, max: 65_535 }

/**
 * Serves a store with `nodeHandler` on a server that was passed to `hardenServer`. Resolves when it listens.
 * @throws {StoreError} OPTION_NOT_ALLOWED; failures to listen are those of `node:net`, such as `EADDRINUSE`
 * @example
 * import { openMemory } from 'rowstash'
 * import { startServer } from 'rowstash/node'
 *
 * const store = await openMemory()
 * const server = await startServer(store, { keys: [{ key: 'a-long-random-text', teamId: 'acme' }], port: 0 })
 * const answer = await fetch(`${server.url}/tables`, { headers: { authorization: 'Bearer a-long-random-text' } })
 * console.log(answer.status, await answer.json()) // 200 {"data":[]}
 * await server.close()
 * await store.close()
 */
export async function startServer(
  store: Store,
  options: StartServerOptions,
): Promise<StartedServer> {
  const { host = '127.0.0.1', port: givenPort, connections = {}, ...handlerOptions } = options ?? {}
  if (typeof host !== 'string' || !/^[!-~]+$/.test(host)) {
    throw optionError('host', `must be an address, not ${shown(host)}`)
  }
  const port = integerOption('port', givenPort, PORT)
  const { basePath = '', trustedProxies } = handlerOptions
  const limits = trustedProxies === undefined ? connections : { trustedProxies, ...connections }
  const handler = nodeHandler(store, handlerOptions)
  // Loaded on first use: PERFORMANCE.md, P47.
  const { createServer } = process.getBuiltinModule('node:http')
  const server = hardenServer(
    createServer(serverOptions, (request, response) => handler(request, response)),
    limits,
  )
  const address = await listen(server, host, port)
  const close = (graceMs?: number): Promise<void> => closeServer(server, graceMs)
  return {
    url: `http://${localHost(address)}:${address.port}${basePath}`,
    address,
    server,
    close,
    [Symbol.asyncDispose]: () => close(),
  }
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const fail = (failure: NodeJS.ErrnoException): void => {
      reject(failure.syscall === 'getaddrinfo' ? unknownHost(host, failure) : failure)
    }
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      resolve(server.address() as AddressInfo)
    })
  })
}

function unknownHost(host: string, cause: Error): StoreError {
  const message = `Option "host" must be an address of this machine, not ${shown(host)}`
  return new StoreError('OPTION_NOT_ALLOWED', message, { cause })
}

/** The address for programs on this machine: if the server listens on every address, the loopback address. */
function localHost(address: AddressInfo): string {
  if (address.address === '0.0.0.0') return '127.0.0.1'
  return address.address === '::' ? '[::1]' : renderHost(address)
}

/** An address in URL notation. */
export function renderHost({ address, family }: AddressInfo): string {
  return family === 'IPv6' ? `[${address}]` : address
}
