// A store behind an HTTP server, for `rowstash serve` and `npm start`.
import {
  type ContractKey,
  type ContractLimitOptions,
  isStoreError,
  type Logger,
  type Store,
} from '../../../src/index.js'
import type { ConnectionLimits } from '../../http/connections.js'
import type { NodeHandlerOptions } from '../../http/node-http.js'
import {
  renderHost,
  type StartedServer,
  type StartServerOptions,
  startServer as startListening,
} from '../../http/start-server.js'
import { installedParquet } from '../../parquet/load-parquet.js'
import { ProgramFailure } from '../command/program-failure.js'

export type ServerSettings = Readonly<{
  host: string
  /** 0: any free port. */
  port: number
  /** The URL for clients; its path is the handler's base path. */
  baseUrl: string | undefined
  /** The URL of files; undefined: the URL for clients. */
  publicBaseUrl?: string | undefined
  /** The given keys. undefined: no key is given, and `storedKeys` must be true. */
  keys: readonly ContractKey[] | undefined
  /** Whether keys in the store are valid too. Default: false. */
  storedKeys?: boolean
  /** Keys for `/admin/…`. Default: none. */
  adminKeys?: readonly string[]
  /** Origins whose pages may use the API; `*` is every origin. Default: none. */
  corsOrigins?: readonly string[] | undefined
  /** undefined: every app exists. */
  apps: readonly string[] | undefined
  /** Limits of the contract. Default: its defaults. */
  limits?: ContractLimitOptions
  /** Addresses of proxies in front. Default: none. */
  trustedProxies?: readonly string[]
  /** Options of `hardenServer`. */
  connections?: ConnectionLimits
  /** Whether to serve the page. Default: false. */
  page?: boolean
  /** Default: none. */
  logger?: Logger | undefined
  onFailure: (failure: unknown) => void
  onWarning: (warning: string) => void
}>

export interface RunningServer {
  /** The URL for clients, without a trailing slash. */
  readonly url: string
  /** The URL for programs on this machine, bypassing any proxy. */
  readonly localUrl: string
  /**
   * Stops accepting, gives requests time to finish, and closes the store.
   * @throws {ProgramFailure} if an operation is still running; the process must end then.
   */
  close(): Promise<void>
}

/** Time for requests in flight, in milliseconds. Together with the store's time it is less than 5 seconds. */
const GRACE_MS = 4_000

/** Time for the store to close after `GRACE_MS`, in milliseconds. A longer operation is cut: it is unacknowledged. */
const CLOSE_MS = 500

/** Serves a store until `close`, which also closes the store. A failure to start closes the store too. */
export async function serveOwnStore(
  store: Store,
  settings: ServerSettings,
): Promise<RunningServer> {
  try {
    const { keys, adminKeys, apps, corsOrigins, baseUrl, publicBaseUrl } = settings
    const { storedKeys, logger, onFailure, onWarning, page, trustedProxies = [] } = settings
    const options: NodeHandlerOptions = {
      ...settings.limits,
      onFailure,
      onWarning,
      basePath: basePathOf(baseUrl),
      trustedProxies,
      page,
      parquet: await installedParquet(),
      ...(keys !== undefined && { keys }),
      ...(storedKeys !== undefined && { storedKeys }),
      ...(adminKeys !== undefined && { adminKeys }),
      ...(apps !== undefined && { apps }),
      ...(logger !== undefined && { logger }),
      ...(corsOrigins !== undefined && { cors: { origins: originsOf(corsOrigins) } }),
      ...(baseUrl !== undefined && { baseUrl }),
      ...(publicBaseUrl !== undefined && { publicBaseUrl }),
    }
    const {
      url: localUrl,
      address,
      close,
    } = await listenOrExplain(store, {
      ...options,
      host: settings.host,
      port: settings.port,
      connections: settings.connections,
    })
    return {
      url: settings.baseUrl?.replace(/\/+$/, '') ?? `http://${renderHost(address)}:${address.port}`,
      localUrl,
      async close() {
        await close(GRACE_MS)
        await closeStore(store)
      },
    }
  } catch (failure) {
    await store.close()
    throw failure
  }
}

async function closeStore(store: Store): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ProgramFailure('failed', STILL_RUNNING)), CLOSE_MS)
  })
  await Promise.race([store.close(), late]).finally(() => clearTimeout(timer))
}

const STILL_RUNNING = 'A running operation was interrupted; nothing that was acknowledged is lost'

function basePathOf(baseUrl: string | undefined): string {
  return baseUrl === undefined ? '' : new URL(baseUrl).pathname.replace(/\/+$/, '')
}

function originsOf(given: readonly string[]): readonly string[] | '*' {
  return given.includes('*') ? '*' : given
}

const PORT_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EACCES: 'needs rights that this user does not have',
}

const HOST_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'is not a known host',
}

function listenProblem(failure: NodeJS.ErrnoException, host: string, port: number): string {
  const code = failure.code ?? ''
  const ofHost = HOST_PROBLEMS[code]
  if (ofHost !== undefined) return `${host} ${ofHost}`
  return `Port ${port} of ${host} ${PORT_PROBLEMS[code] ?? `cannot be used: ${failure.message}`}`
}

async function listenOrExplain(
  store: Store,
  options: StartServerOptions & Pick<ServerSettings, 'host' | 'port'>,
): Promise<StartedServer> {
  try {
    return await startListening(store, options)
  } catch (failure) {
    const { cause = failure } = failure as Error
    if (isStoreError(cause)) throw failure
    const problem = listenProblem(cause as NodeJS.ErrnoException, options.host, options.port)
    throw new ProgramFailure('failed', problem, { cause: failure })
  }
}
