// Parameters and response headers.
import { IDEMPOTENCY_KEY_PATTERN } from '../../engine/api/arguments.js'
import type { HeaderEntry, JsonSchema, ParameterEntry } from './model.js'
import { ref } from './schemas.js'

/** Parameters of paths, by the name in the path. */
export const PATH_PARAMETERS: Readonly<
  Record<string, Readonly<{ description: string; schema: JsonSchema }>>
> = {
  tableID: { description: 'ID of a table.', schema: { type: 'string' } },
  rowID: { description: 'ID of a row.', schema: { type: 'string' } },
  stashID: { description: 'ID of a stash. The client chooses it.', schema: ref('StashName') },
  serial: {
    description:
      'Place of the chunk in its stash. All-digit serials are in numeric order, others in code-point order.',
    schema: ref('StashName'),
  },
  version: { description: 'Version of a table.', schema: { type: 'string' } },
  jobID: { description: 'ID of a job.', schema: { type: 'string' } },
  keyID: { description: 'ID of an API key.', schema: { type: 'string' } },
  appID: { description: 'ID of an app.', schema: { type: 'string', maxLength: 256 } },
  uploadID: { description: 'ID of an upload.', schema: { type: 'string' } },
  fileID: { description: 'ID of a file.', schema: { type: 'string' } },
  fileName: {
    description: 'For people: any name leads to the file, and so does none.',
    schema: { type: 'string' },
  },
}

const VERSION = '^"[0-9]+"$'
const TEXT: JsonSchema = { type: 'string' }

