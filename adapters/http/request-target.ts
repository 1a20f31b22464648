import type { IncomingMessage } from 'node:http'

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
  const [, given = '', target = ''] = /^https?:\/\/([^/?#@]+)(.*)$/i.exec(url) ?? []
  const host = given.toLowerCase()
  const isOurs = host !== '' && (host === headers.host?.toLowerCase() || hosts.has(host))
  if (!isOurs) return undefined
  return target.startsWith('/') ? target : `/${target}`
}

/** The hosts of URLs, as `targetOf` wants them. */
export function hostsOf(urls: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(urls.flatMap((url) => (url === undefined ? [] : [new URL(url).host])))
}
