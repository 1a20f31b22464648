// Keys of tables: the columns allowed, and which rows have the same key.
import { canonicalToken } from '../../../src/format/row-values.js'
import type { ModelSchema } from './cell-rules.js'
import { expectFailure, Mismatch, type Outcome } from './operation.js'
import { type ModelRow, shownCells } from './oracle.js'

export type Key = readonly string[] | null
export type Cells = ModelRow['cells']

export const INVALID = { code: 'REQUEST_VALIDATION_ERROR' } as const

/** Rows as errors name them: existing ones by ID, others by their number in the input. */
export type NamedRows = readonly Readonly<{ name: string; cells: Cells }>[]

export function namedRows(rows: readonly ModelRow[]): NamedRows {
  return rows.flatMap(({ id, gone, cells }) => (gone ? [] : [{ name: `row '${id}'`, cells }]))
}

/** If the line is known, it follows the name. */
export function namedInput(rows: readonly Cells[]): NamedRows {
  return rows.map((cells, i) => ({ name: `row ${i} (counted from 0)`, cells }))
}

type KeyedChange = Readonly<{
  /** The schema of the rows before; null: all rows are new. */
  before: ModelSchema | null
  after: ModelSchema
  /** All rows after the change. */
  rows: NamedRows
}>

/** Checks the outcome of a change that the table's key forbids. @returns whether the key forbids it */
export function isRefusedByKey(outcome: Outcome, key: Key, change: KeyedChange): boolean {
  if (key === null) return false
  if (!mayBeKey(key, change)) {
    expectFailure(outcome, INVALID)
    return true
  }
  const same = [...byKey(key, change).values()].filter((rows) => rows.length > 1)
  if (same.length === 0) return false
  const [column] = key
  const alone = key.length === 1 && column !== undefined ? { column } : {}
  expectFailure(outcome, { code: 'KEY_NOT_UNIQUE', ...alone })
  const message = 'failure' in outcome ? String(outcome.failure) : ''
  const isTold = same.some((rows) => rows.filter((row) => message.includes(row)).length > 1)
  if (!isTold) throw new Mismatch(`no two of ${same.join(' or ')} are named by: ${message}`)
  return true
}

function isText(kind: string): boolean {
  return kind !== 'number' && kind !== 'boolean'
}

function mayBeKey(key: readonly string[], { before, after }: KeyedChange): boolean {
  return key.every((id) => {
    const kind = kindOf(after, id)
    const old = before === null ? kind : kindOf(before, id)
    if (kind === undefined || kind === 'array') return false
    return old === undefined || isText(old) === isText(kind)
  })
}

export function kindOf({ columns }: ModelSchema, column: string): string | undefined {
  return columns.find(({ id }) => id === column)?.type.kind
}

/** The names of the rows by key. Rows with an empty key cell have none. */
function byKey(
  key: readonly string[],
  { after, rows }: Pick<KeyedChange, 'after' | 'rows'>,
): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const { name, cells } of rows) {
    const text = keyText(key, cells, after)
    if (text !== null) found.set(text, [...(found.get(text) ?? []), name])
  }
  return found
}

export function keyText(key: readonly string[], cells: Cells, schema: ModelSchema): string | null {
  const shown = new Map(shownCells({ cells }, schema))
  const tokens = key.flatMap((id) => shown.get(id) ?? [])
  return tokens.length < key.length ? null : JSON.stringify(tokens.map(canonicalToken))
}
