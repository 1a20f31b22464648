// Limits checked by both a store and the client, which are separate bundles.

/** The maximum number of UTF-16 units of a table's name, and of a column's display name. */
export const NAME_CHARS_MAX = 1_000

/** The maximum nesting depth of a body of rows (including its array), of a member's value, and of a cell. */
export const JSON_DEPTH_MAX = 32

/** The maximum number of columns in the key of a merge or a table. */
export const KEY_COLUMNS_MAX = 16
