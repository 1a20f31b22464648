// The `Range` header (RFC 9110, 14.2). One range is served. A request for several gets the whole file, so
// that no request sends more bytes than its file has.
import type { ByteRange } from '../objects/objects.js'
import type { HeaderList } from './message.js'
import { headerValues } from './message.js'

/**
 * The part of a file of `bytes` bytes that a request asks for: `whole`, also for a header that is not supported; a
 * nonempty range; or `none` for a range that is malformed or beyond the file (416).
 */
export function parseRange(headers: HeaderList, bytes: number): 'whole' | 'none' | ByteRange {
  const values = headerValues(headers, 'range')
  const [value = ''] = values
  const [, wanted] = /^bytes=(.*)$/i.exec(value) ?? []
  if (values.length !== 1 || wanted === undefined || wanted.includes(',')) return 'whole'
  const [, first, last = ''] = /^([0-9]*)-([0-9]*)$/.exec(wanted) ?? []
  if (first === undefined || (first === '' && last === '')) return 'none'
  // Too many digits for an exact number still give one beyond the end of every file.
  if (first === '') return nonEmpty(Math.max(0, bytes - Number(last)), bytes)
  const limit = last === '' ? bytes : Math.min(bytes, Number(last) + 1)
  return nonEmpty(Number(first), limit)
}

function nonEmpty(start: number, limit: number): 'none' | ByteRange {
  return start < limit ? { start, limit } : 'none'
}
