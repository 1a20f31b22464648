// A UrlFetcher for the contract suite: a few URLs of a host that does not exist, which behave as the cases need.
// Nothing is fetched.

import { StoreError } from '../../src/index.js'
import type { FetchedSource, UrlFetcher } from '../../src/ports.js'

/**
 * The sources that the store of a server under test must have; see `contractSuite`.
 * @example
 * import { openMemory } from 'rowstash'
 * import { contractSources } from 'rowstash/testing'
 *
 * await using store = await openMemory({ sources: contractSources })
 * console.log((await store.team('acme').files.fromUrl('http://source.test/rows.json')).fileName) // rows.json
 */
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
  /** `hello`, without a type or a name. */
  plain: `${HOST}/a/hello%20there.txt?x=1`,
  /** `hello`, at the root of the host. */
  root: `${HOST}/`,
  /** `<html>`, with a type, and a name that climbs to a parent folder. */
  named: `${HOST}/page`,
  /** `hello`, with an invalid type and name. */
  odd: `${HOST}/odd`,
  /** An empty body. */
  empty: `${HOST}/empty`,
  /** Breaks off. */
  broken: `${HOST}/broken`,
  /** Never begins. */
  slow: `${HOST}/slow`,
  /** Is larger than any limit. */
  endless: `${HOST}/endless`,
  /** Rows of CSV, the last of which comes when `lateNow` is fetched. */
  late: `${HOST}/late.csv`,
  /** The same, with a record at the end that is too long. */
  lateFault: `${HOST}/late-fault.csv`,
  /** Continues all late sources that wait. */
  lateNow: `${HOST}/late-now`,
  /** CSV that breaks off. */
  brokenCsv: `${HOST}/broken.csv`,
  /** CSV that is larger than any limit. */
  endlessCsv: `${HOST}/endless.csv`,
  /** Three rows with a quoted line break, in pieces that cut them. The type is CSV. */
  csv: `${HOST}/rows?x=1`,
  /** The same rows as TSV, JSON and NDJSON, by their names. */
  tsv: `${HOST}/Some%20rows.tsv`,
  json: `${HOST}/rows.json`,
  ndjson: `${HOST}/rows.jsonl`,
  /** Rows of JSON, one of which has an object as a value. */
  objects: `${HOST}/objects.json`,
  /** CSV with an unclosed quote. */
  unclosed: `${HOST}/unclosed.csv`,
  /** CSV with a column whose ID is reserved. */
  reserved: `${HOST}/reserved.csv`,
  /** CSV with a duplicate column. */
  twice: `${HOST}/twice.csv`,
  /** CSV whose type names another charset than UTF-8. */
  latin1: `${HOST}/latin1.csv`,
  /** CSV as a German Excel writes it, in windows-1252, with lines before the header. */
  german: `${HOST}/german.csv`,
  /** The same, with the encoding in its type. */
  typedGerman: `${HOST}/typed-german.csv`,
  /** Rows in a JSON object. */
  wrapped: `${HOST}/wrapped.json`,
  /** CSV with an unknown charset. */
  oddCharset: `${HOST}/odd-charset.csv`,
  /** CSV without a header, which its type states. */
  headerless: `${HOST}/headerless.csv`,
} as const

