// External text in messages.

/** Cuts a text between code points, so that no surrogate pair is split. */
export function cutText(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const last = text.charCodeAt(charsMax - 1)
  const splitsPair = last >= 0xd800 && last <= 0xdbff
  return `${text.slice(0, splitsPair ? charsMax - 1 : charsMax)}…`
}

/** Words as alternatives: `a`, `a or b`, `a, b or c`. */
export function either(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter(Boolean).join(' or ')
}

/** Replaces the name of an argument in a message by the name that the caller gave. Quoted texts (values) stay. */
export function withNameGiven(message: string, name: string, given: string): string {
  return message.replace(/"(?:[^"\\]|\\.)*"|\w+/g, (found) => (found === name ? given : found))
}

/** The message of a failure, which may be an error of another realm, or no error. */
export function messageOf(failure: unknown): string {
  const { message } = Object(failure) as { message?: unknown }
  return typeof message === 'string' ? message : String(failure)
}

/** The message of a failure, as the end of another message; empty if it has none. */
export function reasonOf(failure: unknown): string {
  const { message } = Object(failure) as { message?: unknown }
  return typeof message === 'string' && message !== '' ? `: ${message}` : ''
}

/** A copy of a text. In V8, a part of a text keeps the whole text in memory, so long-lived parts are copied. */
export function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

/**
 * Characters that could control a terminal, forge a line of a log, change the reading order, or be invisible: control
 * characters, line separators, direction marks, default ignorables, lone surrogates.
 */
const HIDDEN = /[\p{Cc}\p{Cs}\p{DI}\u2028\u2029\ufff9-\ufffb]/gu
/** Joiners and variation selectors, which scripts and emoji need after a non-ASCII character. */
const JOINERS = /\u200c|\u200d|[\ufe00-\ufe0f]/
const ASCII_MAX = 0x7f

/** Escapes invisible and misleading characters as in JSON. */
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
