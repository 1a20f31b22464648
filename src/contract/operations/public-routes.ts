// Routes without a key: the bytes of an upload, at a signed location; files, whose URLs cannot be guessed; the OpenAPI
// document; and probes. They are open to all origins and use no cookies.
import type { StoreErrorCode } from '../../base/store-error.js'
import type { Store } from '../../engine/types/store-types.js'
import { jsonResponse } from '../answers/render.js'
import { serveFile } from '../files/serve-file.js'
import { putUpload } from '../files/uploads.js'
import { OPEN_CORS, preflightResponse } from '../http/cors.js'
import { errorResponse, renderError } from '../http/error-response.js'
import type { ContractRequest, ContractResponse } from '../http/message.js'
import { methodNotAllowed } from '../http/refusal.js'
import { OPEN_ROUTES, type OpenRoute, type Probe } from '../http/router.js'
import type { ServeDocument } from '../openapi/serve-document.js'

/** The services behind the routes without a key. */
export type OpenServices = Readonly<{ store: Store; document: ServeDocument }>

export async function answerOpenly(
  { store, document }: OpenServices,
  request: ContractRequest,
  route: OpenRoute,
  watch: BodyWatch,
): Promise<ContractResponse> {
  const allowed: readonly string[] = OPEN_ROUTES[route.name].methods
  const methods = allowed.join(', ')
  if (!allowed.includes(request.method)) throw methodNotAllowed(request.method, methods)
  if (request.method === 'OPTIONS') return preflightResponse(methods, OPEN_CORS)
  if (route.name === 'document') return document(request)
  if (route.name === 'health' || route.name === 'ready') return answerProbe(store, route.name)
  if (route.name === 'upload') return putUpload(store.files, request, route.uploadId)
  const response = await serveFile(store.files, request, route.fileId)
  return { ...response, body: watchedBody(response.body, watch) }
}

/** Callbacks for bodies sent in pieces. */
export type BodyWatch = Readonly<{
  /** Called if a body fails after its status was sent. */
  onFailure: (failure: unknown) => void
  /** Called with the number of bytes of each piece. */
  onBytes: (bytes: number) => void
}>

export function watchedBody(
  body: ContractResponse['body'],
  watch: BodyWatch,
): ContractResponse['body'] {
  const isStream = body !== null && typeof body === 'object' && !(body instanceof Uint8Array)
  return isStream ? watchedPieces(body, watch) : body
}

async function* watchedPieces(
  pieces: AsyncIterable<Uint8Array>,
  { onFailure, onBytes }: BodyWatch,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of pieces) {
      onBytes(piece.length)
      yield piece
    }
  } catch (failure) {
    if (errorResponse(failure).status >= 500) onFailure(failure)
    throw failure
  }
}

/**
 * GET /healthz and GET /readyz (CONTRACT.md, section 13), for supervisors and load balancers. They need no key, so the
 * answer comes from memory alone and reveals only what its status requires.
 */
function answerProbe(store: Pick<Store, 'status'>, probe: Probe): ContractResponse {
  if (probe === 'health') return jsonResponse(200, '{}')
  const status = store.status()
  return status.writable ? jsonResponse(200, '{}') : notReady(status.code)
}

/** Public reasons by code. Details go only to `onFailure`, because anyone can send a probe. */
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
