// Updates many rows of a table: one commit lays row records over their positions.

import type { Awaitable } from '../../base/awaitable.js'
import type { Bytes } from '../../base/bytes.js'
import { type Deferred, deferred, isDataError } from '../../base/data-error.js'
import { invalidArgument, isStoreError } from '../../base/store-error.js'
import { ITEM_WORK, type Steps } from '../../base/time-slices.js'
import { type Position, rowKey, schemaKey } from '../../format/keys.js'
import { encodeRowRecord, type TableHead } from '../../format/records.js'
import { spliceRowText } from '../../format/row-text.js'
import { hideDropped } from '../../format/schema-record.js'
import type { ReadRecord } from '../../kv/kv.js'
import { checkArguments, checkIfMatchArgument, checkText } from '../arguments/arguments.js'
import { checkIfMatch } from '../arguments/if-match.js'
import { checkRowList } from '../arguments/many-arguments.js'
import type { ResolvedOptions } from '../arguments/resolve-options.js'
import { ofRow, RowProblems } from '../arguments/row-problems.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import { filesOfRecords, putMarkers } from '../commit/file-markers.js'
import {
  type RequestKey,
  readIdempotency,
  recordsOfResult,
  saveResult,
} from '../commit/idempotency.js'
import type { AheadOfTurn } from '../commit/table-looks.js'
import type { Plan } from '../commit/table-writer.js'
import { hintOfRecord, hintOfTable } from '../commit/work-hints.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import type { RowPolicy } from '../import/stored-form.js'
import {
  type FoundRow,
  findPosition,
  findRow,
  recordsOfRow,
  rowNotFound,
} from '../read/row-lookup.js'
import type { RowTextUpdate, RowUpdate } from '../types/many-types.js'
import type { OnSchemaError, Repeatable } from '../types/row-types.js'
import { makeRequestKey } from './request-digest.js'
import {
  type CellChanges,
  changesOfObject,
  changesOfText,
  changesToStoredForm,
  checkRowSize,
  policyForChanges,
} from './row-update.js'
import { planNewSchema, putSchema, underSchema } from './schema-change.js'

/** Maximum size of the text of the rows that one call writes, in bytes. */
const CALL_BYTES_MAX = 16 * 1024 * 1024

type Version = Readonly<{ version: number }>

/** An update with checked arguments. Errors in the values of its cells are thrown when the cells are used. */
export type CheckedUpdate = Readonly<{
  rowId: string
  ifMatch: number | bigint | undefined
  cells: Deferred<CellChanges>
}>

/** What updates are checked against before the table is read. */
type UpdateChecks = Readonly<{ onSchemaError: OnSchemaError; options: ResolvedOptions }>

/** @throws {StoreError} REQUEST_VALIDATION_ERROR, COLUMN_ID_RESERVED */
export function* checkUpdates(
  updates: readonly (RowUpdate | RowTextUpdate)[],
  checks: UpdateChecks,
): Steps<readonly CheckedUpdate[]> {
  checkRowList('updateRows', 'an array of updates', updates)
  const checked: CheckedUpdate[] = []
  for (const [index, update] of updates.entries()) {
    let rowId: string | undefined
    try {
      checkArguments('An update', update, ['rowId', 'cells', 'json', 'ifMatch'])
      rowId = checkText('rowId', update.rowId)
      const ifMatch = checkIfMatchArgument(update.ifMatch)
      checked.push({ rowId, ifMatch, cells: deferred(() => changesOf(update, checks)) })
    } catch (failure) {
      throw isStoreError(failure) ? ofRow(failure, 'update', index, rowId) : failure
    }
    yield ITEM_WORK + ('json' in update ? update.json.length : 0)
  }
  return checked
}

function changesOf(
  update: RowUpdate | RowTextUpdate,
  { onSchemaError, options }: UpdateChecks,
): CellChanges {
  if (!('json' in update)) return changesOfObject(update.cells, onSchemaError)
  if (!('cells' in update)) return changesOfText(update.json, options)
  throw invalidArgument('it has both cells and json')
}

/** The key under which the result of the updates is stored. */
export function keyOfUpdates(
  given: Repeatable,
  updates: readonly CheckedUpdate[],
  onSchemaError: OnSchemaError,
): Promise<RequestKey | undefined> {
  return makeRequestKey(given, ['update', onSchemaError], () => ({
    json: JSON.stringify(updates.map(textOfUpdate)),
  }))
}

/** The text of an update for the digest. Cells that cannot be stored are refused later, in their turn. */
function textOfUpdate({ rowId, ifMatch, cells }: CheckedUpdate): readonly unknown[] {
  try {
    return [rowId, String(ifMatch), [...cells()]]
  } catch (failure) {
    if (isStoreError(failure)) return [rowId]
    throw failure
  }
}

