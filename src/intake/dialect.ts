// How the text of a CSV or TSV source is written: what a caller may say of it, and what is used where nothing is said. A
// client that reads no source needs no more of the intake.

/** What stands before the decimals of a number. */
export type DecimalMark = '.' | ','

/** How a column writes its days. */
export const DATE_FORMS = [
  'dd.mm.yyyy',
  'dd/mm/yyyy',
  'mm/dd/yyyy',
  'dd-mm-yyyy',
  'mm-dd-yyyy',
  'yyyy/mm/dd',
] as const
export type DateForm = (typeof DATE_FORMS)[number]

/** How a source of CSV or TSV is written. */
export type Dialect = Readonly<{
  /** The character between fields: one of ASCII, no quote and no line break. Default: a comma; of TSV, a tab. */
  delimiter?: string
  /** Whether the first record names the columns; or the names, if no record does. Default: `present`. */
  header?: 'present' | 'absent' | readonly string[]
  /** Lines in front of the header that are left out, 0 to 1,000. Default: 0. */
  skipLines?: number
  /** The character with which lines begin that are left out. Default: none. */
  comment?: string
  /** `relaxed`: a quote inside a field that does not begin with one is text. Default: `strict`, it is refused. */
  quotes?: 'strict' | 'relaxed'
  /** The character around fields. Default: `"`. */
  quote?: string
  /** How a quote is written in a quoted field: twice, or behind a backslash. Default: `double`. */
  escape?: 'double' | 'backslash'
  /** Whether blanks around fields and around their quotes are left out. Default: false. */
  trim?: boolean
  /** A label of the Encoding Standard. Default: UTF-8, or what the byte order mark says. */
  encoding?: string
  /** The mark before the decimals of columns of numbers; for one column in `columns`. Default: a point; if `thousands` is one, a comma. */
  decimal?: DecimalMark
  /** The character between thousands in columns of numbers. Default: none. */
  thousands?: string
  /** The sign of a currency that numbers may have in front or behind, such as `€` or `EUR`. Default: none. */
  currency?: string
  /** How columns of days are written. Default: `yyyy-mm-dd`. */
  dates?: DateForm
  /** The words for true and false in columns of booleans. Default: `true` and `false`. */
  booleans?: readonly [isTrue: string, isFalse: string]
  /** Texts without quotes that mean an empty cell. Default: none but the empty text. */
  nulls?: readonly string[]
  /** Whether blank lines and lines of delimiters alone are rows of empty cells, or none. Default: `keep`. */
  blankLines?: 'keep' | 'skip'
  /** What becomes of fields behind the last column. Default: `refuse`. */
  extraFields?: 'refuse' | 'dropEmpty' | 'drop'
  /** What is said of one column only, by its name. Default: nothing. */
  columns?: Readonly<Record<string, Readonly<{ decimal?: DecimalMark }>>>
}>

/** The names of the options of a dialect. */
export const DIALECT_NAMES = [
  'delimiter',
  'header',
  'skipLines',
  'comment',
  'quotes',
  'quote',
  'escape',
  'trim',
  'encoding',
  'decimal',
  'thousands',
  'currency',
  'dates',
  'booleans',
  'nulls',
  'blankLines',
  'extraFields',
  'columns',
] as const satisfies (keyof Dialect)[]
