// Checks of what callers hand in, whatever it is for: options, and objects that they take the names and values of.
import { didYouMean } from './nearest-word.js'
import { cutText } from './shown-text.js'
import { StoreError } from './store-error.js'

/** The error of an option that is unknown, or not as it must be. */
export function optionError(name: string, problem: string): StoreError {
  return new StoreError('OPTION_NOT_ALLOWED', `Option "${name}" ${problem}`)
}

/**
 * Rejects what holds no options, and names that are none, so that a misspelled option fails at start.
 * @param what - Whose options they are, for the message.
 * @param known - Names that the message suggests for one that is none.
 * @throws {StoreError} OPTION_NOT_ALLOWED
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

/** @throws {StoreError} OPTION_NOT_ALLOWED for what holds no options. */
export function checkOptions(what: string, given: unknown): asserts given is object {
  if (isRecord(given)) return
  const message = `${what} takes an object of options, not ${typeName(given)}`
  throw new StoreError('OPTION_NOT_ALLOWED', message)
}

/**
 * Whether a value is an object of names and values. Promises, maps, dates and the like are none: taken for an
 * object they would count as empty.
 */
export function isRecord(given: unknown): given is Readonly<Record<string, unknown>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false
  if (ArrayBuffer.isView(given)) return false
  return isPlain(given) || Object.keys(given).length > 0
}

/** Whether a value is an object of no class, in whatever realm. */
export function isPlain(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Whether a value has methods, as what implements an interface has. */
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

/** Whether a value is an AbortSignal, or has what one has. */
export function isSignal(given: unknown): given is AbortSignal {
  return hasMethods(given, ['addEventListener', 'removeEventListener'])
}

/** @throws {StoreError} OPTION_NOT_ALLOWED for a value that is no AbortSignal. */
export function checkSignalOption(given: unknown): void {
  if (given === undefined || isSignal(given)) return
  throw optionError('signal', `must be an AbortSignal, not ${typeName(given)}`)
}

export type IntegerRange = Readonly<{ default: number; min: number; max: number }>

/** @throws {StoreError} OPTION_NOT_ALLOWED */
export function integerOption(name: string, value: unknown, range: IntegerRange): number {
  const { default: fallback, min, max } = range
  if (value === undefined) return fallback
  const isInRange = typeof value === 'number' && min <= value && value <= max
  if (isInRange && Number.isInteger(value)) return value
  throw optionError(name, `must be an integer from ${min} to ${max}, not ${shown(value)}`)
}

/**
 * Checks the names of options, and resolves those that are integers.
 * @param what - Whose options they are, for the message.
 * @param others - The names of the options that are no integers; the caller resolves them.
 * @throws {StoreError} OPTION_NOT_ALLOWED
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

/** @throws {StoreError} OPTION_NOT_ALLOWED */
export function booleanOption(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback
  if (typeof value === 'boolean') return value
  throw optionError(name, `must be true or false, not ${shown(value)}`)
}

/**
 * The path under which a handler is mounted: empty, or beginning with a slash and ending without one.
 * @throws {StoreError} OPTION_NOT_ALLOWED
 */
export function basePathOption(value: unknown = ''): string {
  if (typeof value === 'string' && /^(?:\/[^/?#\s]+)*$/.test(value)) return value
  throw optionError('basePath', `must be like "/api/v2", not ${shown(value)}`)
}

/** A path without the base path; empty, which is an unknown path, if it is not below it. */
export function pathBelow(path: string, basePath: string): string {
  return path === basePath || path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : ''
}

/**
 * One of some words, of which the first is the default.
 * @throws {StoreError} OPTION_NOT_ALLOWED
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

/** @throws {StoreError} OPTION_NOT_ALLOWED for what is given and is no function. */
export function checkFunctionOption(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'function') return
  throw optionError(name, `must be a function, not ${shown(value)}`)
}

/** Characters of a text that a message shows. */
const SHOWN_CHARS_MAX = 80

/** A value as a message shows it; what may have no text by its type only. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cutText(value, SHOWN_CHARS_MAX))
  return typeof value === 'object' || typeof value === 'function' ? typeName(value) : String(value)
}

/** The type of a value, as a message names it. */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  const name = typeof value === 'object' ? nameOfTag(tagOf(value)) : typeof value
  if (name === 'Promise') return 'a Promise; an await is missing'
  return /^[aeio]/i.test(name) ? `an ${name}` : `a ${name}`
}

/** Like Map, Date or Uint8Array, whatever realm the value is of. */
export function tagOf(value: object): string {
  try {
    return Object.prototype.toString.call(value).slice('[object '.length, -1)
  } catch {
    return 'Object' // A proxy that was revoked.
  }
}

function nameOfTag(tag: string): string {
  return tag === 'Object' || tag === 'Array' ? tag.toLowerCase() : tag
}
