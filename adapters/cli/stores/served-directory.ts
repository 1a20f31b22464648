// Serves a directory within this process, for commands that use a server.
import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fetchHandler, openMemory, type Store, type Team } from '../../../src/index.js'
import { systemCode } from '../../fs/fs-error.js'
import { openDirectory } from '../../open-directory.js'
import { makeKey } from '../server/key-file.js'
import type { Asking } from './command-client.js'
import { type Output, openAlone, type Wait } from './store-place.js'

type DirectoryServer = Required<Pick<Asking, 'url' | 'key' | 'fetch'>>

/** No connection is made: the host is only part of URLs. */
const URL_OF_DIRECTORY = 'http://directory.invalid'

/**
 * Serves a directory while a function runs. `fetch` answers in this process, without a socket. Creates a store if there
 * is none.
 * @throws {ProgramFailure} if another process has it open; {StoreError} of `openDirectory`
 */
export async function withServedDirectory<T>(
  directory: string,
  output: Output,
  teamOf: (store: Store) => Promise<Team>,
  use: (server: DirectoryServer, team: Team) => Promise<T>,
): Promise<T> {
  const open = (wait: Wait) => openDirectory(resolve(directory), { maintenance: false, ...wait })
  return serving(directory, output, open, teamOf, use)
}

async function serving<T>(
  directory: string,
  output: Output,
  open: (wait: Wait) => Promise<Store>,
  teamOf: (store: Store) => Promise<Team>,
  use: (server: DirectoryServer, team: Team) => Promise<T>,
): Promise<T> {
  const store = await openAlone(directory, output, open)
  try {
    const team = await teamOf(store)
    const key = makeKey()
    const handle = fetchHandler(store, { keys: [{ key, teamId: team.id }] })
    const answer: typeof fetch = (input, init) => handle(new Request(input, init))
    return await use({ url: URL_OF_DIRECTORY, key, fetch: answer }, team)
  } finally {
    await store.close()
  }
}

/** Serves a directory for a check. A directory without a store is not changed: a store in memory is served instead. */
export async function withCheckedDirectory<T>(
  directory: string,
  output: Output,
  teamOf: (store: Store) => Promise<Team>,
  use: (server: DirectoryServer, team: Team) => Promise<T>,
): Promise<T> {
  if (!(await isMissingOrEmpty(directory)))
    return withServedDirectory(directory, output, teamOf, use)
  return serving(directory, output, () => openMemory({ maintenance: false }), teamOf, use)
}

async function isMissingOrEmpty(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).length === 0
  } catch (failure) {
    return systemCode(failure) === 'ENOENT'
  }
}
