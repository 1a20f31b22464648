// CONTRACT.md, section 6.

import { StoreError } from '../../base/store-error.js'
import { GROUPS_MAX } from '../../engine/arguments/groups-arguments.js'
import { rowNotFound } from '../../engine/read/row-lookup.js'
import type { PageBounds, ReadJsonResult, Table } from '../../engine/types/store-types.js'
import { answerFound, answerGroups, answerPage, asQueryError } from '../answers/page-answer.js'
import {
  jsonResponse,
  renderPreflight,
  renderRead,
  renderReceipt,
  renderRowIds,
  withReceiptApplied,
} from '../answers/render.js'
import { maySee } from '../auth/without-read.js'
import { parseAddBody, parseCellsBody } from '../bodies/body-shapes.js'
import { inSteps } from '../bodies/body-steps.js'
import { DialectBody } from '../bodies/dialect-body.js'
import type { Call } from '../calls/call.js'
import { TABULAR } from '../calls/call.js'
import { inOrder } from '../calls/order-of-refusals.js'
import { isKnown } from '../http/file-conditions.js'
import { type FoundBounds, parseFindBounds, parseQueryColumns } from '../http/find-query.js'
import { type ContractResponse, headerValues } from '../http/message.js'
import { parseIfMatch, renderETag } from '../http/precondition.js'
import {
  parseAt,
  parseLimit,
  parseOnSchemaError,
  parseValidate,
  queryValue,
  refuseValidate,
} from '../http/query.js'
import { parseIdempotencyKey, prefersReceipt } from '../http/request-headers.js'
import { parseQueryDialect } from '../http/rows-query.js'

/** HEAD /tables/{tableID}/rows */
export async function headRows(call: Call, tableId: string): Promise<ContractResponse> {
  const version = await call.team.table(tableId).version()
  const etag = renderETag(version)
  return { status: isKnown(call.headers, etag) ? 304 : 200, headers: { etag }, body: null }
}

/** GET /tables/{tableID}/rows */
export async function listRows(call: Call, tableId: string): Promise<ContractResponse> {
  const limit = parseLimit(call.query, call.pageRowsMax)
  const continuation = queryValue(call.query, 'continuation') || undefined

  const bounds = {
    ...(limit !== undefined && { limit }),
    ...(continuation !== undefined && { continuation }),
  }
  const table = call.team.table(tableId)
  const found = parseFindBounds(call.query)
  if (headerValues(call.headers, 'if-none-match').length > 0) {
    const etag = renderETag(await versionOfPage(table, { ...bounds, ...found }))
    if (isKnown(call.headers, etag)) return { status: 304, headers: { etag }, body: null }
  }
  return found === undefined
    ? answerPage(table, bounds, call.openAnswerRoom())
    : answerFound(table, { ...bounds, ...found }, call.openAnswerRoom())
}

async function versionOfPage(table: Table, bounds: PageBounds & FoundBounds): Promise<number> {
  try {
    return await table.pageVersion(bounds)
  } catch (failure) {
    throw asQueryError(failure)
  }
}

/** POST /tables/{tableID}/rows */
export async function answerAddRows(call: Call, tableId: string): Promise<ContractResponse> {
  const table = call.team.table(tableId)
  return inOrder(call, {
    parse: () => ({
      dialect: new DialectBody(parseQueryDialect(call.query)),
      onSchemaError: parseOnSchemaError(call.query),
      isCheck: parseValidate(call.query),
      idempotencyKey: parseIdempotencyKey(call.headers),
      receipt: prefersReceipt(call.headers),
    }),
    table,
    formats: TABULAR,
    change: async (body, { dialect, onSchemaError, isCheck, idempotencyKey, receipt }) => {
      const rows = await inSteps(parseAddBody(body, call.team, dialect))
      if (isCheck) {
        const report = await table.preflight({
          rows,
          operation: 'add',
          // A comparison reveals which keys the table has, and a check leaves no trace.
          comparesTable: maySee(call.caller),
          ...(onSchemaError && { onSchemaError }),
        })
        return renderPreflight(call, report, dialect.report, report.version)
      }
      const added = await table.addRows(rows, {
        receipt,
        author: call.caller.author,
        ...(onSchemaError && { onSchemaError }),
        ...(await call.repeatable(idempotencyKey, body)),
      })
      const { rowIds, version } = added
      Object.assign(call.effect, { rows: rowIds.length, version })
      const tail = `${renderReceipt(call.caller, added)}${renderRead(dialect.report)}}}`
      const answer = renderRowIds('{"data":{', rowIds, tail)
      return withReceiptApplied(jsonResponse(201, answer, version), added)
    },
  })
}

