// CONTRACT.md, section 6: many rows changed or deleted by one request.
import { jsonResponse } from '../answers/render.js'
import { inSteps } from '../bodies/body-steps.js'
import { parseDeletionsBody, parseUpdatesBody } from '../bodies/row-list-body.js'
import type { Call } from '../calls/call.js'
import { inOrder } from '../calls/order-of-refusals.js'
import { type ContractResponse, headerValues } from '../http/message.js'
import { parseOnSchemaError } from '../http/query.js'
import { invalidRequest } from '../http/refusal.js'
import { parseIdempotencyKey } from '../http/request-headers.js'

/** PATCH /tables/{tableID}/rows */
export async function updateRows(call: Call, tableId: string): Promise<ContractResponse> {
  const table = call.team.table(tableId)
  return inOrder(call, {
    parse: () => ({
      onSchemaError: parseOnSchemaError(call.query),
      idempotencyKey: parseKeyOfList(call),
    }),
    table,
    formats: ['json'],
    change: async (body, { onSchemaError, idempotencyKey }) => {
      const updates = await inSteps(parseUpdatesBody(body))
      const { version } = await table.updateRows(updates, {
        author: call.caller.author,
        ...(onSchemaError && { onSchemaError }),
        ...(await call.repeatable(idempotencyKey, body)),
      })
      Object.assign(call.effect, { rows: updates.length, version })
      return jsonResponse(200, '{}', version)
    },
  })
}

/** DELETE /tables/{tableID}/rows */
export async function deleteRows(call: Call, tableId: string): Promise<ContractResponse> {
  const table = call.team.table(tableId)
  return inOrder(call, {
    parse: () => parseKeyOfList(call),
    table,
    formats: ['json'],
    change: async (body, idempotencyKey) => {
      const rows = await inSteps(parseDeletionsBody(body))
      const { version, deleted, missing } = await table.deleteRows(rows, {
        author: call.caller.author,
        ...(await call.repeatable(idempotencyKey, body)),
      })
      Object.assign(call.effect, { rows: deleted, version })
      return jsonResponse(200, JSON.stringify({ data: { deleted, missing } }), version)
    },
  })
}

/**
 * The `Idempotency-Key`. An `If-Match` for the whole request is refused, because it could be mistaken for a condition
 * on each row.
 */
function parseKeyOfList({ headers }: Call): string | undefined {
  if (headerValues(headers, 'if-match').length > 0) {
    throw invalidRequest('headers', "If-Match is for one row; give each row of the body 'ifMatch'")
  }
  return parseIdempotencyKey(headers)
}
