// Adds to the error of a CSV or TSV field the query parameters with which the field would fit its column (CONTRACT.md,
// section 4).
import { retold } from '../../base/data-error.js'
import { either } from '../../base/shown-text.js'
import { isJson } from '../../base/source-format.js'
import { isStoreError } from '../../base/store-error.js'
import { remediesOfField } from '../../intake/remedies.js'
import { describeRule } from '../../schema/summarize.js'
import type { Query } from '../http/query.js'
import type { ReceivedBody } from './read-body.js'

/** The kinds of columns with several possible notations. */
const KINDS = ['boolean', 'number', 'date', 'dateTime'] as const

/**
 * The failure of a request with a body, with advice. A failure that does not concern a field, or concerns a notation
 * that the request states, stays unchanged.
 */
export function withRemedy(failure: unknown, { format }: ReceivedBody, query: Query): unknown {
  if (isJson(format) || !isStoreError(failure)) return failure
  const { rule, value, chunk } = failure
  const kind = KINDS.find((each) => describeRule({ kind: each }, true) === rule)
  if (kind === undefined || value === undefined || chunk !== undefined) return failure
  const isSaid = (name: string): boolean => query.has(`csv.${name}`)
  if (isSaid('columns')) return failure
  if (kind === 'boolean') {
    const words = 'csv.booleans=yes&csv.booleans=no sets the words for true and false'
    return isSaid('booleans') ? failure : retold(failure, `${failure.message}; ${words}`)
  }
  const remedies = remediesOfField(kind, value).filter((remedy) => {
    return !remedy.some(({ option }) => isSaid(option))
  })
  if (remedies.length === 0) return failure
  const queries = remedies.map((remedy) => {
    return remedy.map(({ option, value }) => `csv.${option}=${queryText(value)}`).join('&')
  })
  return retold(failure, `${failure.message}; ${either(queries)} reads it`)
}

/** A value for a query. Characters that a query allows are not encoded, so that the text is easy to read. */
function queryText(value: string): string {
  return value.replace(/[^\w.,'/-]/gu, encodeURIComponent)
}
