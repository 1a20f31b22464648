// A choice of a column's type.
import { COLUMN_KINDS } from '../../../../src/schema/column-kind.js'
import type { ColumnType } from '../base/api.js'
import { el } from '../base/dom.js'
import { shownType } from '../grid/cells.js'

const TYPES: ReadonlyMap<string, ColumnType> = new Map(
  [
    ...COLUMN_KINDS.map((kind) => ({ kind })),
    ...COLUMN_KINDS.map((kind) => ({ kind: 'array', items: { kind } })),
  ].map((type) => [shownType(type), type]),
)

export function kindSelect(id: string, chosen = 'string'): HTMLSelectElement {
  const options = [...TYPES.keys()].map((name) => el('option', { selected: name === chosen }, name))
  return el('select', { id }, ...options)
}

export function chosenType({ value }: HTMLSelectElement): ColumnType {
  return TYPES.get(value) ?? { kind: value }
}
