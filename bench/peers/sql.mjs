// Shared by the SQL engines.

/** A column's name in SQL; names of the data sets need no escaping. */
const quoted = (id) => `"${id}"`

/** The definition of the table, given the SQL type of each kind of column. */
export function columnList(columns, types) {
  return columns.map(({ id, kind }) => `${quoted(id)} ${types[kind]}`).join(', ')
}

export function nameList(columns) {
  return columns.map(({ id }) => quoted(id)).join(', ')
}

/** Rows in the text format of PostgreSQL's COPY. */
export function renderCopy(columns, rows, firstId) {
  const cell = (value) => {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    return /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, escapeCopy) : text
  }
  let id = firstId
  return rows
    .map((row) => `${id++}\t${columns.map((column) => cell(row[column.id])).join('\t')}\n`)
    .join('')
}

const COPY_ESCAPES = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }
const escapeCopy = (character) => COPY_ESCAPES[character]

export const POSTGRES_TYPES = {
  text: 'text',
  integer: 'integer',
  real: 'double precision',
  boolean: 'boolean',
  time: 'timestamptz',
  texts: 'jsonb',
}
