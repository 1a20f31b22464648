// CONTRACT.md, section 6: the rows of a version as one file.
import { COMMA, TAB } from '../../base/ascii.js'
import type { Bytes } from '../../base/bytes.js'
import { escapeFormulas, markText } from '../../base/spreadsheet-text.js'
import type { Table } from '../../engine/types/store-types.js'
import { asQueryError } from '../answers/page-answer.js'
import type { Call } from '../calls/call.js'
import { renderDisposition } from '../files/serve-file.js'
import { isKnown } from '../http/file-conditions.js'
import { parseFindBounds } from '../http/find-query.js'
import type { ContractResponse } from '../http/message.js'
import { renderETag } from '../http/precondition.js'
import { parseAt, queryChoice } from '../http/query.js'
import { invalidRequest } from '../http/refusal.js'
import { type AnswerRoom, cutIntoSlices } from '../memory/answer-memory.js'

const TYPES = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
  tsv: 'text/tab-separated-values; charset=utf-8',
} as const

const FORMATS = Object.freeze(Object.keys(TYPES) as (keyof typeof TYPES)[])

/** Memory for one piece of an export, in bytes: for what is read to make it, and for what is being sent. */
const EXPORT_BYTES = 6 * 1_024 * 1_024

/** GET /tables/{tableID}/export */
export async function exportTable(call: Call, tableId: string): Promise<ContractResponse> {
  const answer = call.openAnswerRoom()
  try {
    await answer.room.resize(EXPORT_BYTES)
    const { pieces, ...response } = await openAnswer(call, tableId)
    if (response.status !== 304)
      return { ...response, body: sentExport(pieces, answer), signal: answer.signal }
    answer.room.close()
    return { ...response, body: null }
  } catch (failure) {
    answer.room.close()
    throw failure
  }
}

/** HEAD /tables/{tableID}/export */
export async function headExport(call: Call, tableId: string): Promise<ContractResponse> {
  const { pieces: _, ...response } = await openAnswer(call, tableId)
  return { ...response, body: null }
}

async function openAnswer(call: Call, tableId: string) {
  const table = call.team.table(tableId)
  const request = parseExport(call)
  const { format } = request
  const write = parseSpreadsheet(call, format)
  const { name } = await table.info()
  const { releasesPieces: reusesMemory } = call
  const opened = await table.openExport({ ...request, reusesMemory }).catch((failure) => {
    throw asQueryError(failure)
  })
  const { version, rowCount } = opened
  const pieces = write(opened.pieces)
  const etag = renderETag(version)
  const headers: Record<string, string> = {
    'content-type': TYPES[format],
    'content-disposition': renderDisposition('attachment', `${name}.${format}`),
    etag,
    ...(rowCount !== undefined && { 'row-count': String(rowCount) }),
  }
  if (isKnown(call.headers, etag)) return { status: 304, headers: { etag }, pieces }
  return { status: 200, headers, pieces }
}

/** Options for spreadsheets, only for CSV and TSV. @throws {Refusal} REQUEST_VALIDATION_ERROR */
function parseSpreadsheet(
  { query }: Call,
  format: keyof typeof TYPES,
): (pieces: AsyncIterable<Bytes>) => AsyncIterable<Bytes> {
  const isMarked = queryChoice(query, 'bom', ['true', 'false']) === 'true'
  const isEscaped = queryChoice(query, 'formulas', ['keep', 'escape']) === 'escape'
  if (format === 'ndjson' && (isMarked || isEscaped)) {
    const name = isMarked ? 'bom' : 'formulas'
    throw invalidRequest('query', `${name} is only for the formats csv and tsv`)
  }
  return (pieces) => {
    const escaped = isEscaped ? escapeFormulas(pieces, format === 'tsv' ? TAB : COMMA) : pieces
    return isMarked ? markText(escaped) : escaped
  }
}

function parseExport({ query }: Call): Parameters<Table['openExport']>[0] {
  const format = queryChoice(query, 'format', FORMATS) ?? 'ndjson'
  const { from: _, total: __, ...bounds } = parseFindBounds(query) ?? {}
  const at = parseAt(query)
  return { ...bounds, format, ...(at !== undefined && { at }) }
}

async function* sentExport(
  pieces: AsyncIterable<Bytes>,
  { room }: AnswerRoom,
): AsyncGenerator<Bytes, void> {
  try {
    room.setMoving(true)
    for await (const piece of pieces) yield* cutIntoSlices(piece, room)
  } finally {
    room.close()
  }
}
