// What one key may do: requests at the same time and in a second, and fetches from URLs. Only known keys get here.
import type { ContractLimits } from './contract-limits.js'
import { KeyTurns } from './key-turns.js'
import { RateLimit } from './rate-limit.js'
import { rateLimited } from './refusal.js'

export type KeyLimits = Readonly<{
  /** Counts a request. @throws {Refusal} RATE_LIMITED */
  checkRate: (key: string) => void
  turns: KeyTurns
  /** For fetches of files from URLs. */
  sources: KeyTurns
}>

const SECOND_MS = 1_000

export function createKeyLimits(limits: ContractLimits): KeyLimits {
  const { requestsPerSecondPerKeyMax: perSecondMax, waitMsMax } = limits
  const rate = perSecondMax > 0 ? new RateLimit(perSecondMax, SECOND_MS) : undefined
  return {
    checkRate(key) {
      const waitMs = rate?.take(key) ?? 0
      if (waitMs === 0) return
      const limit = `${perSecondMax} requests a second (requestsPerSecondPerKeyMax)`
      throw rateLimited(`This key may send at most ${limit}; try again later`, waitMs)
    },
    turns: new KeyTurns({
      atOnceMax: limits.requestsAtOncePerKeyMax,
      waitMsMax,
      name: 'requests in flight (requestsAtOncePerKeyMax)',
    }),
    sources: new KeyTurns({
      atOnceMax: limits.sourcesAtOncePerKeyMax,
      waitMsMax,
      name: 'fetches from URLs (sourcesAtOncePerKeyMax)',
    }),
  }
}
