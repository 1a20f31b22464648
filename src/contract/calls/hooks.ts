// Hooks of the host around operations with keys: a rate limit, a quota of the team, and an audit of changes. An absent
// hook costs nothing.
//
// Invariants:
// - `rateLimit` and `quota` are called after the checks of key, path, method and scope, before those of parameter
//   values, and before anything is read or changed. If one of them fails, the request is refused, because a limit that
//   cannot be checked still applies.
// - `audit` is called after the operation. It cannot change the answer, and no request waits for it.
import type { Awaitable } from '../../base/awaitable.js'
import { systemClock } from '../../base/clock.js'
import { StoreError } from '../../base/store-error.js'
import type { Caller } from '../auth/caller.js'
import { announcedBytes } from '../bodies/read-body.js'
import type { HeaderList } from '../http/message.js'
import { Refusal, rateLimited } from '../http/refusal.js'
import type { SeenRequest } from './access-log.js'

/** A request with a known key, before its operation. */
export type HookRequest = Readonly<{
  /** The team of the key. */
  teamId: string
  /** The name of the key: `keyId` of the identity, the ID of a key of the store, or a part of a digest. */
  keyId: string
  /** Method and route, such as `POST /tables/{tableID}/rows`. */
  operation: string
  /** The ID of the table in the path; absent if the path has none. The table need not exist. */
  tableId?: string
  /** The size of the body, if the request states it. */
  bodyBytes?: number
}>

/** A request that has or may have changed something. */
export type AuditEvent = Readonly<{
  /** The time of the answer, in milliseconds since 1970 UTC. */
  at: number
  /** Absent for keys of the operator. */
  teamId?: string
  /** The name of the key, as in `HookRequest`. */
  keyId: string
  /** Method and route, such as `POST /tables/{tableID}/rows`. */
  operation: string
  /** The table that was created or changed; absent if the operation concerns none. */
  tableId?: string
  /** The row that was changed or deleted; absent if the path names none. */
  rowId?: string
  /**
   * The version of the table that the request made, for which `Table.change` returns the log entry. Absent if the
   * answer has no version, such as that of a running job.
   */
  version?: number
  /**
   * The number of rows that were created, staged, stored again, changed or deleted; absent if the operation does not
   * count rows.
   */
  rows?: number
  /** The HTTP status. Below 300, the change was made; with 500 and above, it may have been made. */
  status: number
  /** Milliseconds from the request to its answer. */
  ms: number
}>

/** The hooks of a host. */
export interface ContractHooks {
  /**
   * Called before each operation with a team's key. If it returns an object, the request is refused with status 429,
   * and `Retry-After` is `retryAfterMs`. If the hook fails, the status is 503. Default: no limit of the host.
   */
  readonly rateLimit?:
    | ((request: HookRequest) => Awaitable<Readonly<{ retryAfterMs: number }> | undefined | null>)
    | undefined
  /**
   * Called before each operation with a team's key that may store more: creates, imports, overwrites, adds, updates,
   * chunks and uploads. It is not called before checks with `validate=only` and deletions, nor before the completion of
   * an upload, for which the store has a hook of the same name. If it returns false, the status is 402. If the hook
   * fails, the status is 503. Default: no quota.
   */
  readonly quota?: ((request: HookRequest) => Awaitable<boolean>) | undefined
  /**
   * Called after each operation with a key that has or may have changed something: after all operations except GET,
   * HEAD and checks with `validate=only`, if the status is below 300, or 500 and above. No answer waits for a promise
   * that it returns. Its failures go to `onFailure`. Default: none.
   */
  readonly audit?: ((event: AuditEvent) => Awaitable<void>) | undefined
}

export const HOOK_NAMES = [
  'rateLimit',
  'quota',
  'audit',
] as const satisfies readonly (keyof ContractHooks)[]

/** The facts about a request that `askHooks` needs. */
type Asked = Readonly<{
  caller: Caller
  operation: string
  tableId: string | undefined
  headers: HeaderList
}>

/**
 * @param mayStore - Whether the operation may store more data.
 * @throws {Refusal | StoreError}
 */
export async function askHooks(
  { rateLimit, quota }: ContractHooks,
  { caller, operation, tableId, headers }: Asked,
  mayStore: boolean,
): Promise<void> {
  const bodyBytes = announcedBytes(headers)
  const request = {
    teamId: caller.teamId,
    keyId: caller.keyId,
    operation,
    ...(tableId !== undefined && { tableId }),
    ...(bodyBytes !== undefined && { bodyBytes }),
  }
  if (rateLimit !== undefined) {
    const refused = await callHook('rateLimit', () => rateLimit(request))
    if (refused !== undefined && refused !== null) {
      throw rateLimited('Too many requests; try again later', waitOf(refused))
    }
  }
  if (quota === undefined || !mayStore) return
  const isWithin = await callHook('quota', () => quota(request))
  if (typeof isWithin !== 'boolean') throw failedHook('quota', 'it must return a boolean')
  if (!isWithin) throw new Refusal('PAYMENT_REQUIRED', 'The quota of the team is used up')
}

function waitOf({ retryAfterMs }: Readonly<{ retryAfterMs: number }>): number {
  if (Number.isFinite(retryAfterMs) && retryAfterMs >= 0) return retryAfterMs
  throw failedHook('rateLimit', 'retryAfterMs must be a number of milliseconds')
}

async function callHook<T>(name: string, call: () => Awaitable<T>): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    throw failedHook(name, 'it failed', cause)
  }
}

/** The failure of a hook. The client sees that nothing was changed; `onFailure` gets the cause. */
function failedHook(name: string, problem: string, cause?: unknown): StoreError {
  const message = `The hook ${name} gave no valid answer: ${problem}`
  return new StoreError('STORAGE_UNAVAILABLE', message, { outcome: 'unchanged', cause })
}

/** Calls `audit`, if there is one, for a request that changed or may have changed something. Never fails. */
export function tellAudit(
  {
    hooks: { audit },
    onFailure,
  }: Readonly<{
    hooks: ContractHooks
    onFailure: (failure: unknown) => void
  }>,
  method: string,
  { operation, team, change }: SeenRequest,
  status: number,
  ms: number,
): void {
  if (audit === undefined || change === undefined) return
  const { unchanged, ...effect } = change.effect
  if (method === 'GET' || method === 'HEAD' || unchanged) return
  if (status >= 300 && status < 500) return
  const event = {
    at: systemClock.now(),
    ...(team !== undefined && { teamId: team }),
    keyId: change.keyId,
    operation,
    ...effect,
    status,
    ms,
  }
  void (async () => audit(event))().catch(onFailure)
}
