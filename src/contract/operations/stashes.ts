// CONTRACT.md, section 7.
import { isDataError } from '../../base/data-error.js'
import { jsonResponse } from '../answers/render.js'
import { parseChunkBody } from '../bodies/body-shapes.js'
import { DialectBody } from '../bodies/dialect-body.js'
import type { Call } from '../calls/call.js'
import { TABULAR } from '../calls/call.js'
import type { ContractResponse } from '../http/message.js'
import { refuseValidate } from '../http/query.js'
import { invalidRequest } from '../http/refusal.js'
import { parseQueryDialect, refuseDetection } from '../http/rows-query.js'

/** PUT /stashes/{stashID}/{serial} */
export async function putChunk(
  call: Call,
  stashId: string,
  serial: string,
): Promise<ContractResponse> {
  refuseValidate(call.query)
  const said = parseQueryDialect(call.query)
  refuseDetection(said)
  const dialect = new DialectBody(said)
  return call.receive(TABULAR, async (body) => {
    const rows = parseChunkBody(body, dialect)
    try {
      const put = await call.team.stash(stashId).put(serial, rows)
      call.effect.rows = put.rows
    } catch (failure) {
      throw asPublished(failure)
    }
    const read = dialect.report
    return jsonResponse(200, read === undefined ? '{}' : JSON.stringify({ data: { read } }))
  })
}

/** GET /stashes */
export async function answerListStashes(call: Call): Promise<ContractResponse> {
  return jsonResponse(200, JSON.stringify({ data: await call.team.stashes() }))
}

/** GET /stashes/{stashID} */
export async function answerListChunks(call: Call, stashId: string): Promise<ContractResponse> {
  const chunks = await call.team.stash(stashId).chunks()
  return jsonResponse(200, JSON.stringify({ data: { chunks } }))
}

/** DELETE /stashes/{stashID} */
export async function answerDeleteStash(call: Call, stashId: string): Promise<ContractResponse> {
  refuseValidate(call.query)
  await call.team.stash(stashId).delete()
  return jsonResponse(200, '{}')
}

/** Gives the status 400 to errors that have 422 elsewhere: for this operation, only 200 and 400 are published. */
function asPublished(failure: unknown): unknown {
  return isDataError(failure) ? invalidRequest('body', failure.message) : failure
}
