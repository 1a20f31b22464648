// The signed location of an upload.
//
// Invariants:
// - The signed text comes from the upload's record and the key, never from the request. So a location is valid if and
//   only if this store would now render it for this record, byte for byte. A location with an omitted, added or
//   duplicate part, in another order or in another encoding is refused.
// - The time of the comparison reveals nothing about a signature.
import { type Bytes, toBase64Url, utf8 } from '../../base/bytes.js'
import { hmacSha256, sameSecret } from '../../base/platform.js'
import { ByteWriter } from '../../format/byte-writer.js'
import type { SigningKey, UploadTerms } from '../../format/file-records.js'

const SIGNED_VERSION = 'v1'
const METHOD = 'PUT'

/** Renders the location `uploads/{id}?…`, relative to the base URL. */
export function renderTarget(key: SigningKey, uploadId: string, terms: UploadTerms): string {
  return `uploads/${uploadId}?${renderQuery(key, uploadId, terms)}`
}

const QUERY = /^expires=([0-9]{1,15})&key=([0-9]{1,10})&signature=[A-Za-z0-9_-]{43}$/

/** The ID of the signing key that a query names; null: the query is not signed. */
export function keyIdOfQuery(query: string): number | null {
  const [, , keyId] = QUERY.exec(query) ?? []
  return keyId === undefined ? null : Number(keyId)
}

/** Whether this key signed a query for this upload. */
export function isSigned(
  query: string,
  key: SigningKey,
  uploadId: string,
  terms: UploadTerms,
): boolean {
  return sameSecret(utf8(query), utf8(renderQuery(key, uploadId, terms)))
}

function renderQuery(key: SigningKey, uploadId: string, terms: UploadTerms): string {
  const signature = hmacSha256(key.secret, signedText(key, uploadId, terms))
  return `expires=${terms.expiresAt}&key=${key.id}&signature=${toBase64Url(signature)}`
}

/** The text to sign. Each part follows its length, so that no two uploads have the same text. */
function signedText(key: SigningKey, uploadId: string, terms: UploadTerms): Bytes {
  const { app, contentType, contentLength, bytesMax, expiresAt } = terms
  const length = contentLength === null ? `max:${bytesMax}` : String(contentLength)
  const parts = [SIGNED_VERSION, String(key.id), METHOD, app, uploadId, contentType, length]
  const writer = new ByteWriter(256)
  for (const part of [...parts, String(expiresAt)]) writer.text(part)
  return writer.finish()
}