export const PARAMETERS = {
  name: {
    in: 'query',
    name: 'name',
    description: 'Name of the table, for bodies that are nothing but rows.',
    schema: { type: 'string', minLength: 1, maxLength: 1_000 },
  },
  appsToLink: {
    in: 'query',
    name: 'appsToLink',
    description: 'IDs of apps to link.',
    schema: { type: 'array', items: TEXT },
    isList: true,
  },
  onSchemaError: {
    in: 'query',
    name: 'onSchemaError',
    description:
      'What to do with data that does not fit the schema: refuse all of it, leave cells empty, or change the schema. Default: abort.',
    schema: { type: 'string', enum: ['abort', 'dropColumns', 'updateSchema'] },
  },
  validate: {
    in: 'query',
    name: 'validate',
    description: 'only: check the request and write nothing. The answer is 200, with the problems.',
    schema: { type: 'string', enum: ['only'] },
    ours: true,
  },
  mergeKey: {
    in: 'query',
    name: 'key',
    description: 'ID of the key column. Several key columns are several parameters.',
    schema: { type: 'array', items: TEXT },
    isList: true,
  },
  mergeMode: {
    in: 'query',
    name: 'mode',
    description:
      'upsert: rows whose keys are not in the body stay. replace: they are deleted. Default: upsert.',
    schema: { type: 'string', enum: ['upsert', 'replace'] },
  },
  limit: {
    in: 'query',
    name: 'limit',
    description: 'Rows of the page at most. A page has fewer if it would be too large.',
    schema: { type: 'integer', minimum: 1 },
  },
  continuation: {
    in: 'query',
    name: 'continuation',
    description: 'Of the page before. Empty: the first page.',
    schema: TEXT,
  },
  where: {
    in: 'query',
    name: 'where',
    description:
      'Only rows that match this condition, JSON as CONTRACT.md, section 6, describes it. Pages with a continuation may have no rows; pass the same condition with it.',
    schema: TEXT,
    ours: true,
  },
  columns: {
    in: 'query',
    name: 'columns',
    description:
      'Only the cells of these columns, in this order: IDs with commas between them, or a JSON array of IDs.',
    schema: TEXT,
    ours: true,
  },
  from: {
    in: 'query',
    name: 'from',
    description: 'Number of the row at which the page begins, from 0. Not with a continuation.',
    schema: { type: 'integer', minimum: 0 },
    ours: true,
  },
  fileLimit: {
    in: 'query',
    name: 'limit',
    description: 'Files of the page. Default: 100. Above 1,000, 1,000.',
    schema: { type: 'integer', minimum: 1 },
  },
  at: {
    in: 'query',
    name: 'at',
    description: 'A version of the table: the row as it was then.',
    schema: { type: 'integer', minimum: 1 },
    ours: true,
  },
  asynchronous: {
    in: 'header',
    name: 'x-glide-asynchronous',
    description: 'Allows an answer of 202.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  idempotencyKey: {
    in: 'header',
    name: 'Idempotency-Key',
    description:
      'A repeat of the request with the same key within 24 hours changes nothing and is answered with the first result.',
    schema: { type: 'string', pattern: IDEMPOTENCY_KEY_PATTERN },
    ours: true,
  },
  prefer: {
    in: 'header',
    name: 'Prefer',
    description:
      'return=receipt: the answer has a receipt, which the table keeps. Without effect on a check; that of a job is in its result. Other preferences are ignored.',
    schema: TEXT,
    ours: true,
  },
  ifTableMatch: {
    in: 'header',
    name: 'If-Match',
    description: 'The overwrite is refused if the version of the table is greater.',
    schema: { type: 'string', pattern: VERSION },
  },
  ifMergeMatch: {
    in: 'header',
    name: 'If-Match',
    description: 'The merge is refused if the version of the table is greater.',
    schema: { type: 'string', pattern: VERSION },
  },
  ifRowMatch: {
    in: 'header',
    name: 'If-Match',
    description: 'The update is refused if the version of the row is greater.',
    schema: { type: 'string', pattern: VERSION },
  },
  expires: {
    in: 'query',
    name: 'expires',
    description: 'Part of the signed location.',
    schema: TEXT,
  },
  signingKey: {
    in: 'query',
    name: 'key',
    description: 'Part of the signed location.',
    schema: TEXT,
  },
  signature: {
    in: 'query',
    name: 'signature',
    description: 'Part of the signed location.',
    schema: TEXT,
  },
  contentMd5: {
    in: 'header',
    name: 'Content-MD5',
    description: 'MD5 of the bytes in base64.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9+/]{22}==$' },
    ours: true,
  },
  contentDigest: {
    in: 'header',
    name: 'Content-Digest',
    description: 'Digests of the bytes (RFC 9530). sha-256 is checked, others are ignored.',
    schema: TEXT,
    ours: true,
  },
  range: {
    in: 'header',
    name: 'Range',
    description: 'One range of bytes. Several ranges are answered with the whole file.',
    schema: TEXT,
  },
  ifEtagMatch: {
    in: 'header',
    name: 'If-Match',
    description: 'ETags, or an asterisk: refused with 412 if none is that of the file.',
    schema: TEXT,
  },
  ifNoneMatch: {
    in: 'header',
    name: 'If-None-Match',
    description: 'ETags, or an asterisk: answered with 304 if one is the current ETag.',
    schema: TEXT,
  },
  ifRange: {
    in: 'header',
    name: 'If-Range',
    description: 'The range counts only if this is the ETag of the file.',
    schema: TEXT,
  },
  full: {
    in: 'query',
    name: 'full',
    description: 'Read all stored bytes too. Default: false.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  files: {
    in: 'query',
    name: 'files',
    description: 'Whether the backup contains the bytes of files. Default: include.',
    schema: { type: 'string', enum: ['include', 'reference'] },
  },
} as const satisfies Readonly<Record<string, ParameterEntry>>

export type ParameterName = keyof typeof PARAMETERS

