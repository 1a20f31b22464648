// API keys of the commands: given keys, and the key of a directory served without one, which is generated once and kept
// next to the store's files.
//
// Invariant: a key is read only from a file that other users cannot read.
import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryPath } from '../../directory/leftovers.js'
import { ProgramFailure } from '../command/program-failure.js'

const KEY_FILE = 'key'
const KEY_PATTERN = /^[\x21-\x7e]{16,1024}$/

/** A larger file is not a file of keys. */
const KEY_FILE_BYTES_MAX = 64 * 1024

/** The variable with the key, if the command line gives none. */
export const KEY_VARIABLE = 'ROWSTASH_KEY'

const GIVEN_KEY_PATTERN = /^(?!(?:null|undefined)$)[\x21-\x7e]{1,1024}$/

/**
 * Checks a key before its use: an empty one would let nobody in, or everybody.
 * @param source - `--key`, KEY_VARIABLE or the path of a file, for the message, which does not show the key.
 * @throws {ProgramFailure}
 */
export function checkGivenKey(source: string, key: string): void {
  if (GIVEN_KEY_PATTERN.test(key)) return
  const name = source === KEY_VARIABLE ? `The environment variable ${source}` : source
  if (key === '') throw new ProgramFailure('usage', `${name} is empty; set a key, or leave it out`)
  const isMissing = key === 'null' || key === 'undefined'
  const problem = isMissing ? `is the string "${key}"` : 'is not a key'
  throw new ProgramFailure(
    'usage',
    `${name} ${problem}: a key is 1 to 1,024 visible ASCII characters`,
  )
}

/** 192 random bits: unguessable. */
export function makeKey(): string {
  return `rs_${randomBytes(24).toString('base64url')}`
}

export type KeptKey = Readonly<{ key: string; path: string; isNew: boolean }>

/** Reads the key of a directory, or makes it. Not safe against concurrent starts on the directory. */
export async function readOrMakeKey(directory: string): Promise<KeptKey> {
  const path = join(directory, KEY_FILE)
  const kept = await readServerKey(path)
  if (kept !== null) return { key: kept, path, isNew: false }
  const key = makeKey()
  await writeKey(path, key).catch((failure: Error) => {
    const problem = `The key file ${path} cannot be written: ${failure.message}`
    throw new ProgramFailure('failed', `${problem}; pass a key by ${KEY_VARIABLE}`, {
      cause: failure,
    })
  })
  return { key, path, isNew: true }
}

async function readServerKey(path: string): Promise<string | null> {
  const text = await readSecret(path)
  if (text === null) return null
  const key = text.trim()
  if (KEY_PATTERN.test(key)) return key
  throw new ProgramFailure('failed', `The file ${path} has no key; delete it to have one generated`)
}

/** Reads a file of keys, one per line. @throws {ProgramFailure} if there are none. */
export async function readKeyFile(path: string): Promise<readonly string[]> {
  const text = await readSecret(path)
  if (text === null) throw new ProgramFailure('failed', `There is no key file ${path}`)
  const lines = text.split('\n').map((line) => line.trim())
  const keys = lines.filter((line) => line !== '')
  if (keys.length > 0) return keys
  throw new ProgramFailure('failed', `The key file ${path} is empty`)
}

/** Reads a file that only its owner can read; null: there is none. */
async function readSecret(path: string): Promise<string | null> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw unreadable(path, failure)
  }
  try {
    if (othersCanRead(await file.stat())) {
      throw new ProgramFailure(
        'failed',
        `Other users can read the key file ${path}; run: chmod 600 ${path}`,
      )
    }
    return await readKeyText(path, file)
  } finally {
    await file.close()
  }
}

/**
 * Whether users other than the owner can read a file. A group may read a file of root: systemd and Kubernetes hand
 * secrets to a service in that way. Windows has no such modes.
 */
function othersCanRead({ mode, uid }: Stats): boolean {
  if (process.platform === 'win32') return false
  return (mode & (uid === 0 ? 0o004 : 0o044)) !== 0
}

async function readKeyText(path: string, file: FileHandle): Promise<string> {
  const bytes = Buffer.alloc(KEY_FILE_BYTES_MAX + 1)
  let length = 0
  try {
    for (let read = -1; read !== 0 && length < bytes.length; length += read) {
      read = (await file.read(bytes, length, bytes.length - length)).bytesRead
    }
  } catch (failure) {
    throw unreadable(path, failure)
  }
  if (length <= KEY_FILE_BYTES_MAX) return bytes.toString('utf8', 0, length)
  throw new ProgramFailure(
    'failed',
    `The key file ${path} has more than ${KEY_FILE_BYTES_MAX} bytes`,
  )
}

function unreadable(path: string, failure: unknown): ProgramFailure {
  const reason = failure instanceof Error ? failure.message : String(failure)
  return new ProgramFailure('failed', `The key file ${path} cannot be read: ${reason}`, {
    cause: failure,
  })
}

/** Writes under a temporary name first, so that a crash leaves the whole key or none. */
async function writeKey(path: string, key: string): Promise<void> {
  const temporary = temporaryPath(path)
  try {
    await writeFile(temporary, `${key}\n`, { mode: 0o600, flag: 'wx', flush: true })
    await rename(temporary, path)
  } catch (failure) {
    await rm(temporary, { force: true })
    throw failure
  }
}
