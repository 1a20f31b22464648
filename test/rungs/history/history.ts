// A history: what several processes did to the tables of one store, as they saw it. It treats the tables as objects,
// each a list that only grows: the elements ever written to a row, the rows added to a table, the columns added to it,
// its versions. Each element is unique, and names the operation that wrote it.

/** What an operation read of an object, before its own writes. */
export type Read = Readonly<{
  object: string
  /** The number of elements. */
  length: number
  /** The last elements, in order; empty for an object of which only the length is known, such as a version. */
  tail: readonly string[]
}>

/** What an operation appended to an object. */
export type Write = Readonly<{
  object: string
  /** In order, each `<operation>.<number>`; empty: only the length of the object is known. */
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
  /** Everything that it writes if it succeeds. */
  writes: readonly Write[]
  /** The sum of the amounts of all accounts, if it read them at one moment. */
  sum?: number
  /** Keys that it found in two rows of a table with that key. */
  doubles?: readonly string[]
  /** Tables that it read completely: the text of their rows, by version. */
  pages?: readonly Page[]
}>

export type Page = Readonly<{ table: string; version: number; text: string }>

/** A row in a feed or page: its key, and the last element written to it. */
export type FeedRow = Readonly<{ id: string; key: string; last: string }>

/** The reader that reads each feed completely. Others may end earlier. */
export const LAST_READER = 'end'

/** What one reader of a table's feed received about a version. */
export type FeedChange = Readonly<{
  reader: string
  table: string
  version: number
  /** The operation that the log names as the author. */
  author?: string
  /** Whether all previous rows were replaced. */
  replaced: boolean
  /** Added or changed rows; absent: the reader receives only versions. */
  rows?: readonly FeedRow[]
  removed?: readonly string[]
}>

/** A table: its version and rows before the history, and its version after it. */
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

/** A violation in a history: the name of the anomaly, and its evidence. */
export type Anomaly = Readonly<{ name: string; text: string }>

export function pageText(rows: readonly FeedRow[]): string {
  const lines = rows.map(({ key, last }) => `${key}=${last}`)
  return lines.toSorted().join(' ')
}
