// Compiles a condition to a test of rows on the bytes of their texts, without objects or strings per row.
//
// The values of all comparisons of a column in one form are sorted, and the place of a cell among them is looked up
// once. Each comparison is the set of places at which it passes. So a combination of comparisons of one cell is again
// a set of places.
import { type Bytes, utf8 } from '../../base/bytes.js'
import type { Fold } from '../../base/fold-case.js'
import {
  type CellTest,
  type Comparison,
  type Condition,
  columnsOf,
  type Order,
} from './condition.js'
import {
  type CellForm,
  type CellText,
  FoldedCell,
  PLACE,
  RankedCell,
  RankedElements,
  SearchedCell,
  TestedRow,
  TextCell,
} from './tested-cells.js'

/** Tests the row that was read last. */
type Test = () => boolean

/** A test of the place of a cell. `passes`: 1 for each place that passes, otherwise 0. */
type Ranked = Readonly<{ cell: RankedCell; passes: Uint8Array }>

type Part = Ranked | Test

export class RowTest {
  /** Maximum number of tests made for one row. */
  count = 0
  readonly #row: TestedRow
  readonly #columns: ReadonlyMap<string, ColumnTests>
  readonly #test: Test

  constructor(condition: Condition) {
    const columns = [...columnsOf(condition)]
    const row = new TestedRow(columns)
    this.#row = row
    this.#columns = new Map(columns.map((id, at) => [id, new ColumnTests(row, at)]))
    this.#note(condition)
    this.#test = this.#testOf(this.#compile(condition))
  }

  /** Whether the row with the text from `from` to `to` (not included) passes. @throws {StoreError} DATA_CORRUPT */
  passes(bytes: Bytes, from: number, to: number): boolean {
    this.#row.read(bytes, from, to)
    return this.#test()
  }

  /** Collects the values of all tests, because the tests of a column are compiled against all its values. */
  #note(condition: Condition): void {
    if (condition.op === 'cell') this.#columns.get(condition.column)?.note(condition)
    else if (condition.op === 'not') this.#note(condition.condition)
    else for (const part of condition.conditions) this.#note(part)
  }

  #compile(condition: Condition): Part {
    switch (condition.op) {
      case 'cell': {
        const parts = this.#columns.get(condition.column)?.compile(condition) ?? []
        return this.#combined(parts, false)
      }
      case 'not': {
        const part = this.#compile(condition.condition)
        if (typeof part !== 'function') {
          return { cell: part.cell, passes: part.passes.map((passes) => 1 - passes) }
        }
        return () => !part()
      }
      default: {
        const parts = condition.conditions.map((one) => this.#compile(one))
        return this.#combined(parts, condition.op === 'all')
      }
    }
  }

  #combined(given: readonly Part[], isAll: boolean): Part {
    const parts: Part[] = []
    const passesOf = new Map<RankedCell, Uint8Array>()
    for (const part of given) {
      const known = typeof part === 'function' ? undefined : passesOf.get(part.cell)
      if (typeof part === 'function' || known === undefined) {
        parts.push(part)
        if (typeof part !== 'function') passesOf.set(part.cell, part.passes)
        continue
      }
      const { passes } = part
      for (let place = 0; place < known.length; place++) {
        if (passes[place] === (isAll ? 0 : 1)) known[place] = isAll ? 0 : 1
      }
    }
    const [only] = parts
    if (only !== undefined && parts.length === 1) return only
    const tests = parts.map((part) => this.#testOf(part))
    return () => {
      for (const test of tests) if (test() !== isAll) return !isAll
      return isAll
    }
  }

  #testOf(part: Part): Test {
    this.count++
    if (typeof part === 'function') return part
    const { cell, passes } = part
    return () => passes[cell.place] === 1
  }
}

/** A value of a test, in the form in which cells are compared. */
type Value = Readonly<{ form: CellForm; bytes: Bytes }>

/** The tests of a column. */
class ColumnTests {
  readonly #row: TestedRow
  readonly #column: number
  readonly #text: TextCell
  /**
   * By form: the values with which cells are compared. `#elementValues`: those with which elements of arrays are
   * compared.
   */
  readonly #values = new Map<CellForm, Bytes[]>()
  readonly #elementValues = new Map<CellForm, Bytes[]>()
  readonly #cells = new Map<CellForm, RankedCell>()
  readonly #elements = new Map<CellForm, RankedElements>()
  /** By form: the texts to search for, with their numbers. */
  readonly #needles = new Map<CellForm, Map<string, number>>()
  readonly #searched = new Map<CellForm, SearchedCell>()
  readonly #folded = new Map<Fold, FoldedCell>()

  constructor(row: TestedRow, column: number) {
    this.#row = row
    this.#column = column
    this.#text = new TextCell(row, column)
  }

  note(cell: CellTest): void {
    if (isSearch(cell)) {
      const needles = this.#needlesOf(cell.fold)
      needles.set(cell.text, needles.get(cell.text) ?? needles.size)
    }
    const noted = cell.test === 'has' ? this.#elementValues : this.#values
    for (const { form, bytes } of valuesOf(cell)) {
      const values = noted.get(form) ?? []
      values.push(bytes)
      noted.set(form, values)
    }
  }

