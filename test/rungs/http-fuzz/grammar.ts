// Requests of the contract as bytes: every route and method, weighted so that most carry a body to a handler.
//
// A request is made from a seed and from the objects of the fixture, never from an earlier answer, so that a seed sends
// the same requests whatever the server answers.
import type { Seeded } from '../../support/seeded.js'
import { delimitedText, rowsText, rowText, strayText, tableText } from './bodies.js'

/** A table of the fixture. */
export type KnownTable = Readonly<{
  id: string
  version: string
  rowIds: readonly string[]
  continuation: string
}>

/** The objects that the requests of a round name. */
export type Known = Readonly<{
  host: string
  key: string
  adminKey: string
  tables: readonly KnownTable[]
  stashes: readonly string[]
  uploads: readonly Readonly<{ id: string; location: string }>[]
  files: readonly string[]
  jobs: readonly string[]
  sourceUrls: readonly string[]
}>

export type Header = readonly [name: string, value: string]

export type Draft = Readonly<{
  method: string
  target: string
  headers: readonly Header[]
  body: Uint8Array<ArrayBuffer> | null
}>

type Parts = Readonly<{
  target: string
  headers?: readonly Header[]
  body?: string
  key?: string | null
}>

type Make = (random: Seeded, known: Known) => Parts

