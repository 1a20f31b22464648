// Inputs of the `onSchemaError` cases: the same rows as a body and as a stash, in JSON and in CSV, in one chunk and in
// many. The table's rows are compared as text, so that no token can change.
import { type Api, CSV, type SendOptions, type TableAt, uniqueName } from './api.js'

export type Form = 'abort' | 'dropColumns' | 'updateSchema'

/** Rows in two forms, which may have different meanings. An empty list is not sent in that form. */
export type Rows = Readonly<{
  /** Row objects as JSON text. */
  json: readonly string[]
  csv: Readonly<{ header: string; records: readonly string[] }>
}>

type Shape = Readonly<{
  what: string
  isStash: boolean
  /** The forms in which rows are sent, in order. */
  parts: 'json' | 'csv' | 'both'
  /** Whether each row is a separate chunk. */
  split: boolean
}>

export const SHAPES: readonly Shape[] = [
  { what: 'JSON', isStash: false, parts: 'json', split: false },
  { what: 'CSV', isStash: false, parts: 'csv', split: false },
  { what: 'a stash of JSON', isStash: true, parts: 'json', split: false },
  { what: 'a stash of CSV', isStash: true, parts: 'csv', split: false },
  { what: 'a stash of JSON chunks of a row', isStash: true, parts: 'json', split: true },
  { what: 'a stash of CSV chunks of a row', isStash: true, parts: 'csv', split: true },
  { what: 'a stash of JSON and CSV chunks', isStash: true, parts: 'both', split: true },
]

/** The items for the rows that a shape sends, in the order of sending. */
export function arrange<T>({ parts }: Shape, json: readonly T[], csv: readonly T[]): T[] {
  if (parts === 'json') return [...json]
  if (parts === 'csv') return [...csv]
  const length = Math.max(json.length, csv.length)
  return Array.from({ length }, (_, i) => [...json.slice(i, i + 1), ...csv.slice(i, i + 1)]).flat()
}

/** Rows ready to be sent, with their stash if there is one. `rows` represents them in a body object. */
export type Sendable = SendOptions & Readonly<{ rows: string | null }>

export async function sendable(api: Api, shape: Shape, { json, csv }: Rows): Promise<Sendable> {
  const csvBody = (records: readonly string[]): string => [csv.header, ...records].join('\n')
  const jsonBody = (rows: readonly string[]): string => `[${rows.join(',')}]`
  if (!shape.isStash) {
    if (shape.parts === 'csv') return { body: csvBody(csv.records), type: CSV, rows: null }
    return { body: jsonBody(json), rows: jsonBody(json) }
  }
  const ofJson = (rows: readonly string[]) => ({ body: jsonBody(rows) })
  const ofCsv = (records: readonly string[]) => ({ body: csvBody(records), type: CSV })
  const chunks = shape.split
    ? arrange(
        shape,
        json.map((row) => ofJson([row])),
        csv.records.map((record) => ofCsv([record])),
      )
    : [shape.parts === 'json' ? ofJson(json) : ofCsv(csv.records)]
  const $stashID = uniqueName('s')
  for (const [serial, chunk] of chunks.entries()) {
    await api.ok('PUT', `/stashes/${$stashID}/${serial}`, chunk)
  }
  return { body: { $stashID }, rows: JSON.stringify({ $stashID }) }
}

/** The rows of a table, without their IDs, as texts of row objects. */
export async function rowTextsOf(api: Api, table: TableAt): Promise<string> {
  return (await api.textOf(table)).replace(/"\$rowID":"[\w-]{22}",?/g, '')
}

/** The result of `rowTextsOf` for these rows. */
export function pageText(rows: readonly string[]): string {
  return `{"data":[${rows.join(',')}]}`
}

/** A CSV field in quotes; an empty one stays unquoted. */
export function quoted(field: string): string {
  return field === '' ? '' : `"${field.replaceAll('"', '""')}"`
}
