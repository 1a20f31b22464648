// An operation of a run: it runs on the store, and then the oracle checks its outcome and applies it. Concurrent
// operations are right if they are right in some order.
import { isDeepStrictEqual } from 'node:util'
import { isStoreError } from '../../../src/index.js'
import type { Failure, Limits, Source, State } from './oracle.js'
import type { World } from './world.js'

export type Outcome = Readonly<{ value: unknown }> | Readonly<{ failure: unknown }>

export type OraclePlace = Readonly<{ now: number; limits: Limits }>

/** The row IDs of an operation, and which of them are new since its beginning. */
export type MadeIds = readonly Readonly<{ id: string; isNew: boolean }>[]

export interface Operation {
  /** The call, in words. */
  readonly text: string
  /** The stash whose chunks it uses. */
  readonly stash?: string | undefined
  run(world: World): Promise<unknown>
  /** Changes the oracle's state at an earlier moment than `check`, if the operation has one. */
  begin?(state: State, place: OraclePlace): void
  /**
   * @param chunks - The content of the stash when it was read. Default: its content in `state`.
   * @throws {Mismatch} if the outcome does not follow from the oracle's state
   */
  check(state: State, outcome: Outcome, place: OraclePlace, chunks?: Source): void
}

/** The store did not do what the oracle says. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch'
}

export async function outcomeOf(operation: Operation, world: World): Promise<Outcome> {
  try {
    return { value: await operation.run(world) }
  } catch (failure) {
    return { failure }
  }
}

export function show(value: unknown): string {
  if (value instanceof Error) {
    const { name, message } = value
    const place = isStoreError(value)
      ? JSON.stringify({
          code: value.code,
          row: value.row,
          column: value.column,
          chunk: value.chunk,
        })
      : (value.stack ?? '')
    return `${name}: ${message} ${place}`
  }
  const json = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part))
  return json === undefined ? String(value) : json
}

/** Most characters of a value in a message. */
const SHOWN_CHARS_MAX = 1_500

function cut(text: string): string {
  return text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text
}

export function showOutcome(outcome: Outcome): string {
  return cut('value' in outcome ? show(outcome.value) : show(outcome.failure))
}

/** @throws {Mismatch} unless the operation resolved. @returns its result */
export function expectValue(outcome: Outcome): unknown {
  if ('value' in outcome) return outcome.value
  throw new Mismatch(`it must not fail, but did: ${show(outcome.failure)}`)
}

export function expectEqual(what: string, found: unknown, expected: unknown): void {
  if (isDeepStrictEqual(found, expected)) return
  const [wanted, is] = [show(expected), show(found)]
  const differsAt = wanted.split('').findIndex((char, at) => char !== is[at])
  const from = Math.max(0, differsAt - 100) // A common beginning tells little.
  const shown = [wanted, is].map((text) => cut(`${from > 0 ? '…' : ''}${text.slice(from)}`))
  throw new Mismatch(`${what} must be\n  ${shown.join('\nbut is\n  ')}`)
}

export function expectFailure(outcome: Outcome, expected: Failure): void {
  if ('value' in outcome) {
    throw new Mismatch(`it must fail with ${show(expected)}, but gave ${show(outcome.value)}`)
  }
  const { failure } = outcome
  if (!isStoreError(failure)) throw new Mismatch(`it failed with ${show(failure)}`)
  for (const [part, value] of Object.entries(expected)) {
    if (Reflect.get(failure, part) === value) continue
    throw new Mismatch(`it must fail with ${show(expected)}, but failed with ${show(failure)}`)
  }
  if (expected.chunk === undefined && failure.chunk !== undefined) {
    throw new Mismatch(`the failure names a chunk: ${show(failure)}`)
  }
}
