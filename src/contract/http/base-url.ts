// Base URLs: the beginning of `uploadLocation` and of the URLs of files.
import { invalidRequest } from './refusal.js'

const HOST = /(?:[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]{2,45}\])/.source
const PORT = /(?::[0-9]{1,5})?/.source
/** A path without `.` and `..` segments, which would lead to another path. */
const PATH = /(?:\/(?!(?:\.|%2[Ee]){1,2}(?:\/|$))[A-Za-z0-9._~!$&'()*+,;=:@%-]+)*/.source
const ORIGIN = new RegExp(`^(https?://${HOST}${PORT})(${PATH})$`)

/**
 * Checks the base URL that comes from the Host header of a request. The client chooses this header, so it must not
 * bring anything but an origin into a response.
 *
 * @throws {Refusal} REQUEST_VALIDATION_ERROR
 */
export function parseOrigin(origin: string | undefined): string {
  const [, server, path] = ORIGIN.exec(origin ?? '') ?? []
  if (server === undefined || path === undefined || !URL.canParse(server)) {
    throw invalidRequest(
      'headers',
      'Host must be a host name or an IP address, with or without a port',
    )
  }
  return server.toLowerCase() + path
}

/** Parses a base URL from an option: http or https. Drops a trailing slash. undefined: not a base URL. */
export function parseBaseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || /[?#\s\\]/.test(text))
    return undefined
  if (url.username !== '' || url.password !== '') return undefined
  return (url.origin + url.pathname).replace(/\/+$/, '')
}
