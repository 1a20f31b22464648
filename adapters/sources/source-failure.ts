// Failures of fetching from a source URL.
import { isStoreError, StoreError } from '../../src/index.js'

/** One message for all reasons: the broken rule would reveal our network to the caller. */
export function sourceNotAllowed(): StoreError {
  return new StoreError(
    'SOURCE_URL_NOT_ALLOWED',
    'The source URL is not allowed: it must be an http or https URL of a public address',
  )
}

/** @param problem - What the source did, as the rest of a sentence, without anything that it sent. */
export function sourceFailed(problem: string, cause?: unknown): StoreError {
  return new StoreError('SOURCE_URL_FAILED', `The source ${problem}`, { cause })
}

export function sourceTimeout(): StoreError {
  return new StoreError('SOURCE_URL_TIMEOUT', 'The source took too long')
}

export function sourceTooLarge(bytesMax: number): StoreError {
  return new StoreError('FILE_TOO_LARGE', `The source has more than ${bytesMax} bytes`)
}

/** Converts a connection error to a failure of the source. */
export function asSourceFailure(failure: unknown): unknown {
  if (isStoreError(failure)) return failure
  return sourceFailed('broke off, or does not speak HTTP', failure)
}
