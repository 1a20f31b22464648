// Pauses between attempts.

/** The first pause, and the longest, in milliseconds. */
const PAUSE_MS_MIN = 4
const PAUSE_MS_MAX = 500

/** Doublings after which the pause grows no more. */
const DOUBLINGS_MAX = 10

/**
 * A pause before another attempt, in milliseconds: random, so that those who met do not meet again.
 * @param attempt - 0 for the first one that failed.
 */
export function pauseMs(attempt: number): number {
  const longest = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(attempt, DOUBLINGS_MAX))
  return longest * (0.5 + Math.random() / 2)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
