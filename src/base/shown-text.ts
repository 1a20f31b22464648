// Text from outside, as messages show it.

/** Cuts at a code point, so that no half of a surrogate pair is left. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const last = text.charCodeAt(charsMax - 1)
  const splitsPair = last >= 0xd800 && last <= 0xdbff
  return `${text.slice(0, splitsPair ? charsMax - 1 : charsMax)}…`
}

/** What a failure says; it may be an error of another realm, or no error. */
export function messageOf(failure: unknown): string {
  const { message } = Object(failure) as { message?: unknown }
  return typeof message === 'string' ? message : String(failure)
}

/** What a failure says, as the end of a message; empty if it says nothing. */
export function reasonOf(failure: unknown): string {
  const { message } = Object(failure) as { message?: unknown }
  return typeof message === 'string' && message !== '' ? `: ${message}` : ''
}

/**
 * A copy. A part of a text keeps the whole text in memory (V8), so a part that is kept for long is copied.
 */
export function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

/** Control characters, line separators and direction marks, which could forge lines of a log. */
const CONTROLS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
