// Inputs of the cases of `onSchemaError`: the same rows as a body and as a stash, of JSON and of CSV, in
// one chunk and in many; and what a table then holds, compared as text, so that no token can change.
import { type Api, CSV, type SendOptions, type TableAt, uniqueName } from './api.js'

export type Form = 'abort' | 'dropColumns' | 'updateSchema'

/** Rows in two spellings, which need not mean the same. An empty list: not sent in that spelling. */
export type Rows = Readonly<{
  /** Row objects as JSON text. */
  json: readonly string[]
  csv: Readonly<{ header: string; records: readonly string[] }>
}>

type Shape = Readonly<{
  what: string
  isStash: boolean
  /** The rows in each of the two spellings, in order. */
  parts: 'json' | 'csv' | 'both'
  /** Each row is a chunk of its own. */
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

/** The items of the rows that a shape sends, in the order in which it sends them. */
export function arrange<T>({ parts }: Shape, json: readonly T[], csv: readonly T[]): T[] {
  if (parts === 'json') return [...json]
  if (parts === 'csv') return [...csv]
  const length = Math.max(json.length, csv.length)
  return Array.from({ length }, (_, i) => [...json.slice(i, i + 1), ...csv.slice(i, i + 1)]).flat()
}

/** Rows that were made ready to be sent: the stash is there. `rows` is what stands for them in a body object. */
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

/** The rows of a table as they read back, without their IDs: the texts of the row objects. */
export async function rowTextsOf(api: Api, table: TableAt): Promise<string> {
  return (await api.textOf(table)).replace(/"\$rowID":"[\w-]{22}",?/g, '')
}

/** The result of `rowTextsOf` for these rows. */
export function pageText(rows: readonly string[]): string {
  return `{"data":[${rows.join(',')}]}`
}

/** A field of CSV in quotes; an empty one without. */
export function quoted(field: string): string {
  return field === '' ? '' : `"${field.replaceAll('"', '""')}"`
}
