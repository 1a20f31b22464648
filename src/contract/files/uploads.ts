// CONTRACT.md, section 9: uploads, in three steps or from a source URL. The bytes of the second step are streamed to
// the store, and are never all in memory.
import { type Bytes, fromBase64Url } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import { isName, NAME_CHARS_MAX } from '../../engine/files/file-arguments.js'
import { PAGE_FILES_MAX } from '../../engine/files/list-files.js'
import type { Checksum, PublicFiles, StoredFile } from '../../engine/types/file-types.js'
import { jsonResponse } from '../answers/render.js'
import { inSteps } from '../bodies/body-steps.js'
import { announcedBytes, checkEncoding } from '../bodies/read-body.js'
import { parseUploadBody } from '../bodies/upload-body.js'
import type { Call } from '../calls/call.js'
import {
  type ContractRequest,
  type ContractResponse,
  type HeaderList,
  headerValues,
} from '../http/message.js'
import { parseLimit, queryValue, refuseValidate } from '../http/query.js'
import { invalidRequest, shownId } from '../http/refusal.js'

/** POST /apps/{appID}/uploads */
export async function answerCreateUpload(call: Call, appId: string): Promise<ContractResponse> {
  const { api, files } = call.baseUrls()
  checkApp(call, appId)

  // The memory of the body is released before the file is fetched.
  const wanted = await call.receive(['json'], async ({ bytes }) => inSteps(parseUploadBody(bytes)))

  if (wanted.sourceUrl !== undefined) {
    const { sourceUrl, about } = wanted
    const fetch = () => call.team.files.fromUrl(sourceUrl, about)
    return fileResponse(files, await call.fetching(fetch))
  }
  const { uploadId, target } = await call.team.files.createUpload({
    ...wanted.about,
    appId,
    owner: call.caller.keyId,
  })
  const data = { uploadID: uploadId, uploadLocation: below(api, target) }
  return jsonResponse(200, JSON.stringify({ data }))
}

/** POST /apps/{appID}/uploads/{uploadID}/complete. The route takes no body, so no body is read. */
export async function answerCompleteUpload(
  call: Call,
  appId: string,
  uploadId: string,
): Promise<ContractResponse> {
  const { files } = call.baseUrls()
  checkApp(call, appId)
  return fileResponse(files, await call.team.files.completeUpload(uploadId, { appId }))
}

/** GET /uploads */
export async function listUploads(call: Call): Promise<ContractResponse> {
  const uploads = await call.team.files.uploads()
  const data = uploads.map(({ id, appId, bytes, ...about }) => {
    return { id, appID: appId, ...about, ...(bytes !== null && { bytes }) }
  })
  return jsonResponse(200, JSON.stringify({ data }))
}

/** GET /files */
export async function answerListFiles(call: Call): Promise<ContractResponse> {
  const limit = parseLimit(call.query, PAGE_FILES_MAX)
  const after = queryValue(call.query, 'continuation') || undefined
  const { files, continuation } = await call.team.files.list({
    ...(limit !== undefined && { limit }),
    ...(after !== undefined && { continuation: after }),
  })
  const { files: baseUrl } = call.baseUrls()
  const data = files.map(({ path, ...about }) => ({ ...about, url: below(baseUrl, path) }))
  return jsonResponse(200, JSON.stringify({ data, continuation }))
}

/** DELETE /files/{fileID} */
export async function deleteFile(call: Call, fileId: string): Promise<ContractResponse> {
  refuseValidate(call.query)
  await call.team.files.delete(fileId)
  return jsonResponse(200, '{}')
}

/** PUT {uploadLocation}. `uploadId` is the raw text of the path; the store checks it. */
export async function putUpload(
  files: PublicFiles,
  request: ContractRequest,
  uploadId: string,
): Promise<ContractResponse> {
  const { headers, query, body } = request
  checkEncoding(headers)
  const types = headerValues(headers, 'content-type')
  await files.receive({
    uploadId,
    query,
    contentType: types.length === 1 ? types[0] : undefined,
    contentLength: announcedBytes(headers),
    checksums: parseChecksums(headers),
    body,
  })
  return jsonResponse(200, '{}')
}

function checkApp({ apps }: Call, appId: string): void {
  if (!isName(appId))
    throw invalidRequest('params', `App ID must be ${NAME_CHARS_MAX} characters max`)
  if (apps === undefined || apps.has(appId)) return
  throw new StoreError('APP_NOT_ALLOWED', `App with ID '${shownId(appId)}' is not known`)
}

function fileResponse(baseUrl: string, { path }: StoredFile): ContractResponse {
  return jsonResponse(200, JSON.stringify({ data: { url: below(baseUrl, path) } }))
}

/** The URL of the target of an upload. The target is already a URL if the object store signs URLs itself. */
function below(baseUrl: string, target: string): string {
  return /^https?:\/\//.test(target) ? target : `${baseUrl}/${target}`
}

const MD5_BYTES = 16
const SHA256_BYTES = 32

/**
 * The digests of a body in `Content-Digest` (RFC 9530) and the older `Content-MD5`. An unsupported form is refused, not
 * ignored, because the client relies on the check.
 * @throws {Refusal} REQUEST_VALIDATION_ERROR
 */
function parseChecksums(headers: HeaderList): readonly Checksum[] {
  const checksums: Checksum[] = []
  for (const value of headerValues(headers, 'content-md5')) {
    checksums.push({ algorithm: 'md5', digest: parseDigest('Content-MD5', value, MD5_BYTES) })
  }
  for (const member of headerValues(headers, 'content-digest').flatMap((value) =>
    value.split(','),
  )) {
    const [, algorithm, digest = ''] = /^[ \t]*([a-z0-9*_.-]+)=:([^:]*):[ \t]*$/.exec(member) ?? []
    if (algorithm === undefined) throw malformed('Content-Digest')
    if (algorithm !== 'sha-256') continue // RFC 9530 allows a server to ignore digests by unknown algorithms.
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
