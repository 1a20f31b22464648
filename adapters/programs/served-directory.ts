// A directory as the commands that ask a server see it: served to this process alone, without a connection.
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fetchHandler, type Store, type Team } from '../../src/index.js'
import { systemCode } from '../fs/fs-error.js'
import { openDirectory } from '../open-directory.js'
import type { Asking } from './command-client.js'
import { makeKey } from './key-file.js'
import { ProgramFailure } from './program-failure.js'
import { openAlone, QUIET } from './store-place.js'

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
  const store = await openAlone(directory, () => openDirectory(resolve(directory), QUIET))
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

/** As `withServedDirectory`, but a directory without a store stays as it is: its place is taken by one that is removed. */
export async function withCheckedDirectory<T>(
  directory: string,
  teamOf: (store: Store) => Promise<Team>,
  use: (server: Required<Pick<Asking, 'url' | 'key' | 'fetch'>>) => Promise<T>,
): Promise<T> {
  const path = resolve(directory)
  if (!(await isMissingOrEmpty(path))) return withServedDirectory(path, teamOf, use)
  const folder = await makeFolder(await existingParent(path))
  try {
    return await withServedDirectory(join(folder, 'store'), teamOf, use)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** On the disk that the store would be on: it holds all rows for a while. */
async function makeFolder(parent: string): Promise<string> {
  try {
    return await mkdtemp(join(parent, '.rowstash-check-'))
  } catch (cause) {
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
