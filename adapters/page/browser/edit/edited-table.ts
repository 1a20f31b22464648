// What changes of rows need to know about the table and its grid.
import type { Api, TableInfo } from '../base/api.js'
import type { Grid } from '../grid/grid.js'
import type { GridColumn } from '../grid/grid-columns.js'
import type { RowSource } from '../grid/row-sources.js'

export type EditedTable = Readonly<{
  api: Api
  /** The table in the shown version. */
  info: () => TableInfo
  /** The container of the grid. */
  place: HTMLElement
  say: (message: string) => void
  fail: (failure: unknown) => void
  /** Called when a change made here has created a version of the table, with changed cells in these columns. */
  onSaved: (version: number, columns: readonly string[]) => void
  /** Must reopen the grid after rows were added or deleted. @param isEnd - Whether it opens at its last row. */
  onRows: (isEnd: boolean) => Promise<void>
}>

/** The shown grid, with the source of its rows and its columns. */
export type Shown = Readonly<{ grid: Grid; source: RowSource; columns: readonly GridColumn[] }>
