// CONTRACT.md, section 5: a table from a file at a URL.
import type { Bytes } from '../../base/bytes.js'
import type { Steps } from '../../base/time-slices.js'
import { tableNameProblem } from '../../engine/arguments/arguments.js'
import type { JsonPart } from '../../schema/scan-json.js'
import type { ReadReport } from '../answers/render.js'
import { tableResponse } from '../answers/table-response.js'
import { parseAppIds, parseTextPart } from '../bodies/body-members.js'
import { readMembers, required, wholeText } from '../bodies/body-shapes.js'
import { inSteps } from '../bodies/body-steps.js'
import type { Call } from '../calls/call.js'
import { appIdsOfQuery, linkedApps } from '../calls/linked-apps.js'
import type { ContractResponse } from '../http/message.js'
import { parseOnSchemaError, refuseValidate } from '../http/query.js'
import { invalidRequest } from '../http/refusal.js'
import { parseAsynchronous, prefersReceipt } from '../http/request-headers.js'
import { parseQueryDialect } from '../http/rows-query.js'
import { answerAsJob } from './jobs.js'

/** POST /tables/import */
export async function answerImportTable(call: Call): Promise<ContractResponse> {
  refuseValidate(call.query)
  const queryAppIds = appIdsOfQuery(call)
  const onSchemaError = parseOnSchemaError(call.query)
  const said = parseQueryDialect(call.query)
  const isAsync = parseAsynchronous(call.headers)
  const receipt = prefersReceipt(call.headers)

  // The memory of the body is released before the file is fetched.
  const { fromUrl, name, appIds } = await call.receive(['json'], async ({ bytes }) =>
    inSteps(parseImportBody(bytes)),
  )

  const request = {
    fromUrl,
    receipt,
    author: call.caller.author,
    ...(name !== undefined && { name }),
    ...(onSchemaError && { onSchemaError }),
  }
  const linked = linkedApps(call, queryAppIds, appIds)
  if (isAsync) return answerAsJob(call, { import: { ...request, ...said } }, linked)
  let read: ReadReport
  const onReport = (report: ReadReport): void => {
    read = report
  }
  const whole = said === undefined ? request : { ...request, ...said, onReport }
  const imported = await call.fetching(() => call.team.importTable(whole))
  return tableResponse(call, 'import', imported, linked, read)
}

type ImportBody = Readonly<{
  fromUrl: string
  name: string | undefined
  appIds: readonly string[] | undefined
}>

/** `{ fromUrl, displayName?, appsToLink? }` */
function* parseImportBody(bytes: Bytes): Steps<ImportBody> {
  const names = ['fromUrl', 'displayName', 'appsToLink']
  const members = yield* readMembers(yield* wholeText(bytes), names)
  const displayName = members.get('displayName')
  const appsToLink = members.get('appsToLink')
  return {
    fromUrl: parseTextPart('fromUrl', required(members, 'fromUrl')),
    name: displayName && parseDisplayName(displayName),
    appIds: appsToLink && (yield* parseAppIds(appsToLink)),
  }
}

/** The name of the table, under the rule of `name`. */
function parseDisplayName(part: JsonPart): string {
  const name = parseTextPart('displayName', part)
  const problem = tableNameProblem(name)
  if (problem === undefined) return name
  throw invalidRequest('body', problem.replace(/^name/, "'displayName'"))
}
