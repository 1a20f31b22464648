// The texts that the page puts into the clipboard: rows as JSON and CSV, and their request as a shell command.
import { tablePath } from '../../../../src/client/table-operation.js'
import { queryOf, type Row, type RowsRequest } from './api.js'
import { csvField, jsonText } from './json-text.js'

export function jsonOfRows(rows: readonly Row[]): string {
  return `[\n${rows.map((row) => `  ${jsonText(row)}`).join(',\n')}\n]\n`
}

export function csvOfRows(rows: readonly Row[], columns: readonly string[]): string {
  const names = ['$rowID', ...columns]
  const lines = rows.map((row) => names.map((name) => csvField(row[name])).join(','))
  return `${[names.map(csvField).join(','), ...lines].join('\r\n')}\r\n`
}

/** The request for rows as a shell command. It omits the key, which does not belong into a clipboard. */
export function curlOfRows(url: string, tableId: string, request: RowsRequest): string {
  const address = `${url}${tablePath(tableId)}/rows?${queryOf(request)}`
  return `curl -sS -H "Authorization: Bearer $KEY" ${shellWord(address)}\n`
}

function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
