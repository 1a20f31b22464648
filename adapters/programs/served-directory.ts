// A directory as the commands that ask a server see it: served to this process alone, without a connection.
import { resolve } from 'node:path'
import { fetchHandler, type Store, type Team } from '../../src/index.js'
import { openDirectory } from '../open-directory.js'
import type { Asking } from './command-client.js'
import { makeKey } from './key-file.js'
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
