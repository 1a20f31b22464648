// The texts for failures.
import { messageOf } from '../../../../src/base/shown-text.js'
import { ClientError } from '../../../../src/client/client-error.js'
import { isRefused } from './api.js'
import { shownCount } from './show.js'
import * as TEXT from './texts.js'

/** The number of an input row in a server's message. It counts from 0, the page from 1. */
const PLACE = /\brow (\d{1,15}) \(counted from 0\)(?: of the input)?/g

/** A column's rule, in the words of the page. */
export function wordsOfRule(rule: string): string {
  return new Map(Object.entries<string>(TEXT.rules)).get(rule) ?? rule
}

/** A failure in the words of the page. */
export function wordsOf(failure: unknown): string {
  if (isRefused(failure)) {
    const isOfScope = failure instanceof ClientError && failure.type === 'scope_missing'
    return isOfScope ? TEXT.scopeMissing : TEXT.keyRefused
  }
  // The browser refuses to read a file that has changed since it was chosen.
  if (failure instanceof DOMException && failure.name === 'NotReadableError') return TEXT.fileGone
  const said = messageOf(failure)
    .replace(/^Invalid request [a-z]+(?: [a-z]+)?: /, '')
    .replace(PLACE, (_, row) => TEXT.row(shownCount(Number(row) + 1)))
  return said.charAt(0).toUpperCase() + said.slice(1)
}