/** GET /tables/{tableID}/count */
export async function countRows(call: Call, tableId: string): Promise<ContractResponse> {
  const { where, search } = parseFindBounds(call.query) ?? {}
  try {
    const count = await call.team.table(tableId).count(where, { search })
    return jsonResponse(200, JSON.stringify({ data: { count } }))
  } catch (failure) {
    throw asQueryError(failure)
  }
}

/** GET /tables/{tableID}/groups */
export async function readGroups(call: Call, tableId: string): Promise<ContractResponse> {
  const { where, search } = parseFindBounds(call.query) ?? {}
  const limit = parseLimit(call.query, GROUPS_MAX)
  const request = {
    by: parseQueryColumns(call.query, 'by'),
    sum: parseQueryColumns(call.query, 'sum'),
    least: parseQueryColumns(call.query, 'least'),
    greatest: parseQueryColumns(call.query, 'greatest'),
    where,
    search,
    ...(limit !== undefined && { limit }),
  }
  return answerGroups(call.team.table(tableId), request, call.openAnswerRoom())
}

/** GET /tables/{tableID}/by-key: each query parameter is a key column. */
export async function readRowByKey(call: Call, tableId: string): Promise<ContractResponse> {
  const ids = [...call.query.keys()]
  const texts = Object.fromEntries(ids.map((id) => [id, queryValue(call.query, id) ?? '']))
  const found = await call.team
    .table(tableId)
    .getJsonByKey(texts)
    .catch((failure) => {
      throw asQueryError(failure)
    })
  if (found === null) {
    const problem = `No row has the key ${JSON.stringify(texts)}`
    throw new StoreError('ROW_NOT_FOUND', problem)
  }
  return rowAnswer(call, found)
}

/** GET /tables/{tableID}/rows/{rowID} */
export async function readRow(
  call: Call,
  tableId: string,
  rowId: string,
): Promise<ContractResponse> {
  const at = parseAt(call.query)
  const table = call.team.table(tableId)
  const found = await (at === undefined ? table : table.at(at)).getJson(rowId)
  if (found === null) throw rowNotFound(rowId)
  return rowAnswer(call, found)
}

function rowAnswer({ headers }: Call, { json, version }: ReadJsonResult): ContractResponse {
  const etag = renderETag(version)
  if (isKnown(headers, etag)) return { status: 304, headers: { etag }, body: null }
  return jsonResponse(200, `{"data":${json}}`, version)
}

/** PATCH /tables/{tableID}/rows/{rowID} */
export async function updateRow(
  call: Call,
  tableId: string,
  rowId: string,
): Promise<ContractResponse> {
  const table = call.team.table(tableId)
  return inOrder(call, {
    parse: () => {
      refuseValidate(call.query)
      return {
        onSchemaError: parseOnSchemaError(call.query),
        ifMatch: parseIfMatch(call.headers),
      }
    },
    table,
    formats: ['json'],
    change: async (body, { onSchemaError, ifMatch }) => {
      const { version } = await table.updateRowJson(rowId, parseCellsBody(body), {
        author: call.caller.author,
        ...(ifMatch !== undefined && { ifMatch }),
        ...(onSchemaError && { onSchemaError }),
      })
      Object.assign(call.effect, { rows: 1, version })
      return jsonResponse(200, '{}', version)
    },
  })
}

/** DELETE /tables/{tableID}/rows/{rowID} */
export async function answerDeleteRow(
  call: Call,
  tableId: string,
  rowId: string,
): Promise<ContractResponse> {
  refuseValidate(call.query)
  const { author } = call.caller
  const { version, deleted } = await call.team.table(tableId).deleteRow(rowId, { author })
  Object.assign(call.effect, { rows: deleted ? 1 : 0, version })
  return jsonResponse(200, '{}', version)
}
