import type { IncomingMessage } from 'node:http'

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: ':80', https: ':443' }

/**
 * Path and query that a request asks for; undefined when its target is none of ours. A target may be a whole
 * URL (RFC 9112, 3.2.2) whose host is the one that the `Host` header names, or one of `hosts`.
 *
 * @param hosts - Names and ports, in lower case.
 */
export function targetOf(
  { url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>,
  hosts: ReadonlySet<string>,
): string | undefined {
  if (url.startsWith('/')) return url
  const [, scheme = '', given = '', target = ''] =
    /^(https?):\/\/([^/?#@]+)([/?].*)?$/i.exec(url) ?? []
  const host = withoutDefaultPort(scheme, given)
  const isOurs = host === withoutDefaultPort(scheme, headers.host ?? '') || hosts.has(host)
  if (host === '' || !isOurs) return undefined
  return target.startsWith('/') ? target : `/${target}`
}

function withoutDefaultPort(scheme: string, host: string): string {
  const port = DEFAULT_PORTS[scheme.toLowerCase()] ?? ''
  const name = host.toLowerCase()
  return port !== '' && name.endsWith(port) ? name.slice(0, -port.length) : name
}

/** The hosts of URLs, as `targetOf` wants them. */
export function hostsOf(urls: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(urls.flatMap((url) => (url === undefined ? [] : [new URL(url).host])))
}
