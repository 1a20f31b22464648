// Updating and deleting many rows of a table: row records laid over their positions by one commit.

import { type Bytes, sameBytes } from '../../base/bytes.js'
import { type Deferred, deferred, isDataError } from '../../base/data-error.js'
import { checkNotAborted } from '../../base/signals.js'
import { invalidArgument, isStoreError, StoreError } from '../../base/store-error.js'
import { type Position, rowKey, schemaKey } from '../../format/keys.js'
import { encodeRowRecord, type TableHead } from '../../format/records.js'
import { spliceRowText } from '../../format/row-text.js'
import { hideDropped } from '../../format/schema-record.js'
import type { ReadRecord } from '../../kv/kv.js'
import { checkArguments, checkIfMatchArgument, checkText } from '../arguments/arguments.js'
import {
  checkRowIds,
  checkRowList,
  conditionIn,
  ROWS_PER_CALL_MAX,
} from '../arguments/many-arguments.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import { REFUSED, tryToCommit } from '../commit/commit-until-accepted.js'
import { filesOfRecords, putMarkers } from '../commit/file-markers.js'
import type { CheckGoesOn } from '../commit/stepwise.js'
import type { AheadOfTurn } from '../commit/table-looks.js'
import type { Plan } from '../commit/table-writer.js'
import { hintOfRecord, hintOfTable } from '../commit/work-hints.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { matchesAll } from '../find/condition.js'
import { parseWhere } from '../find/where.js'
import type { RowPolicy } from '../import/stored-form.js'
import { readSchemaOfCommit } from '../read/generations.js'
import {
  type FoundRow,
  findPosition,
  findRow,
  recordsOfRow,
  rowNotFound,
} from '../read/row-lookup.js'
import type { ScanOptions } from '../types/find-types.js'
import type { DeleteRowsResult, RowsToDelete, RowUpdate } from '../types/many-types.js'
import type { RowWithId } from '../types/read-types.js'
import type { OnSchemaError } from '../types/row-types.js'
import { checkIfMatch } from './if-match.js'
import {
  type CellChanges,
  changesOfObject,
  changesToStoredForm,
  checkRowSize,
  policyForChanges,
} from './row-update.js'
import { planNewSchema, putSchema, underSchema } from './schema-change.js'

/** Text of the rows that one call writes, in bytes, at most. */
const CALL_BYTES_MAX = 16 * 1024 * 1024

type Version = Readonly<{ version: number }>

/** An update whose arguments were checked. An error in the values of its cells is thrown when they are used. */
export type CheckedUpdate = Readonly<{
  rowId: string
  ifMatch: number | bigint | undefined
  cells: Deferred<CellChanges>
}>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED */
export function checkUpdates(
  updates: readonly RowUpdate[],
  onSchemaError: OnSchemaError,
): readonly CheckedUpdate[] {
  checkRowList('updateRows', 'an array of updates', updates)
  return updates.map((update, index) => {
    let rowId: string | undefined
    try {
      checkArguments('An update', update, ['rowId', 'cells', 'ifMatch'])
      rowId = checkText('rowId', update.rowId)
      const ifMatch = checkIfMatchArgument(update.ifMatch)
      return { rowId, ifMatch, cells: deferred(() => changesOfObject(update.cells, onSchemaError)) }
    } catch (failure) {
      throw ofUpdate(failure, index, rowId)
    }
  })
}

/** The failure of one update, with its index and its row ID. */
function ofUpdate(failure: unknown, index: number, rowId: string | undefined): unknown {
  if (!isStoreError(failure)) return failure
  const { code, message, column, value, rule } = failure
  const which = rowId === undefined ? '' : ` with the ID '${rowId}'`
  return new StoreError(code, `Update of row ${index} (counted from 0)${which}: ${message}`, {
    row: index,
    ...(column !== undefined && { column }),
    ...(value !== undefined && { value }),
    ...(rule !== undefined && { rule }),
    cause: failure,
  })
}

