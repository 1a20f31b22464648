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
import type { Room } from '../memory/memory-budget.js'

const TYPES = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
  tsv: 'text/tab-separated-values; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
} as const

type Format = keyof typeof TYPES

const FORMATS = Object.freeze(Object.keys(TYPES) as Format[])

/** Memory for one piece of an export, in bytes: for what is read to make it, and for what is being sent. */
const EXPORT_BYTES = 6 * 1_024 * 1_024

/** Memory for an export as Parquet, in bytes: also for a row group, as values and encoded, and for all metadata. */
const PARQUET_BYTES = 20 * 1_024 * 1_024

type Rows = Awaited<ReturnType<Table['openExport']>>

/** Makes the file. @param room - The room of the answer. */
type Encode = (rows: Rows, room: Room) => AsyncIterable<Bytes>

/** GET /tables/{tableID}/export */
export async function exportTable(call: Call, tableId: string): Promise<ContractResponse> {
  const format = parseFormat(call)
  const answer = call.openAnswerRoom()
  try {
    await answer.room.resize(format === 'parquet' ? PARQUET_BYTES : EXPORT_BYTES)
    const { rows, encode, ...response } = await openAnswer(call, tableId, format)
    if (response.status !== 304) {
      const file = sentExport(encode(rows, answer.room), answer)
      const body = format === 'parquet' ? await begun(file) : file
      return { ...response, body, signal: answer.signal }
    }
    answer.room.close()
    return { ...response, body: null }
  } catch (failure) {
    answer.room.close()
    throw failure
  }
}

/** HEAD /tables/{tableID}/export */
export async function headExport(call: Call, tableId: string): Promise<ContractResponse> {
  const { status, headers } = await openAnswer(call, tableId, parseFormat(call))
  return { status, headers, body: null }
}

async function openAnswer(call: Call, tableId: string, format: Format) {
  const table = call.team.table(tableId)
  const request = parseExport(call, format)
  const encode = parseEncoding(call, format)
  const { name } = await table.info()
  const { releasesPieces: reusesMemory } = call
  const rows = await table.openExport({ ...request, reusesMemory }).catch((failure) => {
    throw asQueryError(failure)
  })
  const { version, rowCount } = rows
  const etag = renderETag(version)
  const headers: Record<string, string> = {
    'content-type': TYPES[format],
    'content-disposition': renderDisposition('attachment', `${name}.${format}`),
    etag,
    ...(rowCount !== undefined && { 'row-count': String(rowCount) }),
  }
  if (isKnown(call.headers, etag)) return { status: 304, headers: { etag }, rows, encode }
  return { status: 200, headers, rows, encode }
}

function parseFormat({ query }: Call): Format {
  return queryChoice(query, 'format', FORMATS) ?? 'ndjson'
}

const NO_PARQUET =
  'this server does not write parquet: its option "parquet" is not set; "rowstash serve" sets it if the package hyparquet-writer is installed'

/** @throws {Refusal} REQUEST_VALIDATION_ERROR */
function parseEncoding({ query, parquet }: Call, format: Format): Encode {
  const isMarked = queryChoice(query, 'bom', ['true', 'false']) === 'true'
  const isEscaped = queryChoice(query, 'formulas', ['keep', 'escape']) === 'escape'
  if (format !== 'csv' && format !== 'tsv' && (isMarked || isEscaped)) {
    const name = isMarked ? 'bom' : 'formulas'
    throw invalidRequest('query', `${name} is only for the formats csv and tsv`)
  }
  if (format === 'parquet') {
    if (parquet === undefined) throw invalidRequest('query', NO_PARQUET)
    return ({ pieces, columns }, room) => parquet(countedAsMoved(pieces, room), columns)
  }
  return ({ pieces }) => {
    const escaped = isEscaped ? escapeFormulas(pieces, format === 'tsv' ? TAB : COMMA) : pieces
    return isMarked ? markText(escaped) : escaped
  }
}

function parseExport({ query }: Call, format: Format): Parameters<Table['openExport']>[0] {
  const { from: _, total: __, ...bounds } = parseFindBounds(query) ?? {}
  if (format === 'parquet' && bounds.columns?.includes('$rowID')) {
    throw invalidRequest('query', '$rowID cannot be written to parquet')
  }
  const at = parseAt(query)
  const rows = { ...bounds, ...(at !== undefined && { at }) }
  return { ...rows, format: format === 'parquet' ? 'ndjson' : format }
}

/** The pace of a client that takes Parquet is that of the rows: their encoded bytes are a fraction. */
async function* countedAsMoved(
  pieces: AsyncIterable<Bytes>,
  room: Room,
): AsyncGenerator<Bytes, void> {
  for await (const piece of pieces) {
    room.moved(piece.length)
    yield piece
  }
}

/** Makes the first piece of a file, so that rows which cannot be encoded are refused before the status is sent. */
async function begun(file: AsyncGenerator<Bytes, void>): Promise<AsyncGenerator<Bytes, void>> {
  const first = await file.next().catch((failure: unknown) => {
    throw asQueryError(failure)
  })
  async function* all(): AsyncGenerator<Bytes, void> {
    try {
      if (first.done !== true) yield first.value
      yield* file
    } finally {
      await file.return()
    }
  }
  return all()
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
