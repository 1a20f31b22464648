// Merges rows into a table by key. The join and the drafting run concurrently with other changes of the table. The
// commit succeeds only if no row has changed since the join; otherwise the changed rows are joined again. After some
// attempts the join, too, runs in the operation's turn, where no other operation of this process interferes.
import { isSync } from '../../base/awaitable.js'
import { sameBytes } from '../../base/bytes.js'
import { isStoreError, StoreError } from '../../base/store-error.js'
import { ITEM_WORK, type TimeSlices } from '../../base/time-slices.js'
import { lackedColumn } from '../../base/unknown-column.js'
import type { TableHead } from '../../format/records.js'
import type { ReadRecord } from '../../kv/kv.js'
import { checkIfMatch } from '../arguments/if-match.js'
import { type IndexedSchema, indexSchema } from '../caches/schema-cache.js'
import { tooBusy } from '../commit/commit-until-accepted.js'
import type { Plan } from '../commit/table-writer.js'
import { toPublicVersion } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { deleteEarly } from '../files/file-content.js'
import { rowIdsOf } from '../ids/row-ids.js'
import { RowsReader } from '../import/rows-reader.js'
import { checkSameForm, resolveKeyColumns } from '../keys/key-columns.js'
import { readKeyIndex } from '../keys/key-index.js'
import { KEYED_ROWS_MAX, tooManyKeys } from '../keys/keyed-rows-max.js'
import { IncomingRows } from '../merge/incoming-rows.js'
import { INCOMING_ROWS_MAX } from '../merge/joined-extent.js'
import { MergeChanges, type MergeDraft } from '../merge/merge-changes.js'
import { KeyCollision } from '../merge/merged-row.js'
import { TableRows } from '../merge/table-rows.js'
import { readHead, readSchema } from '../read/generations.js'
import type { MergeResult } from '../types/merge-types.js'
import { linkableBytes } from './append-rows.js'
import {
  checksOfObjects,
  linkUntilDone,
  type Moved,
  type ReadyRows,
  readLinkBase,
  readyRows,
  whatMoved,
} from './link-rows.js'
import { aheadOfMerge, type CheckedMerge, commitMerge, firstMerge } from './merge-commit.js'
import { readAfterIfMatch } from './overwrite-rows.js'

/**
 * Maximum number of drafts made concurrently with other changes of the table. Further ones are made in the turn of the
 * merge.
 */
const TRIES_BESIDE_OTHERS = 2

/** Maximum number of attempts. In the turn of the merge, only other processes can interfere. */
const TRIES_MAX = 50

/** Maximum number of retries with new fingerprint keys, after rows with different keys had the same fingerprint. */
const COLLISIONS_MAX = 3

export async function mergeIntoTable(
  place: TablePlace,
  request: CheckedMerge,
): Promise<MergeResult> {
  const { team, table, tableId } = place
  const first = await team.partition.read(async (view) => {
    const head = await readHead(team, view, table, tableId) // A missing table is refused first.
    const read: ReadRecord = (key) => view.get(key)
    const repeat = await firstMerge(place, request, read)
    if (repeat !== null) return repeat
    // The check precedes the reading of rows, so that the refusal does not depend on the place of the first wrong cell.
    await checkTable(place, request, head, read)
    return null
  })
  if (first !== null) return first
  const { onSchemaError } = request
  const expected = { readSchema: () => readSchema(place), onSchemaError }
  const reader = new RowsReader(team, 'merge', request.rows, request.signal, expected)
  const prepare = () => readAfterIfMatch(place, request.ifMatch, () => reader.prepare(request.rows))
  const merging = linkUntilDone(reader, prepare, async () => {
    const base = await team.partition.read(async (view) => {
      const read: ReadRecord = (key) => view.get(key)
      const repeat = await firstMerge(place, request, read)
      if (repeat !== null) return repeat
      const base = await readLinkBase(place, reader, view)
      return { ...base, tableKey: await checkTable(place, request, base.head, read) }
    })
    if ('addedRowIds' in base) return base
    const { requestKey } = request
    if (requestKey !== undefined) await team.limits.checkKeys(team, requestKey.text)
    const { receipt, dryRun } = request
    const hasReceipt = receipt && !dryRun
    const ready = await readyRows(place, reader, base, base.schema, onSchemaError, hasReceipt)
    checkKeptForm(base.tableKey, ready)
    const named = await columnsOfInput(team.slices.begin(), ready)
    return new Merge(place, request, reader, ready, named).run()
  })
  if (!request.dryRun) return merging
  try {
    return await merging
  } finally {
    await deleteEarly(team, reader.objects)
  }
}

