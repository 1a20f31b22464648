// The FORMAT file, which identifies the directory of a store.
//
//     format_file :=
//       "rowstash store\n"
//       "format: " digits "\n"                  // number of the byte format, 1
//       [ "requires: " name *( " " name ) "\n" ] // features that a reader must know; none so far
//       "created-by: rowstash " version "\n"    // for people; nothing depends on it
//       "store: " hex[32] "\n"                  // random name of this store
//
// A store of another format keeps the first two lines, so that its number can be read.
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { StoreError } from '../../src/base/store-error.js'

export const FORMAT_FILE = 'FORMAT'

/** Version of this package, as in package.json. */
export const PACKAGE_VERSION = '0.1.0'

const FORMAT_NUMBER = 1
const FORMAT_BYTES_MAX = 1_024
const HEAD_PATTERN = /^rowstash store\nformat: (0|[1-9][0-9]{0,8})\n/
/** Features that a later version may add to format 1 and that this one would misread. */
const REQUIRES_PATTERN = /^requires: ([a-z0-9-]{1,64}(?: [a-z0-9-]{1,64}){0,15})\n/
const REST_PATTERN = /^created-by: rowstash [0-9A-Za-z.+-]{1,64}\nstore: ([0-9a-f]{32})\n$/

/** @param store - The name of the store: 32 lower-case hex digits. */
export function renderFormatFile(store: string): string {
  return [
    'rowstash store',
    `format: ${FORMAT_NUMBER}`,
    `created-by: rowstash ${PACKAGE_VERSION}`,
    `store: ${store}\n`,
  ].join('\n')
}

/**
 * Reads the FORMAT file of a directory.
 * @returns the random name of the store.
 * @throws {StoreError} FORMAT_UNKNOWN
 */
export async function readFormatFile(directory: string): Promise<string> {
  const path = join(directory, FORMAT_FILE)
  const handle = await open(path, 'r')
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(FORMAT_BYTES_MAX + 1))
    return parseFormatFile(buffer.toString('latin1', 0, bytesRead), path)
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
  const [, required] = REQUIRES_PATTERN.exec(rest) ?? []
  if (required !== undefined) {
    const message = `${path} names features that this version does not know: ${required}`
    throw new StoreError('FORMAT_UNKNOWN', message)
  }
  const [, store] = REST_PATTERN.exec(rest) ?? []
  if (store === undefined) throw new StoreError('FORMAT_UNKNOWN', `${path} is damaged`)
  return store
}
