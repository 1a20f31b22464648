// The file with the address of the server that has a directory open, for commands of the same user.
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PRIVATE_FILE } from '../../fs/fs-calls.js'

const SERVED_FILE = 'served'

/** The URL of the server, as this machine reaches it, and its admin key. */
export type Served = Readonly<{ url: string; adminKey: string }>

/** How often a note that could not be written is tried again, in milliseconds. */
const RETRY_MS = 10_000

/**
 * Notes in a directory how its server is reached. A server that cannot write the note, as when its disk is full, serves
 * all the same, and tries again until it ends.
 * @param warn - Called once if the first write fails.
 * @returns what takes the note back. It never fails.
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
      `verify and backup do not reach this server until it can note its address: ${failure.message}`,
    )
    retries = setInterval(() => {
      writing = writeServed(directory, served).then(() => clearInterval(retries))
      writing.catch(() => {}) // The next one tries again.
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
  await rm(path, { force: true }) // A file of before keeps its mode, and may hold a part.
  await writeFile(path, `${url}\n${adminKey}\n`, { mode: PRIVATE_FILE, flag: 'wx' })
}

/** null: no server said so, or it did not end as it should and took nothing back. */
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
