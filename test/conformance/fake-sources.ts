// UrlFetcher for the suite of the contract: a few URLs of a host that is nowhere, which behave as its cases
// need it. Nothing is fetched.
import type { FetchedSource, UrlFetcher } from '../../src/index.js'
import { StoreError } from '../../src/index.js'

/** The sources that the store of a server under test must have; see `contractSuite`. */
export const contractSources: UrlFetcher = {
  async fetch(url, { bytesMax }) {
    const make = URLS[url]
    if (make === undefined) throw new StoreError('SOURCE_URL_NOT_ALLOWED', 'The URL is not allowed')
    return make(url, bytesMax)
  },
}

const HOST = 'http://source.test'

/** The URLs of these sources. */
export const SOURCE_URLS = {
  /** `hello`, without a type and without a name of its own. */
  plain: `${HOST}/a/hello%20there.txt?x=1`,
  /** The same, at the root of its host. */
  root: `${HOST}/`,
  /** `<html>`, with a type, and a name that climbs. */
  named: `${HOST}/page`,
  /** `hello`, with a type and a name that are none. */
  odd: `${HOST}/odd`,
  /** Nothing. */
  empty: `${HOST}/empty`,
  /** Breaks off. */
  broken: `${HOST}/broken`,
  /** Never begins. */
  slow: `${HOST}/slow`,
  /** Is larger than any limit. */
  endless: `${HOST}/endless`,
} as const

type MakeSource = (url: string, bytesMax: number) => FetchedSource

const URLS: Readonly<Record<string, MakeSource>> = {
  [SOURCE_URLS.plain]: (url) => source(url, ['hel', 'lo']),
  [SOURCE_URLS.root]: (url) => source(url, ['hello']),
  [SOURCE_URLS.named]: (url) =>
    source(url, ['<html>'], { contentType: 'Text/HTML;charset=x', fileName: '../../Seite ä.html' }),
  [SOURCE_URLS.odd]: (url) =>
    source(url, ['hello'], { contentType: 'text/html\tx', fileName: '\u202e..' }),
  [SOURCE_URLS.empty]: (url) => source(url, []),
  [SOURCE_URLS.broken]: (url) =>
    source(url, ['hel'], {}, new StoreError('SOURCE_URL_FAILED', 'The source broke off')),
  [SOURCE_URLS.slow]: () => {
    throw new StoreError('SOURCE_URL_TIMEOUT', 'The source took too long')
  },
  [SOURCE_URLS.endless]: (url, bytesMax) =>
    source(url, ['hel'], {}, new StoreError('FILE_TOO_LARGE', `More than ${bytesMax} bytes`)),
}

function source(
  url: string,
  pieces: readonly string[],
  names: Partial<Pick<FetchedSource, 'contentType' | 'fileName'>> = {},
  failure?: StoreError,
): FetchedSource {
  async function* body(): AsyncGenerator<Uint8Array, void> {
    for (const piece of pieces) yield new TextEncoder().encode(piece)
    if (failure !== undefined) throw failure
  }
  const { contentType, fileName } = names
  return { contentType, fileName, url, body: body(), close() {} }
}
