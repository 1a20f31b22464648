// The log of a writer: lines before and after each operation, one JSON text per line. No flush is needed: the reader of
// the pipe gets every line written before the writer died.
import type { WriteOutcome } from '../../../src/index.js'
import type { RowsSpec } from './rows.js'

/** Rows given directly, or those of a stash. */
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
  /** Sends all rows back unchanged, each with its ID. */
  | Readonly<{ do: 'rewrite'; table: string }>

export type Change =
  | TableChange
  /** Several writers add to the shared table concurrently. */
  | Readonly<{ do: 'share'; rows: RowsSpec }>
  | Readonly<{ do: 'putChunk'; stash: string; serial: string; rows: RowsSpec }>
  | Readonly<{ do: 'deleteStash'; stash: string }>
  | Readonly<{ do: 'putFile'; tag: string; bytes: number }>
  /**
   * Several clients set the one cell of the counter, each to one more than the number read, unless another was faster.
   */
  | Readonly<{ do: 'count'; to: number }>
  | Readonly<{ do: 'garbageCollection' }>
  /** Several callers ensure one table concurrently, each with other columns. */
  | Readonly<{ do: 'ensure'; table: string; columns: readonly string[] }>

export type LogLine =
  | Readonly<{ say: 'open' }>
  | Readonly<{ say: 'begin'; op: number; change: Change }>
  | Readonly<{ say: 'done'; op: number; version?: number; file?: string; table?: string }>
  | Readonly<{ say: 'failed'; op: number; code: string; outcome?: WriteOutcome; message: string }>
  /** The version of a table read again after a failure; 0: it does not exist. */
  | Readonly<{ say: 'seen'; table: string; version: number }>
  | Readonly<{ say: 'note'; text: string }>
  | Readonly<{ say: 'end' }>

export const SHARED_TABLE = 'shared'
export const COUNTER_TABLE = 'counter'

/** An incomplete last line is ignored. */
export function parseLog(text: string): LogLine[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine)
}
