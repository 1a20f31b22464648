// The dialect of a CSV or TSV source: what a caller may state, and the defaults. It is the only file of the intake that
// a client needs if it reads no source.

/** The mark before the decimals of a number. */
export type DecimalMark = '.' | ','

/** The forms of days in a column. */
export const DATE_FORMS = [
  'dd.mm.yyyy',
  'dd/mm/yyyy',
  'mm/dd/yyyy',
  'dd-mm-yyyy',
  'mm-dd-yyyy',
  'yyyy/mm/dd',
] as const
export type DateForm = (typeof DATE_FORMS)[number]

/** The dialect of a CSV or TSV source. */
export type Dialect = Readonly<{
  /**
   * The character between fields: an ASCII character other than a quote and line breaks. Default: a comma; for TSV, a
   * tab.
   */
  delimiter?: string
  /**
   * `present`: the first record has the column names. `absent`: no record has them. A list: the names, if no record has
   * them. Default: `present`.
   */
  header?: 'present' | 'absent' | readonly string[]
  /** Number of lines before the header to leave out, 0 to 1,000. Default: 0. */
  skipLines?: number
  /** The first character of lines to leave out. Default: none. */
  comment?: string
  /** `relaxed`: a quote inside a field that does not begin with one is text. Default: `strict`: it is rejected. */
  quotes?: 'strict' | 'relaxed'
  /** The character around fields. Default: `"`. */
  quote?: string
  /** How a quoted field contains a quote: doubled, or after a backslash. Default: `double`. */
  escape?: 'double' | 'backslash'
  /** Whether to remove blanks around fields and around their quotes. Default: false. */
  trim?: boolean
  /** A label of the Encoding Standard. Default: UTF-8, or the encoding of the byte order mark. */
  encoding?: string
  /**
   * The mark before the decimals in columns of numbers. In `columns`, it is for a single column. Default: a point; if
   * `thousands` is a point, a comma.
   */
  decimal?: DecimalMark
  /** The character between thousands in columns of numbers. Default: none. */
  thousands?: string
  /** A currency sign that may precede or follow numbers, such as `€` or `EUR`. Default: none. */
  currency?: string
  /** The form of columns of days. Default: `yyyy-mm-dd`. */
  dates?: DateForm
  /** The words for true and false in columns of booleans. Default: `true` and `false`. */
  booleans?: readonly [isTrue: string, isFalse: string]
  /** Unquoted texts that mean an empty cell. Default: only the empty text. */
  nulls?: readonly string[]
  /** Whether blank lines and lines with only delimiters are rows of empty cells, or left out. Default: `keep`. */
  blankLines?: 'keep' | 'skip'
  /** What happens to fields after the last column. Default: `refuse`. */
  extraFields?: 'refuse' | 'dropEmpty' | 'drop'
  /** Options for single columns, by name. Default: none. */
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
