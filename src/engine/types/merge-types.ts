// A merge: rows that replace, by their keys, the rows of a table.
import type { Bytes } from '../../base/bytes.js'
import type { Authored } from './call-types.js'
import type { Receipt } from './receipt-types.js'
import type { OnSchemaError, RowIds, RowsInput, Stash } from './row-types.js'

/**
 * Rows to merge into a table by their keys. A row whose key the table has changes that row; the other rows are added.
 * With `missing: 'delete'` and `unnamed: 'empty'` the table has the rows of the input and no others afterwards.
 */
export type MergeRequest = Authored &
  Readonly<{
    /** The rows to merge, in any form that `addRows` takes. */
    rows: RowsInput | Stash
    /**
     * IDs of the key columns, 1 to 16. Columns of all kinds but arrays may be keys. Two keys are the same if their values
     * are: texts by their characters, numbers exactly, so `34.50` is `34.5`; a number is never a text.
     */
    key: readonly string[]
    /** What becomes of rows of the table whose keys the input does not have. Default: `keep`. */
    missing?: 'keep' | 'delete' | undefined
    /**
     * What becomes of cells in columns that no row of the input names, in rows whose keys the input has. Default: `keep`.
     */
    unnamed?: 'keep' | 'empty' | undefined
    /** Fails with PRECONDITION_FAILED if the table's version is greater than this. Any size. Default: no condition. */
    ifMatch?: number | bigint | undefined
    /** What to do with rows that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
    /**
     * As in `AddOptions`; a repeat returns the result of the first merge. A merge that changes nothing leaves it
     * unused.
     */
    idempotencyKey?: string | undefined
    /** As in `AddOptions`. */
    requestDigest?: Bytes | undefined
    /** As in `AddOptions`; a merge that changes nothing has no receipt. */
    receipt?: boolean | undefined
    /** Only counts what the merge would do; the table stays as it is. Default: false. */
    dryRun?: boolean | undefined
    /** Ends the merge with ABORTED as long as it has not begun to commit. Default: none. */
    signal?: AbortSignal | undefined
  }>

/** How many rows a merge concerned. */
export type MergeCounts = Readonly<{
  /** Rows whose keys the table did not have. */
  added: number
  /** Rows of the table whose values changed; they keep their IDs. */
  changed: number
  /** Rows of the table with the key of a row of the input, and with its values: they keep their versions too. */
  unchanged: number
  /** Rows of the table that the input does not have; only with `missing: 'delete'`. */
  removed: number
}>

/** What a merge did. */
export type MergeResult = MergeCounts &
  Readonly<{
    /** The version of the table; that before the merge if nothing changed. */
    version: number
    /** The IDs of the added rows in the order of the input; they are the last of the table. Empty for a dry run. */
    addedRowIds: RowIds
    /** Only if it was requested; a repeat has it as long as it is kept. */
    receipt?: Receipt
  }>
