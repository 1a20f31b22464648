// What the changes of rows know of the table and of the grid that shows it.
import type { Api, TableInfo } from '../base/api.js'
import type { Grid } from '../grid/grid.js'
import type { GridColumn } from '../grid/grid-columns.js'
import type { RowSource } from '../grid/row-sources.js'

export type EditedTable = Readonly<{
  api: Api
  /** The table in the version that is shown. */
  info: () => TableInfo
  /** Where the grid stands. */
  place: HTMLElement
  say: (message: string) => void
  fail: (failure: unknown) => void
  /** The table has a version that was made here, with changes of cells in columns. */
  onSaved: (version: number, columns: readonly string[]) => void
  /** Rows came or went: the grid is to be opened again. @param isEnd - At its last row. */
  onRows: (isEnd: boolean) => Promise<void>
}>

/** What the rows of a grid are changed in. */
export type Shown = Readonly<{ grid: Grid; source: RowSource; columns: readonly GridColumn[] }>
