// Prevents source URLs from reaching private addresses.
//
// Invariants:
// - A socket is opened to a checked address, never to a name, so no second look-up can change it.
// - Sockets are not pooled: a pool may contain a socket that other code opened without these checks.
// - Nothing is written to a socket, not even a TLS greeting, before the address that it reached is checked.
import { connect, isIP, isIPv6, type Socket } from 'node:net'
import { isPublicAddress } from './source-address.js'
import { sourceFailed, sourceNotAllowed } from './source-failure.js'
import type { SourceLife } from './source-life.js'
import type { SourceSettings } from './source-options.js'

export type SourceTarget = Readonly<{
  url: URL
  isSecure: boolean
  /** A name without a trailing dot, or an IP address without brackets. */
  host: string
  port: number
}>

const URL_CHARS_MAX = 2_048
const HOST_CHARS_MAX = 253
const PORT_OF_SCHEME: ReadonlyMap<string, number> = new Map([
  ['http:', 80],
  ['https:', 443],
])

/** The maximum number of addresses of a name, all of which are checked. */
const ADDRESSES_MAX = 64
/** The maximum number of addresses that are tried. */
const ATTEMPTS_MAX = 4

/** Letters, digits, hyphens and underscores, in labels of at most 63; the URL parser has converted everything else. */
const HOST_NAME = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: The URL parser drops some of them silently.
const CONTROLS = /[\x00-\x1f\x7f]/

/**
 * Checks the text of a URL. `openGuarded` checks its address.
 * @param from - The hop that redirects here: relative URLs are resolved against it.
 * @throws {StoreError} SOURCE_URL_NOT_ALLOWED
 */
export function parseSourceUrl(
  text: string,
  settings: SourceSettings,
  from?: SourceTarget,
): SourceTarget {
  if (typeof text !== 'string' || text.length > URL_CHARS_MAX || CONTROLS.test(text)) {
    throw sourceNotAllowed()
  }
  if (!URL.canParse(text, from?.url)) throw sourceNotAllowed()
  const url = new URL(text, from?.url)
  const defaultPort = PORT_OF_SCHEME.get(url.protocol)
  const isSecure = url.protocol === 'https:'
  const isDowngrade = from?.isSecure === true && !isSecure
  if (defaultPort === undefined || isDowngrade) throw sourceNotAllowed()
  if (url.href.length > URL_CHARS_MAX) throw sourceNotAllowed()
  if (url.username !== '' || url.password !== '') throw sourceNotAllowed()
  const port = url.port === '' ? defaultPort : Number(url.port)
  if (port === 0 || !(settings.allowPrivate || settings.ports.has(port))) throw sourceNotAllowed()
  url.hash = ''
  return { url, isSecure, host: hostOf(url), port }
}

function hostOf(url: URL): string {
  const host = url.hostname.replace(/\.$/, '')
  if (host.startsWith('[')) return host.slice(1, -1)
  if (host.length > HOST_CHARS_MAX || !HOST_NAME.test(host)) throw sourceNotAllowed()
  return host
}

/**
 * Connects to a target, with TLS if it is an https URL.
 * @throws {StoreError} SOURCE_URL_NOT_ALLOWED, SOURCE_URL_FAILED
 */
export async function openGuarded(
  target: SourceTarget,
  settings: SourceSettings,
  life: SourceLife,
): Promise<Socket> {
  const addresses = await resolveAddresses(target.host, settings, life)
  const socket = await connectToOne(addresses, target.port, settings, life)
  return target.isSecure ? await secure(socket, target, settings, life) : socket
}

/** The addresses of a host. A single address that is not allowed excludes the host. */
async function resolveAddresses(
  host: string,
  settings: SourceSettings,
  life: SourceLife,
): Promise<readonly string[]> {
  // Node does not resolve an IP address, so a check only in the resolver would miss it.
  const addresses = isIP(host) === 0 ? await lookUp(host, settings, life) : [host]
  if (!addresses.every((address) => mayReach(address, settings))) throw sourceNotAllowed()
  return addresses
}

async function lookUp(
  host: string,
  settings: SourceSettings,
  life: SourceLife,
): Promise<readonly string[]> {
  try {
    const addresses = await settings.lookup(host, life.endSignal)
    if (addresses.length >= 1 && addresses.length <= ADDRESSES_MAX) return addresses
  } catch (failure) {
    throw sourceFailed('cannot be found', failure)
  }
  throw sourceFailed('cannot be found')
}

function mayReach(address: string, { allowPrivate }: SourceSettings): boolean {
  return allowPrivate ? isIP(address) !== 0 : isPublicAddress(address)
}

/** Tries addresses one after the other. Each except the last has a share of the time. */
async function connectToOne(
  addresses: readonly string[],
  port: number,
  settings: SourceSettings,
  life: SourceLife,
): Promise<Socket> {
  const tried = alternateFamilies(addresses).slice(0, ATTEMPTS_MAX)
  const shareMs = Math.ceil(settings.connectTimeoutMs / tried.length)
  let lastFailure: unknown
  for (const [i, address] of tried.entries()) {
    if (life.isOver) break
    const socket = connect({ host: address, port })
    life.hold(socket)
    try {
      await connected(socket, 'connect', i + 1 < tried.length ? shareMs : undefined)
    } catch (failure) {
      lastFailure = failure
      continue
    }
    if (socket.remoteAddress === undefined) continue // Already closed again.
    // If the network or the host program redirects connections, this is the address that was reached.
    if (mayReach(socket.remoteAddress, settings)) return socket
    socket.destroy()
    throw sourceNotAllowed()
  }
  throw sourceFailed('cannot be reached', lastFailure)
}

/** The addresses in resolver order, but alternating between IPv4 and IPv6, one of which may not work here. */
function alternateFamilies(addresses: readonly string[]): readonly string[] {
  const isLikeFirst = (address: string): boolean => isIPv6(address) === isIPv6(addresses[0] ?? '')
  const like = addresses.filter(isLikeFirst)
  const others = addresses.filter((address) => !isLikeFirst(address))
  return like
    .flatMap((address, i) => [address, ...others.slice(i, i + 1)])
    .concat(others.slice(like.length))
}

async function secure(
  socket: Socket,
  { host }: SourceTarget,
  { ca }: SourceSettings,
  life: SourceLife,
): Promise<Socket> {
  // Loaded on first use: PERFORMANCE.md, P47.
  const encrypted = process.getBuiltinModule('node:tls').connect({
    socket,
    host,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true, // Overrides NODE_TLS_REJECT_UNAUTHORIZED.
    ...(isIP(host) === 0 && { servername: host }), // The greeting must not name an IP address.
    ...(ca !== undefined && { ca }),
  })
  life.hold(encrypted)
  try {
    await connected(encrypted, 'secureConnect')
  } catch (failure) {
    throw sourceFailed('does not offer TLS with a valid certificate', failure)
  }
  return encrypted
}

/** Waits until a socket is ready. Without a limit of its own, the caller's limit applies. */
function connected(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  limitMs?: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = (): unknown => socket.destroy(new Error('It takes too long'))
    const timer = limitMs === undefined ? undefined : setTimeout(giveUp, limitMs)
    socket.once(event, () => {
      clearTimeout(timer)
      resolve()
    })
    socket.once('error', reject)
    socket.once('close', () => {
      clearTimeout(timer)
      reject(new Error('It was closed'))
    })
  })
}
