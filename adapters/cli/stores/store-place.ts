// The store of a command: in a directory or in PostgreSQL, or the server that has the directory open.
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Store, StoreError, StoreOptions } from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import { integerOption } from '../../base/arguments.js'
import { FORMAT_FILE } from '../../directory/directory-format.js'
import { type DirectoryOptions, openDirectory } from '../../open-directory.js'
import { ProgramFailure } from '../command/program-failure.js'
import { isReached } from './admin-client.js'
import { openSharedStore, type PostgresPlace } from './postgres-place.js'
import { readServed, type Served } from './served-file.js'

/** The default exceeds the time after which an owner in another container counts as gone. */
const WAIT_RANGE = { default: 10_000, min: 0, max: 3_600_000 } as const

/** How long a command waits for a directory that another process has open, in milliseconds. @throws {StoreError} */
export function commandWaitMs(): number {
  const given = process.env['ROWSTASH_WAIT_MS'] || undefined
  return integerOption('ROWSTASH_WAIT_MS', given && Number(given), WAIT_RANGE)
}

/** The place of a store: a directory, or a place in PostgreSQL. */
export type StorePlace = string | PostgresPlace

export type Output = Readonly<{ warn(line: string): void }>

/** `hint`: what the message that a directory contains no store adds to its path. */
type Hint = Readonly<{ hint?: string }>

/** Opens a store. In a directory it must exist; in PostgreSQL, a missing one is created. @throws {ProgramFailure} */
export async function openExistingStore(
  place: StorePlace,
  { warn }: Output,
  { waitMs, hint = '', ...options }: StoreOptions & Wait & Hint = { maintenance: false },
): Promise<Store> {
  if (typeof place !== 'string') {
    return openSharedStore(place, options, { warn: (message) => warn(`rowstash: ${message}`) })
  }
  const path = resolve(place)
  const isThere = await stat(join(path, FORMAT_FILE)).then(
    () => true,
    () => false,
  )
  if (!isThere) throw new ProgramFailure('failed', `There is no store in ${path}${hint}`)
  return openDirectory(path, { ...options, waitMs })
}

/** Opens a store for a command that cannot work through a server. @throws {ProgramFailure} */
export function openUnserved(place: StorePlace, output: Output): Promise<Store> {
  return openAlone(place, output, (wait) =>
    openExistingStore(place, output, { maintenance: false, ...wait }),
  )
}

/**
 * Opens a store. If another process has its directory open, the failure says so, with advice.
 * @param remedy - Advice if a server has it open. Default: how to use the server.
 * @throws {ProgramFailure}
 */
export async function openAlone(
  place: StorePlace,
  output: Output,
  open: (wait: Wait) => Promise<Store>,
  remedy?: string,
): Promise<Store> {
  const hint = remedy === undefined ? 'if it serves the store over HTTP, use --url; else ' : ''
  const opened = await openOrFind(place, output, open, `${hint}wait until it has ended, or stop it`)
  if ('store' in opened) return opened.store
  const { served, failure } = opened
  const advice = remedy ?? `use --url ${served.url}, and its key with --key or --key-file`
  const problem = `A server at ${served.url} has ${String(place)} open; ${advice}`
  throw new ProgramFailure('failed', problem, { cause: failure })
}

export type Wait = Pick<DirectoryOptions, 'waitMs'>

/** Opens a store, or finds the server that has its directory open. Announces if it waits for another program. */
async function openOrFind(
  place: StorePlace,
  { warn }: Output,
  open: (wait: Wait) => Promise<Store>,
  advice: string,
): Promise<Readonly<{ store: Store }> | Readonly<{ served: Served; failure: StoreError }>> {
  try {
    return { store: await open({}) }
  } catch (failure) {
    if (!isLockedError(failure)) throw failure
    const served = await lockingServer(place)
    if (served !== null) return { served, failure }
  }
  const waitMs = commandWaitMs()
  if (waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1_000)
    warn(`waiting for ${String(place)}, which another process has open, up to ${seconds} s`)
  }
  try {
    return { store: await open({ waitMs }) }
  } catch (failure) {
    if (!isLockedError(failure)) throw failure
    throw new ProgramFailure('failed', `${failure.message}; ${advice}`, { cause: failure })
  }
}

function isLockedError(failure: unknown): failure is StoreError {
  return isStoreError(failure) && failure.code === 'STORE_LOCKED'
}

/** The server that has a directory open; null: no server answers. */
async function lockingServer(place: StorePlace): Promise<Served | null> {
  if (typeof place !== 'string') return null
  const served = await readServed(resolve(place))
  return served !== null && (await isReached(served)) ? served : null
}

/** A store, or the server that has it open. */
export type StoreOrServer = Readonly<{ store: Store }> | Readonly<{ served: Served }>

/**
 * Opens a store, or finds the server that has its directory open.
 * @param remedy - Advice besides waiting if another program has it open.
 * @param open - Default: opens an existing store.
 * @throws {ProgramFailure}
 */
export async function openStoreOrServer(
  place: StorePlace,
  output: Output,
  remedy: string,
  open: (wait: Wait) => Promise<Store> = (wait) =>
    openExistingStore(place, output, { maintenance: false, ...wait }),
): Promise<StoreOrServer> {
  return openOrFind(place, output, open, `wait until it has ended, or ${remedy}`)
}
