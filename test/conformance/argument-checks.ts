// Checks of arguments to rowstash/testing: with a wrong name or value, a test would test something else.

import { shown } from '../../src/base/options.js'
import { invalidArgument } from '../../src/base/store-error.js'
import { checkArguments } from '../../src/engine/arguments/arguments.js'

export { checkArguments, invalidArgument }

/** @throws {StoreError} REQUEST_VALIDATION_ERROR if a value is given that is not an integer from `min` to `max` */
export function checkInteger(what: string, given: unknown, min: number, max: number): void {
  if (given === undefined) return
  if (typeof given === 'number' && Number.isInteger(given) && min <= given && given <= max) return
  throw invalidArgument(`${what} must be an integer from ${min} to ${max}, not ${shown(given)}`)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR if a value is given that is not one of the words */
export function checkWord(what: string, given: unknown, words: readonly string[]): void {
  if (words.some((word) => word === given)) return
  throw invalidArgument(
    `${what} must be one of ${words.map(shown).join(', ')}, not ${shown(given)}`,
  )
}

/** What ends in a crash. */
export const CRASHES = ['process', 'machine']
