// Checks of what callers of the library hand in: closed objects, known words.
import { StoreError } from '../base/store-error.js'
import type { OnSchemaError } from './store-types.js'

/** @throws {StoreError} REQUEST_VALIDATION_ERROR for anything but an object with known properties. */
export function checkArguments(what: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) {
    throw invalid(`${what} takes an object, not ${given === null ? 'null' : typeof given}`)
  }
  for (const name of Object.keys(given)) {
    if (!known.includes(name))
      throw invalid(`${what} takes no "${name}"; it takes ${known.join(', ')}`)
  }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkOnSchemaError(given: unknown): OnSchemaError {
  if (given === undefined) return 'abort'
  if (given === 'abort' || given === 'dropColumns' || given === 'updateSchema') return given
  throw invalid(`onSchemaError must be abort, dropColumns or updateSchema, not ${String(given)}`)
}

/** A table or row version: a number or bigint that is a whole number and not negative. */
export function checkIfMatchArgument(given: unknown): number | bigint | undefined {
  if (given === undefined) return undefined
  if (typeof given === 'bigint' && given >= 0n) return given
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return given
  throw invalid(`ifMatch must be a version, not ${String(given)}`)
}

const NAME_CHARS_MAX = 1_000

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkTableName(name: unknown): asserts name is string {
  const isName = typeof name === 'string' && name.length > 0 && name.length <= NAME_CHARS_MAX
  if (isName && isWellFormed(name)) return
  throw new StoreError(
    'REQUEST_VALIDATION_ERROR',
    `Invalid request body: name must be a text of 1 to ${NAME_CHARS_MAX} characters`,
  )
}

const TEAM_ID_CHARS_MAX = 128

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkTeamId(teamId: unknown): asserts teamId is string {
  const isId = typeof teamId === 'string' && teamId.length > 0 && teamId.length <= TEAM_ID_CHARS_MAX
  if (isId && isWellFormed(teamId)) return
  throw invalid(`a team ID must be a text of 1 to ${TEAM_ID_CHARS_MAX} characters`)
}

const LONE_SURROGATE = /\p{Surrogate}/u

/** Whether a text has no lone surrogate, which UTF-8 could not hold. */
export function isWellFormed(text: string): boolean {
  return !LONE_SURROGATE.test(text)
}

function invalid(problem: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', `Invalid request: ${problem}`)
}
