// The closed shapes of all answers. Each reply of the suite is compared with them.
import assert from 'node:assert/strict'

export type CheckedReply = Readonly<{
  method: string
  /** Path and query as sent, without the base URL. */
  path: string
  status: number
  headers: Headers
  text: string
}>

/** The error types that a status may have. */
const TYPES_OF_STATUS: Readonly<Record<number, readonly string[]>> = {
  400: [
    'request_validation_error',
    'stash_not_found',
    'continuation_invalid',
    'source_url_not_allowed',
    'source_url_failed',
    'content_type_mismatch',
    'content_length_mismatch',
    'checksum_mismatch',
  ],
  402: ['payment_required'],
  403: ['app_not_allowed', 'upload_signature_invalid', 'upload_expired'],
  404: [
    'request_error',
    'table_not_found',
    'row_not_found',
    'job_not_found',
    'receipt_not_found',
    'upload_not_found',
    'file_not_found',
  ],
  405: ['method_not_allowed'],
  408: ['source_url_timeout', 'request_timeout'],
  409: ['upload_incomplete', 'upload_already_completed', 'upload_superseded'],
  410: ['history_gone'],
  412: ['precondition_failed'],
  413: ['request_too_large', 'file_too_large'],
  415: ['unsupported_media_type'],
  416: ['range_not_satisfiable'],
  422: [
    'column_id_not_found',
    'column_has_invalid_value',
    'column_id_reserved',
    'column_id_not_unique',
    'key_not_unique',
    'request_validation_error', // the Idempotency-Key of a different request
  ],
  429: ['rate_limited'],
  500: ['data_corrupt', 'internal_error'],
  501: ['not_implemented'],
  503: ['storage_unavailable'],
  507: ['insufficient_storage'],
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const ROW_ID = /^[A-Za-z0-9_-]{22}$/
const ETAG = /^"[1-9][0-9]*"$/
const UPLOAD_ID = /^[A-Za-z0-9_-]{22,64}$/
const UPLOAD_LOCATION = /^https?:\/\/[^\s/?#]+\/[!-~]+$/
const FILE_ETAG = /^"[!-~]+"$/
const FILE_URL = /^https?:\/\/[^\s/?#]+\/[!-~]*\/?files\/[A-Za-z0-9_-]{22,64}\/[^\s/?#]+$/

/** Throws if a reply has none of the contract's shapes. */
export function checkReply(reply: CheckedReply): void {
  const { method, status, headers, text } = reply
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.equal(headers.get('set-cookie'), null)
  if (isOpen(reply.path) && method !== 'DELETE') {
    assert.equal(headers.get('access-control-allow-origin'), '*', 'any page may read this')
    const check = method === 'OPTIONS' ? checkPreflight : openCheckOf(reply.path)
    if (check !== undefined && status < 400) {
      check(reply)
      return
    }
  }
  const etag = headers.get('etag')
  if (etag !== null) assert.match(etag, ETAG)
  if (method === 'HEAD') {
    assert.equal(text, '', 'an answer to HEAD has no body')
    if (status < 400 && reply.path.includes('/rows')) assert.ok(etag, 'HEAD gives an ETag')
    return
  }
  if (status === 304) {
    assert.deepEqual([text, headers.get('content-type')], ['', null])
    assert.ok(etag, 'an answer of 304 gives an ETag')
    return
  }
  if (status === 200 && resourceOf(reply.path) === 'export') {
    assert.match(
      headers.get('content-type') ?? '',
      /^(?:application\/(?:x-ndjson|vnd\.apache\.parquet)$|text\/)/,
    )
    assert.match(headers.get('content-disposition') ?? '', /^attachment; filename="/)
    assert.ok(etag, 'an export gives an ETag')
    return
  }
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
  const body: unknown = JSON.parse(text)
  if (status >= 400) checkError(status, body, isOfManyRows(reply))
  else checkSuccess(reply, body)
}

/** @param ofRows - Whether the request lists rows, each of which may have a problem of its own. */
function checkError(status: number, body: unknown, ofRows: boolean): void {
  const { error } = closed(body, ['error'])
  const more = ofRows ? ['problems', 'problemCount'] : []
  const { type, message, problems, problemCount } = closed(error, ['type', 'message'], more)
  if (problems !== undefined) {
    const rows = array(problems).map((problem) => {
      const about = closed(problem, ['row', 'type', 'message'], ['column'])
      for (const name of ['type', 'message']) assert.equal(typeof about[name], 'string', name)
      return Number(about['row'])
    })
    assert.deepEqual(
      rows,
      [...new Set(rows)].sort((one, other) => one - other),
    )
    assert.equal(rows.length, Math.min(100, Number(problemCount)))
  }
  assert.ok(
    TYPES_OF_STATUS[status]?.includes(String(type)),
    `${status} does not come with the type ${String(type)}`,
  )
  assert.ok(typeof message === 'string' && message !== '', 'an error has a message')
}

type Success = Readonly<{ status: number; hasETag: boolean; check: (body: unknown) => void }>

/** The shapes of successful answers. */
const SUCCESS_OF_OPERATION: Readonly<Record<string, Success>> = {
  'GET tables': { status: 200, hasETag: false, check: checkTableList },
  'POST import': { status: 201, hasETag: true, check: checkImported },
  'POST tables': { status: 201, hasETag: true, check: checkCreated },
  'GET receipt': {
    status: 200,
    hasETag: false,
    check: (body) => checkReceipt(closed(body, ['data'])['data']),
  },
  'GET change': {
    status: 200,
    hasETag: false,
    check: (body) => checkChangeEntry(closed(body, ['data'])['data']),
  },
  'GET changes': {
    status: 200,
    hasETag: true,
    check: (body) => {
      const { data } = closed(body, ['data'], ['continuation'])
      for (const entry of array(data)) checkChangeEntry(entry)
    },
  },
  'PUT table': { status: 200, hasETag: true, check: checkChanged },
  'GET table': { status: 200, hasETag: true, check: checkTable },
  'PATCH table': { status: 200, hasETag: true, check: checkEmpty },
  'DELETE table': { status: 200, hasETag: false, check: checkEmpty },
  'PATCH rows': { status: 200, hasETag: true, check: checkEmpty },
  'DELETE rows': { status: 200, hasETag: true, check: checkDeleted },
  'POST rows': { status: 201, hasETag: true, check: checkChanged },
  'POST merge': { status: 200, hasETag: true, check: checkMerged },
  'POST convert': { status: 200, hasETag: true, check: checkEmpty },
  'POST convert check': { status: 200, hasETag: true, check: checkReport },
  'POST merge check': { status: 200, hasETag: true, check: checkMergeCounts },
  'GET job': { status: 200, hasETag: false, check: checkJob },
  'GET groups': { status: 200, hasETag: false, check: checkGroups },
  'GET count': { status: 200, hasETag: false, check: checkCount },
  'GET rows': { status: 200, hasETag: true, check: checkPage },
  'GET row': {
    status: 200,
    hasETag: true,
    check: (body) => checkRow(closed(body, ['data'])['data']),
  },
  'PATCH row': { status: 200, hasETag: true, check: checkEmpty },
  'DELETE row': { status: 200, hasETag: true, check: checkEmpty },
  'PUT chunk': { status: 200, hasETag: false, check: checkChunk },
  'GET stashes': { status: 200, hasETag: false, check: checkStashes },
  'GET jobs': { status: 200, hasETag: false, check: checkJobs },
  'GET uploads': { status: 200, hasETag: false, check: checkUploads },
  'GET files': { status: 200, hasETag: false, check: checkFiles },
  'DELETE file': { status: 200, hasETag: false, check: checkEmpty },
  'GET stash': { status: 200, hasETag: false, check: checkChunks },
  'DELETE stash': { status: 200, hasETag: false, check: checkEmpty },
  'POST uploads': { status: 200, hasETag: false, check: checkUpload },
  'POST complete': { status: 200, hasETag: false, check: checkFileUrl },
  'GET health': { status: 200, hasETag: false, check: checkEmpty },
  'GET ready': { status: 200, hasETag: false, check: checkEmpty },
  'POST tables check': { status: 200, hasETag: false, check: checkReport },
  'PUT table check': { status: 200, hasETag: true, check: checkReport },
  'POST rows check': { status: 200, hasETag: true, check: checkReport },
  'PUT upload': { status: 200, hasETag: false, check: checkEmpty },
}

function checkChunks(body: unknown): void {
  const { chunks } = closed(closed(body, ['data'])['data'], ['chunks'])
  assert.ok(Array.isArray(chunks) && chunks.length > 0)
  for (const chunk of chunks) {
    const { serial, rows } = closed(chunk, ['serial', 'rows'])
    assert.ok(typeof serial === 'string' && Number.isSafeInteger(rows))
  }
}

function checkDeleted(body: unknown): void {
  const { deleted, missing } = closed(closed(body, ['data'])['data'], ['deleted', 'missing'])
  for (const count of [deleted, missing]) assert.ok(Number.isSafeInteger(count))
}

function checkCount(body: unknown): void {
  const { count } = closed(closed(body, ['data'])['data'], ['count'])
  assert.ok(Number.isSafeInteger(count) && Number(count) >= 0)
}

function checkGroups(body: unknown): void {
  const { data } = closed(body, ['data'])
  assert.ok(Array.isArray(data))
  for (const group of data) {
    const { values, count } = closed(group, ['values', 'count'], ['sum', 'least', 'greatest'])
    assert.ok(typeof values === 'object' && Number.isSafeInteger(count))
  }
}

function checkStashes(body: unknown): void {
  for (const stash of array(closed(body, ['data'])['data'])) {
    const numbers = ['chunks', 'rows', 'bytes', 'createdAt', 'expiresAt']
    const given = closed(stash, ['id', ...numbers])
    assert.equal(typeof given['id'], 'string')
    for (const name of numbers) assert.ok(Number.isSafeInteger(given[name]), name)
  }
}

function checkJobs(body: unknown): void {
  for (const job of array(closed(body, ['data'])['data'])) {
    const { id, kind, tableID, status, createdAt } = closed(job, [
      'id',
      'kind',
      'tableID',
      'status',
      'createdAt',
    ])
    for (const uuid of [id, tableID]) assert.match(String(uuid), UUID)
    assert.match(String(kind), /^(?:create|overwrite|import)$/)
    assert.match(String(status), /^(?:running|succeeded|failed)$/)
    assert.ok(Number.isSafeInteger(createdAt))
  }
}

function checkUploads(body: unknown): void {
  for (const upload of array(closed(body, ['data'])['data'])) {
    const texts = ['id', 'appID', 'fileName', 'contentType']
    const given = closed(upload, [...texts, 'createdAt', 'endsAt'], ['bytes'])
    for (const name of texts) assert.equal(typeof given[name], 'string', name)
    assert.match(String(given['id']), UPLOAD_ID)
    for (const name of ['createdAt', 'endsAt']) assert.ok(Number.isSafeInteger(given[name]), name)
  }
}

function checkFiles(body: unknown): void {
  const { data, continuation } = closed(body, ['data'], ['continuation'])
  assert.ok(continuation === undefined || typeof continuation === 'string')
  for (const file of array(data)) {
    const numbers = ['bytes', 'completedAt', 'keptUntil']
    const texts = ['id', 'url', 'fileName', 'contentType', 'sha256']
    const given = closed(file, [...texts, ...numbers])
    assert.match(String(given['url']), FILE_URL)
    assert.match(String(given['sha256']), /^[0-9a-f]{64}$/)
    for (const name of numbers) assert.ok(Number.isSafeInteger(given[name]), name)
  }
}

function checkSuccess({ method, path, status, headers }: CheckedReply, body: unknown): void {
  const operation = `${method} ${resourceOf(path)}${isCheck(path) ? ' check' : ''}`
  if (status === 202) {
    checkAccepted(operation, body)
    assert.equal(headers.get('etag'), null)
    return
  }
  const success = SUCCESS_OF_OPERATION[operation]
  assert.ok(success !== undefined, `${operation} is not an operation of the contract`)
  assert.equal(status, success.status, operation)
  assert.equal(headers.get('etag') !== null, success.hasETag, `ETag of ${operation}`)
  success.check(body)
}

function isOfManyRows({ method, path }: CheckedReply): boolean {
  const resource = resourceOf(path)
  return resource === 'convert' || (/^(?:PATCH|DELETE)$/.test(method) && resource === 'rows')
}

function isCheck(path: string): boolean {
  return new URL(path, 'http://host').searchParams.get('validate') === 'only'
}

function resourceOf(path: string): string | undefined {
  const { pathname } = new URL(path, 'http://host')
  const [collection, ...rest] = pathname.split('/').filter((segment) => segment !== '')
  if (collection === 'tables' && rest.length === 1 && rest[0] === 'import') return 'import'
  if (collection === 'tables' && rest[1] === 'receipts') return 'receipt'
  if (collection === 'tables' && rest[1] === 'changes')
    return rest.length === 2 ? 'changes' : 'change'
  if (collection === 'tables' && rest[1] === 'merge') return 'merge'
  if (collection === 'tables' && rest[1] === 'convert') return 'convert'
  if (collection === 'tables' && rest[1] === 'count') return 'count'
  if (collection === 'tables' && rest[1] === 'groups') return 'groups'
  if (collection === 'tables' && rest[1] === 'by-key') return 'row'
  if (collection === 'tables' && rest[1] === 'export') return 'export'
  return RESOURCES[collection ?? '']?.[rest.length]
}

/** By collection, and by the number of segments after it. */
const RESOURCES: Readonly<Record<string, readonly string[]>> = {
  tables: ['tables', 'table', 'rows', 'row'],
  stashes: ['stashes', 'stash', 'chunk'],
  jobs: ['jobs', 'job'],
  files: ['files', 'file'],
  apps: ['', '', 'uploads', '', 'complete'],
  uploads: ['uploads', 'upload'],
  healthz: ['health'],
  readyz: ['ready'],
}

/** Whether a route needs no key. */
function isOpen(path: string): boolean {
  return /^\/uploads\/[^?]/.test(path) || isFile(path) || isDocument(path) || isProbe(path)
}

function isDocument(path: string): boolean {
  return /^\/openapi\.json\/?(?:\?|$)/.test(path)
}

function isProbe(path: string): boolean {
  return /^\/(?:healthz|readyz)\/?(?:\?|$)/.test(path)
}

function openCheckOf(path: string): ((reply: CheckedReply) => void) | undefined {
  if (isDocument(path)) return checkDocument
  return isFile(path) ? checkFile : undefined
}

function isFile(path: string): boolean {
  return /^\/files\/[^/?]+(?:\/[^/?]*)?(?:\?|$)/.test(path)
}

function checkPreflight({ path, status, headers, text }: CheckedReply): void {
  const methods = path.startsWith('/uploads/') ? 'PUT, OPTIONS' : 'GET, HEAD, OPTIONS'
  assert.deepEqual([status, text], [204, ''])
  assert.equal(headers.get('content-length'), null)
  assert.equal(headers.get('access-control-allow-methods'), methods)
  assert.equal(headers.get('allow'), methods)
  assert.match(headers.get('access-control-allow-headers') ?? '', /\bcontent-type\b/)
}

function checkDocument({ method, status, headers, text }: CheckedReply): void {
  assert.match(headers.get('etag') ?? '', FILE_ETAG)
  assert.match(headers.get('cache-control') ?? '', /^public, max-age=[0-9]+$/)
  if (status === 304 || method === 'HEAD') {
    assert.equal(text, '')
    return
  }
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
  assert.ok(isObject(JSON.parse(text)))
}

/** Checks the headers of an answer with a file, and of 304. */
function checkFile({ method, status, headers, text }: CheckedReply): void {
  assert.match(headers.get('etag') ?? '', FILE_ETAG)
  assert.match(headers.get('cache-control') ?? '', /^public, max-age=[0-9]{7,}, immutable$/)
  assert.equal(headers.get('accept-ranges'), 'bytes')
  assert.equal(headers.get('cross-origin-resource-policy'), 'cross-origin')
  if (status === 304) {
    assert.deepEqual([text, headers.get('content-type')], ['', null])
    return
  }
  assert.ok(status === 200 || status === 206, `a file does not come with ${status}`)
  const policy = "sandbox; default-src 'none'; frame-ancestors 'none'"
  assert.equal(headers.get('content-security-policy'), policy)
  assert.match(headers.get('content-disposition') ?? '', /^(?:inline|attachment); filename="/)
  assert.match(
    headers.get('content-type') ?? '',
    /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+(?:; charset=utf-8)?$/,
  )
  assert.match(headers.get('content-length') ?? '', /^[0-9]+$/)
  assert.equal(headers.get('content-range') !== null, status === 206)
  if (method === 'HEAD') assert.equal(text, '', 'an answer to HEAD has no body')
}

/** The answer to a created upload, or to an upload by URL, which is complete. */
function checkUpload(body: unknown): void {
  const data = closed(body, ['data'])['data']
  if (isObject(data) && Object.hasOwn(data, 'url')) {
    checkFileUrl(body)
    return
  }
  const { uploadID, uploadLocation } = closed(data, ['uploadID', 'uploadLocation'])
  assert.match(String(uploadID), UPLOAD_ID)
  assert.match(String(uploadLocation), UPLOAD_LOCATION)
}

function checkFileUrl(body: unknown): void {
  assert.match(String(closed(closed(body, ['data'])['data'], ['url'])['url']), FILE_URL)
}

const TABLE_MEMBERS = [
  'id',
  'name',
  'schema',
  'rowCount',
  'version',
  'createdAt',
  'updatedAt',
  'bytes',
]

function checkTable(body: unknown): void {
  const table = closed(closed(body, ['data'])['data'], TABLE_MEMBERS)
  assert.match(String(table['id']), UUID)
  assert.equal(typeof table['name'], 'string')
  array(closed(table['schema'], ['columns'])['columns'])
  for (const member of ['rowCount', 'version', 'bytes']) {
    assert.ok(Number.isSafeInteger(table[member]), member)
  }
  for (const member of ['createdAt', 'updatedAt']) {
    assert.ok(table[member] === null || Number.isSafeInteger(table[member]), member)
  }
}

function checkTableList(body: unknown): void {
  for (const table of array(closed(body, ['data'])['data'])) {
    const { id, name } = closed(table, ['id', 'name'])
    assert.match(String(id), UUID)
    assert.equal(typeof name, 'string')
  }
}

/** The answers that name a job. */
const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  'POST tables': ['tableID', 'jobID'],
  'POST import': ['tableID', 'jobID'],
  'PUT table': ['jobID'],
}

function checkAccepted(operation: string, body: unknown): void {
  const members = ACCEPTED[operation]
  assert.ok(members !== undefined, `${operation} is never a job`)
  const data = closed(closed(body, ['data'])['data'], members)
  for (const id of Object.values(data)) assert.match(String(id), UUID)
}

function checkJob(body: unknown): void {
  const { data } = closed(body, ['data'])
  assert.ok(isObject(data), 'a job is an object')
  switch (data['status']) {
    case 'running': {
      const { rows, bytes } = closed(closed(data, ['status', 'progress'])['progress'], [
        'rows',
        'bytes',
      ])
      for (const count of [rows, bytes]) assert.ok(Number.isInteger(count), 'progress counts')
      return
    }
    case 'succeeded':
      closed(data, ['status', 'result'])
      return
    default: {
      const { status, error } = closed(data, ['status', 'error'])
      assert.equal(status, 'failed')
      assert.equal(typeof closed(error, ['message'])['message'], 'string')
    }
  }
}

function checkImported(body: unknown): void {
  for (const data of array(closed(body, ['data'])['data'])) checkCreated({ data })
}

function checkCreated(body: unknown): void {
  const { tableID, rowIDs, linkedAppIDs, receipt, read } = closed(
    closed(body, ['data'])['data'],
    ['tableID', 'rowIDs'],
    ['linkedAppIDs', 'receipt', 'read'],
  )
  checkRead(read)
  assert.match(String(tableID), UUID)
  checkRowIds(rowIDs)
  if (receipt !== undefined) checkReceipt(receipt)
  if (linkedAppIDs === undefined) return
  for (const appId of array(linkedAppIDs)) assert.equal(typeof appId, 'string')
}

function checkChanged(body: unknown): void {
  const { data } = closed(body, ['data'])
  const { rowIDs, receipt, read } = closed(data, ['rowIDs'], ['receipt', 'read'])
  checkRead(read)
  checkRowIds(rowIDs)
  if (receipt !== undefined) checkReceipt(receipt)
}

const MERGE_COUNTS = ['added', 'changed', 'unchanged', 'removed'] as const

function checkMerged(body: unknown): void {
  const members = [...MERGE_COUNTS, 'rowIDs']
  const data = closed(closed(body, ['data'])['data'], members, ['receipt', 'read'])
  checkRead(data['read'])
  checkCounts(data)
  checkRowIds(data['rowIDs'])
  assert.equal(array(data['rowIDs']).length, data['added'])
  if (data['receipt'] !== undefined) checkReceipt(data['receipt'])
}

function checkMergeCounts(body: unknown): void {
  const data = closed(closed(body, ['data'])['data'], MERGE_COUNTS, ['read'])
  checkCounts(data)
  checkRead(data['read'])
}

function checkCounts(data: Readonly<Record<string, unknown>>): void {
  for (const name of MERGE_COUNTS) assert.ok(Number.isSafeInteger(data[name]), name)
}

function checkReceipt(receipt: unknown): void {
  const numbers = ['version', 'versionBefore', 'at', 'rows']
  const members = ['operation', ...numbers, 'chunks', 'columns', 'dropped']
  const given = closed(receipt, members, ['merge'])
  assert.match(String(given['operation']), /^(?:create|add|overwrite|merge)$/)
  assert.equal(given['operation'] === 'merge', given['merge'] !== undefined)
  for (const name of numbers) assert.ok(Number.isSafeInteger(given[name]), name)
  for (const chunk of array(given['chunks'])) {
    const { rows, sha256 } = closed(chunk, ['rows', 'sha256'], ['serial'])
    assert.ok(Number.isSafeInteger(rows))
    assert.match(String(sha256), /^[0-9a-f]{64}$/)
  }
  closed(given['columns'], ['added', 'changed', 'removed'])
  closed(given['dropped'], ['count', 'columns', 'first'])
}

function checkChangeEntry(entry: unknown): void {
  const given = closed(entry, ['version', 'operation', 'at', 'counts'], ['author', 'note'])
  const counts = closed(given['counts'], ['added', 'changed', 'removed'])
  for (const number of [given['version'], given['at'], ...Object.values(counts)]) {
    assert.ok(Number.isSafeInteger(number))
  }
}

function checkReport(body: unknown): void {
  const members = ['rows', 'schema', 'problems', 'problemCount']
  const data = closed(closed(body, ['data'])['data'], members, ['read'])
  const { rows, schema, problems, problemCount, read } = data
  checkRead(read)
  assert.ok(Number.isSafeInteger(rows) && Number.isSafeInteger(problemCount))
  array(closed(schema, ['columns'])['columns'])
  const listed = array(problems)
  assert.equal(listed.length, Math.min(1_000, Number(problemCount)))
  for (const problem of listed) {
    const { row, column, rule } = closed(
      problem,
      ['row', 'column', 'rule'],
      ['serial', 'line', 'value'],
    )
    assert.ok(Number.isSafeInteger(row))
    assert.deepEqual([typeof column, typeof rule], ['string', 'string'])
  }
}

function checkChunk(body: unknown): void {
  const { data } = closed(body, [], ['data'])
  if (data === undefined) checkEmpty(body)
  else checkRead(closed(data, ['read'])['read'])
}

/** How rows were read, if the request describes their form. */
function checkRead(read: unknown): void {
  if (read === undefined) return
  const members = ['format', 'encoding', 'rows', 'advice']
  const { format, encoding, rows, advice } = closed(read, members, ['delimiter', 'headerLine'])
  assert.match(String(format), /^(?:csv|tsv|json|ndjson)$/)
  assert.ok(typeof encoding === 'string' && Number.isSafeInteger(rows))
  for (const told of array(advice)) {
    const { code } = closed(told, ['code'], ['column', 'line', 'count', 'example', 'remedy'])
    assert.equal(typeof code, 'string')
  }
}

function checkEmpty(body: unknown): void {
  assert.deepEqual(body, {}, 'an empty success is the object {}')
}

function checkRowIds(rowIds: unknown): void {
  for (const rowId of array(rowIds)) assert.match(String(rowId), ROW_ID)
}

function checkPage(body: unknown): void {
  const { data, continuation, total } = closed(body, ['data'], ['continuation', 'total'])
  assert.ok(total === undefined || Number.isSafeInteger(total))
  const rows = array(data)
  for (const row of rows) checkRow(row)
  if (continuation === undefined) return
  assert.ok(typeof continuation === 'string' && continuation !== '', 'a continuation is a string')
  assert.ok(rows.length > 0, 'a page that has a continuation is never empty')
}

function checkRow(row: unknown): void {
  assert.ok(isObject(row), 'a row is an object')
  assert.match(String(row['$rowID']), ROW_ID)
  assert.ok(!Object.values(row).includes(null), 'empty cells are absent')
}

/** The members of an object that has all of `required`, perhaps some of `optional`, and no others. */
function closed(
  value: unknown,
  required: readonly string[],
  optional: readonly string[] = [],
): Readonly<Record<string, unknown>> {
  assert.ok(isObject(value), `expected an object with ${required.join(', ')}`)
  for (const name of required) assert.ok(Object.hasOwn(value, name), `'${name}' is missing`)
  for (const name of Object.keys(value)) {
    assert.ok([...required, ...optional].includes(name), `'${name}' is not in the contract`)
  }
  return value
}

function array(value: unknown): readonly unknown[] {
  assert.ok(Array.isArray(value), 'expected an array')
  return value
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
