// The log of a writer: lines before and after each of its operations, one JSON text a line. Nothing is flushed
// for it: the reader of the pipe has every line that was written before the writer died.
import type { WriteOutcome } from '../../../src/index.js'
import type { RowsSpec } from './rows.js'

/** Rows given right away, or those of a stash. */
export type RowsFrom = RowsSpec | Readonly<{ stash: string }>

export type TableChange =
  | Readonly<{ do: 'create'; table: string; rows: RowsFrom }>
  | Readonly<{ do: 'add'; table: string; rows: RowsFrom }>
  | Readonly<{ do: 'overwrite'; table: string; rows: RowsFrom }>
  /** Sets the row at an index to the number of the operation; with `file` it names that file too. */
  | Readonly<{ do: 'patch'; table: string; index: number; file?: string }>
  | Readonly<{ do: 'delete'; table: string; index: number }>
  /**
   * Merges rows by their names. `upsert`: each `every`-th row gets the number of the operation. `replace`: each
   * `every`-th row is missing, and each fifth of the others gets that number. `rows` are added in both.
   */
  | Readonly<{
      do: 'merge'
      table: string
      mode: 'upsert' | 'replace'
      every: number
      rows: RowsSpec
    }>
  /** Sends all rows back as they are, each with its ID. */
  | Readonly<{ do: 'rewrite'; table: string }>

export type Change =
  | TableChange
  /** Many writers add to the shared table at the same time. */
  | Readonly<{ do: 'share'; rows: RowsSpec }>
  | Readonly<{ do: 'putChunk'; stash: string; serial: string; rows: RowsSpec }>
  | Readonly<{ do: 'deleteStash'; stash: string }>
  | Readonly<{ do: 'putFile'; tag: string; bytes: number }>
  /** Many clients set the one cell of the counter, each to the number above the one that it read, if nobody else did. */
  | Readonly<{ do: 'count'; to: number }>
  | Readonly<{ do: 'garbageCollection' }>
  /** Several callers make sure of one table at the same time, each of columns of its own. */
  | Readonly<{ do: 'ensure'; table: string; columns: readonly string[] }>

export type LogLine =
  | Readonly<{ say: 'open' }>
  | Readonly<{ say: 'begin'; op: number; change: Change }>
  | Readonly<{ say: 'done'; op: number; version?: number; file?: string; table?: string }>
  | Readonly<{ say: 'failed'; op: number; code: string; outcome?: WriteOutcome; message: string }>
  /** The version of a table that was read again after a failure; 0 when there is none. */
  | Readonly<{ say: 'seen'; table: string; version: number }>
  | Readonly<{ say: 'note'; text: string }>
  | Readonly<{ say: 'end' }>

export const SHARED_TABLE = 'shared'
export const COUNTER_TABLE = 'counter'

/** A line that the writer had no time to end is none. */
export function parseLog(text: string): LogLine[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine)
}
