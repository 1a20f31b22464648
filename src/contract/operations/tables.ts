// CONTRACT.md, section 5.
import { utf8 } from '../../base/bytes.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import { tableNameProblem } from '../../engine/arguments/arguments.js'
import type { Stash, TextRows } from '../../engine/types/row-types.js'
import { openCsv } from '../../schema/scan-csv.js'
import { decodeJsonText, scanJsonRows } from '../../schema/scan-json.js'
import type { ScannedRow } from '../../schema/scanned-row.js'
import { jsonResponse, renderPreflight } from '../answers/render.js'
import { tableResponse } from '../answers/table-response.js'
import { COLUMNS_MAX } from '../bodies/body-members.js'
import { parseCreateBody, parseOverwriteBody } from '../bodies/body-shapes.js'
import { inSteps } from '../bodies/body-steps.js'
import { DialectBody } from '../bodies/dialect-body.js'
import { type Call, TABULAR } from '../calls/call.js'
import { appIdsOfQuery, linkedApps } from '../calls/linked-apps.js'
import { inOrder } from '../calls/order-of-refusals.js'
import type { ContractResponse } from '../http/message.js'
import { parseIfMatch } from '../http/precondition.js'
import { parseOnSchemaError, parseValidate, queryValue } from '../http/query.js'
import { invalidRequest, Refusal, shownId } from '../http/refusal.js'
import { parseAsynchronous, parseIdempotencyKey, prefersReceipt } from '../http/request-headers.js'
import { parseQueryDialect } from '../http/rows-query.js'
import { answerAsJob } from './jobs.js'

/** POST /tables */
export async function answerCreateTable(call: Call): Promise<ContractResponse> {
  return inOrder(call, {
    parse: () => parseCreate(call),
    formats: TABULAR,
    change: async (body, given) => {
      const { queryName, queryAppIds, onSchemaError, isCheck, idempotencyKey, isAsync } = given
      const { dialect } = given
      const { name, schema, rows, appIds } = await inSteps(
        parseCreateBody(body, call.team, dialect),
      )
      const create = {
        name: chooseName(queryName, name),
        rows,
        receipt: given.receipt,
        author: call.caller.author,
        ...(schema && { schema }),
        ...(onSchemaError && { onSchemaError }),
        ...(await call.repeatable(idempotencyKey, body)),
      }
      if (isCheck) {
        const report = await call.team.preflight(create)
        return renderPreflight(call, report, dialect.report)
      }
      const linked = linkedApps(call, queryAppIds, appIds)
      if (isAsync && !dialect.isSaid) return answerAsJob(call, { create }, linked)
      const created = await call.team.createTable(create)
      return tableResponse(call, 'create', created, linked, dialect.report)
    },
  })
}

function parseCreate(call: Call) {
  const queryName = nameOfQuery(call)
  const queryAppIds = appIdsOfQuery(call)
  const dialect = new DialectBody(parseQueryDialect(call.query))
  const onSchemaError = parseOnSchemaError(call.query)
  const isCheck = parseValidate(call.query)
  const isAsync = parseAsynchronous(call.headers)
  return {
    queryName,
    queryAppIds,
    dialect,
    onSchemaError,
    isCheck,
    isAsync,
    idempotencyKey: parseIdempotencyKey(call.headers),
    receipt: prefersReceipt(call.headers),
  }
}

/** PUT /tables/{tableID} */
export async function overwriteTable(call: Call, tableId: string): Promise<ContractResponse> {
  const table = call.team.table(tableId)
  return inOrder(call, {
    parse: () => parseOverwrite(call),
    table,
    formats: TABULAR,
    change: async (body, { dialect, onSchemaError, isCheck, ifMatch, isAsync, receipt }) => {
      const { schema, rows } = await inSteps(parseOverwriteBody(body, call.team, dialect))
      if (call.query.has('stashID') && isWithoutRows(rows)) throw misplacedStashId()
      const overwrite = {
        rows,
        receipt,
        author: call.caller.author,
        ...(schema && { schema }),
        ...(ifMatch !== undefined && { ifMatch }),
        ...(onSchemaError && { onSchemaError }),
      }
      if (isCheck) {
        const report = await table.preflight(overwrite)
        return renderPreflight(call, report, dialect.report, report.version)
      }
      if (isAsync && !dialect.isSaid)
        return answerAsJob(call, { overwrite: { ...overwrite, tableId } }, undefined)
      const changed = await table.overwrite(overwrite)
      return tableResponse(call, 'overwrite', { ...changed, tableId }, undefined, dialect.report)
    },
  })
}

