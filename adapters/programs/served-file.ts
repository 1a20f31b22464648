// Where a server that has a directory open tells commands of the same user how to reach it.
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PRIVATE_FILE } from '../fs/fs-calls.js'

const SERVED_FILE = 'served'

/** The URL of the server, as this machine reaches it, and its admin key. */
export type Served = Readonly<{ url: string; adminKey: string }>

export async function writeServed(directory: string, { url, adminKey }: Served): Promise<void> {
  const path = join(directory, SERVED_FILE)
  await rm(path, { force: true }) // A file of before keeps its mode.
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

export async function removeServed(directory: string): Promise<void> {
  await rm(join(directory, SERVED_FILE), { force: true })
}
