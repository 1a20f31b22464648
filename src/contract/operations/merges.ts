// CONTRACT.md, section 6: POST /tables/{tableID}/merge.
import type { MergeRequest, MergeResult } from '../../engine/types/merge-types.js'
import {
  jsonResponse,
  type ReadReport,
  renderRead,
  renderReceipt,
  renderRowIds,
  withReceiptApplied,
} from '../answers/render.js'
import { checkMaySee } from '../auth/without-read.js'
import { parseAddBody } from '../bodies/body-shapes.js'
import { inSteps } from '../bodies/body-steps.js'
import { DialectBody } from '../bodies/dialect-body.js'
import type { Call } from '../calls/call.js'
import { TABULAR } from '../calls/call.js'
import { inOrder } from '../calls/order-of-refusals.js'
import type { ContractResponse } from '../http/message.js'
import { parseIfMatch } from '../http/precondition.js'
import {
  parseOnSchemaError,
  parseValidate,
  type Query,
  queryChoice,
  queryValues,
} from '../http/query.js'
import { invalidRequest } from '../http/refusal.js'
import { parseIdempotencyKey, prefersReceipt } from '../http/request-headers.js'
import { parseQueryDialect } from '../http/rows-query.js'

/** POST /tables/{tableID}/merge */
export async function mergeRows(call: Call, tableId: string): Promise<ContractResponse> {
  // A check needs the scope `read`: its counts reveal which values the table has, and it leaves no trace in the log.
  if (call.query.has('validate')) checkMaySee(call.caller, 'a check of a merge')
  const table = call.team.table(tableId)
  return inOrder(call, {
    parse: () => ({
      key: parseQueryKey(call.query),
      dialect: new DialectBody(parseQueryDialect(call.query)),
      ...parseLack(call.query),
      onSchemaError: parseOnSchemaError(call.query),
      dryRun: parseValidate(call.query),
      ifMatch: parseIfMatch(call.headers),
      idempotencyKey: parseIdempotencyKey(call.headers),
      receipt: prefersReceipt(call.headers),
    }),
    table,
    formats: TABULAR,
    change: async (
      body,
      { key, dialect, missing, unnamed, onSchemaError, dryRun, ifMatch, idempotencyKey, receipt },
    ) => {
      const merged = await table.merge({
        rows: await inSteps(parseAddBody(body, call.team, dialect)),
        key,
        missing,
        unnamed,
        receipt,
        dryRun,
        author: call.caller.author,
        ...(onSchemaError && { onSchemaError }),
        ...(ifMatch !== undefined && { ifMatch }),
        ...(await call.repeatable(idempotencyKey, body)),
      })
      if (dryRun) return answerMergeCheck(call, merged, dialect.report)
      const { addedRowIds, version } = merged
      const rows = merged.added + merged.changed + merged.removed
      Object.assign(call.effect, { rows, version })
      const answer = renderRowIds(
        `{"data":{${renderMergeCounts(merged)},`,
        addedRowIds,
        `${renderReceipt(call.caller, merged)}${renderRead(dialect.report)}}}`,
      )
      return withReceiptApplied(jsonResponse(200, answer, version), merged)
    },
  })
}

function answerMergeCheck(
  { effect }: Call,
  merged: MergeResult,
  read: ReadReport,
): ContractResponse {
  effect.unchanged = true
  const answer = `{"data":{${renderMergeCounts(merged)}${renderRead(read)}}}`
  return jsonResponse(200, answer, merged.version)
}

function renderMergeCounts({ added, changed, unchanged, removed }: MergeResult): string {
  return JSON.stringify({ added, changed, unchanged, removed }).slice(1, -1)
}

/** The key columns, one per parameter. */
function parseQueryKey(query: Query): readonly string[] {
  const key = queryValues(query, 'key')
  if (key.length > 0) return key
  throw invalidRequest('query', "'key' is missing; send ?key= with the ID of the key column")
}

/** What happens to rows and cells that the body lacks. */
function parseLack(query: Query): Required<Pick<MergeRequest, 'missing' | 'unnamed'>> {
  const mode = queryChoice(query, 'mode', ['upsert', 'replace'])
  const unnamed = queryChoice(query, 'unnamed', ['keep', 'empty'])
  return mode === 'replace'
    ? { missing: 'delete', unnamed: unnamed ?? 'empty' }
    : { missing: 'keep', unnamed: unnamed ?? 'keep' }
}
