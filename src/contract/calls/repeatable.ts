// Requests with an `Idempotency-Key` (CONTRACT.md, section 6): what is kept, and how a repeat is recognized.
import { type Bytes, utf8 } from '../../base/bytes.js'
import { sha256 } from '../../base/platform.js'
import { heldKey } from '../../engine/commit/idempotency.js'
import { digestRequest } from '../../engine/table/request-digest.js'
import type { Caller } from '../auth/caller.js'
import { maySee } from '../auth/without-read.js'
import type { ReceivedBody } from '../bodies/read-body.js'
import type { ContractRequest } from '../http/message.js'

/** Arguments of a create, an add or a merge; none without an `Idempotency-Key`. */
export type Repeatable = Readonly<{ idempotencyKey?: string; requestDigest?: Bytes }>

export async function makeRepeatable(
  caller: Caller,
  request: ContractRequest,
  key: string | undefined,
  body: ReceivedBody,
): Promise<Repeatable> {
  if (key === undefined) return {}
  return {
    idempotencyKey: await keptResultKey(caller, key),
    requestDigest: await digestRepeatable(caller, request, body),
  }
}

/**
 * The key under which the team keeps a result. A caller that is limited to tables has a key space of its own, so it
 * cannot use up keys of the rest of the team. The form of the key is a part of the format on disk: FORMAT.md, section
 * 4.
 */
async function keptResultKey({ keyId, tables }: Caller, key: string): Promise<string> {
  if (tables === undefined) return key
  const digest = (...parts: string[]) => sha256(utf8(JSON.stringify(['limited', ...parts])))
  return heldKey(await digest(keyId), await digest(keyId, key))
}

/**
 * The digest of method, path, query, media type and body, which identifies a request. For an API key without `read`, it
 * includes the name of the API key, because the first result has row IDs, which only its own sender may see.
 */
function digestRepeatable(
  caller: Caller,
  { method, path, query }: ContractRequest,
  body: ReceivedBody,
): Promise<Bytes> {
  const { encoding, header } = body.typed // These count like the query parameters with the same meaning.
  const typed = `${encoding ? `&csv.encoding=${encoding}` : ''}${header ? `&csv.header=${header}` : ''}`
  const about = ['http', method, path.replace(/\/$/, ''), `${query}${typed}`, body.format]
  if (!maySee(caller)) about.push(caller.keyId)
  return digestRequest(about, body.bytes)
}
