// Conditional requests (RFC 9110, 13). ETags are the only validators: a condition on a date is ignored, or counts as
// not met.
import { StoreError } from '../../base/store-error.js'
import type { HeaderList } from './message.js'
import { headerValues } from './message.js'

/**
 * Evaluates `If-Match` and then `If-None-Match`.
 *
 * @param etag - A strong ETag, with its quotes.
 * @returns Whether the client already has the file (304).
 * @throws {StoreError} PRECONDITION_FAILED
 */
export function isNotModified(headers: HeaderList, etag: string): boolean {
  const wanted = headerValues(headers, 'if-match')
  if (wanted.length > 0 && !names(wanted, etag, 'strong')) {
    throw new StoreError('PRECONDITION_FAILED', 'If-Match does not match the ETag of this file')
  }
  return isKnown(headers, etag)
}

/** Evaluates `If-None-Match`: whether the client already has the content of this ETag. */
export function isKnown(headers: HeaderList, etag: string): boolean {
  return names(headerValues(headers, 'if-none-match'), etag, 'weak')
}

/** Evaluates `If-Range`: whether a range may be served. */
export function allowsRange(headers: HeaderList, etag: string): boolean {
  const values = headerValues(headers, 'if-range')
  return values.every((value) => value === etag)
}

/** Whether a list of ETags, which may span several header lines, or an asterisk matches this ETag. */
function names(values: readonly string[], etag: string, comparison: 'strong' | 'weak'): boolean {
  const list = values.join(',')
  if (list === '*') return true
  return entityTags(list).some((tag) => (comparison === 'weak' ? opaque(tag) : tag) === etag)
}

const ENTITY_TAG = /[ \t,]*((?:W\/)?"[!#-~\x80-\xff]*")[ \t]*(?=,|$)/y

/** The ETags of a list that stand before its first syntax error. */
function entityTags(list: string): readonly string[] {
  const tags: string[] = []
  ENTITY_TAG.lastIndex = 0
  for (let found = ENTITY_TAG.exec(list); found !== null; found = ENTITY_TAG.exec(list)) {
    tags.push(found[1] ?? '')
  }
  return tags
}

function opaque(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}
