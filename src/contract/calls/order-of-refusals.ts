// The order of refusals (CONTRACT.md, section 1), which decides the error of a request that breaks several rules.
//
//     1 key → 2 path → 3 method, scope → 4 query, headers → 5 table → 6 body → 7 row → 8 If-Match → 9 data
//
// No other file orders these checks. `admit` makes those of every request with a key, `inOrder` those of an
// operation with a body. The last three are one call of the library, which documents the same order
// (`Table.overwrite`, `Table.updateRow`), because only the commit of a change knows the row and its version.
// An operation without a body reads its parameters, then calls the library, which looks for the table first; one
// that has a body and no table reads its parameters, then the body.
import type { Table } from '../../engine/types/store-types.js'
import { type Access, type Caller, checkAccess } from '../auth/caller.js'
import { withRemedy } from '../bodies/field-remedy.js'
import { announcedBytes, type BodyFormat, type ReceivedBody } from '../bodies/read-body.js'
import type { ContractRequest, ContractResponse } from '../http/message.js'
import { parseQuery, type Query } from '../http/query.js'
import { methodNotAllowed } from '../http/refusal.js'
import type { Router } from '../http/router.js'
import type { Authenticate } from './auth.js'
import type { Call, Effect, Operation } from './call.js'

export type Admitted = Readonly<{
  caller: Caller
  /** As it is in the routes. */
  route: string
  access: Access
  operation: Operation
  parameters: readonly string[]
  query: Query
}>

/** An operation and what it demands of a key. */
export type Guarded = Readonly<{ access: Access; operation: Operation }>

/** The sender of a request: a key of the operator has no team. */
export type Sender = Readonly<{ keyId: string; teamId?: string }>

/** Called when the key of a request is known. @throws {Refusal} STORAGE_UNAVAILABLE: it has too many connections */
export type OnKey = (sender: Sender) => void

/**
 * @param route - As it is in the routes.
 * @param effect - What the operation does, which it sets later.
 */
export type OnRoute = (route: string, sender: Sender, effect: Effect) => void

/** What a request passes before its operation. */
export type Gate = Readonly<{
  authenticate: Authenticate
  /** Counts a request. @throws {Refusal} RATE_LIMITED */
  checkRate: (caller: Caller) => void
  router: Router<Guarded>
}>

/** Makes steps 1 to 3, and the checks of step 4 that all operations share. */
export async function admit(
  request: ContractRequest,
  { authenticate, checkRate, router }: Gate,
  onRoute: (route: string, caller: Caller) => void,
): Promise<Admitted> {
  const caller = await authenticate(request.headers, request)
  request.onKey?.({ keyId: caller.keyId, teamId: caller.teamId })
  checkRate(caller)
  const { path, methods, parameters } = router(request.path, request.method)
  const found = methods.get(request.method)
  if (found === undefined) throw methodNotAllowed(request.method, [...methods.keys()].join(', '))
  onRoute(path, caller)
  const { access, operation } = found
  checkAccess(caller, access)
  return { caller, route: path, access, operation, parameters, query: parseQuery(request.query) }
}

/** The checks of an operation with a body. */
export type Steps<P> = Readonly<{
  /** Step 4: reads query parameters and headers. */
  parse: () => P
  /**
   * Step 5: the table must be there. The change looks for it; a refusal, and a large body, come after a look of their
   * own.
   */
  table?: Table
  /** Step 6: the accepted formats of the body. */
  formats: readonly BodyFormat[]
  /** Reads the shape of the body, the end of step 6, and makes the change, steps 7 to 9. */
  change: (body: ReceivedBody, parsed: P) => Promise<ContractResponse>
}>

/** Steps 4 to 9. */
export async function inOrder<P>(
  call: Call,
  { parse, table, formats, change }: Steps<P>,
): Promise<ContractResponse> {
  const parsed = parse()
  const looksFirst = table !== undefined && isWorthALook(call)
  if (looksFirst) await table.version()
  try {
    return await call.receive(formats, (body) =>
      change(body, parsed).catch((failure: unknown) => {
        throw withRemedy(failure, body, call.query)
      }),
    )
  } catch (failure) {
    if (!looksFirst) await table?.version() // Its absence comes first. A change that is made has found it, with one read of its head.
    throw failure
  }
}

/** A body of fewer bytes costs less than another read of the head. */
const LOOK_BYTES_MIN = 64 * 1024

/** Whether it is worth a read of the table's head to spare the sender a body for a table that is not there. */
function isWorthALook({ headers }: Call): boolean {
  const announced = announcedBytes(headers)
  return announced === undefined || announced >= LOOK_BYTES_MIN
}
