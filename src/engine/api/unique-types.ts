// Keys of tables: columns in which no two rows have the same values.

/** The values of the key columns of a row, by their IDs. */
export type KeyValues = Readonly<Record<string, string | number | bigint | boolean>>
