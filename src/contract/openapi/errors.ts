// The errors of the document. Statuses and types come from error-response.ts; here they are described.
import type { ErrorType } from '../error-response.js'
import { answerOfCode } from '../error-response.js'
import type { DocumentedCode, JsonSchema } from './model.js'

/** An error as a client sees it. */
export type WireError = Readonly<{ status: number; type: string }>

type Description = Readonly<{ when: string; ours?: true }>

const DESCRIPTIONS: Readonly<Record<ErrorType, Description>> = {
  request_error: { when: 'The key is unknown, or the path is.' },
  request_validation_error: {
    when: 'A path parameter, query parameter, header or body breaks its rule. The message names the part.',
  },
  table_not_found: { when: 'The team has no table with this ID.' },
  row_not_found: { when: 'The table has no row with this ID.' },
  job_not_found: { when: 'The team has no job with this ID, or it ended long ago.' },
  receipt_not_found: { when: 'The table keeps no receipt of this version.', ours: true },
  precondition_failed: { when: 'If-Match names an older version than the current one.' },
  column_id_not_found: { when: 'A row has a column that the table lacks.' },
  column_has_invalid_value: { when: 'A value does not fit its column.' },
  column_id_reserved: {
    when: '$rowID or $stashID is a column ID of a schema, or $stashID is a key of a row or a header.',
  },
  column_id_not_unique: { when: 'A schema or a header has the same column ID twice.' },
  key_not_unique: {
    when: 'Two rows of the body, or two rows of the table that a row of the body matches, have the same key, or two rows of a table with a key would. The message names both.',
    ours: true,
  },
  stash_not_found: { when: 'The stash holds no chunk, or may have lost some.', ours: true },
  continuation_invalid: {
    when: 'Not a continuation of this table, or its rows are gone.',
    ours: true,
  },
  transaction_conflict: {
    when: 'Others changed the tables of a transaction; nothing was changed.',
    ours: true,
  },
  history_gone: {
    when: 'The table does not keep its history back to this version.',
    ours: true,
  },
  source_url_not_allowed: { when: 'The store does not fetch this URL.' },
  source_url_failed: { when: 'The server of the source URL did not send the file.' },
  source_url_timeout: { when: 'The server of the source URL was too slow.' },
  app_not_allowed: { when: 'The app is unknown, or the upload belongs to another app.' },
  file_too_large: { when: 'The file is over its limit, or over the limit of the team.' },
  file_not_found: { when: 'There is no file with this ID, or it was deleted.' },
  upload_signature_invalid: { when: 'This is not an upload location that the server signed.' },
  upload_expired: { when: 'The upload location has expired.' },
  upload_not_found: { when: 'The team has no upload with this ID, or it has expired.' },
  upload_incomplete: { when: 'The bytes of the upload were not received yet; it stays open.' },
  upload_superseded: { when: 'A newer PUT of the same upload ended this one.', ours: true },
  upload_already_completed: { when: 'The upload was completed; its bytes cannot change.' },
  content_type_mismatch: { when: 'The bytes have another media type than the upload.' },
  content_length_mismatch: { when: 'There are more or fewer bytes than announced.' },
  checksum_mismatch: { when: 'The bytes do not match the digest sent with them.', ours: true },
  scope_missing: {
    when: 'The key lacks the scope of the operation, or is limited to tables.',
    ours: true,
  },
  method_not_allowed: { when: 'The path takes other methods; see Allow.', ours: true },
  request_too_large: {
    when: 'The request body is over the limit. Send the rows in smaller chunks.',
    ours: true,
  },
  unsupported_media_type: {
    when: 'The media type, charset or Content-Encoding of the body is not supported.',
    ours: true,
  },
  rate_limited: {
    when: 'The key sends too many requests, or too many uploads or jobs are open or waiting; see Retry-After.',
    ours: true,
  },
  limit_exceeded: {
    when: 'The team has all that a limit of the server allows, such as tables or stashes. The message names the limit.',
    ours: true,
  },
  payment_required: { when: 'The quota of the team is used up.' },
  storage_unavailable: { when: 'The store cannot do this now; see Retry-After.', ours: true },
  insufficient_storage: { when: 'The disk of the store is full.', ours: true },
  data_corrupt: { when: 'Stored bytes fail their checksum, or are missing.', ours: true },
  internal_error: { when: 'The server failed; the message shows no details.', ours: true },
}

/** Errors whose meaning depends on the status. */
const OF_STATUS: Readonly<Record<string, Description>> = {
  '422 request_validation_error': {
    when: 'The Idempotency-Key was used by another request.',
    ours: true,
  },
  '416 range_not_satisfiable': { when: 'The range is not within the file.', ours: true },
  '431 request_validation_error': { when: 'The headers are too long.', ours: true },
  '408 request_timeout': { when: 'The request came too slowly.', ours: true },
  '501 not_implemented': { when: 'The Transfer-Encoding is not chunked.', ours: true },
}

/** Errors of a server before a request reaches its operation. */
export const SERVER_ERRORS: readonly WireError[] = [
  { status: 400, type: 'request_validation_error' },
  { status: 408, type: 'request_timeout' },
  { status: 431, type: 'request_validation_error' },
  { status: 501, type: 'not_implemented' },
]

function answerOf(code: DocumentedCode): WireError {
  if (code === 'INTERNAL_ERROR') return { status: 500, type: 'internal_error' }
  if (code === 'RANGE_NOT_SATISFIABLE') return { status: 416, type: 'range_not_satisfiable' }
  return answerOfCode(code)
}

/** The errors of these codes, each once, by status. */
export function errorsOf(
  codes: readonly DocumentedCode[],
): ReadonlyMap<number, readonly WireError[]> {
  const errors = new Map<number, WireError[]>()
  for (const error of codes.map(answerOf)) {
    const ofStatus = errors.get(error.status) ?? []
    if (ofStatus.some(({ type }) => type === error.type)) continue
    errors.set(error.status, [...ofStatus, error])
  }
  return errors
}

/** The name of the schema of an error. */
export function errorName({ status, type }: WireError): string {
  return `Error_${status}_${type}`
}

export function describe({ status, type }: WireError): Description {
  const special = OF_STATUS[`${status} ${type}`]
  return special ?? DESCRIPTIONS[type as ErrorType]
}

/** The closed shape of an error. */
export function errorSchema(error: WireError): JsonSchema {
  const { when, ours } = describe(error)
  const properties = {
    type: { const: error.type },
    message: { type: 'string', minLength: 1, description: 'For people; may change at any time.' },
  } as const
  const shape = { type: 'object', properties, required: ['type', 'message'] } as const
  return {
    type: 'object',
    description: when,
    properties: { error: { ...shape, additionalProperties: false } },
    required: ['error'],
    additionalProperties: false,
    ...(ours && { 'x-rowstash': true }),
  }
}
