// A merge: rows that replace the rows of a table with the same keys.
import type { Bytes } from '../../base/bytes.js'
import type { Authored } from './call-types.js'
import type { Receipt } from './receipt-types.js'
import type { OnSchemaError, RowIds, RowsInput, Stash } from './row-types.js'

/**
 * Rows to merge into a table by their keys. A row with a key of the table changes that row; the other rows are added.
 * With `missing: 'delete'` and `unnamed: 'empty'` the table then has exactly the rows of the input.
 */
export type MergeRequest = Authored &
  Readonly<{
    /** The rows to merge, in any form that `addRows` takes. */
    rows: RowsInput | Stash
    /**
     * IDs of the key columns, 1 to 16. Columns of all kinds but arrays may be keys. Two keys are equal if their
     * values are: texts by their characters, numbers exactly, so `34.50` is `34.5`; a number is never a text.
     */
    key: readonly string[]
    /** What to do with rows of the table whose keys the input lacks. Default: `keep`. */
    missing?: 'keep' | 'delete' | undefined
    /** What to do with cells in columns that the input does not name, in rows whose keys it has. Default: `keep`. */
    unnamed?: 'keep' | 'empty' | undefined
    /** Fails with PRECONDITION_FAILED if the table's version is greater than this. Any size. Default: no condition. */
    ifMatch?: number | bigint | undefined
    /** What to do with rows that do not fit the schema. Default: `abort`. */
    onSchemaError?: OnSchemaError | undefined
    /**
     * Makes the merge safe to repeat. See `AddOptions`. A repeat returns the result of the first merge. A merge that
     * changes nothing leaves the key unused.
     */
    idempotencyKey?: string | undefined
    /** A digest that is compared instead of the request. See `AddOptions`. */
    requestDigest?: Bytes | undefined
    /** Whether the result has a receipt. See `AddOptions`. A merge that changes nothing has none. */
    receipt?: boolean | undefined
    /** Whether to count what the merge would do, without changing the table. Default: false. */
    dryRun?: boolean | undefined
    /** Ends the merge with ABORTED, unless its commit has begun. Default: none. */
    signal?: AbortSignal | undefined
  }>

/** The numbers of rows in a merge. */
export type MergeCounts = Readonly<{
  /** Rows whose keys the table did not have. */
  added: number
  /** Rows of the table whose values changed; they keep their IDs. */
  changed: number
  /** Rows of the table whose key and values equal those of an input row. They keep their versions. */
  unchanged: number
  /** Deleted rows, which the input lacks; only with `missing: 'delete'`. */
  removed: number
}>

/** What a merge did. */
export type MergeResult = MergeCounts &
  Readonly<{
    /** The version of the table; if nothing changed, the version before the merge. */
    version: number
    /** The IDs of the added rows in the order of the input; these rows are last in the table. Empty for a dry run. */
    addedRowIds: RowIds
    /** The receipt, if it was requested. The result of a repeat has the receipt as long as the table keeps it. */
    receipt?: Receipt
  }>
