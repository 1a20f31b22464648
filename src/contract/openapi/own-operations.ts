// CONTRACT.md, sections 13 and 14: operations that the published interface does not have.
import { EMPTY, json, type Operation, unversioned } from './bodies.js'
import type { DocumentedCode, SuccessEntry } from './model.js'
import type { HeaderName } from './parameters.js'
import { ref } from './schemas.js'

const CACHED = ['FileETag', 'CacheControl'] as const
const NOT_MODIFIED: SuccessEntry<HeaderName> = {
  description: 'The client has the document already.',
  headers: CACHED,
}

/** Errors of every operation on API keys. */
const ADMIN_FAILURES = [
  'REQUEST_ERROR',
  'DATA_CORRUPT',
  'INTERNAL_ERROR',
  'STORAGE_UNAVAILABLE',
  'RATE_LIMITED',
] as const satisfies readonly DocumentedCode[]

export const OWN_OPERATIONS = {
  'POST /admin/verify': {
    operationId: 'verifyStore',
    tag: 'Administration',
    summary: 'Verify the store',
    description: 'The path is unknown unless the server has admin keys.',
    security: 'admin',
    parameters: ['full'],
    success: {
      200: {
        description:
          'Lines of JSON: { "finding" } for each finding, { "checked" } once a second with the amounts so far, then { "report" } or { "error" }. Lines may be empty.',
        content: { 'application/x-ndjson': { type: 'string' } },
      },
    },
    errors: ['REQUEST_ERROR', 'REQUEST_VALIDATION_ERROR', 'RATE_LIMITED'],
    ours: true,
  },
  'POST /admin/backup': {
    operationId: 'backUpStore',
    tag: 'Administration',
    summary: 'Back up the store',
    description: 'The path is unknown unless the server has admin keys.',
    security: 'admin',
    parameters: ['files'],
    success: {
      200: {
        description: 'The bytes of a backup. A connection that breaks off has given none.',
        content: { 'application/octet-stream': {} },
      },
    },
    errors: ['REQUEST_ERROR', 'REQUEST_VALIDATION_ERROR', 'RATE_LIMITED'],
    ours: true,
  },
  'GET /admin/keys': {
    operationId: 'listKeys',
    tag: 'Administration',
    summary: 'List the API keys that the store keeps',
    description: 'The path is unknown unless the server has admin keys.',
    security: 'admin',
    success: {
      200: unversioned('All keys, the oldest first, without their secrets.', ref('KeyList')),
    },
    errors: ADMIN_FAILURES,
    ours: true,
  },
  'POST /admin/keys': {
    operationId: 'addKey',
    tag: 'Administration',
    summary: 'Make an API key',
    description:
      'The answer is the only place that ever shows the key. The path is unknown unless the server has admin keys.',
    security: 'admin',
    body: { description: 'The team and the rights of the key.', content: json(ref('KeyRequest')) },
    success: { 201: unversioned('The key was made.', ref('KeyAnswer')) },
    errors: [
      ...ADMIN_FAILURES,
      'REQUEST_VALIDATION_ERROR',
      'REQUEST_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'INSUFFICIENT_STORAGE',
    ],
    ours: true,
  },
  'DELETE /admin/keys/{keyID}': {
    operationId: 'revokeKey',
    tag: 'Administration',
    summary: 'Revoke an API key',
    description:
      'The next request with the key is refused. The path is unknown unless the server has admin keys.',
    security: 'admin',
    success: { 200: unversioned('The key was revoked.', EMPTY) },
    errors: [...ADMIN_FAILURES, 'REQUEST_VALIDATION_ERROR', 'INSUFFICIENT_STORAGE'],
    ours: true,
  },
  'GET /metrics': {
    operationId: 'readMetrics',
    tag: 'Administration',
    summary: 'Read metrics',
    description: 'The path is unknown unless the server has admin keys.',
    security: 'admin',
    success: {
      200: {
        description: 'All metrics, in the text format of Prometheus, version 0.0.4.',
        content: { 'text/plain': { type: 'string' } },
      },
    },
    errors: ['REQUEST_ERROR', 'RATE_LIMITED'],
    ours: true,
  },
  'GET /healthz': {
    operationId: 'checkHealth',
    tag: 'Administration',
    summary: 'Ask whether the process lives',
    description: 'The path is unknown if the server has switched it off.',
    security: 'none',
    success: { 200: unversioned('It answers requests.', EMPTY) },
    errors: [],
    ours: true,
  },
  'GET /readyz': {
    operationId: 'checkReadiness',
    tag: 'Administration',
    summary: 'Ask whether the store accepts changes',
    description: 'The path is unknown if the server has switched it off.',
    security: 'none',
    success: { 200: unversioned('It does.', EMPTY) },
    errors: ['STORAGE_UNAVAILABLE'],
    ours: true,
  },
  'GET /openapi.json': {
    operationId: 'readDocument',
    tag: 'Document',
    summary: 'Read this document',
    security: 'none',
    parameters: ['ifEtagMatch', 'ifNoneMatch'],
    success: {
      200: {
        description: 'This document.',
        headers: CACHED,
        content: json({ type: 'object' }),
      },
      304: NOT_MODIFIED,
    },
    errors: ['PRECONDITION_FAILED'],
    ours: true,
  },
} as const satisfies Readonly<Record<string, Operation>>
