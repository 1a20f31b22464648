// A directory as the commands that ask a server see it: served to this process alone, without a connection.
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fetchHandler, openStore, type Store, type Team } from '../../src/index.js'
import { NO_BACKGROUND } from '../base/no-background.js'
import { openScratchPorts } from '../directory/scratch-directory.js'
import { systemCode } from '../fs/fs-error.js'
import { openDirectory } from '../open-directory.js'
import type { Asking } from './command-client.js'
import { makeKey } from './key-file.js'
import { ProgramFailure } from './program-failure.js'
import { openAlone, type Wait } from './store-place.js'

/** Nobody connects to it: the host is only a part of URLs. */
const URL_OF_DIRECTORY = 'http://directory.invalid'

/**
 * Serves a directory to a function while it runs: `fetch` answers in this process, so that no bytes pass through a socket.
 * A directory without a store gets one.
 * @throws {ProgramFailure} if somebody else has it open; {StoreError} as `openDirectory`
 */
export async function withServedDirectory<T>(
  directory: string,
  teamOf: (store: Store) => Promise<Team>,
  use: (server: Required<Pick<Asking, 'url' | 'key' | 'fetch'>>) => Promise<T>,
): Promise<T> {
  const open = (wait: Wait) => openDirectory(resolve(directory), { ...NO_BACKGROUND, ...wait })
  return serving(directory, open, teamOf, use)
}

async function serving<T>(
  directory: string,
  open: (wait: Wait) => Promise<Store>,
  teamOf: (store: Store) => Promise<Team>,
  use: (server: Required<Pick<Asking, 'url' | 'key' | 'fetch'>>) => Promise<T>,
): Promise<T> {
  const store = await openAlone(directory, open)
  try {
    const { id: teamId } = await teamOf(store)
    const key = makeKey()
    const handle = fetchHandler(store, { keys: [{ key, teamId }] })
    const answer: typeof fetch = (input, init) => handle(new Request(input, init))
    return await use({ url: URL_OF_DIRECTORY, key, fetch: answer })
  } finally {
    await store.close()
  }
}

/** As `withServedDirectory`, but the directory stays as it is: what is written goes to a folder that is removed. */
export async function withCheckedDirectory<T>(
  directory: string,
  teamOf: (store: Store) => Promise<Team>,
  use: (server: Required<Pick<Asking, 'url' | 'key' | 'fetch'>>) => Promise<T>,
): Promise<T> {
  const path = resolve(directory)
  const isNew = await isMissingOrEmpty(path)
  const folder = await makeFolder(await existingParent(path), isNew)
  try {
    if (isNew) return await withServedDirectory(join(folder, 'store'), teamOf, use)
    return await serving(path, (wait) => openScratch(path, folder, wait), teamOf, use)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Opens the store in a directory, which stays as it is: the objects go to the folder. */
async function openScratch(path: string, folder: string, wait: Wait): Promise<Store> {
  const { kv, objects, close } = await openScratchPorts(path, folder, wait)
  try {
    return await openStore({ ...NO_BACKGROUND, kv, objects, afterClose: close })
  } catch (failure) {
    await close()
    throw failure
  }
}

/**
 * Beside the store, as it holds all rows for a while; but beside one that is there, another user may own the disk.
 * @param isNew - Whether an import would make the store.
 */
async function makeFolder(parent: string, isNew: boolean): Promise<string> {
  try {
    return await mkdtemp(join(parent, PREFIX))
  } catch (cause) {
    if (!isNew) return mkdtemp(join(tmpdir(), PREFIX))
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ProgramFailure('failed', `No store can be made in ${parent}: ${reason}`, { cause })
  }
}

async function isMissingOrEmpty(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).length === 0
  } catch (failure) {
    return isMissing(failure)
  }
}

const PREFIX = '.rowstash-check-'

/** The nearest directory above a path that is there. */
async function existingParent(path: string): Promise<string> {
  const parent = dirname(path)
  try {
    await stat(parent)
    return parent
  } catch (failure) {
    if (!isMissing(failure)) throw failure
    return existingParent(parent)
  }
}

function isMissing(failure: unknown): boolean {
  return systemCode(failure) === 'ENOENT'
}
