// The requests that change rows.
import { neededVersionOf, readAnswerData } from '../../../../src/client/answers.js'
import { tablePath } from '../../../../src/client/table-operation.js'
import type { Api } from '../base/api.js'

/** The JSON of each new value, by column ID. */
export type CellTokens = ReadonlyMap<string, string>

const JSON_TYPE = { 'content-type': 'application/json' }

/** A row, and the version after which it must not have changed. */
export type SeenRow = Readonly<{ rowId: string; version: number }>

/** The maximum number of rows per request. */
export const ROWS_MAX = 10_000

/**
 * Changes rows, all or none, in one version.
 * @returns the version
 * @throws {ClientError} 412 if a row has changed after its version
 */
export async function updateRows(
  api: Api,
  tableId: string,
  rows: readonly (SeenRow & Readonly<{ cells: CellTokens }>)[],
): Promise<number> {
  const path = `${tablePath(tableId)}/rows`
  const [first] = rows
  if (first !== undefined && rows.length === 1) {
    const { rowId, version, cells } = first
    const headers = { ...JSON_TYPE, 'if-match': `"${version}"` }
    const one = { path: `${path}/${encodeURIComponent(rowId)}`, headers, body: objectText(cells) }
    return send(api, 'PATCH', one)
  }
  const body = rows.map(({ cells, ...row }) => `${seenText(row)},"cells":${objectText(cells)}}`)
  return send(api, 'PATCH', { path, headers: idempotent(api), body: `[${body.join()}]` })
}

/** Deletes rows, all or none. @returns the version. @throws {ClientError} 412 if a row has changed after its version */
export async function deleteRows(
  api: Api,
  tableId: string,
  rows: readonly SeenRow[],
): Promise<number> {
  const body = `[${rows.map((row) => `${seenText(row)}}`).join()}]`
  const path = `${tablePath(tableId)}/rows`
  return send(api, 'DELETE', { path, headers: idempotent(api), body })
}

function seenText({ rowId, version }: SeenRow): string {
  return `{"rowID":${JSON.stringify(rowId)},"ifMatch":${version}`
}

function idempotent(api: Api): Readonly<Record<string, string>> {
  return { ...JSON_TYPE, 'idempotency-key': api.requests.newId() }
}

async function send(
  api: Api,
  method: string,
  request: Readonly<{ path: string; headers: Readonly<Record<string, string>>; body: string }>,
): Promise<number> {
  return Number(
    await api.requests.send({ method, ...request, isRepeatable: true }, neededVersionOf),
  )
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
  const headers = idempotent(api)
  const body = `[${rows.map(objectText).join()}]`
  const request = { method: 'POST', path, headers, body, isRepeatable: true }
  const { rowIDs } = await api.requests.send(request, (answer) =>
    readAnswerData<{ rowIDs: readonly string[] }>(answer, { rowIDs: 'list' }),
  )
  return rowIDs
}
