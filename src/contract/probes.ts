// GET /healthz and GET /readyz (CONTRACT.md, section 13), for supervisors and load balancers. They need no key, so an
// answer is made from memory alone and says no more than its status must.
import type { StoreErrorCode } from '../base/store-error.js'
import type { Store } from '../engine/api/store-types.js'
import { renderError } from './error-response.js'
import type { ContractResponse } from './message.js'
import { jsonResponse } from './render.js'
import type { Probe } from './router.js'

export function answerProbe(store: Pick<Store, 'status'>, probe: Probe): ContractResponse {
  if (probe === 'health') return jsonResponse(200, '{}')
  const status = store.status()
  return status.writable ? jsonResponse(200, '{}') : notReady(status.code)
}

/** Public reasons by code. Details go only to `onFailure`, because probes need no key. */
const REASONS: Partial<Record<StoreErrorCode, string>> = {
  STORE_CLOSED: 'The store is closing',
  INSUFFICIENT_STORAGE: 'The disk is full; nothing can be written until it has room',
  DATA_LOSS: 'Stored data is missing; nothing can be read or written',
}

const WRITE_FAILED = 'A write failed; nothing can be written until the database is reopened'

const RETRY_AFTER_SECONDS = '1'

function notReady(code: StoreErrorCode): ContractResponse {
  const response = renderError(503, 'storage_unavailable', REASONS[code] ?? WRITE_FAILED)
  return { ...response, headers: { ...response.headers, 'retry-after': RETRY_AFTER_SECONDS } }
}
