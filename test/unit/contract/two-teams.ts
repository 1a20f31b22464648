// Two teams with a key each, and bodies of requests, for tests of how one team affects another.

export const KEYS = [
  { key: 'a-key-of-the-first-team', teamId: 'first' },
  { key: 'a-key-of-the-second-team', teamId: 'second' },
] as const

export async function* bodyOf(text: string): AsyncGenerator<Uint8Array> {
  if (text !== '') yield Buffer.from(text)
}
