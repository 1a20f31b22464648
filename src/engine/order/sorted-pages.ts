// Makes pages of rows in an order, and pages with the number of matching rows.
//
// Invariants:
// - The order is that of one version, whatever is written meanwhile: one view makes the list of its rows. A
//   continuation refers to the same list, cached or made again, so no row appears twice.
// - The rows of a first page are read in one of two views: the view in which the list was made, or a view that shows
//   the version of the list.
// - Not more than two lists are made at the same time, and not more than one per team, because a list needs memory and
//   a view.
import { NO_BYTES, sameBytes, toBase64Url, toHex, utf8 } from '../../base/bytes.js'
import { invariant } from '../../base/invariant.js'
import { sha256Now } from '../../base/platform.js'
import { checkNotAborted } from '../../base/signals.js'
import { invalidArgument, isStoreError, StoreError } from '../../base/store-error.js'
import {
  parseContinuation,
  parseSortedContinuation,
  QUERY_HASH_BYTES,
  renderSortedContinuation,
  type SortedContinuation,
} from '../../format/continuation-token.js'
import type { KvView } from '../../kv/kv.js'
import { checkFlag, checkText } from '../arguments/arguments.js'
import { checkFindBounds } from '../arguments/find-arguments.js'
import { SORTED_ROWS_MAX, type SortedList } from '../caches/sorted-lists.js'
import { findPast } from '../changes/past-generation.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import {
  compileQuery,
  type FindRequest,
  findPage,
  PAGE_TEXT_BYTES_MAX,
  PageRows,
} from '../find/find-rows.js'
import { frameOfRow } from '../find/find-walk.js'
import {
  continuationInvalid,
  findGeneration,
  type GenerationInUse,
  inUse,
  readHeadOrNull,
} from '../read/generations.js'
import { rowsOfPage } from '../read/open-page.js'
import { PAGE_START, PageWriter, type PieceTarget } from '../read/page-writer.js'
import type { FindBounds } from '../types/find-types.js'
import type { PageBytes } from '../types/store-types.js'
import { parseOrderBy } from './order-by.js'
import { readPlaces } from './placed-rows.js'
import { makeList } from './sorted-list.js'

/** Maximum number of first rows of an order that are found without a list of all rows. */
const TOP_ROWS_MAX = 10_000

/** Minimum number of first rows that are found, so that later pages can use them. */
const TOP_ROWS_MIN = 1_000

/** Maximum number of rows that a page looks up: many rows of a list may have been deleted since it was made. */
const LOOKED_ROWS_MAX = 10_000

/** Number of rows that are read before the first of them is returned. */
const ROWS_AT_ONCE = 2_048

/** A list that a scan holds, so that it is made only once. */
export type HeldList = { list?: SortedList; readonly rows: number }

export type SortedRequest = FindRequest &
  Readonly<{
    total?: boolean | undefined
    /** For a scan: the object that receives the list. */
    held?: HeldList
    /** For an export: the form of the page's bytes. Their rows are in the requested order. */
    form?: PieceTarget['form']
  }>

type CountedPage = PageBytes & Readonly<{ total?: number }>

/** A checked request. */
type Asked = Readonly<{
  request: SortedRequest
  hash: Uint8Array
  token: SortedContinuation | undefined
  rank: number
  limit: number
}>

/** Makes a page in an order, or with the number of matching rows, or both. */
export async function sortedPage(place: TablePlace, request: SortedRequest): Promise<CountedPage> {
  const { team } = place
  if (request.total !== undefined) checkFlag('total', request.total)
  const asked = checkSorted(place, request)
  const known = await serve(place, asked, false)
  if (known !== null) return known
  // No memory is reserved here: a wait for memory could wait for callers that themselves wait for this sort.
  const made = () => serve(place, { ...asked, request: { ...request, reserve: undefined } }, true)
  const page = await team.sorts.run(team.teamId, made, request.signal).catch((failure) => {
    checkNotAborted('sort', request.signal) // If the wait ended because of the signal, the error must be ABORTED.
    throw failure
  })
  invariant(page !== null, 'a list was made')
  return page
}

