// Responses to requests that do not reach the contract.

/** Headers of all these responses, the same as the contract's. */
export const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-cache',
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** The body of a refusal. */
export function errorJson(type: string, message: string): string {
  return JSON.stringify({ error: { type, message } })
}
