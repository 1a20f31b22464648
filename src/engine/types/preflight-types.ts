// A request that is checked without being carried out.
import type { TableSchema } from '../../schema/column-kind.js'

/** A value or a column of the input that does not fit the schema. */
export type PreflightProblem = Readonly<{
  /** Serial of the chunk; only for rows from a stash. */
  serial?: string
  /** 0-based index of the row in its chunk if `serial` is given, otherwise in the input. */
  row: number
  /** 1-based line of the row in CSV or TSV input. It may be unknown, and absent, after a row of several lines. */
  line?: number
  /** ID of the column as the row names it. */
  column: string
  /** The value as its JSON or CSV text, cut at 200 characters; absent if the schema lacks the column. */
  value?: string
  /** The rule that the value breaks, in words. */
  rule: string
}>

/** The result of a preflight. Without problems, the operation would write all values. */
export type PreflightReport = Readonly<{
  /** Rows of the whole input. */
  rows: number
  /** The schema that the table would have after the operation. */
  schema: TableSchema
  /** The first 1,000 problems of the whole input, in input order. */
  problems: readonly PreflightProblem[]
  /**
   * The number of all problems: of values that do not fit, and of columns that the schema lacks, which count once per
   * chunk.
   */
  problemCount: number
}>

/** The result of the preflight of an add or an overwrite. `version`: the version of the table at the check. */
export type TablePreflightReport = PreflightReport & Readonly<{ version: number }>
