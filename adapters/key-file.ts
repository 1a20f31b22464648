// API keys of the commands: those that are given, and the one of a directory that was started without any, which
// is made once and kept beside the store's files.
import { randomBytes } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandFailure } from './cli-failure.js'

const KEY_FILE = 'key'
const KEY_PATTERN = /^[\x21-\x7e]{16,1024}$/

/** Where the commands look for a key that the command line does not give. */
export const KEY_VARIABLE = 'ROWSTASH_KEY'

const GIVEN_KEY_PATTERN = /^(?!(?:null|undefined)$)[\x21-\x7e]{1,1024}$/

/**
 * Checks a key before anything is done with it: one that is missing would let nobody in, or everybody.
 * @param source - Where it comes from, for the message, which does not show it.
 * @throws {CommandFailure}
 */
export function checkKey(source: '--key' | typeof KEY_VARIABLE, key: string): void {
  if (GIVEN_KEY_PATTERN.test(key)) return
  const name = source === '--key' ? source : `The environment variable ${source}`
  if (key === '') throw new CommandFailure(2, `${name} is empty; give a key or leave it out`)
  const isMissing = key === 'null' || key === 'undefined'
  const problem = isMissing ? `is the text "${key}"` : 'is no key'
  throw new CommandFailure(2, `${name} ${problem}: 1 to 1,024 visible ASCII characters are wanted`)
}

/** 192 random bits, more than anyone can guess. */
export function makeKey(): string {
  return `rs_${randomBytes(24).toString('base64url')}`
}

export type KeptKey = Readonly<{ key: string; path: string; isNew: boolean }>

/** Reads the key of a directory, or makes it. Nobody else may be starting on the directory meanwhile. */
export async function readOrMakeKey(directory: string): Promise<KeptKey> {
  const path = join(directory, KEY_FILE)
  const kept = await readKey(path)
  if (kept !== null) return { key: kept, path, isNew: false }
  const key = makeKey()
  await writeKey(path, key)
  return { key, path, isNew: true }
}

async function readKey(path: string): Promise<string | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new CommandFailure(1, `The key file ${path} cannot be read`, { cause: failure })
  }
  const key = text.trim()
  if (KEY_PATTERN.test(key)) return key
  throw new CommandFailure(1, `The file ${path} holds no key; delete it to have one made`)
}

/** Under a temporary name first, so that a crash leaves a whole key or none. */
async function writeKey(path: string, key: string): Promise<void> {
  const temporary = `${path}.tmp`
  await rm(temporary, { force: true })
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(`${key}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}
