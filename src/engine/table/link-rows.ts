// Shared by all operations that link rows. Long work is prepared on a state of the table and of the stash, and
// repeated if this state changes before the commit. Objects that the work wrote stay pending until its end.
import { type Awaitable, chain, isSync } from '../../base/awaitable.js'
import { sameValue } from '../../base/bytes.js'
import type { ReceiptDetail } from '../../format/log-records.js'
import type { TableHead } from '../../format/records.js'
import type { KvCheck, KvView, ReadRecord } from '../../kv/kv.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import { commitUntilAccepted, REFUSED, tooBusy } from '../commit/commit-until-accepted.js'
import type { TableLook } from '../commit/table-looks.js'
import type { TablePlace } from '../context/store-context.js'
import {
  type LinkableRows,
  type OperationRows,
  type RowsReader,
  sourceHolds,
} from '../import/rows-reader.js'
import { planRowPolicy } from '../import/schema-of-rows.js'
import { withLines } from '../keys/key-conflict.js'
import { readHead } from '../read/generations.js'
import type { OnSchemaError } from '../types/row-types.js'
import { linkableBytes } from './append-rows.js'
import { draftReceipt } from './receipts.js'
import { type NewSchema, planNewSchema } from './schema-change.js'

/**
 * What changed since an operation was prepared: the schema of the table, the chunks of the stash, or the rows whose
 * IDs an overwrite preserves.
 */
export type Moved = 'schema' | 'stash' | 'rows'

/** The numbers of changes of the schema, the stash and the rows during one operation. */
export type MovedCounts = Readonly<Record<Moved, number>>

/** Maximum number of attempts with a stash whose chunks are replaced meanwhile. Each attempt reads all chunks again. */
const STASH_TRIES_MAX = 4

/**
 * Prepares an operation, and attempts it until nothing changes before its commit.
 * @param prepare - Called once. Each attempt gets its result.
 * @param attempt - Resolves to the result, or to what has changed.
 * @throws {StoreError} ABORTED, before an attempt; STORAGE_UNAVAILABLE with outcome `unchanged` if there are too many
 *   changes; what `prepare` and `attempt` throw
 */
export async function linkUntilDone<P, T extends object>(
  reader: RowsReader,
  prepare: () => Promise<P>,
  attempt: (prepared: P, moved: MovedCounts) => Promise<T | Moved>,
): Promise<T> {
  const moved = { schema: 0, stash: 0, rows: 0 }
  try {
    reader.checkGoesOn()
    const prepared = await prepare()
    const result = await commitUntilAccepted(
      'The stash or the schema keeps changing',
      null,
      async () => {
        reader.checkGoesOn()
        const done = await attempt(prepared, moved)
        if (typeof done !== 'string') return done
        if (++moved[done] === STASH_TRIES_MAX && done === 'stash') {
          throw tooBusy('The stash keeps changing')
        }
        return REFUSED
      },
    )
    return reader.released(result)
  } catch (failure) {
    reader.releaseAfter(failure)
    throw withLines(failure, (row) => reader.lineOf(row))
  }
}

/** The state that rows were prepared on. */
export type LinkBase = Readonly<{ head: TableHead; schema: IndexedSchema; source: OperationRows }>

/** @throws {StoreError} TABLE_NOT_FOUND, STASH_NOT_FOUND */
export function readLinkBase(
  { team, table, tableId }: TablePlace,
  reader: RowsReader,
  view: KvView,
): Awaitable<LinkBase> {
  return chain(readHead(team, view, table, tableId), (head) =>
    chain(reader.read(view), (source) => {
      const { schemaNumber } = head.generation
      const reading = team.schemas.get(table, schemaNumber, (key) => view.get(key))
      return chain(reading, (schema) => ({ head, source, schema }))
    }),
  )
}

/** Makes the base of a link from what was read ahead, including the schema. */
export async function baseOfLook(
  { team, table }: TablePlace,
  reader: RowsReader,
  look: TableLook,
): Promise<LinkBase> {
  const { head } = look
  const schema = await team.schemas.get(table, head.generation.schemaNumber, look.reader())
  const source = reader.bodyRows ?? (await team.partition.read((view) => reader.read(view)))
  return { head, source, schema }
}

/** Rows ready to be linked, and the schema that the table gets with them. */
export type ReadyRows = Readonly<{
  base: LinkBase
  rows: LinkableRows
  newSchema: NewSchema | null
  /** null: no receipt was requested. */
  receipt: ReceiptDetail | null
}>

/**
 * @param schema - The schema that the rows must fit.
 * @param hasReceipt - Whether a receipt is requested.
 */
export async function readyRows(
  { team }: TablePlace,
  reader: RowsReader,
  base: LinkBase,
  schema: IndexedSchema,
  onSchemaError: OnSchemaError,
  hasReceipt: boolean | undefined,
): Promise<ReadyRows> {
  const { source } = base
  const policy = await planRowPolicy(team, source, schema, onSchemaError)
  const rows = await reader.toStoredForm(source, policy)
  const own = checksOfObjects({ team }, reader) // Before the turn, in which a view is open: this may commit.
  if (!isSync(own)) await own
  await team.limits.checkRows(team, linkableBytes(rows))
  const about = { source, rows, policy, before: base.schema.schema }
  const receipt = hasReceipt ? await draftReceipt(team, about) : null
  return { base, rows, newSchema: planNewSchema(base.schema, policy.schema), receipt }
}

/** What has changed since the preparation; null: the prepared rows may be linked. */
export function whatMoved(
  base: LinkBase,
  head: TableHead,
  read: ReadRecord,
): Awaitable<'schema' | 'stash' | null> {
  const { schemaNumber, keyIndex } = head.generation
  const before = base.head.generation
  if (schemaNumber !== before.schemaNumber || !sameValue(keyIndex, before.keyIndex)) return 'schema'
  return chain(sourceHolds(base.source, read), (holds) => (holds ? null : 'stash'))
}

/** The checks of the commit on the stash of its rows. */
export function checksOf({ check }: OperationRows): readonly KvCheck[] {
  return check === null ? [] : [check]
}

/** The checks of the commit on the new objects of the operation. */
export function checksOfObjects(
  { team }: Pick<TablePlace, 'team'>,
  { objects }: Pick<RowsReader, 'objects'>,
): Awaitable<readonly KvCheck[]> {
  return team.incarnation.checksFor(team, objects)
}
