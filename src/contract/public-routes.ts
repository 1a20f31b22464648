// Routes without a key: the bytes of an upload, whose location is signed; files, whose URLs cannot be guessed; and the
// OpenAPI document. Pages of any origin may use them, and no cookie plays a part in any.
import type { PublicFiles } from '../engine/api/file-types.js'
import { errorResponse } from './error-response.js'
import type { ContractRequest, ContractResponse } from './message.js'
import { methodNotAllowed } from './refusal.js'
import { OPEN_ROUTES, type OpenRoute } from './router.js'
import type { ServeDocument } from './serve-document.js'
import { serveFile } from './serve-file.js'
import { putUpload } from './uploads.js'

/** What the routes without a key serve. */
export type OpenServices = Readonly<{ files: PublicFiles; document: ServeDocument }>

/** @param onFailure - As in `watched`. */
export async function answerOpenly(
  { files, document }: OpenServices,
  request: ContractRequest,
  route: OpenRoute,
  onFailure: (failure: unknown) => void,
): Promise<ContractResponse> {
  const allowed: readonly string[] = OPEN_ROUTES[route.name].methods
  const methods = allowed.join(', ')
  if (!allowed.includes(request.method)) throw methodNotAllowed(request.method, methods)
  if (request.method === 'OPTIONS') return preflightResponse(methods)
  if (route.name === 'document') return document(request)
  if (route.name === 'upload') return putUpload(files, request, route.uploadId)
  const response = await serveFile(files, request, route.fileId)
  return { ...response, body: watched(response.body, onFailure) }
}

/** Request headers that mean something to these operations and that a page may not set unasked. */
const PAGE_HEADERS =
  'content-type, content-md5, content-digest, range, if-match, if-none-match, if-range'

const PREFLIGHT_SECONDS = '7200'

/** The answer to a browser that asks whether a page may send a request at all. */
function preflightResponse(methods: string): ContractResponse {
  const headers = {
    allow: methods,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': PAGE_HEADERS,
    'access-control-max-age': PREFLIGHT_SECONDS,
  }
  return { status: 204, headers, body: null }
}

const SHARED = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'etag, content-range, content-disposition, accept-ranges',
}

/** Lets a page of any origin read an answer, also one that refuses. */
export function shareWithPages(response: ContractResponse): ContractResponse {
  return { ...response, headers: { ...response.headers, ...SHARED } }
}

/** @param onFailure - Called for a body that ends in a failure after its status was sent. */
export function watched(
  body: ContractResponse['body'],
  onFailure: (failure: unknown) => void,
): ContractResponse['body'] {
  const isStream = body !== null && typeof body === 'object' && !(body instanceof Uint8Array)
  return isStream ? watchedPieces(body, onFailure) : body
}

async function* watchedPieces(
  pieces: AsyncIterable<Uint8Array>,
  onFailure: (failure: unknown) => void,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of pieces) yield piece
  } catch (failure) {
    if (errorResponse(failure).status >= 500) onFailure(failure)
    throw failure
  }
}
