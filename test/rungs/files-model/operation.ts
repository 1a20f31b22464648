// An operation of a run: it runs on a store, then the oracle checks its outcome and applies it.
import { createHash } from 'node:crypto'
import { isStoreError, type StoredFile, type StoreErrorCode } from '../../../src/index.js'
import { Mismatch, type Outcome, show } from '../model/operation.js'
import type { Oracle } from './oracle.js'
import type { World } from './world.js'

export type Place = Readonly<{
  oracle: Oracle
  now: number
  /** Whether a garbage collection runs during the operation. */
  isMaintained: boolean
}>

export interface Operation {
  readonly text: string
  /** The things that it works on. Operations without common places may run concurrently, with the same result. */
  readonly places: readonly string[]
  /** What a refusal must leave: `records`: no record; `nothing`: also no object. */
  readonly refused: 'nothing' | 'records' | 'never'
  /** Whether it reads segments, which a garbage collection without grace may delete meanwhile. */
  readonly readsRows: boolean
  run(world: World, instance: number): Promise<unknown>
  /** @throws {Mismatch} if the outcome is not the oracle's */
  settle(outcome: Outcome, place: Place): void
  /** The store crashed during it: finds out what has happened, or does something that makes it certain. */
  recover(world: World, instance: number, place: Place): Promise<void>
}

export async function outcomeOf(run: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await run() }
  } catch (failure) {
    return { failure }
  }
}

export function codeOf(outcome: Outcome): StoreErrorCode | null {
  if ('value' in outcome || !isStoreError(outcome.failure)) return null
  return outcome.failure.code
}

/** @returns the code of its failure */
export function expectCode(outcome: Outcome, ...codes: readonly StoreErrorCode[]): StoreErrorCode {
  const code = codeOf(outcome)
  if (code !== null && codes.includes(code)) return code
  throw new Mismatch(`it must fail with ${codes.join(' or ')}, but ${tell(outcome)}`)
}

export function expectDone(outcome: Outcome): unknown {
  if ('value' in outcome) return outcome.value
  throw new Mismatch(`it must not fail, but ${tell(outcome)}`)
}

function tell(outcome: Outcome): string {
  return 'value' in outcome ? `gave ${show(outcome.value)}` : `failed: ${show(outcome.failure)}`
}

export function check(holds: boolean, problem: () => string): void {
  if (!holds) throw new Mismatch(problem())
}

/** A file that an operation returned must have one of these contents. @returns which */
export function expectContent(stored: StoredFile, contents: readonly string[]): string {
  const content = contents.find((text) => isStoredAs(stored, text))
  if (content !== undefined) return content
  throw new Mismatch(`${show(stored)} must hold one of ${show(contents)}`)
}

export function isStoredAs({ bytes, sha256 }: StoredFile, content: string): boolean {
  return bytes === content.length && sha256 === sha256Of(content)
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The result of an operation that returns a file. */
export function fileOf(outcome: Outcome): StoredFile {
  return expectDone(outcome) as StoredFile
}
