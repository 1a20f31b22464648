// Suggests columns instead of an unknown one, for messages.
import { nearestWord } from './nearest-word.js'
import { shown } from './options.js'

/** The maximum number of columns in a message. */
const COLUMNS_SHOWN_MAX = 8

/** Says that a table lacks a column, and which it has. @param columns - The table's columns, by ID. */
export function lackedColumn(columns: ReadonlyMap<string, unknown>, id: string): string {
  return `the table has no column ${shown(id)}${columnsInstead(columns, id)}`
}

/** The end of a message about a missing column. */
export function columnsInstead(columns: ReadonlyMap<string, unknown>, id: string): string {
  if (columns.size === 0) return ''
  const ids = [...columns.keys()]
  const listed = ids.slice(0, COLUMNS_SHOWN_MAX).map(shown).join(', ')
  const more = ids.length > COLUMNS_SHOWN_MAX ? ` and ${ids.length - COLUMNS_SHOWN_MAX} more` : ''
  const nearest = nearestWord(id, ids)
  return nearest === undefined
    ? `; it has ${listed}${more}`
    : `; did you mean ${shown(nearest)}? It has ${listed}${more}`
}
