// The FORMAT file, which identifies the directory of a store.
//
//     format_file :=
//       "rowstash store\n"
//       "format: " digits "\n"                  // number of the byte format, 1
//       [ "requires: " name *( " " name ) "\n" ] // features that a reader must know
//       "created-by: rowstash " version "\n"    // for people; nothing depends on it
//       "store: " hex[32] "\n"                  // random name of this store
//
// A store of another format keeps the first two lines, so that its number can be read.
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { StoreError } from '../../src/base/store-error.js'
import { PRIVATE_FILE } from '../fs/fs-calls.js'
import { syncDirectory } from '../fs/fs-folders.js'

export const FORMAT_FILE = 'FORMAT'

/** Version of this package, as in package.json. */
export const PACKAGE_VERSION = '0.1.0'

const FORMAT_NUMBER = 1
const FORMAT_BYTES_MAX = 1_024
const HEAD_PATTERN = /^rowstash store\nformat: (0|[1-9][0-9]{0,8})\n/
/** Features that earlier versions would misread. The names are on disk: never change or reuse one. */
const FEATURES: readonly string[] = ['table-life', 'keys', 'shared-objects']

/** The line with the names of features that a reader must know. */
const REQUIRES_PATTERN = /^requires: ([a-z0-9-]{1,64}(?: [a-z0-9-]{1,64}){0,15})\n/
const REST_PATTERN = /^created-by: rowstash [0-9A-Za-z.+-]{1,64}\nstore: ([0-9a-f]{32})\n$/

/** @param store - The store's name: 32 lower-case hex digits. */
export function renderFormatFile(store: string): string {
  return [
    'rowstash store',
    `format: ${FORMAT_NUMBER}`,
    `requires: ${FEATURES.join(' ')}`,
    `created-by: rowstash ${PACKAGE_VERSION}`,
    `store: ${store}\n`,
  ].join('\n')
}

/**
 * Reads the FORMAT file of a directory.
 * @returns the store's random name.
 * @throws {StoreError} FORMAT_UNKNOWN
 */
export async function readFormatFile(directory: string): Promise<string> {
  const path = join(directory, FORMAT_FILE)
  return parseFormatFile(await readFormatText(path), path)
}

/**
 * Adds the features of this version to a FORMAT file that lacks some, so that earlier versions reject the store from
 * now on. The caller holds the store's lock.
 */
export async function addFeatures(directory: string): Promise<void> {
  const path = join(directory, FORMAT_FILE)
  const text = await readFormatText(path)
  const required = requiredOf(text)
  if (FEATURES.every((name) => required.includes(name))) return
  const temporary = `${path}.tmp`
  const file = await open(temporary, 'w', PRIVATE_FILE)
  try {
    await file.writeFile(withFeatures(text))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  await syncDirectory(directory)
}

/** The text of a FORMAT file, extended by all features of this version. */
function withFeatures(text: string): string {
  const [head = ''] = HEAD_PATTERN.exec(text) ?? []
  const rest = text.slice(head.length).replace(REQUIRES_PATTERN, '')
  return `${head}requires: ${FEATURES.join(' ')}\n${rest}`
}

async function readFormatText(path: string): Promise<string> {
  const handle = await open(path, 'r')
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(FORMAT_BYTES_MAX + 1))
    return buffer.toString('latin1', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

export function parseFormatFile(text: string, path: string): string {
  const head = HEAD_PATTERN.exec(text)
  if (head === null)
    throw new StoreError('FORMAT_UNKNOWN', `${path} does not belong to a rowstash store`)
  const number = Number(head[1])
  if (number !== FORMAT_NUMBER) {
    const message = `${path} names format ${number}; this version reads format ${FORMAT_NUMBER}`
    throw new StoreError('FORMAT_UNKNOWN', message)
  }
  const rest = text.slice(head[0].length)
  const unknown = requiredOf(text).filter((name) => !FEATURES.includes(name))
  if (unknown.length > 0) {
    const names = unknown.join(' ')
    const message = `${path} names features that this version does not know: ${names}`
    throw new StoreError('FORMAT_UNKNOWN', message)
  }
  const [, store] = REST_PATTERN.exec(rest.replace(REQUIRES_PATTERN, '')) ?? []
  if (store === undefined) throw new StoreError('FORMAT_UNKNOWN', `${path} is damaged`)
  return store
}

/** The features in a FORMAT file. */
function requiredOf(text: string): readonly string[] {
  const rest = text.replace(HEAD_PATTERN, '')
  return REQUIRES_PATTERN.exec(rest)?.[1]?.split(' ') ?? []
}