export const HEADERS = {
  ETag: {
    description: 'Version of the table or the row, strong.',
    schema: { type: 'string', pattern: '^"[1-9][0-9]*"$' },
  },
  PreferenceApplied: {
    description: 'The answer has the receipt that was asked for.',
    schema: { const: 'return=receipt' },
    required: false,
    ours: true,
  },
  FileETag: {
    description: 'SHA-256 of the bytes, strong.',
    schema: { type: 'string', pattern: '^"[0-9a-f]{64}"$' },
  },
  CacheControl: {
    description: 'How long the answer may be used again.',
    schema: { type: 'string', pattern: '^public, max-age=[0-9]+(?:, immutable)?$' },
  },
  ContentDisposition: {
    description: 'inline for images, audio, video and plain text, else attachment.',
    schema: { type: 'string', pattern: '^(?:inline|attachment); filename="' },
  },
  ContentRange: {
    description: 'The range that the answer has.',
    schema: { type: 'string', pattern: '^bytes [0-9]+-[0-9]+/[0-9]+$' },
  },
  UnsatisfiedRange: {
    description: 'The length of the file.',
    schema: { type: 'string', pattern: '^bytes \\*/[0-9]+$' },
  },
  AcceptRanges: { description: 'Ranges are in bytes.', schema: { const: 'bytes' } },
  ContentSecurityPolicy: {
    description: 'Keeps the file from acting as a page.',
    schema: { const: "sandbox; default-src 'none'; frame-ancestors 'none'" },
    ours: true,
  },
  ResourcePolicy: {
    description: 'Pages of any origin may embed the file.',
    schema: { const: 'cross-origin' },
    ours: true,
  },
  RetryAfter: {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
    ours: true,
  },
  Allow: {
    description: 'The methods of the path.',
    schema: { type: 'string', pattern: '^[A-Z]+(?:, [A-Z]+)*$' },
  },
  AllowOrigin: { description: 'Pages of any origin may read it.', schema: { const: '*' } },
  AllowMethods: {
    description: 'The methods of the path.',
    schema: { type: 'string', pattern: '^[A-Z]+(?:, [A-Z]+)*$' },
  },
  AllowHeaders: {
    description: 'Request headers that a page may send.',
    schema: { type: 'string', pattern: '^[a-z0-9-]+(?:, [a-z0-9-]+)*$' },
  },
  MaxAge: {
    description: 'Seconds for which a browser may remember the answer.',
    schema: { type: 'string', pattern: '^[0-9]+$' },
  },
  NamedOrigin: {
    description: 'The origin of the page, if the server names it.',
    schema: { type: 'string', pattern: '^(?:\\*|https?://[^/]+)$' },
    ours: true,
  },
  Vary: {
    description: 'The answer depends on the origin of the page.',
    schema: { const: 'origin' },
    ours: true,
  },
  ExposeHeaders: {
    description: 'Headers that a page may read.',
    schema: { type: 'string', pattern: '^[a-z0-9-]+(?:, [a-z0-9-]+)*$' },
  },
} as const satisfies Readonly<Record<string, HeaderEntry>>

export type HeaderName = keyof typeof HEADERS

/** Names on the wire of headers that have another name here. */
export const WIRE_NAMES: Readonly<Partial<Record<HeaderName, string>>> = {
  PreferenceApplied: 'Preference-Applied',
  FileETag: 'ETag',
  CacheControl: 'Cache-Control',
  ContentDisposition: 'Content-Disposition',
  ContentRange: 'Content-Range',
  UnsatisfiedRange: 'Content-Range',
  AcceptRanges: 'Accept-Ranges',
  ContentSecurityPolicy: 'Content-Security-Policy',
  ResourcePolicy: 'Cross-Origin-Resource-Policy',
  RetryAfter: 'Retry-After',
  AllowOrigin: 'Access-Control-Allow-Origin',
  NamedOrigin: 'Access-Control-Allow-Origin',
  AllowMethods: 'Access-Control-Allow-Methods',
  AllowHeaders: 'Access-Control-Allow-Headers',
  MaxAge: 'Access-Control-Max-Age',
  ExposeHeaders: 'Access-Control-Expose-Headers',
}
