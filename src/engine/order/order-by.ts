// Checks the order that a caller requests against a schema.
import { dataError } from '../../base/data-error.js'
import { shown } from '../../base/options.js'
import type { StoreError } from '../../base/store-error.js'
import { lackedColumn } from '../../base/unknown-column.js'
import type { Column } from '../../schema/column-kind.js'
import type { Comparison } from '../find/condition.js'
import { comparisonOf } from '../find/where.js'
import type { OrderBy } from '../types/find-types.js'

/** A column to sort by. */
export type SortColumn = Readonly<{
  id: string
  comparison: Exclude<Comparison, 'duration'>
  isDescending: boolean
  ignoresCase: boolean
  /** The order of texts in a locale; null: texts are ordered by code points. */
  collator: Intl.Collator | null
}>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, with the column */
export function parseOrderBy(
  orderBy: OrderBy,
  columns: ReadonlyMap<string, Column>,
): readonly SortColumn[] {
  return orderBy.map(({ column: id, descending = false, ignoreCase = false, locale }) => {
    const column = columns.get(id)
    if (column === undefined) throw wrongOrder(id, lackedColumn(columns, id))
    const { type } = column
    if (type.kind === 'array')
      throw wrongOrder(id, `column ${shown(id)} holds arrays, which have no order`)
    const comparison = comparisonOf(type.kind)
    if (comparison === 'duration') {
      const why = 'durations have no order, because months differ in length'
      throw wrongOrder(id, `column ${shown(id)}: ${why}`)
    }
    if (comparison !== 'text' && (ignoreCase || locale !== undefined)) {
      throw wrongOrder(
        id,
        `column ${shown(id)} is not text: it takes neither ignoreCase nor locale`,
      )
    }
    const collator = locale === undefined ? null : collatorOf(id, locale, ignoreCase)
    return { id, comparison, isDescending: descending, ignoresCase: ignoreCase, collator }
  })
}

function collatorOf(id: string, locale: string, ignoreCase: boolean): Intl.Collator {
  const sensitivity = ignoreCase ? 'accent' : 'variant'
  try {
    if (Intl.Collator.supportedLocalesOf(locale).length > 0) {
      return new Intl.Collator(locale, { sensitivity })
    }
  } catch {
    throw wrongOrder(id, `locale ${shown(locale)} is not a language tag, such as 'de-AT'`)
  }
  throw wrongOrder(id, `the runtime does not know the locale ${shown(locale)}`)
}

function wrongOrder(column: string, problem: string): StoreError {
  return dataError('REQUEST_VALIDATION_ERROR', `orderBy: ${problem}`, { column })
}
