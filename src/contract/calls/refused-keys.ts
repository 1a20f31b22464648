// Limits how often a client may try keys. The adapter identifies the client, usually by its address; a client that the
// adapter does not identify is not limited.

import type { ContractRequest, ContractResponse } from '../http/message.js'
import { Refusal, rateLimited } from '../http/refusal.js'
import type { ContractLimits } from '../memory/contract-limits.js'
import { RateLimit } from '../memory/rate-limit.js'
import type { OnKey } from './order-of-refusals.js'

/**
 * Answers a request that needs a key, unless its client has sent too many unknown keys.
 * @param onKey - Called if the key is known.
 * @throws {Refusal} RATE_LIMITED, whether or not the key of this request is known
 */
export type GuardKeys = (
  request: Pick<ContractRequest, 'client'>,
  onKey: OnKey,
  answer: (onKey: OnKey) => Promise<ContractResponse>,
) => Promise<ContractResponse>

const MINUTE_MS = 60_000

export function createGuardKeys({ refusedKeysPerMinuteMax: max }: ContractLimits): GuardKeys {
  if (max === 0) return (_request, onKey, answer) => answer(onKey)
  const rate = new RateLimit(max, MINUTE_MS)
  return async ({ client }, onKey, answer) => {
    if (client === undefined) return answer(onKey)
    const waitMs = rate.wait(client)
    if (waitMs > 0) {
      const limit = `${max} unknown keys a minute (refusedKeysPerMinuteMax)`
      throw rateLimited(`This client has sent ${limit}; try again later`, waitMs)
    }
    let isKnown = false
    const onKnown: OnKey = (sender) => {
      isKnown = true
      onKey(sender)
    }
    try {
      return await answer(onKnown)
    } catch (failure) {
      const isRefused = failure instanceof Refusal && failure.code === 'REQUEST_ERROR'
      if (isRefused && !isKnown) rate.take(client)
      throw failure
    }
  }
}
