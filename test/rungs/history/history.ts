// A history: what several processes did to the tables of one store, as they saw it. The tables are seen as objects, each
// of which is a list that only grows: the elements that were ever written to a row, the rows that were added to a table,
// the columns that were added to it, its versions. Each element is unique, and names the operation that wrote it.

/** What an operation saw of an object, before its own writes. */
export type Read = Readonly<{
  object: string
  /** The number of elements. */
  length: number
  /** The last elements, in order; none of an object that is known by its length alone, as a version is. */
  tail: readonly string[]
}>

/** What an operation appended to an object. */
export type Write = Readonly<{
  object: string
  /** In order, each `<operation>.<number>`; none: the object is known by its length alone. */
  elements: readonly string[]
  /** The length of the object afterwards, if the operation knows it. */
  length?: number
}>

export type Operation = Readonly<{
  id: string
  process: string
  what: string
  /** Microseconds of the monotonic clock of the machine. */
  from: number
  /** null: there was no answer. */
  to: number | null
  /** `unchanged`: it failed without an effect. */
  outcome: 'done' | 'unchanged' | 'unknown'
  reads: readonly Read[]
  /** All that it does if it is done. */
  writes: readonly Write[]
  /** The sum of the amounts that it read at one moment, of all accounts. */
  sum?: number
  /** Keys that it saw twice in a table with that key. */
  doubles?: readonly string[]
  /** Tables that it saw whole: the text of their rows, by version. */
  pages?: readonly Page[]
}>

export type Page = Readonly<{ table: string; version: number; text: string }>

/** A row as the feed and pages tell it: its key, and what was written to it last. */
export type FeedRow = Readonly<{ id: string; key: string; last: string }>

/** The reader that reads each feed from its beginning to its end; others may end before. */
export const LAST_READER = 'end'

/** What one reader of the feed of a table was told of a version. */
export type FeedChange = Readonly<{
  reader: string
  table: string
  version: number
  /** The operation that the log names as the author. */
  author?: string
  /** Whether no row of before is left. */
  replaced: boolean
  /** Rows that were added or changed; absent: the reader is told versions alone. */
  rows?: readonly FeedRow[]
  removed?: readonly string[]
}>

/** A table: its version and its rows before the history, and its version after it. */
export type TableRange = Readonly<{
  table: string
  first: number
  last: number
  rows?: readonly FeedRow[]
}>

export type History = Readonly<{
  operations: readonly Operation[]
  feeds: readonly FeedChange[]
  tables: readonly TableRange[]
  /** The sum of all amounts, which no operation changes. */
  sum: number
}>

/** What is wrong with a history: the name of the anomaly, and what shows it. */
export type Anomaly = Readonly<{ name: string; text: string }>

export function pageText(rows: readonly FeedRow[]): string {
  const lines = rows.map(({ key, last }) => `${key}=${last}`)
  return lines.toSorted().join(' ')
}
