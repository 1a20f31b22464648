// Digests that a client sends along with a body: `Content-Digest` (RFC 9530) and the older `Content-MD5`.
// A digest of an unsupported form is refused, not ignored, because the client relies on the check.
import type { Bytes } from '../base/bytes.js'
import { fromBase64Url } from '../base/bytes.js'
import type { Checksum } from '../engine/api/file-types.js'
import type { HeaderList } from './message.js'
import { headerValues } from './message.js'
import { invalidRequest } from './refusal.js'

const MD5_BYTES = 16
const SHA256_BYTES = 32

/** @throws {Refusal} REQUEST_VALIDATION_ERROR */
export function parseChecksums(headers: HeaderList): readonly Checksum[] {
  const checksums: Checksum[] = []
  for (const value of headerValues(headers, 'content-md5')) {
    checksums.push({ algorithm: 'md5', digest: parseDigest('Content-MD5', value, MD5_BYTES) })
  }
  for (const member of headerValues(headers, 'content-digest').flatMap((value) =>
    value.split(','),
  )) {
    const [, algorithm, digest = ''] = /^[ \t]*([a-z0-9*_.-]+)=:([^:]*):[ \t]*$/.exec(member) ?? []
    if (algorithm === undefined) throw malformed('Content-Digest')
    if (algorithm !== 'sha-256') continue // Of several digests one may check those one knows.
    const bytes = parseDigest('Content-Digest', digest, SHA256_BYTES)
    checksums.push({ algorithm: 'sha256', digest: bytes })
  }
  return checksums
}

function parseDigest(header: string, base64: string, bytes: number): Bytes {
  const wanted = Math.ceil(bytes / 3) * 4
  const isBase64 = base64.length === wanted && /^[A-Za-z0-9+/]*={0,2}$/.test(base64)
  const digest = isBase64 ? fromBase64Url(toUrlAlphabet(base64)) : null
  if (digest?.length !== bytes) throw malformed(header)
  return digest
}

function toUrlAlphabet(base64: string): string {
  return base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

function malformed(header: string): Error {
  return invalidRequest('headers', `${header} is malformed`)
}
