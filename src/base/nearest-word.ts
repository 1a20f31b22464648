// Suggests the known word for an unknown one, for messages.

/**
 * The maximum number of characters of one compared word, and of all compared words together. Both bound the time for
 * a message.
 */
const CHARS_MAX = 64
const ALL_CHARS_MAX = 16 * 1024
/** The minimum length of a prefix: a shorter one is too ambiguous. */
const BEGINNING_CHARS_MIN = 4

/**
 * The known word that was most likely meant: one that differs only in case, or in few characters (missing,
 * additional, different, or swapped with a neighbor); otherwise the only known word that begins with `word`.
 * undefined: there is none.
 */
export function nearestWord(word: string, candidates: Iterable<string>): string | undefined {
  const meant = word.toLowerCase()
  if (meant.length > CHARS_MAX) return undefined
  let nearest: string | undefined
  let fewest = editsMaxOf(meant) + 1
  let chars = 0
  const longer: string[] = []
  for (const candidate of candidates) {
    chars += 1 + candidate.length
    if (chars > ALL_CHARS_MAX) break
    const known = candidate.slice(0, CHARS_MAX + EDITS_MAX).toLowerCase()
    if (meant.length >= BEGINNING_CHARS_MIN && known.startsWith(meant)) longer.push(candidate)
    if (Math.abs(candidate.length - meant.length) >= fewest) continue
    const edits = editsBetween(meant, known, fewest - 1)
    if (edits >= fewest) continue
    nearest = candidate
    fewest = edits
  }
  return nearest ?? (longer.length === 1 ? longer[0] : undefined)
}

/** The question at the end of a message about an unknown word; empty if no word is near enough. */
export function didYouMean(
  word: string,
  known: Iterable<string>,
  render: (nearest: string) => string = (nearest) => `"${nearest}"`,
): string {
  const nearest = nearestWord(word, known)
  return nearest === undefined ? '' : `; did you mean ${render(nearest)}?`
}

/** The maximum number of edits between a word and the suggested one. */
const EDITS_MAX = 2

/**
 * The maximum number of edits for a word: at most a third of the word may be wrong, because short words are similar.
 */
function editsMaxOf({ length }: string): number {
  return Math.min(EDITS_MAX, Math.floor(length / 3))
}

/**
 * The optimal string alignment distance: the number of edits between two words, where swapping neighbors is one edit.
 * If it is above `max`, the result is any number above `max`. The work is bounded by 4 to the power of `max` times
 * the shorter length: a common prefix needs no edit, and after it there are four possible edits.
 */
function editsBetween(from: string, to: string, max: number, fromAt = 0, toAt = 0): number {
  let i = fromAt
  let j = toAt
  while (i < from.length && from[i] === to[j]) {
    i++
    j++
  }
  const least = Math.abs(from.length - i - (to.length - j))
  if (i === from.length || j === to.length || least > max) return least
  if (max === 0) return 1
  const rest = (fromStep: number, toStep: number) =>
    1 + editsBetween(from, to, max - 1, i + fromStep, j + toStep)
  const isSwapped = from[i] === to[j + 1] && from[i + 1] === to[j]
  return Math.min(rest(1, 1), rest(1, 0), rest(0, 1), isSwapped ? rest(2, 2) : max + 1)
}