/** Updates rows; without new cells, the version stays. */
export function updateRows(
  place: TablePlace,
  updates: readonly CheckedUpdate[],
  onSchemaError: OnSchemaError,
): Promise<Version> {
  const { team, table } = place
  const plan: Plan<Version> = async (head, read) => {
    const rows = await findRows(place, head, read, updates)
    const { generation } = head
    const schema = await team.schemas.get(table, generation.schemaNumber, read)
    const { cells, policy } = await judgeAll(team, updates, schema, onSchemaError)
    const newSchema = planNewSchema(schema, policy.schema)
    const version = head.version + 1
    const next = newSchema === null ? generation : underSchema(generation, newSchema, version)
    const records = new RowPuts(place, head)
    for (const [index, { stored, position }] of rows.entries()) {
      const changed = cells[index]
      if (changed === undefined || changed.size === 0) continue
      const text = spliceRowText(hideDropped(stored.text, schema.past, stored.version), changed)
      const { schemaNumber: storedUnder } = stored
      // A column that one update has given another type may have a cell of the old type in the row of another.
      const isOfNext = newSchema?.retypes !== true && storedUnder === generation.schemaNumber
      const schemaNumber = isOfNext ? next.schemaNumber : storedUnder
      try {
        checkRowSize(text, team.options.rowBytesMax)
        records.add(position, encodeRowRecord({ version, schemaNumber, text }))
      } catch (failure) {
        throw ofUpdate(failure, index, updates[index]?.rowId)
      }
    }
    if (records.count === 0) return { result: { version: head.version } }
    const markers = await putMarkers(read, team.options.random, filesOfRecords(records.records))
    const puts = [...records.puts(), ...markers]
    if (newSchema !== null) {
      puts.push(putSchema(table, next, newSchema, version), ...hintOfTable(team, table, version))
    }
    return { result: { version }, change: { next, puts, operation: 'update' } }
  }
  const rowIds = updates.map(({ rowId }) => rowId)
  return team.writers.change(
    place,
    plan,
    aheadOfRows(place, () => rowIds, true),
  )
}

/**
 * Deletes rows by their IDs, or those that match.
 * @param scan - Of the table.
 * @throws {StoreError} ABORTED, before the commit
 */
