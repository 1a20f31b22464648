import type { IncomingMessage } from 'node:http'

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: ':80', https: ':443' }

/**
 * The path and the query of a request target; undefined: a foreign target. A target may be an absolute URL (RFC 9112,
 * 3.2.2) with the host of the `Host` header, or one of `hosts`.
 *
 * @param hosts - Names and ports, in lower case.
 */
export function parseRequestTarget(
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

/** The hosts of URLs, in the form for `parseRequestTarget`. */
export function hostsOf(urls: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(urls.flatMap((url) => (url === undefined ? [] : [new URL(url).host])))
}
