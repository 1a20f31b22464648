// A directory with tables, shown by `rowstash open` in this process.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runOpen } from '../../adapters/cli/commands/open.js'
import { openDirectory } from '../../adapters/node.js'
import type { Store } from '../../src/index.js'

export type OpenedStore = Readonly<{
  /** The printed address, with its token. */
  address: string
  /** The address without the token. */
  origin: string
  token: string
  close(): Promise<void>
}>

/** Runs `rowstash open` on a directory. */
export async function openDirectoryPage(
  directory: string,
  ...args: readonly string[]
): Promise<OpenedStore> {
  const ending = new AbortController()
  let ended: Promise<void> = Promise.resolve()
  const address = await new Promise<string>((resolve, reject) => {
    const io = {
      print: (line: string) => resolve(line.replace(/^open /, '')),
      warn: () => undefined,
      env: {},
      signal: ending.signal,
    }
    ended = runOpen([directory, ...args], io)
    ended.catch(reject)
  })
  const close = async (): Promise<void> => {
    ending.abort()
    await ended
  }
  const { origin, hash } = new URL(address)
  return { address, origin, token: hash.replace('#token=', ''), close }
}

/** `made` is the result of the function that filled the store. */
export type MadeDirectory<T> = Readonly<{ path: string; made: T; remove(): Promise<void> }>

/** A directory whose store a function has filled. */
export async function makeDirectory<T>(
  fillStore: (store: Store) => Promise<T>,
): Promise<MadeDirectory<T>> {
  const folder = await mkdtemp(join(tmpdir(), 'rowstash-page-'))
  const path = join(folder, 'shop')
  const store = await openDirectory(path)
  const made = await fillStore(store)
  await store.close()
  return { path, made, remove: () => rm(folder, { recursive: true }) }
}
