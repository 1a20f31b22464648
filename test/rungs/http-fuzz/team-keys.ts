// Keys of the server under test.

export const ADMIN_KEY = 'the-key-of-the-operator'

/** The team of the healthy client. */
export const HEALTHY_TEAM = 'healthy'

/** The key of a team. Every round has a new team. */
export const keyOf = (team: string): string => `a-key-of-the-team-${team}`

/** The team of a key; undefined: the key is unknown. */
export const teamOfKey = (key: string): string | undefined =>
  /^a-key-of-the-team-(\w+)$/.exec(key)?.[1]
