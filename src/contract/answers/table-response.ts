// The response of an operation that creates or fills a table. The result of a job has the same form (CONTRACT.md,
// sections 5 and 8).
import type { JobEntry } from '../../engine/types/job-types.js'
import type { CreateResult } from '../../engine/types/row-types.js'
import type { Caller } from '../auth/caller.js'
import type { Call } from '../calls/call.js'
import type { ContractResponse } from '../http/message.js'
import {
  jsonResponse,
  type ReadReport,
  renderRead,
  renderReceipt,
  renderRowIds,
  renderRowNumber,
  withReceiptApplied,
} from './render.js'

type Kind = JobEntry['kind']

type LinkedApps = readonly string[] | undefined

/** The response of a completed operation. */
export function tableResponse(
  { effect, caller }: Pick<Call, 'effect' | 'caller'>,
  kind: Kind,
  result: CreateResult,
  linked: LinkedApps,
  read?: ReadReport,
): ContractResponse {
  effect.tableId = result.tableId
  effect.rows = result.rowIds.length
  effect.version = result.version
  const { head, tail } = renderResponseParts(caller, kind, result, linked, read)
  const body = renderRowIds(`{"data":${head}`, result.rowIds, `${tail}}`)
  const response = jsonResponse(kind === 'overwrite' ? 200 : 201, body, result.version)
  return withReceiptApplied(response, result)
}

/** The status response of a job that has succeeded. @param showsIds - false: only the number of rows. */
export function succeededResponse(
  caller: Caller,
  kind: Kind,
  result: CreateResult,
  linked: LinkedApps,
  showsIds: boolean,
): ContractResponse {
  const { head, tail } = renderResponseParts(caller, kind, result, linked)
  const start = `{"data":{"status":"succeeded","result":${head}`
  const render = showsIds ? renderRowIds : renderRowNumber
  return jsonResponse(200, render(start, result.rowIds, `${tail}}}`))
}

/** The JSON before and after the row IDs, as in the `data` of the response to an operation that is not a job. */
function renderResponseParts(
  caller: Caller,
  kind: Kind,
  result: CreateResult,
  linked: LinkedApps,
  read?: ReadReport,
): Readonly<{ head: string; tail: string }> {
  const receipt = `${renderReceipt(caller, result)}${renderRead(read)}`
  if (kind === 'overwrite') return { head: '{', tail: `${receipt}}` }
  const head = `{"tableID":${JSON.stringify(result.tableId)},`
  const apps = linked === undefined ? '' : `,"linkedAppIDs":${JSON.stringify(linked)}`
  const tail = `${apps}${receipt}}`
  return kind === 'import' ? { head: `[${head}`, tail: `${tail}]` } : { head, tail }
}
