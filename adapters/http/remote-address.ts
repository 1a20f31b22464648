// The address of a client: its socket's, or if that is a trusted proxy, the one that the proxy reports.
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { optionError, shown } from '../base/arguments.js'

/** The maximum number of consecutive proxies that are followed. */
const PROXIES_MAX = 16

const IPV4_AS_IPV6 = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i

type Remote = Readonly<{ remoteAddress?: string | undefined }>

/** The client of a socket: an IPv4 address, or the first 64 bits of an IPv6 address, which identify a network. */
export function addressOf({ remoteAddress = '' }: Remote): string {
  const address = remoteAddress.replace(IPV4_AS_IPV6, '')
  if (!address.includes(':')) return address
  const [start = '', rest] = address.split('::')
  const first = start === '' ? [] : start.split(':')
  const last = rest === undefined || rest === '' ? [] : rest.split(':')
  const zeros = Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0')
  return [...first, ...zeros, ...last].slice(0, 4).join(':')
}

/** Addresses whose reports about their clients are trusted. */
export class TrustedProxies {
  readonly #list = new BlockList()
  readonly #isEmpty: boolean

  /**
   * @param given - IP addresses, and networks such as `10.0.0.0/8`.
   * @throws {StoreError} OPTION_NOT_ALLOWED
   */
  constructor(given: unknown = []) {
    if (!Array.isArray(given)) {
      throw optionError('trustedProxies', 'must be a list of IP addresses and networks')
    }
    this.#isEmpty = given.length === 0
    for (const text of given) this.#add(text)
  }

  has({ remoteAddress = '' }: Remote): boolean {
    if (this.#isEmpty) return false
    const address = remoteAddress.replace(IPV4_AS_IPV6, '')
    const version = isIP(address)
    return version !== 0 && this.#list.check(address, version === 4 ? 'ipv4' : 'ipv6')
  }

  /** The client of a request: the last address in `X-Forwarded-For` that is not a trusted proxy's. */
  clientOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    if (!this.has(socket)) return addressOf(socket)
    let client: Remote = socket
    const named = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    for (const text of named.slice(-PROXIES_MAX).reverse()) {
      const remoteAddress = withoutPort(text.trim())
      if (isIP(remoteAddress) === 0) break // Earlier entries cannot be trusted.
      client = { remoteAddress }
      if (!this.has(client)) break
    }
    return addressOf(client)
  }

  #add(given: unknown): void {
    const [, address = '', bits] = /^([^/]*)(?:\/([0-9]{1,3}))?$/.exec(String(given)) ?? []
    const version = typeof given === 'string' ? isIP(address) : 0
    const bitsMax = version === 4 ? 32 : 128
    const prefix = bits === undefined ? bitsMax : Number(bits)
    if (version === 0 || prefix > bitsMax) {
      const problem = `must have IP addresses and networks such as 10.0.0.0/8, not ${shown(given)}`
      throw optionError('trustedProxies', problem)
    }
    this.#list.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6')
  }
}

/** An address without the port that some proxies add: `192.0.2.1:80`, `[2001:db8::1]:80`. */
function withoutPort(text: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::[0-9]+)?|([0-9.]+):[0-9]+)$/.exec(text) ?? []
  return bracketed ?? plain ?? text
}
