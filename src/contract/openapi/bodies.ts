// Bodies of requests and answers by media type.
import type { BodyEntry, Entry, JsonSchema, SuccessEntry } from './model.js'
import type { HeaderName, ParameterName } from './parameters.js'
import { ref } from './schemas.js'

export type Operation = Entry<ParameterName, HeaderName>
type Success = SuccessEntry<HeaderName>

const TABLE_TEXT: JsonSchema = {
  type: 'string',
  minLength: 1,
  description: 'RFC 4180 in UTF-8; the header has the column IDs.',
}

/** JSON of this shape, CSV or TSV. */
export function tabular(description: string, schema: JsonSchema): BodyEntry {
  return {
    description,
    content: {
      'application/json': schema,
      'text/csv': TABLE_TEXT,
      'application/csv': TABLE_TEXT,
      'text/tab-separated-values': TABLE_TEXT,
      'text/tsv': TABLE_TEXT,
    },
  }
}

export function json(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return { 'application/json': schema }
}

/** An answer about a table or a row, with its version. */
export function versioned(description: string, schema: JsonSchema): Success {
  return { description, headers: ['ETag'], content: json(schema) }
}

/** The answer to `If-None-Match`. */
export const UNCHANGED: Success & { ours: true } = {
  description: 'The client has this version already.',
  headers: ['ETag'],
  ours: true,
}

/** The answer to a change of rows, which may have a receipt. */
export function changed(description: string, schema: JsonSchema): Success {
  return { description, headers: ['ETag', 'PreferenceApplied'], content: json(schema) }
}

export function unversioned(description: string, schema: JsonSchema): Success {
  return { description, content: json(schema) }
}

export const EMPTY = ref('Empty')