export function deleteGiven(
  place: TablePlace,
  rows: RowsToDelete,
  scan: (wanted: ScanOptions) => AsyncIterable<RowWithId>,
  signal: AbortSignal | undefined,
): Promise<DeleteRowsResult> {
  const checkGoesOn = signal && ((): void => checkNotAborted('delete', signal))
  const condition = conditionIn(rows)
  if (condition === undefined) {
    return deleteRows(place, checkRowIds('deleteRows', rows), checkGoesOn)
  }
  const { where, all } = condition
  return deleteFound(place, checkGoesOn, async ({ columns }) => {
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

/** Deletes rows; if none is there, the version stays. */
function deleteRows(
  place: TablePlace,
  rowIds: readonly string[],
  checkGoesOn: CheckGoesOn | undefined,
): Promise<DeleteRowsResult> {
  const plan = planDeletes(place, rowIds)
  const ahead = aheadOfRows(place, () => rowIds, false)
  return place.team.writers.change(place, plan, ahead, undefined, checkGoesOn)
}

/** Searches beside other changes of the table. After these, the search is made in the turn of the deletion. */
const SEARCHES_BESIDE_OTHERS = 2

/** All searches, each of which reads the rows again: in its turn only other processes come between. */
const SEARCHES_MAX = 8

type FoundRows = Readonly<{ commitNonce: Bytes; rowIds: readonly string[] }>

/**
 * Deletes the rows that a search finds, all of them as the table is then.
 * @param search - Finds the row IDs, given the schema; it stops beyond `ROWS_PER_CALL_MAX`.
 * @throws {StoreError} TRANSACTION_CONFLICT with outcome `unchanged` if others change the table during each search
 */
function deleteFound(
  place: TablePlace,
  checkGoesOn: CheckGoesOn | undefined,
  search: (schema: IndexedSchema) => Promise<readonly string[]>,
): Promise<DeleteRowsResult> {
  const { team } = place
  let searches = 0
  /** @param wanted - The commit that the search must be of; null: any. @returns null: there is another one. */
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
      // A plan that misses records is made again on the same head: the search holds.
      if (inTurn && !isOf(head)) found = await find(head.commitNonce)
      if (found === null || !isOf(head)) return { result: null }
      return planDeletes(place, found.rowIds)(head, read)
    }
    const ahead = aheadOfRows(place, () => found?.rowIds ?? [], false)
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

function planDeletes(place: TablePlace, rowIds: readonly string[]): Plan<DeleteRowsResult> {
  const { team, table } = place
  return async (head, read) => {
    const { generation } = head
    const { schemaNumber, liveRows, deletedRows } = generation
    const version = head.version + 1
    const tombstone = encodeRowRecord({ version, schemaNumber, text: null })
    const records = new RowPuts(place, head)
    for (const rowId of rowIds) {
      const position = await findPosition(team, read, table, generation, rowId)
      if (position !== null && !records.has(position)) records.add(position, tombstone)
    }
    const deleted = records.count
    const missing = rowIds.length - deleted
    if (deleted === 0) return { result: { version: head.version, deleted, missing } }
    const next = { ...generation, liveRows: liveRows - deleted, deletedRows: deletedRows + deleted }
    const change = { next, puts: records.puts(), operation: 'delete' } as const
    return { result: { version, deleted, missing }, change }
  }
}

/**
 * @param rowIds - Asked before each look: a search in the turn of a change finds them there.
 * @returns undefined: queries cost nothing here.
 */
function aheadOfRows(
  { team, table }: TablePlace,
  rowIds: () => readonly string[],
  withTexts: boolean,
): AheadOfTurn | undefined {
  if (!team.kv.shared) return undefined
  return {
    keys: (head) => [
      ...rowIds().flatMap((rowId) => recordsOfRow(table, rowId)),
      schemaKey(table, head?.generation.schemaNumber ?? 0),
    ],
    warm: async ({ generation }, read) => {
      const find = withTexts ? findRow : findPosition
      // Each asks for what it lacks; that one lacks something must not keep the others from asking.
      await Promise.allSettled(
        rowIds().map(async (rowId) => find(team, read, table, generation, rowId)),
      )
    },
  }
}

/** The rows of updates, which must be there, as expected, and each named once. */
async function findRows(
  { team, table }: TablePlace,
  { generation }: TableHead,
  read: ReadRecord,
  updates: readonly CheckedUpdate[],
): Promise<readonly FoundRow[]> {
  const rows: FoundRow[] = []
  const known = new Map<string, number>()
  for (const [index, { rowId, ifMatch }] of updates.entries()) {
    try {
      const row = await findRow(team, read, table, generation, rowId)
      if (row === null) throw rowNotFound(rowId)
      const name = positionName(row.position)
      const first = known.get(name)
      if (first !== undefined)
        throw invalidArgument(`update ${first} changes the same row; combine the two`)
      known.set(name, index)
      checkIfMatch('row', ifMatch, toPublicVersion(team, row).version)
      rows.push(row)
    } catch (failure) {
      throw ofUpdate(failure, index, rowId)
    }
  }
  return rows
}

type Judged = Readonly<{ policy: RowPolicy; cells: readonly CellChanges[] }>

/** Judges all new cells against one schema: the table's, or with `updateSchema` the one that they all fit. */
async function judgeAll(
  team: TeamContext,
  updates: readonly CheckedUpdate[],
  schema: IndexedSchema,
  onSchemaError: OnSchemaError,
): Promise<Judged> {
  const slices = team.slices.begin()
  const given = updates.map(({ rowId, cells }, index) => {
    try {
      return cells()
    } catch (failure) {
      throw ofUpdate(failure, index, rowId)
    }
  })
  const policyOf = async (changes: readonly CellChanges[]): Promise<RowPolicy> =>
    slices.run(policyForChanges(team, changes, schema, onSchemaError))
  const eachOf = async (judge: (changes: CellChanges) => Promise<CellChanges>) => {
    const judged: CellChanges[] = []
    for (const [index, changes] of given.entries()) {
      try {
        judged.push(await judge(changes))
      } catch (failure) {
        throw ofUpdate(failure, index, updates[index]?.rowId)
      }
    }
    return judged
  }
  let policy: RowPolicy
  try {
    policy = await policyOf(given)
  } catch (failure) {
    // Which one it is: the first that cannot be taken by itself. Else it is all of them together.
    const judgeAlone = (changes: CellChanges) => policyOf([changes]).then(() => changes)
    if (isDataError(failure)) await eachOf(judgeAlone)
    throw failure
  }
  const cells = await eachOf(async (changes) => slices.run(changesToStoredForm(changes, policy)))
  return { policy, cells }
}

/** Records that a commit lays over rows of a table. */
class RowPuts {
  readonly #place: TablePlace
  readonly #head: TableHead
  readonly #puts = new Map<string, readonly [key: Bytes, record: Bytes]>()
  readonly #extents = new Set<number>()
  #bytes = 0

  constructor(place: TablePlace, head: TableHead) {
    this.#place = place
    this.#head = head
  }

  get count(): number {
    return this.#puts.size
  }

  get records(): readonly Bytes[] {
    return [...this.#puts.values()].map(([, record]) => record)
  }

  has(position: Position): boolean {
    return this.#puts.has(positionName(position))
  }

  /** @throws {StoreError} REQUEST_VALIDATION_ERROR */
  add(position: Position, record: Bytes): void {
    this.#bytes += record.length
    if (this.#bytes > CALL_BYTES_MAX) {
      throw invalidArgument(
        `the updated rows would have more than ${CALL_BYTES_MAX} bytes; use several calls`,
      )
    }
    this.#extents.add(position.extent)
    this.#puts.set(positionName(position), [rowKey(this.#place.table, position), record])
  }

  /** The records, and what they leave to do for the compaction. */
  puts(): (readonly [key: Bytes, value: Bytes])[] {
    const { team, table } = this.#place
    const puts = [...this.#puts.values()]
    for (const extent of this.#extents) puts.push(...hintOfRecord(team, this.#head, table, extent))
    return puts
  }
}

function positionName({ extent, slot }: Position): string {
  return `${extent}:${slot}`
}
