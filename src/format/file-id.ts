// IDs of files and uploads: a searchable prefix, then base64url of `alias:8 random:16`. 24 bytes fill 32 characters
// without padding, so decoding and encoding such a text returns it unchanged.
import { type Bytes, concatBytes, fromBase64Url, toBase64Url } from '../base/bytes.js'
import { invariant } from '../base/invariant.js'
import type { FileKey } from './keys.js'

/** The prefix of file IDs. Prefixes occur in rows and addresses: never change one. */
export const FILE_ID_PREFIX = 'rsf-'
export const UPLOAD_ID_PREFIX = 'rsu-'

export const ALIAS_BYTES = 8
export const FILE_KEY_BYTES = 16

/** Number of characters of an ID after its prefix. */
export const FILE_ID_CHARS = 32

/** The alias of a team, and the key of a file or upload of the team. */
export type FileName = Readonly<{ alias: Bytes; key: FileKey }>

export function renderFileId(name: FileName): string {
  return FILE_ID_PREFIX + renderBareId(name)
}

export function renderUploadId(name: FileName): string {
  return UPLOAD_ID_PREFIX + renderBareId(name)
}

/** Parses a file ID; null: the text is not a file ID. */
export function parseFileId(text: string): FileName | null {
  return parsePrefixedId(text, FILE_ID_PREFIX)
}

/** Parses an upload ID; null: the text is not an upload ID. */
export function parseUploadId(text: string): FileName | null {
  return parsePrefixedId(text, UPLOAD_ID_PREFIX)
}

const FILE_ID_INSIDE = new RegExp(`${FILE_ID_PREFIX}[A-Za-z0-9_-]{${FILE_ID_CHARS}}`)

/** The first file ID in a text, which may be an ID, a path or a URL. */
export function findFileId(text: string): FileName | null {
  const [found] = FILE_ID_INSIDE.exec(text) ?? []
  return found === undefined ? null : parseFileId(found)
}

function renderBareId({ alias, key }: FileName): string {
  invariant(alias.length === ALIAS_BYTES && key.length === FILE_KEY_BYTES, 'an ID has 24 bytes')
  return toBase64Url(concatBytes([alias, key]))
}

function parsePrefixedId(text: string, prefix: string): FileName | null {
  if (text.length !== prefix.length + FILE_ID_CHARS || !text.startsWith(prefix)) return null
  const bytes = fromBase64Url(text.slice(prefix.length))
  return bytes && { alias: bytes.subarray(0, ALIAS_BYTES), key: bytes.subarray(ALIAS_BYTES) }
}
