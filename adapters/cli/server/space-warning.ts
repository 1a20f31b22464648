// Warns of a server of several teams on which one can take all of the space.
import { STORE_LIMITS } from '../../../src/internal.js'
import type { GivenLimits } from './limit-options.js'

/** The limits of what a team stores; by default they are off. */
const SPACE_LIMITS = ['teamRowBytesMax', 'stashBytesMax', 'teamFileBytesMax'] as const

/**
 * @param teams - Those that have keys.
 * @param space - What they share, as a noun phrase.
 * @returns undefined: it is one team, or each is limited.
 */
export function spaceWarning(
  teams: Iterable<string>,
  limits: GivenLimits['store'],
  space: string,
): string | undefined {
  const isOff = (name: (typeof SPACE_LIMITS)[number]): boolean =>
    (limits[name] ?? STORE_LIMITS[name].default) === STORE_LIMITS[name].max
  const off = SPACE_LIMITS.filter(isOff)
  if (off.length === 0 || new Set(teams).size < 2) return undefined
  const remedy = off.map((name) => `--limit ${name}=BYTES`).join(', ')
  return `Several teams share ${space}, and one of them can fill it for all: limit each with ${remedy}`
}
