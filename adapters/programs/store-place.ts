// The store that a command works on: in a directory, or in PostgreSQL; or the server that has the directory open.
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Store, StoreOptions } from '../../src/index.js'
import { isStoreError } from '../../src/index.js'
import { FORMAT_FILE } from '../directory/directory-format.js'
import { openDirectory } from '../open-directory.js'
import { isReached } from './admin-client.js'
import { openSharedStore, type PostgresPlace } from './postgres-place.js'
import { ProgramFailure } from './program-failure.js'
import { readServed, type Served } from './served-file.js'

/** Options that switch off background work. */
export const QUIET = {
  sweepIntervalMs: 0,
  foldIntervalMs: 0,
  settleIntervalMs: 0,
  fileSweepIntervalMs: 0,
} as const

/** Where the store of a command is: a directory, or a place in PostgreSQL. */
export type StorePlace = string | PostgresPlace

type Output = Readonly<{ warn(line: string): void }>

/** Opens an existing store; creates none in a directory. @throws {ProgramFailure} */
export async function openStoreOf(
  place: StorePlace,
  { warn }: Output,
  options: StoreOptions = QUIET,
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

/**
 * As `openStoreOf`, for a command that does not work through a server. If one has the directory open, the failure says
 * how to ask it.
 * @throws {ProgramFailure}
 */
export async function openUnserved(place: StorePlace, output: Output): Promise<Store> {
  const opened = await openStoreOrServer(place, output)
  if ('store' in opened) return opened.store
  const problem = `A server has ${String(place)} open, at ${opened.served.url}`
  throw new ProgramFailure(
    'failed',
    `${problem}; give --url ${opened.served.url} and its key by --key or --key-file`,
  )
}

/** A store, or the server that has it open. */
export type StoreOrServer = Readonly<{ store: Store }> | Readonly<{ served: Served }>

/** Opens a store as `openStoreOf`, or finds the server that has its directory open. @throws {ProgramFailure} */
export async function openStoreOrServer(
  place: StorePlace,
  output: Output,
  options?: StoreOptions,
): Promise<StoreOrServer> {
  try {
    return { store: await openStoreOf(place, output, options) }
  } catch (failure) {
    const isLocked = isStoreError(failure) && failure.code === 'STORE_LOCKED'
    const served = isLocked && typeof place === 'string' ? await readServed(resolve(place)) : null
    if (served === null || !(await isReached(served))) throw failure
    return { served }
  }
}
