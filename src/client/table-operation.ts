// The operation that uses a stash, and its answer.
import { AnswerReader } from './answer-reader.js'
import { answerPieces, invalidAnswer } from './answers.js'
import type { ImportTarget, MergeCounts, OnSchemaError } from './import-types.js'

export type TableOperation = Readonly<{
  method: 'POST' | 'PUT'
  path: string
  query: URLSearchParams
  body: object
  /** The version that is sent as `If-Match`. */
  ifMatch: string | undefined
}>

export function tablePath(tableId: string): string {
  return `/tables/${encodeURIComponent(tableId)}`
}

export function schemaQuery(onSchemaError: OnSchemaError | undefined): string {
  return onSchemaError === undefined ? '' : `?onSchemaError=${onSchemaError}`
}

export function makeTableOperation(target: ImportTarget, stashId: string): TableOperation {
  const rows = { $stashID: stashId }
  const query = new URLSearchParams()
  const { ifMatch } = target
  if (target.name !== undefined) {
    const { name, schema } = target
    const body = { name, ...(schema && { schema }), rows }
    return { method: 'POST', path: '/tables', query, body, ifMatch }
  }
  const path = tablePath(target.tableId)
  if (target.mode === 'add') {
    return { method: 'POST', path: `${path}/rows`, query, body: rows, ifMatch }
  }
  if (target.mode === 'merge') {
    for (const column of target.key) query.append('key', column)
    query.set('mode', target.missing === 'delete' ? 'replace' : 'upsert')
    query.set('unnamed', target.unnamed ?? 'keep')
    return { method: 'POST', path: `${path}/merge`, query, body: rows, ifMatch }
  }
  const { schema } = target
  return { method: 'PUT', path, query, body: { ...(schema && { schema }), rows }, ifMatch }
}

/**
 * The operation whose check is sent. A merge is checked as an overwrite, because the check of a merge counts its
 * effects but does not list values that do not fit, and the check of an add rejects keys that the table has.
 */
export function checkedAs(target: ImportTarget): ImportTarget {
  if (target.mode !== 'merge') return target
  const { tableId, ifMatch } = target
  return { tableId, mode: 'overwrite', ...(ifMatch !== undefined && { ifMatch }) }
}

type OperationAnswer = Readonly<{
  tableId: string
  /** The number of rows that were written; undefined: the answer does not list the IDs of all of them. */
  rows: number | undefined
  merged?: MergeCounts
}>

/** Reads the answer of an operation in bounded memory: it may have millions of row IDs. */
export async function readAnswer(answer: Response, target: ImportTarget): Promise<OperationAnswer> {
  const reader = new AnswerReader()
  for await (const piece of answerPieces(answer)) reader.read(piece)
  if (!reader.isWhole) throw invalidAnswer(answer, 'is not the answer to an import')
  const tableId = target.tableId ?? reader.tableId
  if (tableId === undefined) throw invalidAnswer(answer, 'has no table ID')
  if (target.mode !== 'merge') return { tableId, rows: reader.rowCount }
  const count = (name: keyof MergeCounts): number => reader.counts.get(name) ?? 0
  const merged = {
    added: count('added'),
    changed: count('changed'),
    unchanged: count('unchanged'),
    removed: count('removed'),
  }
  return { tableId, rows: undefined, merged }
}
