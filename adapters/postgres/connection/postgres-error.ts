// Classifies failures of PostgreSQL and of connections to it.
import { reasonOf } from '../../../src/base/shown-text.js'
import type { StoreErrorCode, WriteOutcome } from '../../../src/base/store-error.js'
import { isStoreError, StoreError } from '../../../src/base/store-error.js'

/**
 * The meaning of a failure for its statement.
 *
 * - `refused`: one of our conditions did not hold; nothing was written
 * - `conflict`: another transaction collided with it; nothing was written, and a retry may succeed
 * - `fenced`: the session's row is gone; nothing was written, and never will be by this session
 * - `elsewhere`: this server accepts no writes now; nothing was written, and another connection may work
 * - `unknown`: the connection broke; the statement may have been executed
 * - `failed`: PostgreSQL refused the statement for good; nothing was written
 */
export type FailureKind = 'refused' | 'conflict' | 'fenced' | 'elsewhere' | 'unknown' | 'failed'

/** Our statements divide by zero if a condition does not hold. */
const REFUSED = '22012'
/** Our statements read a text as a number if the session's row does not exist. */
const FENCED = '22P02'

/** serialization_failure, deadlock_detected, lock_not_available. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03'])

/** cannot_connect_now, too_many_connections, read_only_sql_transaction, and refused connections. */
const ELSEWHERE: ReadonlySet<string> = new Set(['57P03', '53300', '25006', '08001', '08004'])

/** admin_shutdown, crash_shutdown, database_dropped, idle_session_timeout, statement_completion_unknown. */
const UNKNOWN: ReadonlySet<string> = new Set(['57P01', '57P02', '57P04', '57P05', '25P03', '40003'])

/** A five-character SQLSTATE from PostgreSQL; errors of sockets have other codes. */
const SQLSTATE = /^[0-9A-Z]{5}$/

/** The SQLSTATE of a failure. undefined: PostgreSQL did not send the failure. */
export function sqlState(failure: unknown): string | undefined {
  if (typeof failure !== 'object' || failure === null || !('code' in failure)) return undefined
  const { code } = failure
  // The code alone does not tell: EPIPE, an error of sockets, has five characters too.
  const isSent = 'severity' in failure
  return isSent && typeof code === 'string' && SQLSTATE.test(code) ? code : undefined
}

export function kindOfFailure(failure: unknown): FailureKind {
  if (isStoreError(failure)) return 'failed'
  const state = sqlState(failure)
  if (state === undefined || UNKNOWN.has(state)) return 'unknown'
  if (state === REFUSED) return 'refused'
  if (state === FENCED) return 'fenced'
  if (CONFLICTS.has(state)) return 'conflict'
  if (ELSEWHERE.has(state)) return 'elsewhere'
  return state.startsWith('08') ? 'unknown' : 'failed'
}

/** Whether a retry would fail too. */
export function isFinal(failure: unknown): boolean {
  return kindOfFailure(failure) === 'failed'
}

/** Whether other statements on the same connection may succeed. */
export function leavesConnection(failure: unknown): boolean {
  const kind = kindOfFailure(failure)
  return kind !== 'unknown' && kind !== 'elsewhere'
}

/** disk_full; data_corrupted and index_corrupted. */
const CODES: ReadonlyMap<string | undefined, StoreErrorCode> = new Map([
  ['53100', 'INSUFFICIENT_STORAGE'],
  ['XX001', 'DATA_CORRUPT'],
  ['XX002', 'DATA_CORRUPT'],
])

/** Converts a failure to a `StoreError`. A `StoreError` does not change. */
export function postgresError(
  failure: unknown,
  message: string,
  outcome?: WriteOutcome,
): StoreError {
  if (isStoreError(failure)) return failure
  const code = CODES.get(sqlState(failure)) ?? 'STORAGE_UNAVAILABLE'
  const reason = reasonOf(failure)
  const details = outcome === undefined ? { cause: failure } : { cause: failure, outcome }
  return new StoreError(code, `${message}${reason}`, details)
}
