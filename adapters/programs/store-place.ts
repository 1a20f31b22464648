// The store that a command works on: in a directory, or in PostgreSQL; or the server that has the directory open.
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Store, StoreError, StoreOptions } from '../../src/index.js'
import { isStoreError } from '../../src/index.js'
import { NO_BACKGROUND } from '../base/no-background.js'
import { FORMAT_FILE } from '../directory/directory-format.js'
import { openDirectory } from '../open-directory.js'
import { isReached } from './admin-client.js'
import { openSharedStore, type PostgresPlace } from './postgres-place.js'
import { ProgramFailure } from './program-failure.js'
import { readServed, type Served } from './served-file.js'

/** Where the store of a command is: a directory, or a place in PostgreSQL. */
export type StorePlace = string | PostgresPlace

type Output = Readonly<{ warn(line: string): void }>

/** Opens an existing store; creates none in a directory. @throws {ProgramFailure} */
export async function openStoreOf(
  place: StorePlace,
  { warn }: Output,
  options: StoreOptions = NO_BACKGROUND,
): Promise<Store> {
  if (typeof place !== 'string') {
    return openSharedStore(place, options, { warn: (message) => warn(`rowstash: ${message}`) })
  }
  const path = resolve(place)
  const isThere = await stat(join(path, FORMAT_FILE)).then(
    () => true,
    () => false,
  )
  if (!isThere) throw new ProgramFailure('failed', `There is no store in ${path}`)
  return openDirectory(path, options)
}

/** As `openStoreOf`, for a command that does not work through a server. @throws {ProgramFailure} as `openAlone` */
export function openUnserved(place: StorePlace, output: Output): Promise<Store> {
  return openAlone(place, () => openStoreOf(place, output))
}

/**
 * Opens a store that nobody else may have open. If a server or another process has it, the failure says so, and what to do.
 * @param remedy - What to do if a server has it. Default: how to ask that one.
 * @throws {ProgramFailure}
 */
export async function openAlone(
  place: StorePlace,
  open: () => Promise<Store>,
  remedy?: string,
): Promise<Store> {
  try {
    return await open()
  } catch (failure) {
    if (!isLocked(failure)) throw failure
    const served = await lockingServer(place)
    const problem =
      served === null
        ? `${failure.message}; ${remedy === undefined ? 'if it serves the store over HTTP, use --url; else ' : ''}wait until it has ended, or stop it`
        : `A server at ${served.url} has ${String(place)} open; ${remedy ?? `use --url ${served.url}, and its key with --key or --key-file`}`
    throw new ProgramFailure('failed', problem, { cause: failure })
  }
}

function isLocked(failure: unknown): failure is StoreError {
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
 * Opens a store as `openStoreOf`, or finds the server that has its directory open.
 * @param remedy - What to do if another program has it, besides waiting.
 * @throws {ProgramFailure}
 */
export async function openStoreOrServer(
  place: StorePlace,
  output: Output,
  remedy: string,
  options?: StoreOptions,
): Promise<StoreOrServer> {
  try {
    return { store: await openStoreOf(place, output, options) }
  } catch (failure) {
    if (!isLocked(failure)) throw failure
    const served = await lockingServer(place)
    if (served !== null) return { served }
    const problem = `${failure.message}; wait until it has ended, or ${remedy}`
    throw new ProgramFailure('failed', problem, { cause: failure })
  }
}
