// CONTRACT.md, section 13: the API keys in the store.
import type { Steps } from '../../base/time-slices.js'
import type { AddKeyRequest, ApiKey, ApiKeys } from '../../engine/types/key-types.js'
import { jsonResponse } from '../answers/render.js'
import { parsePart } from '../bodies/body-members.js'
import { readMembers, required, wholeText } from '../bodies/body-shapes.js'
import { inSteps } from '../bodies/body-steps.js'
import type { Receive } from '../bodies/read-body.js'
import type { ContractRequest, ContractResponse } from '../http/message.js'
import { invalidRequest, Refusal, shownId } from '../http/refusal.js'

/** GET /admin/keys */
export async function listKeys(keys: ApiKeys): Promise<ContractResponse> {
  const data = (await keys.list()).map(renderApiKey)
  return jsonResponse(200, JSON.stringify({ data }))
}

/** POST /admin/keys */
export function addKey(
  keys: ApiKeys,
  receive: Receive,
  request: ContractRequest,
): Promise<ContractResponse> {
  return receive(request, ['json'], async ({ bytes }) => {
    const { key, ...about } = await keys.add(await inSteps(parseKeyBody(bytes)))
    return jsonResponse(201, JSON.stringify({ data: { key, ...renderApiKey(about) } }))
  })
}

/**
 * DELETE /admin/keys/{keyID}. An unknown ID is an error, so that a mistyped ID does not look as if its key were
 * revoked.
 */
export async function revokeKey(keys: ApiKeys, keyId: string): Promise<ContractResponse> {
  if (await keys.revoke(keyId)) return jsonResponse(200, '{}')
  throw new Refusal('REQUEST_ERROR', `API key with ID '${shownId(keyId)}' not found`)
}

const MEMBERS = ['teamID', 'label', 'scopes', 'tables', 'expiresAt']

/** `{ teamID, label?, scopes?, tables?, expiresAt? }`. The store checks the values. */
function* parseKeyBody(bytes: Uint8Array): Steps<AddKeyRequest> {
  const members = yield* readMembers(yield* wholeText(bytes), MEMBERS)
  const teamId = parsePart(required(members, 'teamID'))
  if (typeof teamId !== 'string') throw invalidRequest('body', "'teamID' must be a string")
  const given: Record<string, unknown> = { teamId }
  for (const name of ['label', 'scopes', 'tables'] as const) {
    const part = members.get(name)
    if (part !== undefined) given[name] = parsePart(part)
  }
  const expiresAt = members.get('expiresAt')
  if (expiresAt !== undefined) given['expiresAt'] = parseTime(parsePart(expiresAt))
  return given as AddKeyRequest
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/

function parseTime(given: unknown): number {
  const time = typeof given === 'string' && TIME.test(given) ? Date.parse(given) : Number.NaN
  if (!Number.isNaN(time)) return time
  throw invalidRequest('body', "'expiresAt' must be a time in UTC such as 2030-01-31T12:00:00Z")
}

function renderApiKey({ id, teamId, createdAt, expiresAt, ...rest }: ApiKey): object {
  return {
    keyID: id,
    teamID: teamId,
    ...rest,
    createdAt: new Date(createdAt).toISOString(),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  }
}
