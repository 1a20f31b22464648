// Text from outside, as messages show it.

/** Cuts at a code point, so that no half of a surrogate pair is left. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const last = text.charCodeAt(charsMax - 1)
  const splitsPair = last >= 0xd800 && last <= 0xdbff
  return `${text.slice(0, splitsPair ? charsMax - 1 : charsMax)}…`
}

/** Some words as the choices that there are: `a`, `a or b`, `a, b or c`. */
export function either(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter(Boolean).join(' or ')
}

/** A message about an argument, with the name that its caller gave it. What is in quotes is a value. */
export function withNameGiven(message: string, name: string, given: string): string {
  return message.replace(/"(?:[^"\\]|\\.)*"|\w+/g, (found) => (found === name ? given : found))
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

/**
 * What could act on a terminal, forge a line of a log, change the order in which a text is read, or hide in it: control
 * characters, line separators, marks of direction, characters without a shape, halves of surrogate pairs.
 */
const HIDDEN = /[\p{Cc}\p{Cs}\p{DI}\u2028\u2029\ufff9-\ufffb]/gu
/** Joiners and variation selectors, which scripts and emoji need behind a character that is not of ASCII. */
const JOINERS = /\u200c|\u200d|[\ufe00-\ufe0f]/
const ASCII_MAX = 0x7f

/** Writes what a reader would not see, or be misled by, as JSON escapes it. */
export function escapeControls(text: string): string {
  let escapedTo = 0
  return text.replace(HIDDEN, (char, at: number) => {
    const isBehindShown = at > escapedTo && text.charCodeAt(at - 1) > ASCII_MAX
    if (isBehindShown && JOINERS.test(char)) return char
    escapedTo = at + char.length
    return escaped(char)
  })
}

function escaped(char: string): string {
  const units = Array.from({ length: char.length }, (_, i) => char.charCodeAt(i))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
