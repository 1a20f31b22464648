// What an intake tells of a source, besides its rows. It is structured, so that a command, a client, a server and a page
// say the same in their own words.
import type { Dialect } from './dialect.js'

export type AdviceCode =
  /** The bytes are in an encoding that nobody said. */
  | 'encoding'
  /** The rows are an array in an object, at this path. */
  | 'at'
  /** Fields are separated by another character than the format's. */
  | 'delimiter'
  /** No character divides the lines alike, so that each is a cell although it has several words or marks. */
  | 'oneColumn'
  /** Lines have fewer fields than the header: their other cells are empty. */
  | 'shortLines'
  /** Lines in front of the header were left out. */
  | 'skippedLines'
  /** The header may be a row: its names look like the values below them. */
  | 'headerLooksLikeData'
  /** A column without a name was given one. */
  | 'columnNamed'
  /** A column without a name and without values was left out; or so many that tell why rows did not fit before. */
  | 'columnDropped'
  /** Blanks around fields and quotes were left out. */
  | 'trimmed'
  /** A backslash stands in front of quotes and other characters. */
  | 'backslashes'
  /** Texts without quotes were read as empty cells. */
  | 'nulls'
  /** Lines without a value were left out. */
  | 'blankLines'
  /** Fields behind the last column were left out. */
  | 'extraFields'
  /** Bytes of which their source does not say that they are text were read as text. */
  | 'binary'
  /** Objects in rows became columns or text. */
  | 'nested'
  /** Lines that are comments were left out. */
  | 'comments'
  /** Cells of a column were converted. */
  | 'numbers'
  | 'dates'
  | 'dateTimes'
  | 'booleans'
  /** Days of a column have two readings. */
  | 'datesUnread'
  /** All points of a column stand before three digits, and no other column tells that they are not between thousands. */
  | 'pointsUnsure'
  /**
   * A column of a new table is text because of a few values (fewer than 1 in 100) that are none of `others`: any texts;
   * digits with zeros or a plus sign in front; with separators of thousands.
   */
  | 'textColumn'
  | 'paddedNumber'
  | 'groupedNumber'
  /**
   * A column of a new table is text because of how its numbers are written: with a decimal comma; with a comma that may
   * stand between thousands; with more digits than a double has; with spaces around them; as `.5`, `5.`, `+5` or `1,234,567`.
   */
  | 'decimalComma'
  | 'commasUnsure'
  | 'longInteger'
  | 'spacedNumber'
  | 'looseNumber'
  /** A column of a new table is text because of its types of JSON; the values that were no text are counted. */
  | 'mixedTypes'
  /** Names of columns of a new table begin or end with a space. */
  | 'spacedNames'
  /** Rows have IDs, which a new table does not keep. */
  | 'rowIDs'

export type Advice = Readonly<{
  code: AdviceCode
  /** The name of the column that it is about. */
  column?: string
  /** The line, from 1, of the first place. */
  line?: number
  /** How many cells, lines or fields it is about; as far as rows were read. */
  count?: number
  /** All values of the column, of which these are some, and what the others are. */
  values?: number
  others?: 'numbers' | 'booleans' | 'dates' | 'arrays'
  /** A value, a name or a form that shows what is meant. */
  example?: string
  /** What says that it is meant otherwise. */
  remedy?: Readonly<{ option: keyof Dialect; value: string }>
}>
