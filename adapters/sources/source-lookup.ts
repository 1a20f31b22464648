// Finds the addresses of host names: in the hosts file, otherwise by DNS.
//
// Invariants:
// - No look-up occupies a thread of the process. The system's resolver (getaddrinfo) occupies one of two threads while
//   it waits for a silent name server, and cannot be aborted: a few such names would block all look-ups.
// - A look-up ends with its signal.
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

/** The first wait for a name server's answer, in milliseconds; the second wait is twice as long. */
const TRY_MS = 1_000
const TRIES = 2
/** The maximum number of search domains tried. */
const SEARCHED_MAX = 6

const LOCALHOST = ['127.0.0.1', '::1']

type Places = Readonly<{
  /** Whether names are also looked up below search domains, which have private hosts. */
  searches: boolean
  /** The path of the hosts file. Default: that of this machine. */
  hostsFile?: string
  /** A file in the form of resolv.conf, with search domains; nothing else is read. Default: this machine's. */
  resolverFile?: string
  /** Name servers, as addresses with ports. Default: this machine's. */
  servers?: readonly string[]
  /** The first wait for an answer, in milliseconds. Default: a second. */
  tryMs?: number
}>

export function createLookup({
  searches,
  hostsFile = fileOfHosts(),
  resolverFile = '/etc/resolv.conf',
  servers,
  tryMs = TRY_MS,
}: Places): (hostName: string, signal: AbortSignal) => Promise<readonly string[]> {
  return async (hostName, signal) => {
    const listed = addressesIn(await readTextOrEmpty(hostsFile), hostName)
    if (listed.length > 0) return listed
    if (hostName === 'localhost') return LOCALHOST
    const names = searches ? namesToAsk(hostName, await readTextOrEmpty(resolverFile)) : [hostName]
    let failure: unknown
    for (const name of names) {
      signal.throwIfAborted()
      try {
        return await askNameServers(name, { servers, tryMs }, signal)
      } catch (reason) {
        failure = reason
      }
    }
    throw failure
  }
}

/** The addresses of a name in DNS, IPv4 first. One family is enough. */
async function askNameServers(
  name: string,
  { servers, tryMs }: Readonly<{ servers: readonly string[] | undefined; tryMs: number }>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  // Loaded on first use: PERFORMANCE.md, P47.
  const { Resolver } = process.getBuiltinModule('node:dns').promises
  const resolver = new Resolver({ timeout: tryMs, tries: TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  const cancel = (): void => resolver.cancel()
  signal.addEventListener('abort', cancel)
  try {
    const both = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const found = both.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    if (found.length > 0) return found
    const [first] = both
    throw first.status === 'rejected' ? first.reason : new Error('The name has no address')
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function addressesIn(hosts: string, hostName: string): readonly string[] {
  return hosts.split('\n').flatMap((line) => {
    const [entry = ''] = line.toLowerCase().split('#', 1)
    if (!entry.includes(hostName)) return []
    const [address = '', ...names] = entry.trim().split(/\s+/)
    return isIP(address) !== 0 && names.includes(hostName) ? [address] : []
  })
}

/** The name below each search domain, then alone. If it has at least `ndots` dots (default: 1), it is alone first. */
function namesToAsk(hostName: string, resolverText: string): readonly string[] {
  const [, domains = ''] = /^(?:search|domain)[ \t]+(.*)$/m.exec(resolverText) ?? []
  const [, ndots = '1'] = /^options[ \t].*\bndots:(\d+)/m.exec(resolverText) ?? []
  const searched = domains.split(/\s+/).filter((domain) => domain !== '' && domain !== '.')
  const below = searched.slice(0, SEARCHED_MAX).map((domain) => `${hostName}.${domain}`)
  const dots = hostName.split('.').length - 1
  return dots >= Number(ndots) ? [hostName, ...below] : [...below, hostName]
}

/** The text of a file. Empty: the file cannot be read. */
async function readTextOrEmpty(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}

function fileOfHosts(): string {
  if (process.platform !== 'win32') return '/etc/hosts'
  return `${process.env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\drivers\\etc\\hosts`
}
