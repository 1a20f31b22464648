// Steps of the upload and file cases.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Api, Reply, SendOptions } from './api.js'

export type Upload = Readonly<{
  id: string
  /** `uploadLocation` without the server's URL. */
  location: string
  contentType: string
  /** The path of its completion. */
  completion: string
}>

export type UploadAbout = Readonly<{
  contentType?: string
  fileName?: string
  contentLength?: number
  appId?: string
}>

/** The first step: creates the upload. */
export async function createUpload(
  api: Api,
  { appId = 'app-1', ...given }: UploadAbout = {},
  options: SendOptions = {},
): Promise<Upload> {
  const body = { contentType: 'image/png', fileName: 'a.png', ...given }
  const path = `/apps/${encodeURIComponent(appId)}/uploads`
  const { json } = await api.ok('POST', path, { ...options, body })
  const { data } = json as { data: { uploadID: string; uploadLocation: string } }
  const { uploadID, uploadLocation } = data
  assert.ok(uploadLocation.startsWith(`${api.server.url}/`), `${uploadLocation} is not here`)
  return {
    id: uploadID,
    location: uploadLocation.slice(api.server.url.length),
    contentType: body.contentType,
    completion: `${path}/${uploadID}/complete`,
  }
}

/** The second step's request: bytes, without a key. */
export function bytesOptions(upload: Upload, body: string | Uint8Array): SendOptions {
  return { body, type: upload.contentType, key: null }
}

/** The second step: sends the bytes. */
export async function putBytes(
  api: Api,
  upload: Upload,
  body: string | Uint8Array,
): Promise<Reply> {
  return api.ok('PUT', upload.location, bytesOptions(upload, body))
}

/** The third step: completes the upload. @returns the path of its URL */
export async function complete(api: Api, { completion }: Upload): Promise<string> {
  return fileOf(api, await api.ok('POST', completion))
}

/** The path of the file that an answer names. */
export function fileOf(api: Api, { json }: Reply): string {
  const { url } = (json as { data: { url: string } }).data
  assert.ok(url.startsWith(`${api.server.url}/files/`), `${url} is not here`)
  return url.slice(api.server.url.length)
}

/** All three steps. */
export async function storeFile(
  api: Api,
  body: string | Uint8Array,
  about: UploadAbout = {},
): Promise<string> {
  const upload = await createUpload(api, about)
  await putBytes(api, upload, body)
  return complete(api, upload)
}

export type FileReply = Readonly<{ status: number; headers: Headers; bytes: Buffer }>

/** Reads a file without a key, and checks the shape of the answer. */
export async function readFile(
  api: Api,
  path: string,
  {
    method = 'GET',
    headers = {},
  }: { method?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<FileReply> {
  const response = await fetch(api.server.url + path, { method, headers })
  const bytes = Buffer.from(await response.arrayBuffer())
  const text = bytes.toString('latin1')
  const reply = { method, path, status: response.status, headers: response.headers, text }
  api.check(reply, { headers: new Headers(headers) })
  return { status: response.status, headers: response.headers, bytes }
}

export async function textOf(api: Api, path: string): Promise<string> {
  const { status, bytes } = await readFile(api, path)
  assert.equal(status, 200, bytes.toString())
  return bytes.toString()
}

/** Bytes that occur in no other file. */
export function someBytes(length: number): Buffer {
  return randomBytes(length)
}

export const SIGNATURE = { status: 403, type: 'upload_signature_invalid' } as const
export const APP_NOT_ALLOWED = { status: 403, type: 'app_not_allowed' } as const
export const UPLOAD_NOT_FOUND = { status: 404, type: 'upload_not_found' } as const
export const FILE_NOT_FOUND = { status: 404, type: 'file_not_found' } as const
export const INCOMPLETE = { status: 409, type: 'upload_incomplete' } as const
export const COMPLETED = { status: 409, type: 'upload_already_completed' } as const
export const TYPE_MISMATCH = { status: 400, type: 'content_type_mismatch' } as const
export const LENGTH_MISMATCH = { status: 400, type: 'content_length_mismatch' } as const
export const CHECKSUM_MISMATCH = { status: 400, type: 'checksum_mismatch' } as const
export const FILE_TOO_LARGE = { status: 413, type: 'file_too_large' } as const
