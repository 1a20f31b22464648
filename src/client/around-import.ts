// What an import reads before and after: the kinds of the table's columns, and its receipt.
import type { ColumnKinds } from '../intake/conversions.js'
import type { TableSchema } from '../schema/column-kind.js'
import { readAnswerData } from './answers.js'
import { ClientError } from './client-error.js'
import type { ImportSettings } from './import-options.js'
import type { Requests } from './requests.js'
import { tablePath } from './table-operation.js'

/** The kinds of the columns that the table has or will have; undefined: they are inferred. */
export async function kindsIn(
  requests: Requests,
  {
    schema,
    tableId,
    onSchemaError,
    signal,
  }: Pick<ImportSettings, 'schema' | 'tableId' | 'onSchemaError' | 'signal'>,
): Promise<ColumnKinds | undefined> {
  const areFixed = onSchemaError !== 'updateSchema'
  if (schema !== undefined) return { kinds: kindsOfSchema(schema), areFixed }
  if (tableId === undefined) return undefined
  const request = { method: 'GET', path: tablePath(tableId), isRepeatable: true, signal }
  try {
    const found = await requests.send(request, (answer) =>
      readAnswerData<Described>(answer, { schema: 'object' }),
    )
    return { kinds: kindsOfSchema(found.schema), areFixed }
  } catch (failure) {
    // The server does not describe tables, so no cell is converted.
    if (failure instanceof ClientError) return { kinds: new Map(), areFixed: true }
    throw failure
  }
}

type Described = Readonly<{ schema: TableSchema }>

function kindsOfSchema({ columns }: TableSchema): ReadonlyMap<string, string> {
  return new Map(columns.map(({ id, type }) => [id, typeof type === 'string' ? type : type.kind]))
}

/**
 * The receipt of an operation. undefined: there is none, as after a merge that changed nothing, or it cannot be read. A
 * receipt that cannot be read is no error, because the operation itself has succeeded.
 */
export async function fetchReceipt<T = Readonly<Record<string, unknown>>>(
  requests: Requests,
  tableId: string,
  version: string,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  const path = `${tablePath(tableId)}/receipts/${version}`
  const request = { method: 'GET', path, isRepeatable: true, signal }
  try {
    return await requests.send(request, (answer) => readAnswerData<T>(answer, {}))
  } catch (failure) {
    if (failure instanceof ClientError) return undefined
    throw failure
  }
}
