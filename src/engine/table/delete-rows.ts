// Deletes many rows of a table: one commit lays tombstones over their positions.
import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { plainJson, ValueFault } from '../../base/plain-value.js'
import { checkNotAborted } from '../../base/signals.js'
import { invalidArgument, StoreError } from '../../base/store-error.js'
import type { Position } from '../../format/keys.js'
import { encodeRowRecord, type TableHead } from '../../format/records.js'
import type { ReadRecord } from '../../kv/kv.js'
import { checkIfMatch } from '../arguments/if-match.js'
import {
  checkRowsToDelete,
  conditionIn,
  type DeleteCondition,
  ROWS_PER_CALL_MAX,
  toDelete,
} from '../arguments/many-arguments.js'
import { RowProblems } from '../arguments/row-problems.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import { REFUSED, tryToCommit } from '../commit/commit-until-accepted.js'
import {
  countsOfRuns,
  type RequestKey,
  readIdempotency,
  runsOfCounts,
  saveResult,
} from '../commit/idempotency.js'
import type { CheckGoesOn } from '../commit/stepwise.js'
import type { Plan } from '../commit/table-writer.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { matchesAll } from '../find/condition.js'
import { parseWhere } from '../find/where.js'
import { readSchemaOfCommit } from '../read/generations.js'
import { findPosition, findRow } from '../read/row-lookup.js'
import type { ScanOptions } from '../types/find-types.js'
import type { DeleteRowsResult, RowsToDelete, RowToDelete } from '../types/many-types.js'
import type { RowWithId } from '../types/read-types.js'
import type { Repeatable } from '../types/row-types.js'
import { aheadOfRows, keepingResult, RowPuts } from './many-rows.js'
import { makeRequestKey } from './request-digest.js'

/** The key under which the result is stored, and the check for an abort. */
type Terms = Readonly<{ key: RequestKey | undefined; checkGoesOn: CheckGoesOn | undefined }>

/**
 * Deletes rows by their IDs, or the rows that match a condition.
 * @param scan - Scans the table.
 * @throws {StoreError} ABORTED, before the commit
 */
export async function deleteGiven(
  place: TablePlace,
  rows: RowsToDelete,
  scan: (wanted: ScanOptions) => AsyncIterable<RowWithId>,
  { signal, ...repeatable }: Repeatable & Readonly<{ signal: AbortSignal | undefined }>,
): Promise<DeleteRowsResult> {
  const checkGoesOn = signal && ((): void => checkNotAborted('delete', signal))
  const condition = conditionIn(rows)
  const given = condition === undefined ? checkRowsToDelete(rows) : []
  const about = ['delete', condition?.all ?? false]
  const key = await makeRequestKey(repeatable, about, () => ({ json: textOf(condition, given) }))
  const terms = { key, checkGoesOn }
  if (condition === undefined)
    return keepingResult(place, key, () => deleteRows(place, given, terms))
  return keepingResult(place, key, () => deleteMatches(place, condition, scan, signal, terms))
}

/** The text of the request for its digest. A condition that cannot be evaluated is refused later, in its turn. */
function textOf(condition: DeleteCondition | undefined, rows: readonly RowToDelete[]): string {
  if (condition === undefined) {
    return JSON.stringify(rows.map(({ rowId, ifMatch }) => [rowId, String(ifMatch)]))
  }
  try {
    return plainJson(condition.where) ?? ''
  } catch (failure) {
    if (failure instanceof ValueFault) return ''
    throw failure
  }
}

function deleteMatches(
  place: TablePlace,
  { where, all }: DeleteCondition,
  scan: (wanted: ScanOptions) => AsyncIterable<RowWithId>,
  signal: AbortSignal | undefined,
  terms: Terms,
): Promise<DeleteRowsResult> {
  return deleteFound(place, terms, async ({ columns }) => {
    if (!all && matchesAll(parseWhere(where, columns))) {
      throw invalidArgument(
        'deleteRows: every row matches this condition; add all: true if that is meant',
      )
    }
    const rowIds: string[] = []
    const wanted = { where, columns: [], limit: ROWS_PER_CALL_MAX + 1, signal }
    for await (const { $rowID } of scan(wanted)) rowIds.push($rowID)
    return rowIds
  })
}

/** Deletes rows. If none exists, the version stays. */
function deleteRows(
  place: TablePlace,
  rows: readonly RowToDelete[],
  { key, checkGoesOn }: Terms,
): Promise<DeleteRowsResult> {
  const plan = planDeletes(place, rows, key)
  const withTexts = rows.some(({ ifMatch }) => ifMatch !== undefined)
  const ahead = aheadOfRows(place, () => rows.map(({ rowId }) => rowId), key, withTexts)
  return place.team.writers.change(place, plan, ahead, undefined, checkGoesOn)
}

/**
 * Maximum number of searches concurrent with other changes of the table. Further ones run in the turn of the deletion.
 */
const SEARCHES_BESIDE_OTHERS = 2

