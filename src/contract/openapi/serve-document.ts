// GET /openapi.json: the description of this contract. It is public, because it reveals nothing about a store.
import { toHex, utf8 } from '../../base/bytes.js'
import { sha256 } from '../../base/platform.js'
import { JSON_TYPE } from '../http/error-response.js'
import { isNotModified } from '../http/file-conditions.js'
import type { ContractRequest, ContractResponse } from '../http/message.js'

export type ServeDocument = (request: ContractRequest) => Promise<ContractResponse>

type Rendered = Readonly<{ text: string; etag: string }>

/** How long clients may cache the document, in seconds; a new version of the package may change it. */
const MAX_AGE_SECONDS = 300

/** Returns the handler of the document, which is loaded and rendered at the first request. */
export function createServeDocument(): ServeDocument {
  let rendered: Promise<Rendered> | undefined
  return async ({ headers }) => {
    rendered ??= renderDocument()
    const { text, etag } = await rendered
    const cached = { etag, 'cache-control': `public, max-age=${MAX_AGE_SECONDS}` }
    if (isNotModified(headers, etag)) return { status: 304, headers: cached, body: null }
    return { status: 200, headers: { ...cached, 'content-type': JSON_TYPE }, body: text }
  }
}

/** The document is for programs, so it has no indentation. */
async function renderDocument(): Promise<Rendered> {
  const { default: document } = await import('./openapi.json', { with: { type: 'json' } })
  const text = `${JSON.stringify(document)}\n`
  return { text, etag: `"${toHex(await sha256(utf8(text)))}"` }
}
