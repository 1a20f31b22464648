import type { HeaderList } from './message.js'
import { headerValues } from './message.js'
import { invalidRequest } from './refusal.js'

/** Maximum number of digits of a version that are read. A longer version is greater than every existing version. */
const VERSION_DIGITS_MAX = 400

/** `If-Match` (CONTRACT.md, section 10): undefined without the header. A version may have any number of digits. */
export function parseIfMatch(headers: HeaderList): bigint | undefined {
  const values = headerValues(headers, 'if-match')
  const [value] = values
  if (value === undefined) return undefined
  if (values.length > 1 || !/^"[0-9]+"$/.test(value)) {
    throw invalidRequest('headers', 'If-Match must be one version in quotes, like "12"')
  }
  const start = value.search(/[1-9]/)
  return start < 0 ? 0n : BigInt(value.slice(start, -1).slice(0, VERSION_DIGITS_MAX))
}

export function renderETag(version: number): string {
  return `"${version}"`
}
