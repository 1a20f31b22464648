// Checks that all options have in common, whatever they are options of.
import { StoreError } from './store-error.js'

/** The error of an option that is unknown, or not as it must be. */
export function optionError(name: string, problem: string): StoreError {
  return new StoreError('OPTION_NOT_ALLOWED', `Option "${name}" ${problem}`)
}

/**
 * Rejects what is no object and what has other names, so that a misspelled option fails at start.
 * @param what - Whose options they are, for the message.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function checkOptionNames(
  what: string,
  given: unknown,
  isKnown: (name: string) => boolean,
): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    const message = `${what} takes an object of options, not ${typeName(given)}`
    throw new StoreError('OPTION_NOT_ALLOWED', message)
  }
  for (const name of Object.keys(given)) {
    if (!isKnown(name)) throw optionError(name, `is not an option of ${what}`)
  }
}

/** The type of a value, as a message names it. */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`.replace('a object', 'an object')
}
