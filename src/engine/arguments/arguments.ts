// Checks the arguments that callers of the library pass: objects with known properties, and known words.

import { bytesOf } from '../../base/bytes.js'
import { NAME_CHARS_MAX } from '../../base/limits.js'
import { didYouMean } from '../../base/nearest-word.js'
import { hasMethods, isRecord, isSignal, optionError, shown, typeName } from '../../base/options.js'
import { either } from '../../base/shown-text.js'
import { SOURCE_FORMATS } from '../../base/source-format.js'
import { invalidArgument } from '../../base/store-error.js'
import { isWellFormed } from '../../base/well-formed.js'
import type { NumberForm } from '../../schema/parse-rendered.js'
import type { Authored } from '../types/call-types.js'
import type { ReadOptions } from '../types/read-types.js'
import type { OnSchemaError, RowsFormat } from '../types/row-types.js'
import type { PieceRequest } from '../types/store-types.js'

/** @throws {StoreError} OPTION_NOT_ALLOWED if the arguments are not a key-value store and an object store. */
export function checkPorts(kv: unknown, objects: unknown): void {
  checkKv(kv)
  if (!hasMethods(objects, ['put', 'get', 'stream', 'delete', 'list', 'close'])) {
    const message = `must be an ObjectStore, such as memoryObjects returns, not ${typeName(objects)}`
    throw optionError('objects', message)
  }
}

