// Tables, pages and rows of a server, as `rowstash/client` returns them.
import type { OrderBy, Where } from '../engine/types/find-types.js'
import type { TableSchema } from '../schema/column-kind.js'

/** A row: its ID and its non-empty cells, as JSON.parse returns them. */
export type ClientRow = Readonly<{ $rowID: string } & Record<string, unknown>>

/** The description of a table. Times are in milliseconds since 1970 UTC; null: not known. */
export type ClientTableInfo = Readonly<{
  /** The ID of the table. */
  id: string
  /** Its name, which other tables may have too. */
  name: string
  /** Its columns. */
  schema: TableSchema
  /** Columns in which no two rows have the same values. */
  key?: readonly string[]
  /** The number of rows. */
  rowCount: number
  /** Bytes of the rows as they are stored. */
  bytes: number
  /** The version, as an ETag without quotes. */
  version: string
  /** When the table was made. */
  createdAt: number | null
  /** When it was last changed. */
  updatedAt: number | null
}>

/** Cells by column ID. null empties a cell. */
export type ClientCells = Readonly<Record<string, unknown>>

/** Some rows of a table, in its order. */
export type ClientPage = Readonly<{
  /** The rows, at most `limit`. */
  rows: readonly ClientRow[]
  /** Present if more rows follow. */
  continuation?: string
  /** The version of the table that the page shows, as an ETag without quotes. */
  version: string
  /** With `total`: how many rows match, on all pages. */
  total?: number
}>

/**
 * Which rows and cells of a table are read. Only a server of rowstash knows these; others may answer with all rows, or
 * refuse them.
 */
export type ClientFind = Readonly<{
  /** Conditions by column ID, as `where` of `table.scan` takes them. Default: all rows. */
  where?: Where | undefined
  /** As `search` of `table.scan`. Default: all rows. */
  search?: string | undefined
  /** The columns whose cells are returned. Default: all. */
  columns?: readonly string[] | undefined
  /** The columns that rows are sorted by, as `orderBy` of `table.page`. Default: the rows are in order of insertion. */
  orderBy?: OrderBy | undefined
}>

/** A condition on a version, for reads. */
export type IfNoneMatch = Readonly<{
  /**
   * A `version` that was read before. If it is still the current one, the call fails with the type `not_modified` and
   * reads no rows. Only a server of rowstash evaluates it. Default: no condition.
   */
  ifNoneMatch?: string | undefined
}>

/** Which of the rows are on a page. */
export type PagePart = Readonly<{
  /** A positive integer. Default: as many as the server allows. */
  limit?: number | undefined
  /** Of the page before. Default: the page begins at `from`. */
  continuation?: string | undefined
  /** The number of the first row, in the order of the page. Default: 0. Range: 0 to 2^53 - 1. */
  from?: number | undefined
  /** Whether the page says how many rows match. Default: false. */
  total?: boolean | undefined
}>
