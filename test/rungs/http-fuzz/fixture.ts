// The objects that the requests of a round name, created over HTTP by an ordinary client.
import { SOURCE_URLS } from '../../conformance/fake-sources.js'
import { SCHEMA } from './bodies.js'
import type { Known, KnownTable } from './grammar.js'
import { ADMIN_KEY, keyOf } from './team-keys.js'

const TABLES = 6
const ROWS = 30
const UPLOADS = 6
const STASHES = ['stash-a', 'stash-b', '2024-02-15']

/** Sources that answer at once. */
const SOURCES = Object.values(SOURCE_URLS).filter((url) => !url.includes('late'))

/** Creates the objects of a new team. */
export async function makeKnown(url: string, team: string): Promise<Known> {
  const api = new Client(url, keyOf(team))
  const rows = Array.from({ length: ROWS }, (_, n) => ({ s: `row ${n}`, n, b: n % 2 === 0 }))
  const tables: KnownTable[] = []
  for (let at = 0; at < TABLES; at++) tables.push(await makeTable(api, `table ${at}`, rows))
  for (const stash of STASHES) await api.send('PUT', `/stashes/${stash}/0`, rows)
  const uploads: { id: string; location: string }[] = []
  const files: string[] = []
  for (let at = 0; at < UPLOADS; at++) {
    const { uploadID, uploadLocation } = await api.data('POST', '/apps/an-app/uploads', {
      contentType: 'image/png',
      fileName: 'a.png',
    })
    uploads.push({ id: String(uploadID), location: String(uploadLocation).slice(url.length) })
  }
  for (const sourceURL of [SOURCE_URLS.plain, SOURCE_URLS.named]) {
    const { url: fileUrl } = await api.data('POST', '/apps/an-app/uploads', { sourceURL })
    files.push(String(fileUrl).slice(url.length))
  }
  const { host } = new URL(url)
  const [key, adminKey, jobs] = [keyOf(team), ADMIN_KEY, ['00000000-0000-4000-8000-000000000000']]
  return {
    host,
    key,
    adminKey,
    tables,
    stashes: STASHES,
    uploads,
    files,
    jobs,
    sourceUrls: SOURCES,
  }
}

async function makeTable(api: Client, name: string, rows: unknown): Promise<KnownTable> {
  const { tableID, rowIDs } = await api.data('POST', '/tables', { name, schema: SCHEMA, rows })
  const id = String(tableID)
  const { etag, body } = await api.send('GET', `/tables/${id}/rows?limit=2`)
  const { continuation } = body as { continuation: string }
  return { id, version: etag, rowIds: rowIDs as readonly string[], continuation }
}

class Client {
  readonly #url: string
  readonly #key: string

  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }

  async send(method: string, path: string, body?: unknown) {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`)
    return { etag: response.headers.get('etag') ?? '', body: JSON.parse(text) as unknown }
  }

  async data(
    method: string,
    path: string,
    sent: unknown,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await this.send(method, path, sent)
    return (body as { data: Record<string, unknown> }).data
  }
}