/** @throws {StoreError} OPTION_NOT_ALLOWED */
export function checkKv(kv: unknown): void {
  if (hasMethods(kv, ['partition', 'close'])) return
  throw optionError('kv', `must be a KvStore, such as openLevelKv resolves to, not ${typeName(kv)}`)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR for anything but an object with known properties. */
export function checkArguments(what: string, given: unknown, known: readonly string[]): void {
  if (!isRecord(given)) throw invalidArgument(`${what} takes an object, not ${typeName(given)}`)
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue
    const meant = didYouMean(name, known)
    throw invalidArgument(`${what} takes no "${name}"; it takes ${known.join(', ')}${meant}`)
  }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkText(what: string, given: unknown): string {
  if (typeof given === 'string') return given
  throw invalidArgument(`${what} must be a string, not ${typeName(given)}`)
}

/**
 * Checks that a value is one of several words. The first word is the default.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function checkChoice<Choice extends string>(
  name: string,
  given: unknown,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  const choice = given === undefined ? choices[0] : choices.find((known) => known === given)
  if (choice !== undefined) return choice
  throw invalidArgument(`${name} must be ${either(choices)}, not ${shown(given)}`)
}

export const ON_SCHEMA_ERROR = ['abort', 'dropColumns', 'updateSchema'] as const

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkOnSchemaError(given: unknown): OnSchemaError {
  return checkChoice('onSchemaError', given, ON_SCHEMA_ERROR)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkRowsFormat(given: unknown): RowsFormat | undefined {
  const format = SOURCE_FORMATS.find((known) => known === given)
  if (given === undefined || format !== undefined) return format
  throw invalidArgument(`format must be ${SOURCE_FORMATS.join(', ')}, not ${shown(given)}`)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkReadOptions(what: string, given: ReadOptions | undefined): NumberForm {
  if (given === undefined) return 'number'
  checkArguments(what, given, ['numbers'])
  return checkNumbers(given.numbers)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkNumbers(given: unknown): NumberForm {
  return checkChoice('numbers', given, ['number', 'bigint', 'text'])
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkMemory(given: unknown): void {
  if (given === undefined || bytesOf(given) !== undefined) return
  throw invalidArgument(`memory must be a Uint8Array, not ${shown(given)}`)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkReserve(given: unknown): void {
  if (given === undefined || typeof given === 'function') return
  throw invalidArgument(`reserve must be a function, not ${typeName(given)}`)
}

const PIECE_BYTES_MIN = 1_024

/** Number of copies of a piece in memory: its stored bytes, its rows and its JSON. */
const PIECE_COPIES = 3

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkPiece(given: PieceRequest): void {
  checkArguments('piece', given, ['start', 'bytes', 'memoryBytes', 'memory'])
  checkMemory(given.memory)
  const { bytes, memoryBytes } = given
  if (!Number.isInteger(bytes) || bytes < PIECE_BYTES_MIN) {
    throw invalidArgument(
      `bytes must be an integer of at least ${PIECE_BYTES_MIN}, not ${shown(bytes)}`,
    )
  }
  if (!Number.isInteger(memoryBytes) || memoryBytes < PIECE_COPIES * bytes) {
    throw invalidArgument(`memoryBytes must be an integer of at least ${PIECE_COPIES} times bytes`)
  }
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkFlag(name: string, given: unknown): boolean {
  if (given === undefined || typeof given === 'boolean') return given ?? false
  throw invalidArgument(`${name} must be true or false, not ${shown(given)}`)
}

/** The arguments that `checkAuthored` checks. */
export const AUTHORED = ['author', 'note'] as const

const AUTHORED_CHARS_MAX = { author: 256, note: 1_000 } as const

/** @returns undefined: the call names neither an author nor a note. @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkAuthored(given: Authored | undefined): Authored | undefined {
  const author = checkWords('author', given?.author)
  const note = checkWords('note', given?.note)
  return author === undefined && note === undefined ? undefined : { author, note }
}

function checkWords(name: 'author' | 'note', given: unknown): string | undefined {
  if (given === undefined) return undefined
  const max = AUTHORED_CHARS_MAX[name]
  const isShort = typeof given === 'string' && given.length > 0 && given.length <= max
  if (isShort && isWellFormed(given)) return given
  throw invalidArgument(`${name} must be a string of 1 to ${max} characters`)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkVersion(given: unknown, name = 'version'): void {
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 1) return
  throw invalidArgument(`${name} must be a positive integer, not ${shown(given)}`)
}

/**
 * Checks a version after which a feed begins. 0 is before the first version.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
export function checkSince(given: unknown): void {
  if (given !== 0) checkVersion(given, 'since')
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkSignal(given: unknown): AbortSignal | undefined {
  if (given === undefined || isSignal(given)) return given
  throw invalidArgument(`signal must be an AbortSignal, not ${shown(given)}`)
}

/** Checks a table or row version: a non-negative integer, as a number or bigint. */
export function checkIfMatchArgument(given: unknown): number | bigint | undefined {
  if (given === undefined) return undefined
  if (typeof given === 'bigint' && given >= 0n) return given
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return given
  throw invalidArgument(`ifMatch must be a version, not ${shown(given)}`)
}

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,64}$/

/** The rule that `isIdempotencyKey` checks, as a regular expression. */
export const IDEMPOTENCY_KEY_PATTERN = IDEMPOTENCY_KEY.source

/** The rule that `isIdempotencyKey` checks, for messages. */
export const IDEMPOTENCY_KEY_RULE = '1 to 64 printable ASCII characters'

export function isIdempotencyKey(given: unknown): given is string {
  return typeof given === 'string' && IDEMPOTENCY_KEY.test(given)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkIdempotencyKey(given: unknown): string | undefined {
  if (given === undefined) return undefined
  if (isIdempotencyKey(given)) return given
  throw invalidArgument(`idempotencyKey must be a string of ${IDEMPOTENCY_KEY_RULE}`)
}

const DIGEST_BYTES = 32

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkRequestDigest(given: unknown): Uint8Array | undefined {
  if (given === undefined) return undefined
  const digest = bytesOf(given)
  if (digest?.length === DIGEST_BYTES) return digest
  throw invalidArgument(`requestDigest must be a Uint8Array of ${DIGEST_BYTES} bytes`)
}

/** The problem of a table name; undefined: the name is valid. */
export function tableNameProblem(name: unknown): string | undefined {
  const isName = typeof name === 'string' && name.length > 0 && name.length <= NAME_CHARS_MAX
  if (isName && isWellFormed(name)) return undefined
  return `name must be a string of 1 to ${NAME_CHARS_MAX} characters`
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkTableName(name: unknown): asserts name is string {
  const problem = tableNameProblem(name)
  if (problem !== undefined) throw invalidArgument(problem)
}

const STASH_NAME = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,255}$/

/** The rule of stash IDs and serials, as a regular expression. */
export const STASH_NAME_PATTERN = STASH_NAME.source

const STASH_NAME_RULE =
  'must be 256 characters max, alphanumeric with dashes and underscores, no leading dash or underscore'

type StashNameKind = 'Stash ID' | 'Serial'

/** The problem of a stash ID or a serial, in terms of the HTTP contract; undefined: the name is valid. */
export function stashNameProblem(kind: StashNameKind, name: unknown): string | undefined {
  if (typeof name === 'string' && STASH_NAME.test(name)) return undefined
  return `${kind} ${STASH_NAME_RULE}`
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkStashName(kind: StashNameKind, name: unknown): asserts name is string {
  const problem = stashNameProblem(kind, name)
  if (problem !== undefined) throw invalidArgument(problem)
}

/** The serial of a chunk. A number stands for its decimal digits. @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkSerial(given: unknown): string {
  if (typeof given === 'number') {
    if (Number.isSafeInteger(given) && given >= 0) return String(given)
    throw invalidArgument(
      `Serial must be a string, or a whole number from 0 to 2^53 - 1, not ${given}`,
    )
  }
  checkStashName('Serial', given)
  return given
}

const TEAM_ID_CHARS_MAX = 128

/** The rule that `isTeamId` checks, for messages. */
export const TEAM_ID_RULE = `a string of 1 to ${TEAM_ID_CHARS_MAX} UTF-16 units of well-formed text`

/** Whether a text is a team ID. The text must be well-formed, because it becomes part of the keys in the database. */
export function isTeamId(teamId: unknown): teamId is string {
  const isId = typeof teamId === 'string' && teamId.length > 0 && teamId.length <= TEAM_ID_CHARS_MAX
  return isId && isWellFormed(teamId)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkTeamId(teamId: unknown): asserts teamId is string {
  if (!isTeamId(teamId)) throw invalidArgument(`A team ID must be ${TEAM_ID_RULE}`)
}
