// The maximum number of rows that one operation compares by their keys.
import { StoreError } from '../../base/store-error.js'

/**
 * Maximum number of rows whose keys one operation compares: the hashes of the keys are in memory, and in one commit.
 */
export const KEYED_ROWS_MAX = 2_097_152

/** The error for an operation that links rows. */
export function tooManyKeys(): StoreError {
  return refused(
    `One operation adds at most ${KEYED_ROWS_MAX} rows to a table with a key; give it the first rows, and add the others with addRows or merge`,
  )
}

/** The error for a table that is given a key. */
export function tooManyToKey(): StoreError {
  return refused(
    `A table can be given a key if at most ${KEYED_ROWS_MAX} of its rows have a value in every column of the key, and this one has more; create a table with the key from the first rows, and add the others in several operations`,
  )
}

function refused(message: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', message)
}
