// Columns of a table as columns of Parquet, and the values of their cells.
//
// Invariant: a value that Parquet would change is rejected, so an export that is imported has the same values.

import type { SchemaElement } from 'hyparquet'
import type { Column, ColumnKind } from '../../src/index.js'

const DAY_MS = 86_400_000

/** The metadata entry with the table's schema as JSON. */
export const SCHEMA_ENTRY = 'rowstash.schema'

const TEXT = { type: 'BYTE_ARRAY', converted_type: 'UTF8' } as const

/** Times are text: Parquet has no type that keeps their forms and offsets. A duration is a text or a number. */
const ELEMENT_OF_KIND: Readonly<
  Record<ColumnKind, Pick<SchemaElement, 'type' | 'converted_type'>>
> = {
  string: TEXT,
  markdown: TEXT,
  uri: TEXT,
  imageURI: TEXT,
  audioURI: TEXT,
  emailAddress: TEXT,
  phoneNumber: TEXT,
  emoji: TEXT,
  date: { type: 'INT32', converted_type: 'DATE' },
  time: TEXT,
  dateTime: TEXT,
  duration: { type: 'BYTE_ARRAY', converted_type: 'JSON' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
}

/** The schema of a file with these columns. */
export function schemaElements(columns: readonly Column[]): SchemaElement[] {
  const root = { name: 'root', num_children: columns.length }
  return [root, ...columns.flatMap(elementsOfColumn)]
}

function elementsOfColumn({ id, type }: Column): readonly SchemaElement[] {
  const optional = { repetition_type: 'OPTIONAL' } as const
  if (type.kind !== 'array') return [{ name: id, ...optional, ...ELEMENT_OF_KIND[type.kind] }]
  return [
    { name: id, ...optional, num_children: 1, converted_type: 'LIST' },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', ...optional, ...ELEMENT_OF_KIND[type.items.kind] },
  ]
}

/** Returns a function that converts a cell, as JSON.parse returns it, to a Parquet value. */
export function cellWriter({ type }: Column): (value: unknown) => unknown {
  if (type.kind !== 'array') return valueWriter(type.kind)
  const write = valueWriter(type.items.kind)
  return (value) => (Array.isArray(value) ? value.map(write) : value)
}

function valueWriter(kind: ColumnKind): (value: unknown) => unknown {
  if (kind !== 'date') return (value) => value
  return (text) => (typeof text === 'string' ? Date.parse(`${text}T00:00:00Z`) / DAY_MS : text)
}

/** A line that may contain a number that is no double: with many digits, or an exponent. */
const MAY_BE_INEXACT = /[0-9][0-9.]{15}|[0-9][eE]/

const TOKENS = /"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*/g

/** The first number in a row's JSON that is not a double; undefined: there is none. */
export function inexactNumber(json: string): string | undefined {
  if (!MAY_BE_INEXACT.test(json)) return undefined
  for (const [token] of json.matchAll(TOKENS)) {
    if (!token.startsWith('"') && decimalOf(token) !== decimalOf(String(Number(token))))
      return token
  }
  return undefined
}

/** A canonical text: the same for all notations of a number. */
function decimalOf(token: string): string {
  const [, sign = '', integer = '', fraction = '', exponent = '0'] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?$/.exec(token) ?? []
  const digits = `${integer}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const scale = Number(exponent) - fraction.length + digits.length - significant.length
  return `${sign}${significant}e${scale}`
}
