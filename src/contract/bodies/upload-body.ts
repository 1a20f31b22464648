// The body of POST /apps/{appID}/uploads: one of two closed shapes. Only the shape is checked here; the store checks
// names, media types, lengths and URLs.
import type { Bytes } from '../../base/bytes.js'
import type { Steps } from '../../base/time-slices.js'
import type { JsonPart } from '../../schema/scan-json.js'
import { invalidRequest } from '../http/refusal.js'
import { parsePart, parseTextPart } from './body-members.js'
import { type Members, readMembers, required, wholeText } from './body-shapes.js'

export type DirectUpload = Readonly<{
  sourceUrl?: undefined
  about: Readonly<{ fileName: string; contentType: string; contentLength?: number }>
}>

export type UrlUpload = Readonly<{
  sourceUrl: string
  about: Readonly<{ fileName?: string; contentType?: string }>
}>

const MEMBERS = ['sourceURL', 'contentType', 'fileName', 'contentLength']

export function* parseUploadBody(bytes: Bytes): Steps<DirectUpload | UrlUpload> {
  const all = yield* readMembers(yield* wholeText(bytes), MEMBERS)
  return all.has('sourceURL') ? parseUrlUpload(all) : parseDirectUpload(all)
}

function parseDirectUpload(members: Members): DirectUpload {
  const contentLength = members.get('contentLength')
  return {
    about: {
      contentType: parseTextPart('contentType', required(members, 'contentType')),
      fileName: parseTextPart('fileName', required(members, 'fileName')),
      ...(contentLength !== undefined && { contentLength: parseLength(contentLength) }),
    },
  }
}

function parseUrlUpload(members: Members): UrlUpload {
  if (members.has('contentLength')) {
    throw invalidRequest('body', "'contentLength' cannot be combined with 'sourceURL'")
  }
  const fileName = members.get('fileName')
  const contentType = members.get('contentType')
  return {
    sourceUrl: parseTextPart('sourceURL', required(members, 'sourceURL')),
    about: {
      ...(fileName !== undefined && { fileName: parseTextPart('fileName', fileName) }),
      ...(contentType !== undefined && { contentType: parseTextPart('contentType', contentType) }),
    },
  }
}

function parseLength(part: JsonPart): number {
  const length = parsePart(part)
  if (typeof length !== 'number') throw invalidRequest('body', "'contentLength' must be a number")
  return length
}
