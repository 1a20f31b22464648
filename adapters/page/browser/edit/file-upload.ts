// Stores a file, so that a cell can have its URL.
import { readAnswerData, readAnswerJson } from '../../../../src/client/answers.js'
import type { Api } from '../base/api.js'

/** The name under which uploads of the page are listed. */
const APP = 'page'

/** @returns the URL of the stored file */
export async function uploadFile(api: Api, file: File): Promise<string> {
  const uploads = `/apps/${APP}/uploads`
  const contentType = file.type || 'application/octet-stream'
  const about = { contentType, fileName: file.name || 'file', contentLength: file.size }
  const { uploadID, uploadLocation } = await api.requests.send(
    {
      method: 'POST',
      path: uploads,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(about),
      isRepeatable: true,
    },
    (answer) =>
      readAnswerData<{ uploadID: string; uploadLocation: string }>(answer, {
        uploadID: 'string',
        uploadLocation: 'string',
      }),
  )
  const { pathname, search } = new URL(uploadLocation)
  const path = pathname.slice(new URL(api.url).pathname.replace(/\/$/, '').length) + search
  const headers = { 'content-type': contentType }
  await api.requests.send(
    { method: 'PUT', path, headers, body: file, isRepeatable: true },
    readAnswerJson,
  )
  const complete = { method: 'POST', path: `${uploads}/${uploadID}/complete`, isRepeatable: true }
  const { url } = await api.requests.send(complete, (answer) =>
    readAnswerData<{ url: string }>(answer, { url: 'string' }),
  )
  return url
}
