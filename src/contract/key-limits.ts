// What one key may do: requests at the same time, and requests in a second. Only known keys get here.
import type { ContractLimits } from './contract-limits.js'
import { KeyTurns } from './key-turns.js'
import { RateLimit } from './rate-limit.js'
import { rateLimited } from './refusal.js'

export type KeyLimits = Readonly<{
  /** Counts a request. @throws {Refusal} RATE_LIMITED */
  checkRate: (key: string) => void
  turns: KeyTurns
}>

const SECOND_MS = 1_000

export function createKeyLimits(limits: ContractLimits): KeyLimits {
  const { requestsAtOncePerKeyMax, requestsPerSecondPerKeyMax: perSecondMax, waitMsMax } = limits
  const name = 'requests in flight (requestsAtOncePerKeyMax)'
  const rate = perSecondMax > 0 ? new RateLimit(perSecondMax, SECOND_MS) : undefined
  return {
    checkRate(key) {
      const waitMs = rate?.take(key) ?? 0
      if (waitMs === 0) return
      const limit = `${perSecondMax} requests a second (requestsPerSecondPerKeyMax)`
      throw rateLimited(`This key may send at most ${limit}; try again later`, waitMs)
    },
    turns: new KeyTurns({ atOnceMax: requestsAtOncePerKeyMax, waitMsMax, name }),
  }
}
