// The column kinds (CONTRACT.md, section 3) and their bits in a kind mask.

/** The kind of values in a column. CONTRACT.md, section 3, defines the values of each kind. */
export type ColumnKind =
  | 'string'
  | 'markdown'
  | 'uri'
  | 'imageURI'
  | 'audioURI'
  | 'emailAddress'
  | 'phoneNumber'
  | 'emoji'
  | 'date'
  | 'time'
  | 'dateTime'
  | 'duration'
  | 'number'
  | 'boolean'

/** The bit of each kind in a kind mask. Kind masks are written to disk: never change or reuse a number. */
export const KIND_BIT: Readonly<Record<ColumnKind, number>> = Object.freeze({
  string: 1 << 0,
  markdown: 1 << 1,
  uri: 1 << 2,
  imageURI: 1 << 3,
  audioURI: 1 << 4,
  emailAddress: 1 << 5,
  phoneNumber: 1 << 6,
  emoji: 1 << 7,
  date: 1 << 8,
  time: 1 << 9,
  dateTime: 1 << 10,
  duration: 1 << 11,
  number: 1 << 12,
  boolean: 1 << 13,
})

/**
 * All kinds, in the order of their bits.
 * @example
 * import { COLUMN_KINDS } from 'rowstash'
 *
 * console.log(COLUMN_KINDS.length, COLUMN_KINDS.includes('emoji')) // 14 true
 */
export const COLUMN_KINDS = Object.freeze(Object.keys(KIND_BIT)) as readonly ColumnKind[]

export const ALL_KINDS = (1 << 14) - 1

/** The type of a column: a kind, or an array of a kind. */
export type ColumnType =
  | Readonly<{ kind: ColumnKind }>
  | Readonly<{ kind: 'array'; items: Readonly<{ kind: ColumnKind }> }>

/** A column of a table. Its ID never changes. */
export type Column = Readonly<{ id: string; displayName?: string; type: ColumnType }>

/** The schema of a table: its columns in order, IDs unique. */
export type TableSchema = Readonly<{ columns: readonly Column[] }>
