// Requests that change, delete or convert many rows of a table. Loaded on first use.
import { typeName } from '../base/options.js'
import type { PreflightReport } from '../engine/types/preflight-types.js'
import { conditionHeaders, dataIn, readAnswerJson, versionOf } from './answers.js'
import { checkCall, checkIdArgument } from './call-options.js'
import { invalidCall } from './client-error.js'
import type { ClientManyRows } from './client-rows.js'
import type { Abortable } from './import-types.js'
import type { Requests } from './requests.js'
import { rowText, whereText } from './row-text.js'
import { schemaQuery, tablePath } from './table-operation.js'

/** The table whose rows change. */
export type ChangedRows = Readonly<{ requests: Requests; tableId: string; hasKeys: boolean }>

type Change = 'updateRows' | 'deleteRows'

type Conversion = 'convertColumn' | 'checkConversion'

/**
 * @returns the version and the counts of rows; for `updateRows`, only the version.
 */
export async function changeRows(
  { requests, tableId, hasKeys }: ChangedRows,
  call: Change,
  given: unknown,
  options: Parameters<ClientManyRows['updateRows']>[1] = {},
): ReturnType<ClientManyRows['deleteRows']> {
  const isUpdate = call === 'updateRows'
  checkCall(call, options, isUpdate ? ['onSchemaError', 'signal'] : ['signal'])
  if (!Array.isArray(given)) {
    throw invalidCall(`${call} takes an array of rows, not ${typeName(given)}`)
  }
  const { onSchemaError, signal } = options
  // If the answer to a conditional update is lost, a repeat would fail, because the first request changed the version.
  // A deletion can be repeated, because the deletion of a missing row ignores the condition.
  let isRepeatable = true
  const rows = Array.from(given, (each: unknown, index) => {
    const what = `Row ${index} (counted from 0) of ${call}`
    const row = typeof each === 'string' ? { rowId: each } : each
    checkCall(what, row ?? null, isUpdate ? ['rowId', 'cells', 'ifMatch'] : ['rowId', 'ifMatch'])
    const { rowId, ifMatch, cells } = row as Readonly<Record<string, unknown>>
    checkIdArgument(`rowId of ${what}`, rowId)
    const members = [`"rowID":${JSON.stringify(rowId)}`]
    if (isUpdate) members.push(`"cells":${rowText(cells, what, onSchemaError)}`)
    if (ifMatch !== undefined) {
      if (!/^\d+$/.test(String(ifMatch))) throw invalidCall(`ifMatch of ${what} must be a version`)
      members.push(`"ifMatch":${BigInt(String(ifMatch))}`)
      isRepeatable = hasKeys || !isUpdate
    }
    return `{${members}}`
  })
  const key: Record<string, string> = hasKeys ? { 'idempotency-key': requests.newId() } : {}
  const request = {
    method: isUpdate ? 'PATCH' : 'DELETE',
    path: `${tablePath(tableId)}/rows${schemaQuery(onSchemaError)}`,
    headers: { 'content-type': 'application/json', ...key },
    body: `[${rows}]`,
    isRepeatable,
    signal,
  }
  return requests.send(request, async (answer) => {
    const json = await readAnswerJson(answer)
    const counts = { deleted: 'number', missing: 'number' } as const
    const data = isUpdate ? {} : dataIn<object>(answer, json, counts)
    return { ...(data as { deleted: number; missing: number }), version: versionOf(answer) }
  })
}

/**
 * @returns the report of the check; for `convertColumn`, only the version.
 */
export async function convertColumn(
  { requests, tableId }: Pick<ChangedRows, 'requests' | 'tableId'>,
  call: Conversion,
  given: Parameters<ClientManyRows[Conversion]>[0],
  options: Abortable = {},
): ReturnType<ClientManyRows['checkConversion']> {
  checkCall(call, given ?? null, ['column', 'type', 'booleans', 'ifMatch'])
  checkCall(call, options, ['signal'])
  const { column, type = null, booleans, ifMatch } = given
  checkIdArgument('column', column)
  const isCheck = call === 'checkConversion'
  const request = {
    method: 'POST',
    path: `${tablePath(tableId)}/convert${isCheck ? '?validate=only' : ''}`,
    headers: { 'content-type': 'application/json', ...conditionHeaders(ifMatch) },
    body: whereText({ column, type, ...(booleans && { booleans }) }, call),
    isRepeatable: isCheck || ifMatch === undefined,
    signal: options.signal,
  }
  return requests.send(request, async (answer) => {
    const json = await readAnswerJson(answer)
    const shape = { rows: 'number', problems: 'list', problemCount: 'number' } as const
    const data = isCheck ? dataIn<object>(answer, json, shape) : {}
    return { ...(data as Omit<PreflightReport, 'schema'>), version: versionOf(answer) }
  })
}
