// Apart from the rules of other texts, whose regular expressions a client of a server has no use for.
type MaybeWellFormed = { isWellFormed?: () => boolean }

/** Whether the text has no lone surrogate. `String.prototype.isWellFormed` is not in our `lib` yet. */
export function isWellFormed(text: string): boolean {
  return (text as MaybeWellFormed).isWellFormed?.() ?? !/\p{Surrogate}/u.test(text)
}
