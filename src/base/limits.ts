// Limits that a store and the client check, each in a bundle of its own.

/** UTF-16 units of the name of a table, and of the display name of a column. */
export const NAME_CHARS_MAX = 1_000

/** Levels of arrays and objects in a body of rows (its array is the first), in one member's value, and in a cell. */
export const JSON_DEPTH_MAX = 32

/** Columns of the key of a merge or a table, at most. */
export const KEY_COLUMNS_MAX = 16