  /** Compiles a test of a cell. @returns parts, of which one must pass */
  compile(cell: CellTest): Part[] {
    const values = valuesOf(cell)
    const forms = [...new Set(values.map(({ form }) => form))]
    switch (cell.test) {
      case 'isEmpty': {
        const ranked = this.#anyCell()
        const passes = new Uint8Array(ranked.placeCount)
        passes[PLACE.empty] = 1
        return [{ cell: ranked, passes }]
      }
      case 'has':
        return forms.map((form) => {
          const elements = this.#elementsOf(form)
          const ranks = rankValues(elements, values, form)
          return () => elements.has(ranks)
        })
      case 'in':
        return forms.map((form) => {
          const ranked = this.#cellOf(form)
          const passes = new Uint8Array(ranked.placeCount)
          for (const rank of rankValues(ranked, values, form)) passes[PLACE.ranks + rank] = 1
          return { cell: ranked, passes }
        })
      default: {
        if (isSearch(cell)) {
          const needle = this.#needlesOf(cell.fold).get(cell.text) ?? 0
          const searched = this.#searchedCell(cell.fold)
          return [() => searched.has(needle)]
        }
        return forms.map((form) => {
          const ranked = this.#cellOf(form)
          const passes = new Uint8Array(ranked.placeCount)
          const [from, to] = passingPlaces(
            cell.test,
            rankValues(ranked, values, form),
            passes.length,
          )
          return { cell: ranked, passes: passes.fill(1, from, to) }
        })
      }
    }
  }

  /** A ranked cell of any form, to tell whether the cell is empty. */
  #anyCell(): RankedCell {
    const [form = 'bare'] = this.#values.keys()
    return this.#cellOf(form)
  }

  #cellOf(form: CellForm): RankedCell {
    const parts = { form, values: this.#values.get(form) ?? [] }
    const cell =
      this.#cells.get(form) ?? new RankedCell(this.#row, this.#column, this.#textOf(form), parts)
    this.#cells.set(form, cell)
    return cell
  }

  #elementsOf(form: CellForm): RankedElements {
    const parts = { form, values: this.#elementValues.get(form) ?? [] }
    const elements = this.#elements.get(form) ?? new RankedElements(this.#row, this.#column, parts)
    this.#elements.set(form, elements)
    return elements
  }

  #needlesOf(form: Fold | 'text' = 'text'): Map<string, number> {
    const needles = this.#needles.get(form) ?? new Map<string, number>()
    this.#needles.set(form, needles)
    return needles
  }

  #searchedCell(form: Fold | 'text' = 'text'): SearchedCell {
    const needles = [...this.#needlesOf(form).keys()].map(utf8)
    const known = this.#searched.get(form)
    const searched = known ?? new SearchedCell(this.#row, this.#textOf(form), needles)
    this.#searched.set(form, searched)
    return searched
  }

  #textOf(form: CellForm): CellText {
    if (form !== 'noCase' && form !== 'noAccents') return this.#text
    const folded = this.#folded.get(form) ?? new FoldedCell(this.#row, this.#text, form)
    this.#folded.set(form, folded)
    return folded
  }
}

/** Whether a test searches for a text. Every text contains the empty text, which therefore needs no search. */
function isSearch(cell: CellTest): cell is CellTest & Readonly<{ test: 'contains' }> {
  return cell.test === 'contains' && cell.text !== ''
}

/**
 * The values with which cells are compared. A text with a prefix lies between the prefix and the next greater bytes.
 */
function valuesOf(cell: CellTest): readonly Value[] {
  switch (cell.test) {
    case 'isEmpty':
      return []
    case 'contains':
    case 'startsWith': {
      const form = cell.fold ?? 'text'
      const bytes = utf8(cell.text)
      if (bytes.length === 0) return [{ form, bytes }]
      return cell.test === 'contains'
        ? []
        : [
            { form, bytes },
            { form, bytes: behind(bytes) },
          ]
    }
    case 'in':
    case 'has': {
      const { fold } = cell
      return cell.values.map((value) => {
        return fold ? { form: fold, bytes: utf8(value) } : comparedValue(cell.comparison, value)
      })
    }
    default:
      return [comparedValue(cell.comparison, cell.value)]
  }
}

/** The least bytes that are greater than all bytes with this prefix. UTF-8 has no byte 255. */
function behind(bytes: Bytes): Bytes {
  const next = bytes.slice()
  next[next.length - 1] = (next[next.length - 1] ?? 0) + 1
  return next
}

function comparedValue(comparison: Comparison, value: string): Value {
  switch (comparison) {
    case 'duration': {
      if (!value.startsWith('"')) return { form: 'number', bytes: utf8(value) }
      return { form: 'text', bytes: utf8(String(JSON.parse(value))) }
    }
    case 'date':
      return { form: 'text', bytes: utf8(value) }
    case 'boolean':
      return { form: 'bare', bytes: utf8(value) }
    default:
      return { form: comparison, bytes: utf8(value) }
  }
}

/** The ranks of the values in a form. */
function rankValues(
  { ranks }: RankedCell | RankedElements,
  values: readonly Value[],
  wanted: CellForm,
): number[] {
  return values
    .filter(({ form }) => form === wanted)
    .map(({ bytes }) => ranks.rankOf(bytes, 0, bytes.length))
}

/** The places at which a comparison passes: those from `from` to `to` (not included). */
function passingPlaces(
  test: Order | 'startsWith' | 'contains',
  [rank = 0, next]: readonly number[],
  placeCount: number,
): readonly [from: number, to: number] {
  const place = PLACE.ranks + rank
  switch (test) {
    case 'gt':
      return [place + 1, placeCount]
    case 'gte':
      return [place, placeCount]
    case 'lt':
      return [PLACE.ranks, place]
    case 'lte':
      return [PLACE.ranks, place + 1]
    default:
      return [place, next === undefined ? placeCount : PLACE.ranks + next]
  }
}
