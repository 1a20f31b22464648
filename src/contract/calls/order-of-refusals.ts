// The order of refusals (CONTRACT.md, section 1), which decides the error of a request that breaks several rules.
//
//     1 key → 2 path → 3 method, scope → 4 query, headers → 5 table → 6 body → 7 row → 8 If-Match → 9 data
//
// No other file determines their order. `admit` makes the checks of every request with a key; `inOrder` makes those of
// an operation with a body. Steps 7 to 9 are one call of the library, because only the commit knows the row and its
// version; the library documents the same order (`Table.overwrite`, `Table.updateRow`). For an operation without a
// body, the parameters are read first, and then the library first looks for the table. For an operation without a
// table, the parameters are read first, and then the body.
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
  /** The route as in the list of routes. */
  route: string
  access: Access
  operation: Operation
  parameters: readonly string[]
  query: Query
}>

/** An operation and the rights that it requires. */
export type Guarded = Readonly<{ access: Access; operation: Operation }>

/** The sender of a request. A key of the operator has no team. */
export type Sender = Readonly<{ keyId: string; teamId?: string }>

/**
 * Called when the key of a request is known.
 * @throws {Refusal} STORAGE_UNAVAILABLE if the key has too many connections
 */
export type OnKey = (sender: Sender) => void

/**
 * @param route - The route as in the list of routes.
 * @param effect - The effect of the operation. The operation sets its members later.
 */
export type OnRoute = (route: string, sender: Sender, effect: Effect) => void

/** The checks that a request must pass before its operation. */
export type Gate = Readonly<{
  authenticate: Authenticate
  /** Counts a request. @throws {Refusal} RATE_LIMITED */
  checkRate: (caller: Caller) => void
  router: Router<Guarded>
}>

/** Makes the checks of steps 1 to 3, and those of step 4 that all operations share. */
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
   * Step 5: the table, which must exist. The change itself finds this out; before a refusal or a large body, it is
   * checked separately.
   */
  table?: Table
  /** Step 6: the accepted formats of the body. */
  formats: readonly BodyFormat[]
  /** The end of step 6: reads the shape of the body. Steps 7 to 9: makes the change. */
  change: (body: ReceivedBody, parsed: P) => Promise<ContractResponse>
}>

/** Makes steps 4 to 9. */
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
    // A missing table is reported before a fault of the body. If the change was made, it has found the table, with one
    // read of the head.
    if (!looksFirst) await table?.version()
    throw failure
  }
}

/** Size of the smallest body that costs more than a second read of the head, in bytes. */
const LOOK_BYTES_MIN = 64 * 1024

/** Whether to read the table's head first, so that a client need not send a large body if the table is missing. */
function isWorthALook({ headers }: Call): boolean {
  const announced = announcedBytes(headers)
  return announced === undefined || announced >= LOOK_BYTES_MIN
}
