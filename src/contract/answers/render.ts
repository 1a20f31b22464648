// Bodies of successful responses. Millions of row IDs are rendered and sent in pieces, and are never all in memory.

import type { Bytes } from '../../base/bytes.js'
import { utf8 } from '../../base/bytes.js'
import { yieldToEventLoop } from '../../base/platform.js'
import { jsonOfRowIds } from '../../engine/ids/row-ids.js'
import type { PreflightReport } from '../../engine/types/preflight-types.js'
import type { Receipt } from '../../engine/types/receipt-types.js'
import type { RowIds } from '../../engine/types/row-types.js'
import type { IntakeReport } from '../../intake/intake.js'
import type { Caller } from '../auth/caller.js'
import { shownProblems, shownReceipt } from '../auth/without-read.js'
import type { Call } from '../calls/call.js'
import { JSON_TYPE } from '../http/error-response.js'
import type { ContractResponse } from '../http/message.js'
import { renderETag } from '../http/precondition.js'

/** A JSON response, with the version as its ETag if one is given. */
export function jsonResponse(
  status: number,
  body: ContractResponse['body'],
  version?: number,
): ContractResponse {
  const headers = { 'content-type': JSON_TYPE }
  if (version === undefined) return { status, headers, body }
  return { status, headers: { ...headers, etag: renderETag(version) }, body }
}

/** The answer to `validate=only`: CONTRACT.md, section 5. */
export function renderPreflight(
  { effect, caller }: Pick<Call, 'effect' | 'caller'>,
  { rows, schema, problems: found, problemCount }: PreflightReport,
  read: ReadReport,
  version?: number,
): ContractResponse {
  effect.unchanged = true
  const problems = shownProblems(caller, found)
  return jsonResponse(
    200,
    JSON.stringify({ data: { rows, schema, problems, problemCount, read } }),
    version,
  )
}

/** The member that follows `rowIDs`, if the result has a receipt. */
export function renderReceipt(
  caller: Caller,
  { receipt }: Readonly<{ receipt?: Receipt }>,
): string {
  return receipt === undefined ? '' : `,"receipt":${JSON.stringify(shownReceipt(caller, receipt))}`
}

/** The report on how rows were read, if the request states their dialect or asks to detect it. */
export type ReadReport = IntakeReport | undefined

/** The last member of `data`, if there is a report. */
export function renderRead(read: ReadReport): string {
  return read === undefined ? '' : `,"read":${JSON.stringify(read)}`
}

/** The response, marked as having the receipt that `Prefer: return=receipt` requested. */
export function withReceiptApplied(
  response: ContractResponse,
  { receipt }: Readonly<{ receipt?: Receipt }>,
): ContractResponse {
  if (receipt === undefined) return response
  const headers = { ...response.headers, 'preference-applied': 'return=receipt' }
  return { ...response, headers }
}

/** IDs per piece. An ID has 22 characters, quotes and a comma, so a piece has about 64 KiB. */
const IDS_PER_PIECE = 2_600

/** `head`, `"rowIDs":[…]` and `tail`: one text if they are short, otherwise pieces. */
export function renderRowIds(
  head: string,
  rowIds: RowIds,
  tail: string,
): string | AsyncIterable<Bytes> {
  if (rowIds.length > IDS_PER_PIECE) return rowIdPieces(head, rowIds, tail)
  return `${head}"rowIDs":${JSON.stringify([...rowIds])}${tail}`
}

/** Like `renderRowIds`, with the number of rows instead of their IDs. */
export function renderRowNumber(head: string, { length }: RowIds, tail: string): string {
  return `${head}"rows":${length}${tail}`
}

async function* rowIdPieces(
  head: string,
  rowIds: RowIds,
  tail: string,
): AsyncGenerator<Bytes, void> {
  yield utf8(`${head}"rowIDs":[`)
  for (const piece of jsonOfRowIds(rowIds, IDS_PER_PIECE)) {
    yield piece
    await yieldToEventLoop() // Otherwise a fast reader would block other requests.
  }
  yield utf8(`]${tail}`)
}