function parseOverwrite(call: Call) {
  const dialect = new DialectBody(parseQueryDialect(call.query))
  const onSchemaError = parseOnSchemaError(call.query)
  const isCheck = parseValidate(call.query)
  const ifMatch = parseIfMatch(call.headers)
  const isAsync = parseAsynchronous(call.headers)
  const receipt = prefersReceipt(call.headers)
  return { dialect, onSchemaError, isCheck, ifMatch, isAsync, receipt }
}

/** GET /tables/{tableID}/receipts/{version} */
export async function readReceipt(
  call: Call,
  tableId: string,
  versionText: string,
): Promise<ContractResponse> {
  const kept = await readKept(call, tableId, versionText, (table, version) =>
    table.receipt(version),
  )
  if (kept !== null) return kept
  const message = `Receipt of version '${shownId(versionText)}' not found`
  throw new Refusal('RECEIPT_NOT_FOUND', message)
}

/** GET /tables/{tableID}/changes/{version} */
export async function readChange(
  call: Call,
  tableId: string,
  versionText: string,
): Promise<ContractResponse> {
  const kept = await readKept(call, tableId, versionText, (table, version) => table.change(version))
  if (kept !== null) return kept
  const message = `The table keeps no change with the version '${shownId(versionText)}'`
  throw new StoreError('HISTORY_GONE', message)
}

/**
 * What a table keeps about a version, such as its receipt; null: nothing.
 * @throws {StoreError} TABLE_NOT_FOUND first, if the table is missing
 */
async function readKept(
  call: Call,
  tableId: string,
  versionText: string,
  read: (table: ReturnType<Call['team']['table']>, version: number) => Promise<object | null>,
): Promise<ContractResponse | null> {
  const table = call.team.table(tableId)
  const version = parseVersion(versionText)
  const kept = version === null ? null : await read(table, version)
  if (kept !== null) return jsonResponse(200, JSON.stringify({ data: kept }))
  await table.version()
  return null
}

/** A version in a path; null: there is no such version. */
function parseVersion(text: string): number | null {
  const version = /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(version) ? version : null
}

/**
 * Refuses `$stashID` as a query parameter. Unknown parameters are ignored, but a client that sends this parameter and
 * no rows means the rows of a stash: if it were ignored, the table would be emptied.
 */
function misplacedStashId(): Refusal {
  const remedy = 'to use a stash, send { "$stashID" } as the body'
  const problem = 'stashID is not a parameter of this operation, and the body has no rows'
  return invalidRequest('query', `${problem}; ${remedy}`)
}

/** The name, from either the body object or the query. */
function chooseName(ofQuery: string | undefined, ofBody: string | undefined): string {
  if (ofQuery !== undefined && ofBody !== undefined) {
    throw invalidRequest('query', 'name is given in the query and in the body')
  }
  const name = ofBody ?? ofQuery
  if (name === undefined) throw invalidRequest('query', 'name is missing')
  return name
}

function nameOfQuery({ query }: Call): string | undefined {
  const name = queryValue(query, 'name')
  const problem = name === undefined ? undefined : tableNameProblem(name)
  if (problem !== undefined) throw invalidRequest('query', problem)
  return name
}

/**
 * Whether a body is an empty array or only a header line. Reads at most the first row; the store rejects malformed
 * bodies.
 */
function isWithoutRows(rows: TextRows | Stash): boolean {
  try {
    return scanGivenRows(rows)?.next().done === true
  } catch (failure) {
    if (isStoreError(failure)) return false
    throw failure
  }
}

/** Limits of this scan. They are the greatest that a store can have, because the store checks its own limits later. */
const WIDE_LIMITS = Object.freeze({
  columnsMax: COLUMNS_MAX,
  rowCharsMax: Number.MAX_SAFE_INTEGER,
})

function scanGivenRows(rows: TextRows | Stash): Iterator<ScannedRow> | undefined {
  if ('json' in rows) {
    const { json } = rows
    return scanJsonRows(typeof json === 'string' ? json : decodeJsonText(json), WIDE_LIMITS)
  }
  if ('csv' in rows) return openCsv(textAsBytes(rows.csv), { delimiter: ',' }, WIDE_LIMITS).rows
  if ('tsv' in rows) return openCsv(textAsBytes(rows.tsv), { delimiter: '\t' }, WIDE_LIMITS).rows
  return undefined
}

function textAsBytes(text: Uint8Array | string): Uint8Array {
  return typeof text === 'string' ? utf8(text) : text
}
