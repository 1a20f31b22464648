// The servers of a fleet as the store of lanes.
import { randomUUID } from 'node:crypto'
import { StoreError } from '../../../src/index.js'
import type {
  LaneChange,
  LaneRow,
  LaneRows,
  LaneStore,
  LaneTable,
  LaneTeam,
} from '../crash/lane-store.js'
import { FILES_URL } from './fleet-job.js'
import { type FleetAnswer, failureOf, type HttpClient } from './http-client.js'

const PRECONDITION_FAILED = 412

/** Few, so that a walk uses several servers. */
const PAGE_ROWS = 150

/** Changes whose first attempt was cut off, by what clients then found. */
export type Found = { landed: number; repeated: number }

export function httpStore(http: HttpClient, found: Found): LaneStore {
  return {
    team: () => new HttpTeam(http, found),
    maintain: async () => undefined, // The servers do it by themselves.
  }
}

class HttpTeam implements LaneTeam {
  readonly #http: HttpClient
  readonly #found: Found

  constructor(http: HttpClient, found: Found) {
    this.#http = http
    this.#found = found
  }

  async tables(): Promise<{ id: string; name: string }[]> {
    const { data } = await this.#http.ask({ method: 'GET', path: '/tables' })
    return data as { id: string; name: string }[]
  }

  table(id: string): HttpTable {
    return new HttpTable(this.#http, this.#found, id)
  }

  async createTable({ name, schema, rows }: Parameters<LaneTeam['createTable']>[0]) {
    const answer = await this.#http.ask({
      method: 'POST',
      path: '/tables',
      headers: { 'idempotency-key': randomUUID() },
      body: { name, schema, rows: rowsOf(rows) },
    })
    note(this.#found, answer, 'repeated')
    const { tableID: tableId, rowIDs: rowIds } = answer.data as {
      tableID: string
      rowIDs: string[]
    }
    return { tableId, rowIds, version: answer.version }
  }

  async putChunk(stash: string, serial: string, rows: LaneRows): Promise<void> {
    await this.#http.ask({ method: 'PUT', path: `/stashes/${stash}/${serial}`, body: rows })
  }

  async deleteStash(stash: string): Promise<void> {
    await this.#http.ask({ method: 'DELETE', path: `/stashes/${stash}` })
  }

  async putFile(fileName: string, bytes: Uint8Array): Promise<{ id: string; path: string }> {
    const contentType = 'text/plain'
    const uploads = '/apps/fleet/uploads'
    const begun = await this.#http.ask({
      method: 'POST',
      path: uploads,
      body: { contentType, fileName },
    })
    const { uploadID, uploadLocation } = begun.data as Record<string, string>
    await this.#upload(new URL(uploadLocation ?? ''), contentType, new TextDecoder().decode(bytes))
    const path = `${uploads}/${uploadID}/complete`
    const completed = await this.#http.ask({ method: 'POST', path })
    const { url = '' } = completed.data as Record<string, string>
    const place = url.slice(`${FILES_URL}/`.length)
    return { id: place.split('/')[1] ?? '', path: place }
  }

  /** Sends the bytes of a file to S3 if the location is there; otherwise to any server of the fleet. */
  async #upload({ pathname, search, href }: URL, contentType: string, body: string) {
    const headers = { 'content-type': contentType }
    if (pathname.startsWith('/uploads/')) {
      await this.#http.ask({ method: 'PUT', path: pathname + search, headers, body })
      return
    }
    const { ok, status } = await fetch(href, { method: 'PUT', headers, body })
    if (ok) return
    const outcome = 'unchanged' // Nothing names what was put.
    throw new StoreError('STORAGE_UNAVAILABLE', `S3 answers ${status}`, { outcome })
  }
}

/** A row by its ID, with its version for its next change. */
export type FoundRow = Readonly<{ cells: LaneRow; version: number }>

export class HttpTable implements LaneTable {
  readonly #http: HttpClient
  readonly #found: Found
  readonly #path: string

