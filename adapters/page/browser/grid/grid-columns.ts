// Widths of the columns of a grid, and which of them are visible.
import { BoundedMap } from '../../../../src/base/bounded-map.js'
import type { ColumnType } from '../base/api.js'
import { firstWidth } from './cells.js'

export type GridColumn = Readonly<{
  id: string
  name: string
  type: ColumnType
  /** How the column sorts the rows. If only one column sorts them, it has no rank. */
  sorted?: Readonly<{ descending: boolean; rank: number | undefined }> | undefined
}>

/** The width of the column of row numbers, in pixels. */
export const GUTTER = 84

const WIDTH_MIN = 48
const WIDTH_MAX = 1_200

/** Widths that a person has chosen, by column ID. */
export type ChosenWidths = Map<string, number>

const STORED = 'rowstash-widths'
/** The maximum number of characters of stored widths. */
const STORED_CHARS_MAX = 100_000

/** The widths in the last 100 tables shown in this tab, also after a reload. */
export class WidthsOfTables {
  readonly #tables = new BoundedMap<string, ChosenWidths>(100)

  constructor() {
    const stored = JSON.parse(sessionStorage.getItem(STORED) ?? '[]') as readonly [string, []][]
    for (const [tableId, widths] of stored) this.#tables.set(tableId, new Map(widths))
    addEventListener('pagehide', () => this.#store())
  }

  #store(): void {
    const tables = this.#tables.oldest(100).map(([tableId, widths]) => [tableId, [...widths]])
    const text = JSON.stringify(tables)
    if (text.length <= STORED_CHARS_MAX) sessionStorage.setItem(STORED, text)
  }

  of(tableId: string): ChosenWidths {
    const widths = this.#tables.get(tableId) ?? new Map()
    this.#tables.set(tableId, widths)
    return widths
  }
}

export class GridColumns {
  readonly columns: readonly GridColumn[]
  readonly #widths: number[]
  readonly #chosen: ChosenWidths
  #starts: readonly number[]

  /** @param chosen - Receives widths chosen here. */
  constructor(columns: readonly GridColumn[], chosen: ChosenWidths) {
    this.columns = columns
    this.#chosen = chosen
    this.#widths = columns.map(({ id, name, type }) => chosen.get(id) ?? firstWidth(type, name))
    this.#starts = startsOf(this.#widths)
  }

  get width(): number {
    return this.#starts.at(-1) ?? 0
  }

  startOf(index: number): number {
    return this.#starts[index] ?? 0
  }

  widthOf(index: number): number {
    return this.#widths[index] ?? 0
  }

  /** Puts a cell where its column is. */
  place({ style }: HTMLElement, index: number): void {
    style.left = `${GUTTER + this.startOf(index)}px`
    style.width = `${this.widthOf(index)}px`
  }

  resize(index: number, width: number): void {
    const column = this.columns[index]
    if (column === undefined) return
    const chosen = Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, width))
    this.#widths[index] = chosen
    this.#chosen.set(column.id, chosen)
    this.#starts = startsOf(this.#widths)
  }

  /** The columns visible between two offsets, in pixels. */
  between(left: number, right: number): readonly [first: number, end: number] {
    const { length } = this.columns
    let first = 0
    while (first < length - 1 && this.startOf(first + 1) <= left) first++
    let end = first
    while (end < length && this.startOf(end) < right) end++
    return [first, end]
  }
}

function startsOf(widths: readonly number[]): readonly number[] {
  const starts = [0]
  for (const width of widths) starts.push((starts.at(-1) ?? 0) + width)
  return starts
}
