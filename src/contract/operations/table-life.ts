// CONTRACT.md, section 5: the description of a table, changes of its name, columns and key, and its deletion. None of
// these routes is published (ours).

import { jsonResponse, renderPreflight } from '../answers/render.js'
import { checkMaySee, maySee } from '../auth/without-read.js'
import { parseAlterBody, parseConvertBody } from '../bodies/body-shapes.js'
import { inSteps } from '../bodies/body-steps.js'
import type { Call } from '../calls/call.js'
import { inOrder } from '../calls/order-of-refusals.js'
import type { ContractResponse } from '../http/message.js'
import { parseIfMatch } from '../http/precondition.js'
import { parseValidate, refuseValidate } from '../http/query.js'

/** GET /tables/{tableID} */
export async function readTable(call: Call, tableId: string): Promise<ContractResponse> {
  const info = await call.team.table(tableId).info()
  return jsonResponse(200, JSON.stringify({ data: info }), info.version)
}

/** PATCH /tables/{tableID} */
export async function answerAlterTable(call: Call, tableId: string): Promise<ContractResponse> {
  const table = call.team.table(tableId)
  return inOrder(call, {
    parse: () => {
      refuseValidate(call.query)
      return parseIfMatch(call.headers)
    },
    table,
    formats: ['json'],
    change: async (body, ifMatch) => {
      const alteration = await inSteps(parseAlterBody(body))
      if (alteration.key !== undefined) checkMaySee(call.caller, 'a change of the key')
      const { version } = await table.alter({
        ...alteration,
        countsCells: maySee(call.caller),
        author: call.caller.author,
        ...(ifMatch !== undefined && { ifMatch }),
      })
      call.effect.version = version
      return jsonResponse(200, '{}', version)
    },
  })
}

/** POST /tables/{tableID}/convert */
export async function convertColumn(call: Call, tableId: string): Promise<ContractResponse> {
  checkMaySee(call.caller, 'a conversion')
  const table = call.team.table(tableId)
  return inOrder(call, {
    parse: () => {
      const ifMatch = parseIfMatch(call.headers)
      return { isCheck: parseValidate(call.query), match: ifMatch !== undefined && { ifMatch } }
    },
    table,
    formats: ['json'],
    change: async (body, { isCheck, match }) => {
      const request = { convert: await inSteps(parseConvertBody(body)), ...match }
      if (isCheck) {
        const report = await table.preflight(request)
        return renderPreflight(call, report, undefined, report.version)
      }
      const { version } = await table.alter({ ...request, author: call.caller.author })
      call.effect.version = version
      return jsonResponse(200, '{}', version)
    },
  })
}

/** DELETE /tables/{tableID} */
export async function answerDeleteTable(call: Call, tableId: string): Promise<ContractResponse> {
  refuseValidate(call.query)
  const ifMatch = parseIfMatch(call.headers)
  await call.team.table(tableId).delete(ifMatch === undefined ? {} : { ifMatch })
  return jsonResponse(200, '{}')
}