  constructor(http: HttpClient, found: Found, id: string) {
    this.#http = http
    this.#found = found
    this.#path = `/tables/${id}`
  }

  async addRows(rows: LaneRows): Promise<LaneChange> {
    const answer = await this.#http.ask({
      method: 'POST',
      path: `${this.#path}/rows`,
      headers: { 'idempotency-key': randomUUID() },
      body: rowsOf(rows),
    })
    note(this.#found, answer, 'repeated')
    return changeOf(answer)
  }

  async overwrite(rows: LaneRows): Promise<LaneChange> {
    const before = await this.version()
    const answer = await this.#http.send({
      method: 'PUT',
      path: this.#path,
      headers: { 'if-match': `"${before}"` },
      body: { rows: rowsOf(rows) },
    })
    if (!this.#hasLanded(answer)) return changeOf(answer)
    const rowIds: string[] = []
    for await (const { $rowID } of this.scan()) rowIds.push($rowID)
    return { version: await this.version(), rowIds }
  }

  async merge(mode: 'upsert' | 'replace', rows: LaneRows): Promise<LaneChange> {
    const answer = await this.#http.ask({
      method: 'POST',
      path: `${this.#path}/merge?key=k&mode=${mode}`,
      headers: { 'idempotency-key': randomUUID() },
      body: rowsOf(rows),
    })
    note(this.#found, answer, 'repeated')
    return changeOf(answer)
  }

  async get(rowId: string): Promise<FoundRow> {
    const path = `${this.#path}/rows/${rowId}`
    const { data, version } = await this.#http.ask({ method: 'GET', path })
    return { cells: data as LaneRow, version }
  }

  async updateRow(rowId: string, cells: Readonly<Record<string, unknown>>) {
    const { version } = await this.get(rowId)
    const answer = await this.updateRowAt(version, rowId, cells)
    return { version: this.#hasLanded(answer) ? await this.version() : changeOf(answer).version }
  }

  /** Updates a row of a version. If others change it too, a 412 after an attempt without an answer proves nothing. */
  updateRowAt(
    version: number,
    rowId: string,
    cells: Readonly<Record<string, unknown>>,
  ): Promise<FleetAnswer> {
    const path = `${this.#path}/rows/${rowId}`
    const headers = { 'if-match': `"${version}"` }
    return this.#http.send({ method: 'PATCH', path, headers, body: cells })
  }

  async deleteRow(rowId: string): Promise<{ version: number }> {
    const path = `${this.#path}/rows/${rowId}`
    return { version: (await this.#http.ask({ method: 'DELETE', path })).version }
  }

  async *scan(): AsyncGenerator<LaneRow> {
    let query = `?limit=${PAGE_ROWS}`
    for (;;) {
      const page = await this.#http.ask({ method: 'GET', path: `${this.#path}/rows${query}` })
      yield* page.data as LaneRow[]
      if (page.continuation === undefined) return
      query = `?limit=${PAGE_ROWS}&continuation=${encodeURIComponent(page.continuation)}`
    }
  }

  async version(): Promise<number> {
    const { version } = await this.#http.ask({ method: 'HEAD', path: `${this.#path}/rows` })
    return version
  }

  /**
   * Whether an attempt without an answer made the change: a client that alone changes the table learns it from a 412.
   */
  #hasLanded({ status, wasUnsure }: FleetAnswer): boolean {
    const hasLanded = status === PRECONDITION_FAILED && wasUnsure
    if (hasLanded) this.#found.landed++
    return hasLanded
  }
}

function rowsOf(rows: LaneRows): unknown {
  return 'stash' in rows ? { $stashID: rows.stash } : rows
}

function note(found: Found, { wasUnsure }: FleetAnswer, what: keyof Found): void {
  if (wasUnsure) found[what]++
}

function changeOf(answer: FleetAnswer): LaneChange {
  if (answer.status >= 300) throw failureOf(answer)
  const { rowIDs: rowIds = [] } = (answer.data ?? {}) as { rowIDs?: string[] }
  return { version: answer.version, rowIds }
}
