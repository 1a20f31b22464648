// CONTRACT.md, section 9: uploads, in three steps or by a source URL. The bytes of the second step are streamed to
// the store and never held in memory as a request body.
import { StoreError } from '../base/store-error.js'
import type { PublicFiles, StoredFile } from '../engine/api/file-types.js'
import { isName, NAME_CHARS_MAX } from '../engine/files/file-arguments.js'
import { PAGE_FILES_MAX } from '../engine/files/list-files.js'
import { inSteps } from './body-steps.js'
import type { Call } from './call.js'
import { parseChecksums } from './checksums.js'
import type { ContractRequest, ContractResponse } from './message.js'
import { headerValues } from './message.js'
import { parseLimit, queryValue, refuseValidate } from './query.js'
import { announcedBytes, checkEncoding } from './read-body.js'
import { invalidRequest, shownId } from './refusal.js'
import { jsonResponse } from './render.js'
import { parseUploadBody } from './upload-body.js'

/** POST /apps/{appID}/uploads */
export async function createUpload(call: Call, appId: string): Promise<ContractResponse> {
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

/** POST /apps/{appID}/uploads/{uploadID}/complete. It takes no body, so none is read. */
export async function completeUpload(
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
export async function listFiles(call: Call): Promise<ContractResponse> {
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

/** PUT {uploadLocation}. `uploadId` is the raw text of the path, which the store checks. */
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

/** The URL of a target. An object store that signs URLs itself gives an absolute one. */
function below(baseUrl: string, target: string): string {
  return /^https?:\/\//.test(target) ? target : `${baseUrl}/${target}`
}