/** The version of a page that `sortedPage` would read. Checks the request, and reads no row. */
export function sortedVersion(place: TablePlace, request: SortedRequest): Promise<number> {
  const asked = checkSorted(place, request)
  return place.team.partition.read(async (view) => {
    const used = await findUsed(place, view, asked)
    await checkQuery(place, view, used, asked)
    return used.version + versionBase(place.team)
  })
}

function checkSorted(place: TablePlace, request: SortedRequest): Asked {
  checkFindBounds(request)
  const limit = rowsOfPage(place.team, request.limit)
  const { where, search, orderBy } = request
  const hash = sha256Now(utf8(queryText({ where, search, orderBy })))
  const token = orderBy === undefined ? undefined : tokenOf(place, request.continuation, hash)
  return { request, hash, token, rank: token?.rank ?? request.from ?? 0, limit }
}

/** A text that is the same for the same condition and order. */
function queryText({
  where,
  search,
  orderBy,
}: Pick<FindBounds, 'where' | 'search' | 'orderBy'>): string {
  try {
    return JSON.stringify([where ?? {}, search, orderBy], (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    )
  } catch (cause) {
    throw new StoreError('REQUEST_VALIDATION_ERROR', 'where is nested too deeply', { cause })
  }
}

function tokenOf(
  { team, table }: TablePlace,
  text: string | undefined,
  hash: Uint8Array,
): SortedContinuation | undefined {
  if (text === undefined) return undefined
  const base = versionBase(team)
  const token = parseSortedContinuation(checkText('continuation', text), base)
  const isOfQuery = token !== null && sameBytes(token.queryHash, hash.subarray(0, QUERY_HASH_BYTES))
  if (!isOfQuery && (token ?? parseContinuation(text, base)) !== null) {
    throw invalidArgument(
      'The continuation belongs to a query with another where or orderBy: repeat the query that returned it',
    )
  }
  if (token !== null && sameBytes(token.table, table)) return token
  throw continuationInvalid('it is not a token of this table')
}

/** Makes the page from a list; null: there is no list, and no list may be made. */
function serve(place: TablePlace, asked: Asked, makes: boolean): Promise<CountedPage | null> {
  const { team } = place
  const { request, token } = asked
  return team.partition.read(async (view) => {
    const used = await findUsed(place, view, asked)
    const version = token?.version ?? used.version
    if (version === used.version) await checkQuery(place, view, used, asked)
    const list = await listOf(place, view, used, asked, makes)
    if (list === null) return null
    const counted = request.total === true && { total: list.total }
    if (request.orderBy === undefined)
      return { ...(await findPage(place, request, view)), ...counted }
    return { ...(await readRanks(place, view, used, { list, version }, asked)), ...counted }
  })
}

/** The current record of the generation of a page's rows. */
async function findUsed(
  place: TablePlace,
  view: KvView,
  { request, token }: Asked,
): Promise<GenerationInUse> {
  const { team, table } = place
  const head = await readHeadOrNull(team, view, table)
  const plain = request.orderBy === undefined && request.continuation
  const base = versionBase(team)
  const nonce =
    (plain ? parseContinuation(plain, base)?.generation : token?.generation) ?? request.pinned
  if (head !== null && nonce === undefined) return inUse(head)
  return findGeneration(team, view, place, head, nonce ?? NO_BYTES)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
async function checkQuery(
  { team, table }: TablePlace,
  view: KvView,
  { generation }: GenerationInUse,
  { request }: Asked,
): Promise<void> {
  const schema = await team.schemas.get(table, generation.schemaNumber, (key) => view.get(key))
  compileQuery(team, schema, request)
  if (request.orderBy !== undefined) parseOrderBy(request.orderBy, schema.columns)
}

async function listOf(
  place: TablePlace,
  view: KvView,
  used: GenerationInUse,
  asked: Asked,
  makes: boolean,
): Promise<SortedList | null> {
  const { team, tableId } = place
  const { rank, limit, token, hash, request } = asked
  const { where, search, orderBy, held } = request
  if (held?.list !== undefined) return held.list
  if (where === undefined && search === undefined && orderBy === undefined) {
    return { places: new Float64Array(0), total: used.generation.liveRows }
  }
  const version = token?.version ?? used.version
  const ofVersion = `${tableId} ${toHex(used.generation.nonce)} ${version + versionBase(team)}`
  const key = `${ofVersion} ${toBase64Url(hash)}`
  const needed = rank + (held?.rows ?? limit)
  const suffices = ({ places, total }: SortedList): boolean => {
    return orderBy === undefined || places.length >= Math.min(needed, total)
  }
  const kept = team.sortedLists.get(key)
  if (kept !== undefined && suffices(kept)) return kept
  if (!makes) return null
  const source =
    version === used.version
      ? { ...used, view }
      : await findPast(place, view, version).catch((failure) => {
          throw toListGone(failure, version + versionBase(team))
        })
  const make = (rows: number) => {
    const rowsMax = held === undefined ? team.sortedLists.rowsMax : SORTED_ROWS_MAX
    return makeList(place, source, request, rows, rowsMax)
  }
  const top = needed <= TOP_ROWS_MAX ? await make(Math.max(needed, TOP_ROWS_MIN)) : null
  const isEnough = top !== null && (suffices(top) || (top.places.length > rank && !held))
  const list = isEnough ? top : await make(Number.POSITIVE_INFINITY)
  if (held === undefined) team.sortedLists.set(key, list)
  else held.list = list
  return list
}

function toListGone(failure: unknown, version: number): unknown {
  if (!isStoreError(failure) || failure.code !== 'HISTORY_GONE') return failure
  const gone = `the table has changed, and its order of version ${version} is no longer kept`
  const remedy = 'begin again without a continuation, or pass the row number as from'
  return continuationInvalid(`${gone}: ${remedy}`)
}

/** The rows of a page in a view: the rows of the list that still exist. */
async function readRanks(
  place: TablePlace,
  view: KvView,
  { generation, version: shown }: GenerationInUse,
  { list, version }: Readonly<{ list: SortedList; version: number }>,
  asked: Asked,
): Promise<PageBytes> {
  const { team, table } = place
  const { request, rank, limit, hash } = asked
  const { signal, columns } = request
  const schema = await team.schemas.get(table, generation.schemaNumber, (key) => view.get(key))
  const { projection } = compileQuery(team, schema, { columns })
  const forward = await team.forwards.of(generation)
  const kept = forward === null ? null : { forward, firstExtent: generation.firstExtent }
  const bytes = Math.min(team.options.pageBytesMax, PAGE_TEXT_BYTES_MAX)
  const target = { bytes: Number.POSITIVE_INFINITY, form: request.form }
  const writer = new PageWriter({ rows: limit, bytes }, kept, PAGE_START, target)
  const page = new PageRows(writer, projection, limit)
  const end = Math.min(list.places.length, rank + LOOKED_ROWS_MAX)
  let next = rank
  for (let isTaken = true; isTaken && next < end && !page.isFull; ) {
    checkNotAborted('search', signal)
    const count = Math.min(ROWS_AT_ONCE, limit - writer.rowCount, end - next)
    const rows = await readPlaces(place, view, generation, list.places.subarray(next, next + count))
    for (const row of rows) {
      const { extent, slot, text } = row ?? {}
      if (extent !== undefined && slot !== undefined && text !== undefined) {
        isTaken = page.take(extent, { frame: frameOfRow(utf8(text)), first: 0, limit: 1, slot }) > 0
        if (!isTaken) break
      }
      next++
    }
  }
  team.activity.rowsOut += writer.rowCount
  const base = versionBase(team)
  const read = { json: writer.finish(true), rowCount: writer.rowCount, version: shown + base }
  if (next >= list.total) return read
  const { nonce } = generation
  const queryHash = hash.subarray(0, QUERY_HASH_BYTES)
  const token = { table, generation: nonce, version, rank: next, queryHash }
  return { ...read, continuation: renderSortedContinuation(token, base) }
}
