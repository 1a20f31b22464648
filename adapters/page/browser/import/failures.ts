// Whether the same import can continue after a failure.
import { ClientError } from '../../../../src/client/client-error.js'

/** Statuses of requests that came too late or too often, or that somebody must pay for. */
const LATER: ReadonlySet<number> = new Set([402, 408, 429])

/** Whether the import can continue unchanged: the server did not answer, failed, or asked for a pause. */
export function mayGoOn(failure: unknown): boolean {
  if (!(failure instanceof ClientError) || failure.type === 'argument_invalid') return false
  const { status, type } = failure
  return status < 400 || status >= 500 || LATER.has(status) || type === 'limit_exceeded'
}