/** A request that is valid HTTP, and mostly valid by the contract. */
export function draft(random: Seeded, known: Known): Draft {
  const { method, make } = random.pick(WEIGHTED)
  const parts = make(random, known)
  const odd = random.once(60) ? [random.pick(ODD_HEADERS)] : []
  const key = parts.key === undefined ? known.key : parts.key
  return {
    method: random.once(150) ? random.pick(METHODS) : method,
    target: random.once(30) ? `${parts.target}${random.pick(ODD_ENDS)}` : parts.target,
    headers: [
      ['Host', known.host],
      ...authorization(random, key),
      ...(parts.headers ?? []),
      ...odd,
    ],
    body: parts.body === undefined ? null : new TextEncoder().encode(parts.body),
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']

const ODD_ENDS = [
  '/',
  '?',
  '?a=b',
  '?limit=1&limit=2',
  '/..',
  '//',
  '%2f',
  '%zz',
  '%00',
  '/x',
  ';a',
]

const ODD_HEADERS: readonly Header[] = [
  ['Accept', 'text/html'],
  ['Accept-Encoding', 'gzip, br'],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'identity'],
  ['Expect', '100-continue'],
  ['Expect', 'a-miracle'],
  ['Origin', 'https://app.example.com'],
  ['Connection', 'close'],
  ['Upgrade', 'websocket'],
  ['X-Forwarded-Host', 'example.com'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Prefer', 'return=receipt'],
  ['If-Match', '*'],
  ['If-Match', `"${'9'.repeat(300)}"`],
  ['Cookie', 'a=b'],
]

function authorization(random: Seeded, key: string | null): readonly Header[] {
  if (key === null) return []
  if (!random.once(80)) return [['Authorization', `Bearer ${key}`]]
  return random.pick<readonly Header[]>([
    [],
    [['Authorization', 'Bearer unknown-key']],
    [['Authorization', 'Basic eDp5']],
    [['Authorization', `bearer  ${key}`]],
    [
      ['Authorization', `Bearer ${key}`],
      ['Authorization', `Bearer ${key}`],
    ],
  ])
}

const SCHEMA_ERRORS = ['', '', '', 'abort', 'dropColumns', 'updateSchema', 'updateSchema', 'other']

function query(random: Seeded, ...more: readonly string[]): string {
  const onError = random.pick(SCHEMA_ERRORS)
  const pairs = [...more, ...(onError === '' ? [] : [`onSchemaError=${onError}`])]
  if (random.once(25)) pairs.push('validate=only')
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** A body of rows in one of the formats, with its type. */
function rowsBody(
  random: Seeded,
  rowIds: readonly string[],
): Readonly<{ type: string; text: string }> {
  if (random.once(5)) return { type: 'text/csv', text: delimitedText(random, ',') }
  if (random.once(8))
    return { type: 'text/tab-separated-values', text: delimitedText(random, '\t') }
  return { type: 'application/json', text: rowsText(random, rowIds) }
}

function typed(random: Seeded, type: string, ...more: readonly Header[]): readonly Header[] {
  const given = random.once(60)
    ? random.pick([`${type}; charset=utf-8`, `${type};charset=latin1`, 'text/plain', 'x', ''])
    : type
  return [['Content-Type', given], ...more]
}

function changeHeaders(
  random: Seeded,
  { version }: Pick<KnownTable, 'version'>,
): readonly Header[] {
  const headers: Header[] = []
  if (random.once(8)) headers.push(['If-Match', random.pick([version, '"1"', 'W/"1"', '1', '""'])])
  if (random.once(8)) headers.push(['Idempotency-Key', `key-${random.below(200)}`])
  if (random.once(20)) headers.push(['x-glide-asynchronous', random.pick(['true', 'false', 'yes'])])
  return headers
}

/** The first tables of the fixture are rarely overwritten, so that their row IDs stay known. */
function table(random: Seeded, known: Known): KnownTable {
  return random.pick(known.tables)
}

function rowOf(random: Seeded, { rowIds }: KnownTable): string {
  return random.once(20) ? random.pick(['x', 'A'.repeat(22), '%zz']) : random.pick(rowIds)
}

const json = (random: Seeded, text: string): Parts => ({
  target: '',
  headers: typed(random, 'application/json'),
  body: random.once(80) ? strayText(random) : text,
})

const ROUTES: readonly (readonly [weight: number, method: string, make: Make])[] = [
  [18, 'PUT', putChunk],
  [14, 'POST', addRows],
  [16, 'PATCH', updateRow],
  [6, 'PATCH', changeRows],
  [2, 'DELETE', changeRows],
  [2, 'POST', convertColumn],
  [5, 'POST', createTable],
  [7, 'PUT', overwriteTable],
  [4, 'POST', createUpload],
  [8, 'PUT', putUpload],
  [2, 'POST', importTable],
  [7, 'GET', listRows],
  [4, 'GET', readRow],
  [2, 'GET', countOrFindByKey],
  [1, 'HEAD', (random, known) => ({ target: `/tables/${table(random, known).id}/rows` })],
  [2, 'DELETE', readRow],
  [1, 'DELETE', (random, known) => ({ target: `/stashes/${random.pick(known.stashes)}` })],
  [1, 'GET', () => ({ target: '/tables' })],
  [1, 'GET', (random, known) => ({ target: `/jobs/${random.pick([...known.jobs, 'x', '%zz'])}` })],
  [1, 'POST', completeUpload],
  [2, 'GET', readFile],
  [1, 'HEAD', readFile],
  [1, 'GET', publicDocument],
  [1, 'GET', readAsAdmin],
  [1, 'POST', createKey],
  [1, 'DELETE', (_, known) => ({ target: '/admin/keys/x', key: known.adminKey })],
  [1, 'OPTIONS', preflight],
  [1, 'GET', unknownPath],
]

const WEIGHTED = ROUTES.flatMap(([weight, method, make]) =>
  Array.from({ length: weight }, () => ({ method, make })),
)

function putChunk(random: Seeded, known: Known): Parts {
  const stash = random.once(60)
    ? random.pick(['_x', 'é', 'x'.repeat(257)])
    : random.pick(known.stashes)
  const { type, text } = rowsBody(random, random.pick(known.tables).rowIds)
  const target = `/stashes/${stash}/${random.once(60) ? '-1' : random.below(50)}`
  return { target, headers: typed(random, type), body: text }
}

function addRows(random: Seeded, known: Known): Parts {
  const into = table(random, known)
  const { type, text } = rowsBody(random, into.rowIds)
  const isStash = random.once(12)
  return {
    target: `/tables/${into.id}/rows${query(random)}`,
    headers: typed(random, isStash ? 'application/json' : type, ...changeHeaders(random, into)),
    body: isStash ? JSON.stringify({ $stashID: random.pick(known.stashes) }) : text,
  }
}

function updateRow(random: Seeded, known: Known): Parts {
  const of = table(random, known)
  const { headers = [], body = '' } = json(random, rowText(random))
  return {
    target: `/tables/${of.id}/rows/${rowOf(random, of)}${query(random)}`,
    headers: [...headers, ...changeHeaders(random, of)],
    body,
  }
}

/** Rows to change or to delete. */
function changeRows(random: Seeded, known: Known): Parts {
  const of = table(random, known)
  const rows = Array.from({ length: random.below(4) }, () => {
    const members = [`"rowID":${JSON.stringify(rowOf(random, of))}`]
    if (!random.once(3)) members.push(`"cells":${rowText(random)}`)
    if (random.once(4)) members.push(`"ifMatch":${random.pick(['1', '99', '-1', '1.5', '"1"'])}`)
    if (random.once(40)) members.push('"other":1')
    return `{${members.join()}}`
  })
  const { headers = [], body = '' } = json(random, `[${rows.join()}]`)
  return {
    target: `/tables/${of.id}/rows${query(random)}`,
    headers: [...headers, ...changeHeaders(random, of)],
    body,
  }
}

function convertColumn(random: Seeded, known: Known): Parts {
  const of = table(random, known)
  const type = random.pick(['string', 'number', 'date', 'boolean', 'none', { kind: 'array' }, null])
  const column = random.pick(['n', 'n', 'x', '', 1])
  const words = [['1', '0'], ['1', '0'], ['a'], 'a', null]
  const more = random.once(2) ? { booleans: random.pick(words) } : {}
  const { headers = [], body = '' } = json(random, JSON.stringify({ column, type, ...more }))
  const target = `/tables/${of.id}/convert${random.once(2) ? '?validate=only' : ''}`
  return { target, headers: [...headers, ...changeHeaders(random, of)], body }
}

function createTable(random: Seeded, known: Known): Parts {
  const { stashes, tables } = known
  if (random.once(5)) {
    const target = `/tables${query(random, 'name=csv')}`
    return { target, headers: typed(random, 'text/csv'), body: delimitedText(random, ',') }
  }
  const { text, isNamed } = tableText(random, { stashes, rowIds: [], isNew: true })
  const name = isNamed === random.once(40) ? ['name=a%20table'] : []
  const headers = [
    ...typed(random, 'application/json'),
    ...changeHeaders(random, random.pick(tables)),
  ]
  return { target: `/tables${query(random, ...name)}`, headers, body: text }
}

function overwriteTable(random: Seeded, known: Known): Parts {
  const of = random.once(10) ? table(random, known) : (known.tables.at(-1) ?? table(random, known))
  const { text } = tableText(random, { stashes: known.stashes, rowIds: of.rowIds, isNew: false })
  const headers = [...typed(random, 'application/json'), ...changeHeaders(random, of)]
  return { target: `/tables/${of.id}${query(random)}`, headers, body: text }
}

function importTable(random: Seeded, known: Known): Parts {
  const fromUrl = random.once(20) ? 'http://127.0.0.1/' : random.pick(known.sourceUrls)
  const text = JSON.stringify({ fromUrl, ...(random.once(3) && { displayName: 'imported' }) })
  const { headers = [], body = '' } = json(random, text)
  const isAsync: readonly Header[] = random.once(3) ? [['x-glide-asynchronous', 'true']] : []
  return { target: `/tables/import${query(random)}`, headers: [...headers, ...isAsync], body }
}

function createUpload(random: Seeded, known: Known): Parts {
  const about = random.once(4)
    ? { sourceURL: random.pick(known.sourceUrls) }
    : {
        contentType: random.pick(['image/png', 'text/html', 'x', 'a/b; c=d']),
        fileName: random.pick(['a.png', '../../ä', '', 'x'.repeat(300), 'a\nb']),
        ...(random.once(3) && { contentLength: random.below(100) }),
      }
  return { ...json(random, JSON.stringify(about)), target: '/apps/an-app/uploads' }
}

function putUpload(random: Seeded, known: Known): Parts {
  const { location } = random.pick(known.uploads)
  const headers: Header[] = [['Content-Type', random.once(10) ? 'text/html' : 'image/png']]
  if (random.once(10)) headers.push(['Content-MD5', random.pick(['x', 'rL0Y20zC+Fzt72VPzMSk2A=='])])
  if (random.once(10))
    headers.push(['Content-Digest', random.pick(['sha-256=:x:', 'x', 'md5=:YQ==:'])])
  const target = random.once(12) ? location.slice(0, -1 - random.below(8)) : location
  return { target, headers, body: 'x'.repeat(random.below(3_000)), key: null }
}

function completeUpload(random: Seeded, known: Known): Parts {
  const app = random.once(5) ? 'other-app' : 'an-app'
  return { target: `/apps/${app}/uploads/${random.pick(known.uploads).id}/complete` }
}

function listRows(random: Seeded, known: Known): Parts {
  const { id, continuation } = table(random, known)
  const limit = random.pick([
    '',
    'limit=1',
    'limit=2',
    'limit=1000',
    'limit=0',
    'limit=x',
    'limit=1e3',
  ])
  const token = random.pick([
    '',
    '',
    `continuation=${continuation}`,
    'continuation=',
    'continuation=x',
  ])
  const sorts = ['sort=-n', 'sort=n,x', 'sort=[', 'sort=[{"column":"n"}]', 'total=true', 'total=x']
  const sort = random.once(3) ? random.pick(sorts) : ''
  const pairs = [limit, token, sort].filter((pair) => pair !== '')
  return { target: `/tables/${random.once(30) ? 'x' : id}/rows?${pairs.join('&')}` }
}

function readRow(random: Seeded, known: Known): Parts {
  const of = table(random, known)
  return { target: `/tables/${of.id}/rows/${rowOf(random, of)}` }
}

function countOrFindByKey(random: Seeded, known: Known): Parts {
  const { id } = table(random, known)
  const queries = [
    '',
    'where={"n":{"gt":1}}',
    'where={',
    'search=%C3%9F',
    'format=csv&columns=n',
    'format=x',
    'at=1',
    'by=n&sum=n&least=n',
    'by=n,x&limit=0',
    'n=1',
    'since=1',
    'since=x&limit=0',
    'n=x',
    'n=%ZZ',
    'n=1&n=1',
    '__proto__=1',
  ]
  const path = random.pick(['count', 'by-key', 'changes', 'export', 'groups'])
  return { target: `/tables/${id}/${path}?${random.pick(queries)}` }
}

function readFile(random: Seeded, known: Known): Parts {
  const headers: Header[] = []
  const ranges = [
    'bytes=0-1',
    'bytes=-2',
    'bytes=9-',
    'bytes=2-1',
    'bytes=0-0,2-3',
    'x',
    'bytes=99-',
  ]
  if (random.once(2)) headers.push(['Range', random.pick(ranges)])
  if (random.once(4)) headers.push(['If-None-Match', random.pick(['*', '"x"', 'W/"x", "y"', '""'])])
  if (random.once(6))
    headers.push(['If-Range', random.pick(['"x"', 'Sat, 01 Jan 2000 00:00:00 GMT'])])
  return { target: random.pick([...known.files, '/files/x', '/files/%zz/a']), headers, key: null }
}

function publicDocument(random: Seeded): Parts {
  return { target: random.pick(['/openapi.json', '/healthz', '/readyz']), key: null }
}

function readAsAdmin(random: Seeded, { adminKey }: Known): Parts {
  return { target: random.pick(['/metrics', '/admin/keys']), key: adminKey }
}

/** Mostly refused, because each new key is in every later list. */
function createKey(random: Seeded, known: Known): Parts {
  const about = {
    teamId: 'a',
    label: 'x',
    scopes: random.pick([['read'], [], ['x'], 'read', null]),
  }
  const { headers = [], body = '' } = json(random, JSON.stringify(about))
  return { target: '/admin/keys', headers, body, key: random.once(10) ? known.adminKey : known.key }
}

function preflight(random: Seeded): Parts {
  const headers: Header[] = [
    ['Origin', random.pick(['https://app.example.com', 'null', 'x'])],
    ['Access-Control-Request-Method', random.pick(['POST', 'x'])],
  ]
  return { target: random.pick(['/tables', '/uploads/x', '/x']), headers, key: null }
}

function unknownPath(random: Seeded): Parts {
  return {
    target: random.pick(['/', '//', '/x', '/tables/', '/tables//rows', '/admin/x', '/%2e%2e']),
  }
}
