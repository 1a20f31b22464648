// Facts about a source that an intake reports besides its rows. They are structured, so that a command, a client, a
// server and a page can each word them.
import type { Dialect } from './dialect.js'

export type AdviceCode =
  /** The encoding was guessed. */
  | 'encoding'
  /** The rows are an array in an object, at this path. */
  | 'at'
  /** The delimiter is not the format's. */
  | 'delimiter'
  /** No delimiter was found, so each line is one cell, although it may contain several. */
  | 'oneColumn'
  /** Lines have fewer fields than the header: the cells of the missing fields are empty. */
  | 'shortLines'
  /** Lines before the header were left out. */
  | 'skippedLines'
  /** The header may be a row: its names look like values. */
  | 'headerLooksLikeData'
  /** A column without a name got one. */
  | 'columnNamed'
  /**
   * A column without a name and without values was left out. With `count`: this many columns were left out, with which
   * a file of rejected rows begins.
   */
  | 'columnDropped'
  /** Blanks around fields and quotes were removed. */
  | 'trimmed'
  /** Backslashes escape quotes and other characters. */
  | 'backslashes'
  /** Unquoted texts were read as empty cells. */
  | 'nulls'
  /** Lines without a value were left out. */
  | 'blankLines'
  /** Fields after the last column were left out. */
  | 'extraFields'
  /** Bytes that the source does not mark as text were read as text. */
  | 'binary'
  /** Objects in rows became columns or text. */
  | 'nested'
  /** Comments were left out. */
  | 'comments'
  /** Cells of a column were converted. */
  | 'numbers'
  | 'dates'
  | 'dateTimes'
  | 'booleans'
  /** The days of a column fit two forms that read them as different days, so they were not converted. */
  | 'datesUnread'
  /**
   * Each point in a column of numbers precedes three digits, so it may separate thousands. No other column shows that
   * points are decimal marks.
   */
  | 'pointsUnsure'
  /**
   * A column of a new table is text because a few values (fewer than 1 in 100) are unlike the `others`. They are, in
   * this order: arbitrary texts; digits with leading zeros or a plus sign; numbers with separators of thousands.
   */
  | 'textColumn'
  | 'paddedNumber'
  | 'groupedNumber'
  /**
   * A column of a new table is text because its numbers have, in this order: a decimal comma; a comma that may separate
   * thousands; more digits than a double keeps; spaces around them; forms such as `.5`, `5.`, `+5` or `1,234,567`.
   */
  | 'decimalComma'
  | 'commasUnsure'
  | 'longInteger'
  | 'spacedNumber'
  | 'looseNumber'
  /**
   * A column of a new table is text because it has several JSON types; `count` is the number of values that were not
   * text.
   */
  | 'mixedTypes'
  /** Column names of a new table begin or end with a space. */
  | 'spacedNames'
  /** Rows have IDs, which a new table does not keep. */
  | 'rowIDs'

export type Advice = Readonly<{
  code: AdviceCode
  /** The name of the column. */
  column?: string
  /** The line, from 1, of the first occurrence. */
  line?: number
  /** The number of cells, lines or fields, among the rows read so far. */
  count?: number
  /** The number of all values of the column, and what those beside the `count` odd values are. */
  values?: number
  others?: 'numbers' | 'booleans' | 'dates' | 'arrays'
  /** An example: a value, a name or a form. */
  example?: string
  /** The option that overrides the reading. */
  remedy?: Readonly<{ option: keyof Dialect; value: string }>
}>
