// What is said of a failure of an import, and whether the same import may go on after it.
import { messageOf } from '../../../../src/base/shown-text.js'
import { ClientError } from '../../../../src/client/client-error.js'
import { isRefused } from '../base/api.js'
import { shownCount } from '../base/show.js'
import { TEXT } from '../base/texts.js'

/** Of requests that came too late or too often, or that somebody must pay for. */
const LATER: ReadonlySet<number> = new Set([402, 408, 429])

/** A row of the file, as a server counts it. */
const PLACE = /\brow (\d{1,15}) \(counted from 0\)(?: of the input)?/g

/** Whether the import may go on as it is: the server did not answer, had a failure of its own, or asked for a pause. */
export function mayGoOn(failure: unknown): boolean {
  if (!(failure instanceof ClientError) || failure.type === 'argument_invalid') return false
  const { status, type } = failure
  return status < 400 || status >= 500 || LATER.has(status) || type === 'limit_exceeded'
}

/** A failure in the words of the page. */
export function wordsOf(failure: unknown): string {
  if (isRefused(failure)) {
    const isOfScope = failure instanceof ClientError && failure.type === 'scope_missing'
    return isOfScope ? TEXT.scopeMissing : TEXT.keyRefused
  }
  // The browser no longer reads a file that has changed since it was chosen.
  if (failure instanceof DOMException && failure.name === 'NotReadableError') return TEXT.fileGone
  const said = messageOf(failure)
    .replace(/^Invalid request [a-z]+(?: [a-z]+)?: /, '')
    .replace(PLACE, (_, row) => TEXT.row(shownCount(Number(row) + 1)))
  return said.charAt(0).toUpperCase() + said.slice(1)
}
