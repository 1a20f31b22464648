// Changes of all cells or rows of the block chosen in a grid, each in one commit.
import type { Row } from '../base/api.js'
import * as EDIT from '../base/edit-texts.js'
import { shownCount } from '../base/show.js'
import * as TEXT from '../base/texts.js'
import type { Block } from '../grid/cell-block.js'
import type { GridColumn } from '../grid/grid-columns.js'
import { askMisfits } from './ask-misfits.js'
import { parseCell, tokenOf } from './cell-text.js'
import type { EditedTable, Shown } from './edited-table.js'
import { cellsOfText } from './paste-text.js'
import type { NewCell, RowEdits } from './row-edits.js'
import { addRows, deleteRows, ROWS_MAX, type SeenRow } from './row-writes.js'

export class BlockEdits {
  readonly #table: EditedTable
  readonly #edits: RowEdits
  /** Called with each loaded row of a block that is changed, and its position. */
  readonly #onRow: (row: Row, position: number) => void

  constructor(table: EditedTable, edits: RowEdits, onRow: (row: Row, position: number) => void) {
    this.#table = table
    this.#edits = edits
    this.#onRow = onRow
  }

  async empty({ grid, source, columns }: Shown): Promise<void> {
    const { left, right } = grid.block
    const rows = await this.#rowsOf(source, grid.block)
    const chosen = columns.slice(left, right + 1)
    const cells = rows.flatMap((row) =>
      chosen.map(({ id }) => ({ row, column: id, after: 'null' })),
    )
    this.#edits.change(cells, this.#table.info().version)
  }

  /** The text of one cell fills the block. Other texts begin at its first cell. */
  async paste(shown: Shown, text: string): Promise<void> {
    const { grid, source, columns } = shown
    const { top, bottom, left, right } = grid.block
    const given = cellsOfText(text)
    const isOne = given.length === 1 && given[0]?.length === 1
    const height = isOne ? bottom - top + 1 : given.length
    const width = isOne ? right - left + 1 : Math.max(...given.map(({ length }) => length))
    const below = top + height - source.count
    const beside = left + width - columns.length
    if (below > 0 && !source.isOpen) throw new Error(EDIT.pasteTooLong(below))
    if (beside > 0) throw new Error(EDIT.pasteTooWide(beside))
    const rows = await this.#rowsOf(source, { top, bottom: top + height - 1 })
    const cells: NewCell[] = []
    const misfits: string[] = []
    const take = (row: Row, column: GridColumn, value: string, name: string): void => {
      const { token, problem } = parseCell(value, column.type)
      if (problem === undefined) cells.push({ row, column: column.id, after: token })
      else misfits.push(`${name}: “${value}”. ${EDIT.mustBe(problem, false)}`)
    }
    for (const [at, row] of rows.entries()) {
      for (const [index, column] of columns.slice(left, left + width).entries()) {
        const value = isOne ? given[0]?.[0] : given[at]?.[index]
        const name = EDIT.cellOf(column.name, shownCount(top + at + 1))
        if (value !== undefined) take(row, column, value, name)
      }
    }
    const commit = (): void => {
      this.#edits.change(cells, this.#table.info().version)
      this.#table.say(EDIT.pasted(cells.length))
    }
    if (misfits.length === 0) commit()
    else askMisfits(misfits, commit)
  }

  async addRow(): Promise<void> {
    const { api, info, say, onRows } = this.#table
    const { id } = info()
    const rowIds = await addRows(api, id, [new Map()])
    await onRows(true)
    say(EDIT.rowAdded)
    const { version } = info()
    this.#edits.note(() => this.#delete(rowIds.map((rowId) => ({ rowId, version }))))
  }

  /** Deletes the rows of the block. Undoing adds them at the end of the table. */
  async deleteRows({ grid, source }: Shown): Promise<void> {
    const { api, info, say, onRows } = this.#table
    const { id, version } = info()
    const rows = await this.#rowsOf(source, grid.block, true)
    await this.#delete(rows.map(({ $rowID }) => ({ rowId: $rowID, version })))
    const back = rows.map(({ $rowID: _, ...cells }) => {
      return new Map(Object.entries(cells).map(([column, value]) => [column, tokenOf(value)]))
    })
    this.#edits.note(async () => {
      await addRows(api, id, back)
      await onRows(true)
      say(EDIT.rowsBack(back.length))
    })
  }

  async #delete(rows: readonly SeenRow[]): Promise<void> {
    const { api, info, say, onRows } = this.#table
    await deleteRows(api, info().id, rows)
    await onRows(false)
    say(EDIT.rowsDeleted(rows.length))
  }

  /**
   * The rows of a block. Rows that are not loaded are read.
   * @param isWhole - Whether the rows must have the cells of all columns.
   */
  async #rowsOf(
    source: Shown['source'],
    { top, bottom }: Pick<Block, 'top' | 'bottom'>,
    isWhole = false,
  ): Promise<readonly Row[]> {
    const count = bottom - top + 1
    if (top < 0 || count > ROWS_MAX) throw new Error(EDIT.rowsMax(ROWS_MAX))
    const there = Array.from({ length: count }, (_, at) => source.rowAt(top + at))
    for (const [at, row] of there.entries()) if (row !== undefined) this.#onRow(row, top + at)
    if (!isWhole && there.every((row) => row !== undefined)) return there
    const { api, info } = this.#table
    const rows: Row[] = []
    let request = await source.requestFrom(top)
    while (rows.length < count) {
      const columns = isWhole ? undefined : request.columns
      const asked = { ...request, columns, limit: count - rows.length }
      const page = await api.rows(info().id, asked)
      if (page.version !== info().version) throw new Error(TEXT.rowsEnded)
      rows.push(...page.rows)
      const { continuation } = page
      if (continuation === undefined) break
      request = { ...request, from: undefined, continuation }
    }
    const isOther = there.some((row, at) => row !== undefined && row.$rowID !== rows[at]?.$rowID)
    if (isOther) throw new Error(TEXT.rowsEnded)
    return isWhole ? rows : rows.map((row) => this.#edits.shown(row))
  }
}
