// Serves the files of the page. They are the same for everybody and hold no data: what the page shows, it asks of the
// routes of the contract, with a key that a person gives it.
import type { Contract, ContractOptions } from '../../src/index.js'
import type { ContractResponse } from '../../src/ports.js'
import type { PageSession } from './browser/base/session.js'
import type { PageFiles } from './build-page.js'

/**
 * The browser loads scripts, styles and images only from this origin, runs no inline scripts, makes requests only to
 * this origin, and shows the page in no frame. So a script in the text of a row cannot run.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Headers of all files of the page. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
})

/** Files that hold no data, for a guard that lets them pass. */
export const PAGE_FILES: ReadonlySet<string> = new Set([
  '/',
  '/page/app.js',
  '/page/style.css',
  '/page/icon.svg',
])

/** The path at which the page asks how it gets its rights: a `PageSession`. */
export const SESSION_PATH = '/page/session'

const JSON_TYPE = 'application/json; charset=utf-8'

type PageFile = Readonly<{ type: string; text: (files: PageFiles) => string }>

const FILES: ReadonlyMap<string, PageFile> = new Map<string, PageFile>([
  ['/', { type: 'text/html; charset=utf-8', text: ({ html }) => html }],
  ['/page/app.js', { type: 'text/javascript; charset=utf-8', text: ({ script }) => script }],
  ['/page/style.css', { type: 'text/css; charset=utf-8', text: ({ style }) => style }],
  ['/page/icon.svg', { type: 'image/svg+xml', text: ({ icon }) => icon }],
])

/** The contract with the page at `/`. @param options - Those of the contract. */
export function withPage(contract: Contract, options: Pick<ContractOptions, 'parquet'>): Contract {
  const parquet = options.parquet !== undefined
  const session = JSON.stringify({ mode: 'key', parquet } satisfies PageSession)
  const paths = new Map(FILES).set(SESSION_PATH, { type: JSON_TYPE, text: () => session })
  let files: Promise<PageFiles> | undefined
  const answer = async (method: string, file: PageFile): Promise<ContractResponse> => {
    if (method !== 'GET' && method !== 'HEAD') return notAllowed(method)
    files ??= import('./page-files.js')
      .then(({ pageFiles }) => pageFiles())
      .catch((failure: unknown) => {
        files = undefined // The next request tries again.
        throw failure
      })
    const headers = { ...PAGE_HEADERS, 'content-type': file.type }
    return { status: 200, headers, body: method === 'GET' ? file.text(await files) : null }
  }
  return {
    ...contract,
    isRoute: (path) => paths.has(path) || contract.isRoute(path),
    handle: (request) => {
      const file = paths.get(request.path)
      return file === undefined ? contract.handle(request) : answer(request.method, file)
    },
  }
}

function notAllowed(method: string): ContractResponse {
  const message = `${method.slice(0, 20)} is not allowed here; use GET, HEAD`
  const body = JSON.stringify({ error: { type: 'method_not_allowed', message } })
  return {
    status: 405,
    headers: { ...PAGE_HEADERS, 'content-type': JSON_TYPE, allow: 'GET, HEAD' },
    body,
  }
}
