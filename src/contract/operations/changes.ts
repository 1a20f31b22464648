// CONTRACT.md, section 5: the changes of a table, as pages and as a feed.
import { LOG_PAGE_MAX } from '../../engine/changes/log-feed.js'
import type { LogPage, LogRequest } from '../../engine/types/history-types.js'
import { FEED_HEADERS, feedAnswer } from '../answers/feed-answer.js'
import { asQueryError } from '../answers/page-answer.js'
import { jsonResponse } from '../answers/render.js'
import type { Call } from '../calls/call.js'
import { type ContractResponse, headerValues } from '../http/message.js'
import { parseLimit, queryValue } from '../http/query.js'
import { invalidRequest, shownId } from '../http/refusal.js'

/** GET /tables/{tableID}/changes */
export async function listChanges(call: Call, tableId: string): Promise<ContractResponse> {
  const wanted = parseWanted(call)
  if (!wantsFeed(call)) return renderPage(await readPage(call, tableId, wanted))
  const feed = call.openFeed()
  try {
    const { version } = await readPage(call, tableId, { ...wanted, limit: 1 })
    const { since = version } = wanted
    return feedAnswer(call.team.table(tableId), since, feed, call.checkKey)
  } catch (failure) {
    feed.close()
    throw failure
  }
}

/** HEAD /tables/{tableID}/changes. It opens no feed. */
export async function headChanges(call: Call, tableId: string): Promise<ContractResponse> {
  const page = await readPage(call, tableId, parseWanted(call))
  return wantsFeed(call) ? { status: 200, headers: FEED_HEADERS, body: null } : renderPage(page)
}

function wantsFeed({ headers }: Call): boolean {
  return headerValues(headers, 'accept').some((value) =>
    /(?:^|,)\s*text\/event-stream\s*(?:[;,]|$)/i.test(value),
  )
}

/**
 * The wanted changes. When a browser reconnects, it repeats the original URL of a feed, so the version in the header is
 * newer than that in the parameter.
 */
function parseWanted({ query, headers }: Call): LogRequest {
  const since = parseVersion('query', 'since', queryValue(query, 'since'))
  const [id] = headerValues(headers, 'last-event-id')
  const last = parseVersion('headers', 'Last-Event-ID', id) ?? since
  const limit = parseLimit(query, LOG_PAGE_MAX)
  return last === undefined ? { limit } : { limit, since: last }
}

function parseVersion(
  part: 'query' | 'headers',
  name: string,
  text: string | undefined,
): number | undefined {
  if (text === undefined) return undefined
  if (/^(?:0|[1-9][0-9]{0,15})$/.test(text) && Number.isSafeInteger(Number(text)))
    return Number(text)
  throw invalidRequest(part, `${name} must be a version of the table, not '${shownId(text)}'`)
}

async function readPage(call: Call, tableId: string, wanted: LogRequest): Promise<LogPage> {
  try {
    return await call.team.table(tableId).log(wanted)
  } catch (failure) {
    throw asQueryError(failure)
  }
}

function renderPage({ version, entries }: LogPage): ContractResponse {
  const last = entries.at(-1)?.version ?? version
  const more = last < version && { continuation: last }
  return jsonResponse(200, JSON.stringify({ data: entries, ...more }), version)
}
