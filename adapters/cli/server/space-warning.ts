// A warning if one of several teams can take all space of a server.
import { STORE_LIMITS } from '../../../src/internal.js'
import type { GivenLimits } from './limit-options.js'

/** The limits of a team's storage, which are off by default. */
const SPACE_LIMITS = ['teamRowBytesMax', 'stashBytesMax', 'teamFileBytesMax'] as const

/**
 * @param teams - The teams with keys.
 * @param space - The shared resource, as a noun phrase.
 * @returns the warning. undefined: there is only one team, or each team's storage is limited.
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
