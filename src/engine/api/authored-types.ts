// Whose change a call makes.

/** Whose change it is, and why. The log of the table keeps both. */
export type Authored = Readonly<{
  /** Who makes the change: 1 to 256 UTF-16 units of well-formed text. Default: none. */
  author?: string | undefined
  /** Why, for people: 1 to 1,000 UTF-16 units of well-formed text. Default: none. */
  note?: string | undefined
}>