class Merge {
  readonly #place: TablePlace
  readonly #request: CheckedMerge
  readonly #reader: RowsReader
  readonly #ready: ReadyRows
  readonly #schema: IndexedSchema
  readonly #named: ReadonlySet<string>
  #changes: MergeChanges
  /** Stored bytes of the rows that the last draft adds. */
  #addedBytes = 0

  /** @param named - The columns that the input names and the table will have. */
  constructor(
    place: TablePlace,
    request: CheckedMerge,
    reader: RowsReader,
    ready: ReadyRows,
    named: ReadonlySet<string>,
  ) {
    this.#place = place
    this.#named = named
    this.#request = request
    this.#reader = reader
    this.#ready = ready
    this.#schema = schemaAfter(ready)
    checkKeyColumns(request.key, this.#schema)
    this.#changes = this.#begin()
  }

  #begin(): MergeChanges {
    const { base, newSchema, rows: stored } = this.#ready
    const { team } = this.#place
    const { columns } = this.#schema
    const { missing, unnamed, key } = this.#request
    const incoming = new IncomingRows(team, base.source, stored, columns)
    if (incoming.count > INCOMING_ROWS_MAX) throw tooManyRows()
    const inputColumns = this.#named
    const retypes = newSchema?.retypes ?? false
    const schemaBefore = base.head.generation.schemaNumber
    const rules = {
      deletesMissing: missing === 'delete',
      emptiesUnnamed: unnamed === 'empty',
      key,
      inputColumns,
      schemaBefore,
      schemaAfter: schemaBefore + (newSchema === null ? 0 : 1),
      rowBytesMax: team.options.rowBytesMax,
    }
    return new MergeChanges({
      place: this.#place,
      rules,
      incoming,
      rows: new TableRows(this.#place, { columns, retypes, past: base.schema.past }),
      retypes,
      projects: unnamed === 'keep' && [...columns.keys()].some((id) => !inputColumns.has(id)),
      checkGoesOn: () => this.#reader.checkGoesOn(),
      onSegment: (written) => this.#reader.add(written),
    })
  }

  async run(): Promise<MergeResult | Moved> {
    const { team } = this.#place
    const { dryRun, ifMatch } = this.#request
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const inTurn = tries >= TRIES_BESIDE_OTHERS && !dryRun
      const draft = inTurn ? null : await this.#judged()
      if (typeof draft === 'string') return draft
      if (draft === null && !inTurn) continue
      if (draft !== null && dryRun) {
        const moved = await this.#movedBy(draft.head)
        if (moved !== null) return moved
        checkIfMatch('table', ifMatch, toPublicVersion(team, draft.head).version)
        const isKeyed = draft.head.generation.keyIndex !== null
        if (isKeyed && draft.counts.added > KEYED_ROWS_MAX) throw tooManyKeys()
        return { version: draft.head.version, ...draft.counts, addedRowIds: rowIdsOf([]) }
      }
      const plan = this.#plan(draft, inTurn)
      const ahead = aheadOfMerge(this.#place, this.#request, draft)
      const merged = await team.writers.change(this.#place, plan, ahead)
      if (merged === 'rows') continue
      if (typeof merged === 'string') return merged
      team.limits.storeRows(team, this.#addedBytes)
      const hasChanged = merged.added + merged.changed + merged.removed > 0
      const { requestKey } = this.#request
      if (hasChanged && requestKey !== undefined) team.limits.keepKey(team, requestKey.text)
      return merged
    }
    throw tooBusy('The rows of the table keep changing')
  }

  /**
   * Drafts the merge. If it refuses rows, they may be wrong only under an earlier schema. In that case the merge begins
   * anew.
   */
  async #judged(): Promise<MergeDraft | Moved | null> {
    try {
      return await this.#draft()
    } catch (failure) {
      const moved = isStoreError(failure) ? await this.#movedBy(null) : null
      if (moved === null) throw failure
      return moved
    }
  }

  /** What has changed since the merge was prepared. @param head - null: read the current one. */
  #movedBy(head: TableHead | null): Promise<Moved | null> {
    const { team, table, tableId } = this.#place
    return team.partition.read(async (view) => {
      const at = head ?? (await readHead(team, view, table, tableId))
      return whatMoved(this.#ready.base, at, (key) => view.get(key))
    })
  }

  /** @returns null: the rows of the table keep changing. */
  async #draft(): Promise<MergeDraft | null> {
    for (let tries = 0; ; tries++) {
      try {
        const draft = await this.#changes.draft(this.#request.dryRun)
        if (draft === null) return null
        this.#addedBytes = linkableBytes(draft.added)
        const own = checksOfObjects(this.#place, this.#reader)
        if (!isSync(own)) await own // This precedes the turn; see `readyRows`.
        return draft
      } catch (failure) {
        if (!(failure instanceof KeyCollision) || tries === COLLISIONS_MAX) throw failure
        this.#changes = this.#begin()
      }
    }
  }

  #plan(drafted: MergeDraft | null, inTurn: boolean): Plan<MergeResult | Moved> {
    const { team } = this.#place
    const { ifMatch } = this.#request
    let draft = drafted
    return async (head, read) => {
      this.#reader.checkGoesOn()
      const first = await firstMerge(this.#place, this.#request, read)
      if (first !== null) return { result: first }
      checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
      const moved = await whatMoved(this.#ready.base, head, read)
      if (moved !== null) return { result: moved }
      if (inTurn && (draft === null || !isSameHead(draft.head, head))) {
        const judged = await this.#judged()
        if (typeof judged === 'string') return { result: judged }
        draft = judged
      }
      // The draft in the turn sees only durable rows. If a change is in flight, the merge is planned again after that
      // change.
      if (draft === null || !isSameHead(draft.head, head)) return { result: 'rows' }
      return commitMerge(
        { place: this.#place, request: this.#request, reader: this.#reader, ready: this.#ready },
        draft,
        head,
        read,
      )
    }
  }
}

function isSameHead(left: TableHead, right: TableHead): boolean {
  return left.version === right.version && sameBytes(left.commitNonce, right.commitNonce)
}

function schemaAfter({ base, newSchema }: ReadyRows): IndexedSchema {
  return newSchema === null ? base.schema : indexSchema(newSchema.schema)
}

/** The columns that the input names and the schema has. */
async function columnsOfInput(slices: TimeSlices, ready: ReadyRows): Promise<ReadonlySet<string>> {
  const { columns } = schemaAfter(ready)
  const named = new Set<string>()
  let last: unknown
  for (const { chunk } of ready.base.source.chunks) {
    if (chunk.columns === last) continue // Chunks of one import share their columns.
    last = chunk.columns
    for (const { summary } of chunk.columns) if (columns.has(summary.id)) named.add(summary.id)
    if (slices.spend(ITEM_WORK * chunk.columns.length)) await slices.pause()
  }
  return named
}

/**
 * Checks the version of the table, and that the merge uses the key of the table: then all changed rows keep their keys.
 * @param read - Reads the view of the head: garbage collection may have deleted the key index of an earlier head.
 * @returns the IDs of the columns of the table's key; empty: the table has no key.
 * @throws {StoreError} PRECONDITION_FAILED, REQUEST_VALIDATION_ERROR
 */
async function checkTable(
  { team, table }: TablePlace,
  { ifMatch, key }: CheckedMerge,
  head: TableHead,
  read: ReadRecord,
): Promise<readonly string[]> {
  checkIfMatch('table', ifMatch, toPublicVersion(team, head).version)
  const { keyIndex } = head.generation
  if (keyIndex === null) return []
  const { columns } = (await readKeyIndex(table, keyIndex, read)).record
  if (columns.length === key.length && key.every((id) => columns.includes(id))) return columns
  throw invalidMergeKey(`it must have the columns of the key of the table: ${columns.join(', ')}`)
}

/**
 * Refuses a new schema that stores key cells in another form. The commit checks this too, but a dry run has no commit.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR
 */
function checkKeptForm(ids: readonly string[], { base, newSchema }: ReadyRows): void {
  if (newSchema === null) return
  const { columns } = indexSchema(newSchema.schema)
  checkSameForm(resolveKeyColumns(ids, base.schema.columns), resolveKeyColumns(ids, columns))
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
function checkKeyColumns(key: readonly string[], { columns }: IndexedSchema): void {
  for (const id of key) {
    const column = columns.get(id)
    if (column === undefined) throw invalidMergeKey(lackedColumn(columns, id))
    if (column.type.kind === 'array') {
      throw invalidMergeKey(`column '${id}' has arrays, which cannot be keys`)
    }
  }
}

function invalidMergeKey(problem: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', `Invalid merge key: ${problem}`)
}

function tooManyRows(): StoreError {
  const message = `A merge takes at most ${INCOMING_ROWS_MAX} rows`
  return new StoreError('REQUEST_VALIDATION_ERROR', message)
}
