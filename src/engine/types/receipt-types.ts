// What an operation that wrote rows did.
import type { ColumnType } from '../../schema/column-kind.js'
import type { PreflightProblem } from './preflight-types.js'

/** Rows that arrived together: a chunk of a stash, the rows of a request, or up to 65,536 rows of an imported file. */
export type ReceiptChunk = Readonly<{
  /** Serial of the chunk; only for rows from a stash. */
  serial?: string
  /** The number of rows. */
  rows: number
  /**
   * SHA-256 of the rows as the table returns them, in lower-case hex: for each row in order, its JSON text without
   * the member `$rowID`, then a line feed.
   */
  sha256: string
}>

/** Columns that an operation changed. For a create, all columns are added. */
export type ReceiptColumns = Readonly<{
  /** IDs of new columns. */
  added: readonly string[]
  /** Columns whose type was widened, or replaced by the schema of an overwrite. */
  changed: readonly Readonly<{ id: string; before: ColumnType; after: ColumnType }>[]
  /** IDs of removed columns. */
  removed: readonly string[]
}>

/** Cells that `dropColumns` left empty; otherwise none. */
export type ReceiptDropped = Readonly<{
  /** The number of cells that did not fit, plus one for each column that the schema lacks in a chunk. */
  count: number
  /** `count` by column and rule; at most 1,000 entries. */
  columns: readonly Readonly<{ column: string; rule: string; count: number }>[]
  /** The first 10 of the counted problems, in input order. */
  first: readonly PreflightProblem[]
}>

/** The counts of a merge, and its key. */
export type ReceiptMerge = Readonly<{
  /** `replace`: it deleted the rows that its input lacked (`missing: 'delete'`). */
  mode: 'upsert' | 'replace'
  key: readonly string[]
  added: number
  changed: number
  unchanged: number
  removed: number
}>

/**
 * What a create, an add, an overwrite or a merge did. An import is a create. The rows of a merge are those of its
 * input.
 */
export type Receipt = Readonly<{
  /** The operation. */
  operation: 'create' | 'add' | 'overwrite' | 'merge'
  /** The version that the operation made. */
  version: number
  /** The version before; 0 for a create. */
  versionBefore: number
  /** The time of the commit, in milliseconds since 1970. */
  at: number
  /** The number of rows that the operation wrote. */
  rows: number
  /** The chunks in input order: the rows of the first chunk are the first rows that the operation wrote. */
  chunks: readonly ReceiptChunk[]
  /** How the schema changed. */
  columns: ReceiptColumns
  /** Cells that were left empty because they did not fit. */
  dropped: ReceiptDropped
  /** The counts of a merge; absent for other operations. */
  merge?: ReceiptMerge
}>
