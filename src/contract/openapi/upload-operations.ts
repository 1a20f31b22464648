// CONTRACT.md, section 9: uploads and files.
import { EMPTY, json, type Operation, unversioned } from './bodies.js'
import { KEYED, RECEIVING, SOURCE_FAILURES, WRITING } from './codes.js'
import type { DocumentedCode, JsonSchema, SuccessEntry } from './model.js'
import type { HeaderName } from './parameters.js'
import { ref } from './schemas.js'

/** Bytes of any media type. */
const BYTES: Readonly<Record<string, JsonSchema>> = { '*/*': {} }

const FILE_ERRORS = [
  'FILE_NOT_FOUND',
  'PRECONDITION_FAILED',
  'DATA_CORRUPT',
  'INTERNAL_ERROR',
  'STORAGE_UNAVAILABLE',
] as const satisfies readonly DocumentedCode[]

const CACHED = ['FileETag', 'CacheControl', 'AcceptRanges', 'ResourcePolicy'] as const
const SHOWN = [...CACHED, 'ContentDisposition', 'ContentSecurityPolicy'] as const

const NOT_MODIFIED: SuccessEntry<HeaderName> = {
  description: 'The client has the file already.',
  headers: CACHED,
}

export const UPLOAD_OPERATIONS = {
  'POST /apps/{appID}/uploads': {
    operationId: 'createUpload',
    tag: 'Uploads',
    summary: 'Begin an upload, or fetch a file from a URL',
    security: 'team',
    body: { description: 'One of two closed shapes.', content: json(ref('UploadRequest')) },
    success: {
      200: unversioned(
        'Where to PUT the bytes; or the URL of the file if a source URL was given.',
        ref('UploadAnswer'),
      ),
    },
    errors: [...RECEIVING, ...SOURCE_FAILURES, 'PAYMENT_REQUIRED', 'APP_NOT_ALLOWED'],
  },
  'PUT /uploads/{uploadID}': {
    operationId: 'putUpload',
    tag: 'Uploads',
    summary: 'Send the bytes of an upload',
    description:
      'The path and the query are the uploadLocation, byte for byte. The Content-Type is that of the upload. A PUT that fails leaves nothing and may be repeated.',
    security: 'none',
    parameters: ['expires', 'signingKey', 'signature', 'contentMd5', 'contentDigest'],
    body: { description: 'The bytes.', content: BYTES },
    success: { 200: unversioned('The bytes were received.', EMPTY) },
    errors: [
      'REQUEST_VALIDATION_ERROR',
      'CONTENT_TYPE_MISMATCH',
      'CONTENT_LENGTH_MISMATCH',
      'CHECKSUM_MISMATCH',
      'UPLOAD_SIGNATURE_INVALID',
      'UPLOAD_EXPIRED',
      'UPLOAD_ALREADY_COMPLETED',
      'UPLOAD_SUPERSEDED',
      'FILE_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'RATE_LIMITED',
      'DATA_CORRUPT',
      'INTERNAL_ERROR',
      'STORAGE_UNAVAILABLE',
      'INSUFFICIENT_STORAGE',
    ],
  },
  'POST /apps/{appID}/uploads/{uploadID}/complete': {
    operationId: 'completeUpload',
    tag: 'Uploads',
    summary: 'Make a file of an upload',
    description: 'A repeat is answered in the same way.',
    security: 'team',
    success: { 200: unversioned('The URL of the file.', ref('FileAnswer')) },
    errors: [
      ...WRITING,
      'CONTENT_LENGTH_MISMATCH',
      'PAYMENT_REQUIRED',
      'APP_NOT_ALLOWED',
      'UPLOAD_NOT_FOUND',
      'UPLOAD_INCOMPLETE',
      'FILE_TOO_LARGE',
    ],
  },
  'GET /uploads': {
    operationId: 'listUploads',
    tag: 'Uploads',
    summary: 'List the open uploads of the team',
    security: 'team',
    ours: true,
    success: { 200: unversioned('The newest first, 1,000 at most.', ref('UploadList')) },
    errors: KEYED,
  },
  'GET /files': {
    operationId: 'listFiles',
    tag: 'Files',
    summary: 'List the files of the team',
    security: 'team',
    ours: true,
    parameters: ['fileLimit', 'continuation'],
    success: { 200: unversioned('A page, in the order of the IDs.', ref('FileList')) },
    errors: [...KEYED, 'CONTINUATION_INVALID'],
  },
  'DELETE /files/{fileID}': {
    operationId: 'deleteFile',
    tag: 'Files',
    summary: 'Delete a file',
    description: 'Even if rows contain its URL. Succeeds also if there is none.',
    security: 'team',
    ours: true,
    success: { 200: unversioned('There is no such file now.', EMPTY) },
    errors: WRITING,
  },
  'GET /files/{fileID}/{fileName}': {
    operationId: 'readFile',
    tag: 'Files',
    summary: 'Read a file',
    description: 'Files are public and never change.',
    security: 'none',
    parameters: ['range', 'ifEtagMatch', 'ifNoneMatch', 'ifRange'],
    success: {
      200: { description: 'The file.', headers: SHOWN, content: BYTES },
      206: {
        description: 'One range of the file.',
        headers: [...SHOWN, 'ContentRange'],
        content: BYTES,
      },
      304: NOT_MODIFIED,
    },
    errors: [...FILE_ERRORS, 'RANGE_NOT_SATISFIABLE'],
  },
  'HEAD /files/{fileID}/{fileName}': {
    operationId: 'headFile',
    tag: 'Files',
    summary: 'Read the headers of a file',
    security: 'none',
    parameters: ['ifEtagMatch', 'ifNoneMatch'],
    success: { 200: { description: 'The file is there.', headers: SHOWN }, 304: NOT_MODIFIED },
    errors: FILE_ERRORS,
  },
} as const satisfies Readonly<Record<string, Operation>>
