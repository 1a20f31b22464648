// This file is separate from other text rules, whose regular expressions a client does not need.
type MaybeWellFormed = { isWellFormed?: () => boolean }

/** Whether the text has no lone surrogate. Our `lib` does not have `String.prototype.isWellFormed` yet. */
export function isWellFormed(text: string): boolean {
  return (text as MaybeWellFormed).isWellFormed?.() ?? !/\p{Surrogate}/u.test(text)
}
