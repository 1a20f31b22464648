// Which word was meant by one that is not known, for messages.

/** Characters of a word that is compared, and words that are, at most: the time of a message is bounded. */
const CHARS_MAX = 64
const WORDS_MAX = 1_000
/** Of a shorter beginning too much is open. */
const BEGINNING_CHARS_MIN = 4

/**
 * The known word that a person most likely meant: one that differs in case only, or in few characters that are
 * missing, additional, others, or swapped with their neighbors; else the only one that begins so. undefined: there is
 * none.
 */
export function nearestWord(word: string, candidates: Iterable<string>): string | undefined {
  const meant = word.toLowerCase()
  if (meant.length > CHARS_MAX) return undefined
  let nearest: string | undefined
  let fewest = editsMaxOf(meant) + 1
  let compared = 0
  const longer: string[] = []
  for (const candidate of candidates) {
    if (++compared > WORDS_MAX) break
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

/** The question at the end of a message about a word that is not known; empty if none is so near. */
export function didYouMean(
  word: string,
  known: Iterable<string>,
  render: (nearest: string) => string = (nearest) => `"${nearest}"`,
): string {
  const nearest = nearestWord(word, known)
  return nearest === undefined ? '' : `; did you mean ${render(nearest)}?`
}

/** Characters of a word that may be wrong, at most. */
const EDITS_MAX = 2

/** A third of a word may be wrong: of short words nearly all are near to each other. */
function editsMaxOf({ length }: string): number {
  return Math.min(EDITS_MAX, Math.floor(length / 3))
}

/**
 * The optimal string alignment distance: edits that make one word of the other, a swap of neighbors being one. More than
 * `max`: any number above it. Only the beginnings are compared that differ in length by `max` at most, as others have
 * more edits.
 */
function editsBetween(fromWord: string, toWord: string, max: number): number {
  const [from, to] = withoutSharedEnds(fromWord, toWord)
  const more = max + 1
  const width = to.length + 2
  let beforeLast = new Uint8Array(width)
  let last = new Uint8Array(width).fill(more)
  for (let at = 0; at < more; at++) last[at] = at
  let row = new Uint8Array(width)
  for (let i = 1; i <= from.length; i++) {
    const first = Math.max(1, i - max)
    const end = Math.min(to.length, i + max)
    let fewest = first === 1 ? Math.min(i, more) : more
    row[first - 1] = fewest
    for (let j = first; j <= end; j++) {
      const cost = from.charCodeAt(i - 1) === to.charCodeAt(j - 1) ? 0 : 1
      const kept = (last[j - 1] ?? more) + cost
      let edits = Math.min(more, kept, (last[j] ?? more) + 1, (row[j - 1] ?? more) + 1)
      const isSwapped =
        i > 1 &&
        j > 1 &&
        from.charCodeAt(i - 1) === to.charCodeAt(j - 2) &&
        from.charCodeAt(i - 2) === to.charCodeAt(j - 1)
      if (isSwapped) edits = Math.min(edits, (beforeLast[j - 2] ?? more) + 1)
      row[j] = edits
      fewest = Math.min(fewest, edits)
    }
    row[end + 1] = more
    if (fewest > max) return more
    const free = beforeLast
    beforeLast = last
    last = row
    row = free
  }
  return last[to.length] ?? more
}

/** Two words without the beginning and the end that they share, which need no edits. */
function withoutSharedEnds(left: string, right: string): readonly [string, string] {
  const shorter = Math.min(left.length, right.length)
  let start = 0
  while (start < shorter && left.charCodeAt(start) === right.charCodeAt(start)) start++
  let end = 0
  while (end < shorter - start && left.at(-1 - end) === right.at(-1 - end)) end++
  return [left.slice(start, left.length - end), right.slice(start, right.length - end)]
}
