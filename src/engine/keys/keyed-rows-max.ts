// The maximum number of rows that one operation compares by their keys.
import { StoreError } from '../../base/store-error.js'

/**
 * Maximum number of rows whose keys one operation compares: the hashes of the keys are in memory, and in one commit.
 */
export const KEYED_ROWS_MAX = 2_097_152

/** The error for an operation that links rows. */
export function tooManyKeys(): StoreError {
  return refused(
    `One operation adds at most ${KEYED_ROWS_MAX} rows to a table with a key; add the rows in several operations`,
  )
}

/** The error for a table that is given a key. */
export function tooManyToKey(): StoreError {
  return refused(
    `The table has more than ${KEYED_ROWS_MAX} rows with a value in every column of the key, and cannot get the key; create a table with the key, and add the rows in several operations`,
  )
}

function refused(message: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', message)
}
