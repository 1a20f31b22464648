// The requests that change rows.
import { neededVersionOf, readAnswerData, readAnswerJson } from '../../../../src/client/answers.js'
import { tablePath } from '../../../../src/client/table-operation.js'
import type { Api } from '../base/api.js'

/** By column ID, the JSON of what a cell becomes. */
export type CellTokens = ReadonlyMap<string, string>

const JSON_TYPE = { 'content-type': 'application/json' }

/** @returns the version of the table with the change. @throws {ClientError} 412 if the row is later than `version` */
export async function updateRow(
  api: Api,
  tableId: string,
  rowId: string,
  version: number,
  cells: CellTokens,
): Promise<number> {
  const path = `${tablePath(tableId)}/rows/${encodeURIComponent(rowId)}`
  const headers = { ...JSON_TYPE, 'if-match': `"${version}"` }
  const body = objectText(cells)
  const request = { method: 'PATCH', path, headers, body, isRepeatable: true }
  return Number(await api.requests.send(request, neededVersionOf))
}

function objectText(cells: CellTokens): string {
  const members = [...cells].map(([column, token]) => `${JSON.stringify(column)}:${token}`)
  return `{${members.join()}}`
}

/** @returns the IDs of the rows */
export async function addRows(
  api: Api,
  tableId: string,
  rows: readonly CellTokens[],
): Promise<readonly string[]> {
  const path = `${tablePath(tableId)}/rows`
  const headers = { ...JSON_TYPE, 'idempotency-key': api.requests.newId() }
  const body = `[${rows.map(objectText).join()}]`
  const request = { method: 'POST', path, headers, body, isRepeatable: true }
  const { rowIDs } = await api.requests.send(request, (answer) =>
    readAnswerData<{ rowIDs: readonly string[] }>(answer, { rowIDs: 'list' }),
  )
  return rowIDs
}

export async function deleteRow(api: Api, tableId: string, rowId: string): Promise<void> {
  const path = `${tablePath(tableId)}/rows/${encodeURIComponent(rowId)}`
  await api.requests.send({ method: 'DELETE', path, isRepeatable: true }, readAnswerJson)
}
