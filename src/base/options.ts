// Checks of all kinds of arguments: options, and objects of names and values.
import { didYouMean } from './nearest-word.js'
import { cutText } from './shown-text.js'
import { StoreError } from './store-error.js'

/** The error for an option that is unknown or invalid. */
export function optionError(name: string, problem: string): StoreError {
  return new StoreError('OPTION_NOT_ALLOWED', `Option "${name}" ${problem}`)
}

/**
 * Rejects arguments that are not objects of options, and unknown names, so that a misspelled option fails at once.
 * @param what - The owner of the options, for the message.
 * @param known - Names that the message may suggest.
 * @throws {StoreError} OPTION_NOT_ALLOWED if the argument is no object of options, or has an unknown name
 */
export function checkOptionNames(
  what: string,
  given: unknown,
  isKnown: (name: string) => boolean,
  known: readonly string[] = [],
): void {
  checkOptions(what, given)
  for (const name of Object.keys(given)) {
    if (isKnown(name)) continue
    throw optionError(name, `is not an option of ${what}${didYouMean(name, known)}`)
  }
}

/** @throws {StoreError} OPTION_NOT_ALLOWED unless the argument is an object of options. */
export function checkOptions(what: string, given: unknown): asserts given is object {
  if (isRecord(given)) return
  const message = `${what} takes an object of options, not ${typeName(given)}`
  throw new StoreError('OPTION_NOT_ALLOWED', message)
}

/**
 * Whether a value is an object of names and values. Promises, maps, dates and the like are not: as objects they would
 * seem empty.
 */
export function isRecord(given: unknown): given is Readonly<Record<string, unknown>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false
  if (ArrayBuffer.isView(given)) return false
  return isPlain(given) || Object.keys(given).length > 0
}

/** Whether a value is a plain object, of any realm. */
export function isPlain(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Whether a value has certain methods, as an implementation of an interface. */
export function hasMethods(given: unknown, names: readonly string[]): boolean {
  if (typeof given !== 'object' || given === null) return false
  return names.every((name) => typeof (given as Record<string, unknown>)[name] === 'function')
}

/** Whether a value is a URL object, of any realm. */
export function isUrl(given: unknown): given is URL {
  return typeof given === 'object' && given !== null && tagOf(given) === 'URL'
}

export function isIterable<Item>(given: object | Iterable<Item>): given is Iterable<Item> {
  return typeof Reflect.get(given, Symbol.iterator) === 'function'
}

export function isAsyncIterable<Item>(
  given: object | AsyncIterable<Item>,
): given is AsyncIterable<Item> {
  return typeof Reflect.get(given, Symbol.asyncIterator) === 'function'
}

/** Whether a value is an AbortSignal or equivalent. */
export function isSignal(given: unknown): given is AbortSignal {
  return hasMethods(given, ['addEventListener', 'removeEventListener'])
}

/** @throws {StoreError} OPTION_NOT_ALLOWED unless the value is an AbortSignal. */
export function checkSignalOption(given: unknown): void {
  if (given === undefined || isSignal(given)) return
  throw optionError('signal', `must be an AbortSignal, not ${typeName(given)}`)
}

export type IntegerRange = Readonly<{ default: number; min: number; max: number }>

/** @throws {StoreError} OPTION_NOT_ALLOWED if the value is not an integer in the range. */
export function integerOption(name: string, value: unknown, range: IntegerRange): number {
  const { default: fallback, min, max } = range
  if (value === undefined) return fallback
  const isInRange = typeof value === 'number' && min <= value && value <= max
  if (isInRange && Number.isInteger(value)) return value
  throw optionError(name, `must be an integer from ${min} to ${max}, not ${shown(value)}`)
}

/**
 * Checks the names of options, and resolves integer options.
 * @param what - The owner of the options, for the message.
 * @param others - The names of other options, which the caller resolves.
 * @throws {StoreError} OPTION_NOT_ALLOWED for an unknown name or an invalid value
 */
export function integerOptions<Name extends string>(
  what: string,
  given: Readonly<Partial<Record<NoInfer<Name>, unknown>>>,
  ranges: Readonly<Record<Name, IntegerRange>>,
  others: readonly string[] = [],
): Record<Name, number> {
  const names = Object.keys(ranges) as Name[]
  const known = [...names, ...others]
  checkOptionNames(what, given, (name) => known.includes(name), known)
  const resolved = names.map((name) => [name, integerOption(name, given[name], ranges[name])])
  return Object.fromEntries(resolved) as Record<Name, number>
}

/** @throws {StoreError} OPTION_NOT_ALLOWED if a value is given and not a boolean. */
export function booleanOption(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback
  if (typeof value === 'boolean') return value
  throw optionError(name, `must be true or false, not ${shown(value)}`)
}

/**
 * The base path of a handler: empty, or with a leading and without a trailing slash.
 * @throws {StoreError} OPTION_NOT_ALLOWED if the value is no base path
 */
export function basePathOption(value: unknown = ''): string {
  if (typeof value === 'string' && /^(?:\/[^/?#\s]+)*$/.test(value)) return value
  throw optionError('basePath', `must be like "/api/v2", not ${shown(value)}`)
}

/**
 * A path without the base path. The result is empty, which is an unknown path, if the path is not below the base
 * path.
 */
export function pathBelow(path: string, basePath: string): string {
  return path === basePath || path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : ''
}

/**
 * One of several words; the first is the default.
 * @throws {StoreError} OPTION_NOT_ALLOWED if the value is none of the words
 */
export function choiceOption<Choice extends string>(
  name: string,
  value: unknown,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  if (value === undefined) return choices[0]
  const choice = choices.find((known) => known === value)
  if (choice !== undefined) return choice
  const words = choices.map((known) => `'${known}'`).join(choices.length === 2 ? ' or ' : ', ')
  const rule = choices.length === 2 ? words : `one of ${words}`
  throw optionError(name, `must be ${rule}, not ${shown(value)}`)
}

/** @throws {StoreError} OPTION_NOT_ALLOWED if a value is given and not a function. */
export function checkFunctionOption(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return
  throw optionError(name, `must be a function, not ${shown(value)}`)
}

/** The maximum number of characters of a text in a message. */
const SHOWN_CHARS_MAX = 80

/** A value in a message; only its type, if it may have no text form. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cutText(value, SHOWN_CHARS_MAX))
  return typeof value === 'object' || typeof value === 'function' ? typeName(value) : String(value)
}

/** The name of a value's type in a message. */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  const name = typeof value === 'object' ? nameOfTag(tagOf(value)) : typeof value
  if (name === 'Promise') return 'a Promise; an await is missing'
  return /^[aeio]/i.test(name) ? `an ${name}` : `a ${name}`
}

/** The tag of an object, such as Map, Date or Uint8Array, of any realm. */
export function tagOf(value: object): string {
  try {
    return Object.prototype.toString.call(value).slice('[object '.length, -1)
  } catch {
    return 'Object' // A revoked proxy.
  }
}

function nameOfTag(tag: string): string {
  return tag === 'Object' || tag === 'Array' ? tag.toLowerCase() : tag
}
