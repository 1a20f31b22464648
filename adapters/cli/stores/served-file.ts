// The file with the address of the server that has a directory open, for commands of the same user.
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PRIVATE_FILE } from '../../fs/fs-calls.js'

const SERVED_FILE = 'served'

/** The server's URL on this machine, and its admin key. */
export type Served = Readonly<{ url: string; adminKey: string }>

/** How often a failed write is retried, in milliseconds. */
const RETRY_MS = 10_000

/**
 * Writes the address of a directory's server into it. If that fails, as on a full disk, the server runs anyway and
 * retries until it ends.
 * @param warn - Called once if the first write fails.
 * @returns a function that removes the file. It never fails.
 */
export async function noteServed(
  directory: string,
  served: Served,
  warn: (problem: string) => void,
): Promise<() => Promise<void>> {
  let writing = writeServed(directory, served)
  let retries: NodeJS.Timeout | undefined
  await writing.catch((failure: Error) => {
    warn(
      `verify and backup cannot reach this server until it can write its address: ${failure.message}`,
    )
    retries = setInterval(() => {
      writing = writeServed(directory, served).then(() => clearInterval(retries))
      writing.catch(() => {}) // The next attempt retries.
    }, RETRY_MS).unref()
  })
  return async () => {
    clearInterval(retries)
    await writing.catch(() => {})
    await rm(join(directory, SERVED_FILE), { force: true }).catch(() => {})
  }
}

async function writeServed(directory: string, { url, adminKey }: Served): Promise<void> {
  const path = join(directory, SERVED_FILE)
  await rm(path, { force: true }) // An old file keeps its mode, and may be incomplete.
  await writeFile(path, `${url}\n${adminKey}\n`, { mode: PRIVATE_FILE, flag: 'wx' })
}

/** Reads the file. null: there is none, or a server left a broken one. */
export async function readServed(directory: string): Promise<Served | null> {
  let text: string
  try {
    text = await readFile(join(directory, SERVED_FILE), 'utf8')
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw failure
  }
  const [url = '', adminKey = ''] = text.split('\n')
  return URL.canParse(url) && adminKey !== '' ? { url, adminKey } : null
}