/** Updates rows. Without new cells, the version stays. */
export async function updateRows(
  place: TablePlace,
  updates: readonly CheckedUpdate[],
  onSchemaError: OnSchemaError,
  key: RequestKey | undefined,
): Promise<Version> {
  const { team, table } = place
  const plan: Plan<Version> = async (head, read) => {
    const repeat = await readIdempotency(team.options, table, key, read)
    if (repeat?.first) return { result: { version: repeat.first.version } }
    const problems = new RowProblems('update')
    const rows = await findRows(place, head, read, updates, problems)
    const { generation } = head
    const schema = await team.schemas.get(table, generation.schemaNumber, read)
    const { cells, policy } = await judgeAll(team, updates, schema, onSchemaError, problems)
    problems.check()
    const newSchema = planNewSchema(schema, policy.schema)
    const version = head.version + 1
    const next = newSchema === null ? generation : underSchema(generation, newSchema, version)
    const records = new RowPuts(place, head)
    for (const [index, { stored, position }] of rows) {
      const changed = cells.get(index)
      if (changed === undefined || changed.size === 0) continue
      const text = spliceRowText(hideDropped(stored.text, schema.past, stored.version), changed)
      const { schemaNumber: storedUnder } = stored
      // If a column is retyped, the row may still have a cell of the old type, so its schema number stays.
      const isOfNext = newSchema?.retypes !== true && storedUnder === generation.schemaNumber
      const schemaNumber = isOfNext ? next.schemaNumber : storedUnder
      try {
        checkRowSize(text, team.options.rowBytesMax)
        records.add(position, encodeRowRecord({ version, schemaNumber, text }))
      } catch (failure) {
        problems.add(failure, index, updates[index]?.rowId)
        problems.check()
      }
    }
    if (records.count === 0) return { result: { version: head.version } }
    const kept = await saveResult(team, repeat, { operation: 'add', table, version, runs: [] })
    const markers = await putMarkers(read, team.options.random, filesOfRecords(records.records))
    const puts = [...records.puts(), ...kept.puts, ...markers]
    if (newSchema !== null) {
      puts.push(putSchema(table, next, newSchema, version), ...hintOfTable(team, table, version))
    }
    const { checks } = kept
    return { result: { version }, change: { next, puts, checks, operation: 'update' } }
  }
  const rowIds = updates.map(({ rowId }) => rowId)
  const ahead = aheadOfRows(place, () => rowIds, key, true)
  return keepingResult(place, key, () => team.writers.change(place, plan, ahead))
}

/** Makes a change whose result is stored under a key, within the limits of the team. */
export async function keepingResult<T>(
  { team }: TablePlace,
  key: RequestKey | undefined,
  change: () => Promise<T>,
): Promise<T> {
  if (key !== undefined) await team.limits.checkKeys(team, key.text)
  const result = await change()
  if (key !== undefined) team.limits.keepKey(team, key.text)
  return result
}

/**
 * @param rowIds - Returns the IDs of the rows to read. It is called before each look, because a search in the turn of
 *   the change may have found other rows.
 * @returns undefined: the store is not shared, so nothing is read ahead
 */
export function aheadOfRows(
  { team, table }: TablePlace,
  rowIds: () => readonly string[],
  key: RequestKey | undefined,
  withTexts: boolean,
): AheadOfTurn | undefined {
  if (!team.kv.shared) return undefined
  const result = key === undefined ? [] : recordsOfResult(table, key)
  return {
    keys: (head) => [
      ...result,
      ...rowIds().flatMap((rowId) => recordsOfRow(table, rowId)),
      schemaKey(table, head?.generation.schemaNumber ?? 0),
    ],
    warm: async ({ generation }, read) => {
      const find = withTexts ? findRow : findPosition
      // Each row asks for the records that it lacks. One row whose records are missing must not stop the others.
      await Promise.allSettled(
        rowIds().map(async (rowId) => find(team, read, table, generation, rowId)),
      )
    },
  }
}

/** The rows of updates, by the indices of the updates. Each must exist, pass its `ifMatch`, and be named only once. */
async function findRows(
  { team, table }: TablePlace,
  { generation }: TableHead,
  read: ReadRecord,
  updates: readonly CheckedUpdate[],
  problems: RowProblems,
): Promise<ReadonlyMap<number, FoundRow>> {
  const rows = new Map<number, FoundRow>()
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
      rows.set(index, row)
    } catch (failure) {
      problems.add(failure, index, rowId)
    }
  }
  return rows
}

type Judged = Readonly<{ policy: RowPolicy; cells: ReadonlyMap<number, CellChanges> }>

/**
 * Judges all new cells against one schema: the table's, or with `updateSchema` a schema that all cells fit.
 * @returns the cells of the updates without problems, by their indices.
 */
async function judgeAll(
  team: TeamContext,
  updates: readonly CheckedUpdate[],
  schema: IndexedSchema,
  onSchemaError: OnSchemaError,
  problems: RowProblems,
): Promise<Judged> {
  const slices = team.slices.begin()
  const eachOf = async <T>(
    given: Iterable<readonly [number, T]>,
    judge: (each: T) => Awaitable<CellChanges>,
  ) => {
    const judged = new Map<number, CellChanges>()
    for (const [index, each] of given) {
      try {
        judged.set(index, await judge(each))
      } catch (failure) {
        problems.add(failure, index, updates[index]?.rowId)
      }
    }
    return judged
  }
  const policyOf = async (rows: Iterable<CellChanges>): Promise<RowPolicy> =>
    slices.run(policyForChanges(team, [...rows], schema, onSchemaError))
  const given = await eachOf(updates.entries(), ({ cells }) => cells())
  let policy: RowPolicy
  try {
    policy = await policyOf(given.values())
  } catch (failure) {
    // Finds the updates that fail by themselves. If none does, the error is that of all updates together.
    if (isDataError(failure)) await eachOf(given, (cells) => policyOf([cells]).then(() => cells))
    problems.check()
    throw failure
  }
  return {
    policy,
    cells: await eachOf(given, (cells) => slices.run(changesToStoredForm(cells, policy))),
  }
}

/** Records that a commit lays over rows of a table. */
export class RowPuts {
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

  /** The records, with hints for the compaction. */
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