/** Late sources that wait. They are global, because a host has one object of sources for all its stores. */
const late = new Set<() => void>()

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
  [SOURCE_URLS.endlessCsv]: (url, bytesMax) =>
    source(url, ['a\n1\n'], {}, new StoreError('FILE_TOO_LARGE', `More than ${bytesMax} bytes`)),
  [SOURCE_URLS.late]: (url) => lateSource(url, '3\n'),
  [SOURCE_URLS.lateFault]: (url) => lateSource(url, '3,4\n'),
  [SOURCE_URLS.lateNow]: (url) => {
    for (const goOn of late) goOn()
    late.clear()
    return source(url, ['now'])
  },
  [SOURCE_URLS.brokenCsv]: (url) =>
    source(url, ['a\n1'], {}, new StoreError('SOURCE_URL_FAILED', 'The source broke off')),
  [SOURCE_URLS.csv]: (url) =>
    source(url, ['\ufeffa,b\r', '\n1,"x', '\n"\r\n2,\n', '3,z'], {
      contentType: 'text/csv; charset=UTF-8',
      fileName: 'My rows.v2.csv',
    }),
  [SOURCE_URLS.tsv]: (url) =>
    source(url, ['a\tb\n1\t"x\n', '"\n2\t\n3\tz\n'], { contentType: 'text/plain' }),
  [SOURCE_URLS.json]: (url) => source(url, ['[{"a":1,"b":"x\\', 'n"},{"a":2},{"a":3,"b":"z"}]']),
  [SOURCE_URLS.ndjson]: (url) =>
    source(url, ['{"a":1,"b":"x\\n"}\n\n{"a":', '2}\r\n{"a":3,"b":"z"}'], {
      contentType: 'application/octet-stream',
    }),
  [SOURCE_URLS.objects]: (url) => source(url, ['[{"a":1,"o":{}}]']),
  [SOURCE_URLS.unclosed]: (url) => source(url, ['a,b\n1,2\n\n3,"4\n5,6\n']),
  [SOURCE_URLS.reserved]: (url) => source(url, ['$stashID,a\n1,2\n']),
  [SOURCE_URLS.twice]: (url) => source(url, ['a,b,a\n1,2,3\n']),
  [SOURCE_URLS.latin1]: (url) =>
    source(url, ['a\n1\n'], { contentType: 'text/csv; charset=latin1' }),
  [SOURCE_URLS.german]: (url) => source(url, GERMAN_PIECES, { contentType: 'text/csv' }),
  [SOURCE_URLS.typedGerman]: (url) =>
    source(url, GERMAN_PIECES, { contentType: 'text/csv; charset=ISO-8859-1' }),
  [SOURCE_URLS.wrapped]: (url) => source(url, ['{"data":[{"a":1},{"', 'a":2}]}']),
  [SOURCE_URLS.oddCharset]: (url) =>
    source(url, ['a\n1\n'], { contentType: 'text/csv; charset=x-none' }),
  [SOURCE_URLS.headerless]: (url) =>
    source(url, ['1,x\n2,y\n'], { contentType: 'text/csv; header=absent' }),
  [SOURCE_URLS.endless]: (url, bytesMax) =>
    source(url, ['hel'], {}, new StoreError('FILE_TOO_LARGE', `More than ${bytesMax} bytes`)),
}

/** A German text in the code page of Western Europe. */
export function encodeWestern(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => (char === '€' ? 0x80 : char.charCodeAt(0)))
}

/** Cells as Germans write them, below a title. */
export const GERMAN_CSV = `Bericht für März 2026

Name;Preis;Tag;Aktiv;Rest
Müller GmbH;1.234,50 €;31.12.2026;WAHR;1
"Groß; & Co";-7,00 €;01.02.2026;FALSCH;
Ärger;n/a;3.4.2026;WAHR;n/a
`

const GERMAN_PIECES = [encodeWestern(GERMAN_CSV.slice(0, 70)), encodeWestern(GERMAN_CSV.slice(70))]

function lateSource(url: string, end: string): FetchedSource {
  async function* body(): AsyncGenerator<Uint8Array, void> {
    yield new TextEncoder().encode('n\n1\n2\n')
    await new Promise<void>((resolve) => void late.add(resolve))
    yield new TextEncoder().encode(end)
  }
  return { contentType: 'text/csv', fileName: undefined, url, body: body(), close() {} }
}

function source(
  url: string,
  pieces: readonly (string | Uint8Array)[],
  names: Partial<Pick<FetchedSource, 'contentType' | 'fileName'>> = {},
  failure?: StoreError,
): FetchedSource {
  async function* body(): AsyncGenerator<Uint8Array, void> {
    for (const piece of pieces) {
      yield typeof piece === 'string' ? new TextEncoder().encode(piece) : piece
    }
    if (failure !== undefined) throw failure
  }
  const { contentType, fileName } = names
  return { contentType, fileName, url, body: body(), close() {} }
}
