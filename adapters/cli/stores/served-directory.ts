// A directory as the commands that ask a server see it: served to this process alone, without a connection.
import { readdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fetchHandler, openMemory, type Store, type Team } from '../../../src/index.js'
import { systemCode } from '../../fs/fs-error.js'
import { openDirectory } from '../../open-directory.js'
import { makeKey } from '../server/key-file.js'
import type { Asking } from './command-client.js'
import { type Output, openAlone, type Wait } from './store-place.js'

type DirectoryServer = Required<Pick<Asking, 'url' | 'key' | 'fetch'>>

/** Nobody connects to it: the host is only a part of URLs. */
const URL_OF_DIRECTORY = 'http://directory.invalid'

/**
 * Serves a directory to a function while it runs: `fetch` answers in this process, so that no bytes pass through a
 * socket. A directory without a store gets one.
 * @throws {ProgramFailure} if somebody else has it open; {StoreError} as `openDirectory`
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

/** As `withServedDirectory`, for a check: a directory without a store stays as it is, and a store in memory is served. */
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