/**
 * Maximum number of searches, each of which reads the rows again. In the turn of the deletion, only other processes can
 * interfere.
 */
const SEARCHES_MAX = 8

type FoundRows = Readonly<{ commitNonce: Bytes; rowIds: readonly string[] }>

/**
 * Deletes the rows that a search finds. The search sees the state of the table on which the commit acts.
 * @param search - Finds the row IDs, given the schema. It stops beyond `ROWS_PER_CALL_MAX`.
 * @throws {StoreError} TRANSACTION_CONFLICT with outcome `unchanged` if others change the table during each search
 */
function deleteFound(
  place: TablePlace,
  { key, checkGoesOn }: Terms,
  search: (schema: IndexedSchema) => Promise<readonly string[]>,
): Promise<DeleteRowsResult> {
  const { team } = place
  let searches = 0
  /** @param wanted - The commit whose state is searched; null: any. @returns null: the table is at another commit. */
  const find = async (wanted: Bytes | null): Promise<FoundRows | null> => {
    const { commitNonce, schema } = await readSchemaOfCommit(place)
    if (wanted !== null && !sameBytes(commitNonce, wanted)) return null
    if (searches++ === SEARCHES_MAX) throw busyForSearches()
    const rowIds = await search(schema)
    if (rowIds.length <= ROWS_PER_CALL_MAX) return { commitNonce, rowIds }
    throw invalidArgument(
      `more than ${ROWS_PER_CALL_MAX} rows match: use several calls with narrower conditions`,
    )
  }
  const attempt = async (): Promise<DeleteRowsResult | typeof REFUSED> => {
    const inTurn = searches >= SEARCHES_BESIDE_OTHERS
    let found = inTurn ? null : await find(null)
    const isOf = (head: TableHead) =>
      found !== null && sameBytes(head.commitNonce, found.commitNonce)
    const plan: Plan<DeleteRowsResult | null> = async (head, read) => {
      // A plan that lacks records is repeated on the same head: then the search is still valid.
      if (inTurn && !isOf(head)) found = await find(head.commitNonce)
      if (found === null || !isOf(head)) return { result: null }
      return planDeletes(place, found.rowIds.map(toDelete), key)(head, read)
    }
    const ahead = aheadOfRows(place, () => found?.rowIds ?? [], key, false)
    return (await team.writers.change(place, plan, ahead, undefined, checkGoesOn)) ?? REFUSED
  }
  return tryToCommit(team.options.random, attempt, SEARCHES_MAX, () => {
    throw busyForSearches()
  })
}

function busyForSearches(): StoreError {
  const message =
    'The table is too busy: others changed it during each search for the rows to delete; try again'
  return new StoreError('TRANSACTION_CONFLICT', message, { outcome: 'unchanged' })
}

function planDeletes(
  place: TablePlace,
  rows: readonly RowToDelete[],
  key: RequestKey | undefined,
): Plan<DeleteRowsResult> {
  const { team, table } = place
  return async (head, read) => {
    const repeat = await readIdempotency(team.options, table, key, read)
    if (repeat?.first) {
      const [deleted = 0, missing = 0] = countsOfRuns(repeat.first.runs)
      return { result: { version: repeat.first.version, deleted, missing } }
    }
    const { generation } = head
    const { schemaNumber, liveRows, deletedRows } = generation
    const version = head.version + 1
    const tombstone = encodeRowRecord({ version, schemaNumber, text: null })
    const records = new RowPuts(place, head)
    const problems = new RowProblems('deletion')
    for (const [index, row] of rows.entries()) {
      try {
        const position = await positionToDelete(place, head, read, row)
        if (position !== null && !records.has(position)) records.add(position, tombstone)
      } catch (failure) {
        problems.add(failure, index, row.rowId)
      }
    }
    problems.check()
    const deleted = records.count
    const missing = rows.length - deleted
    if (deleted === 0) return { result: { version: head.version, deleted, missing } }
    const runs = runsOfCounts([deleted, missing])
    const { checks, puts: kept } = await saveResult(team, repeat, {
      operation: 'add',
      table,
      version,
      runs,
    })
    const next = { ...generation, liveRows: liveRows - deleted, deletedRows: deletedRows + deleted }
    const puts = [...records.puts(), ...kept]
    const change = { next, puts, checks, operation: 'delete' } as const
    return { result: { version, deleted, missing }, change }
  }
}

/** The position of a row, whose version is checked against `ifMatch`; null: the row does not exist. */
function positionToDelete(
  { team, table }: TablePlace,
  { generation }: TableHead,
  read: ReadRecord,
  { rowId, ifMatch }: RowToDelete,
): Awaitable<Position | null> {
  if (ifMatch === undefined) return findPosition(team, read, table, generation, rowId)
  return chain(findRow(team, read, table, generation, rowId), (row) => {
    if (row !== null) checkIfMatch('row', ifMatch, toPublicVersion(team, row).version)
    return row === null ? null : row.position
  })
}
