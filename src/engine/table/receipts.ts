// Receipts: what an operation did to a table. A receipt is the detail of the log entry that the commit of the
// operation writes.
import { toHex } from '../../base/bytes.js'
import { cutText } from '../../base/shown-text.js'
import { StoreError } from '../../base/store-error.js'
import type { TimeSlices } from '../../base/time-slices.js'
import { receiptKey, receiptListKey, type TableKey } from '../../format/keys.js'
import {
  decodeOldReceipt,
  decodeReceiptList,
  type OldReceipt,
  type ReceiptDetail,
} from '../../format/log-records.js'
import type { KvView } from '../../kv/kv.js'
import type { TableSchema } from '../../schema/column-kind.js'
import { COLUMN_ID_CHARS_MAX } from '../../schema/table-schema.js'
import { findEntry } from '../changes/table-log.js'
import { toPublicVersion, versionBase } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { digestChunks } from '../import/digest-rows.js'
import { problemsOfRows, rulesOf } from '../import/problems-of-rows.js'
import type { LinkableRows, OperationRows } from '../import/rows-reader.js'
import type { RowPolicy } from '../import/stored-form.js'
import type { MergeCounts, MergeRequest } from '../types/merge-types.js'
import type {
  Receipt,
  ReceiptColumns,
  ReceiptDropped,
  ReceiptMerge,
} from '../types/receipt-types.js'
import type { ChangeResult } from '../types/row-types.js'

/** Maximum number of dropped-cell entries (one per column and rule) in a receipt, and of its listed problems. */
const DROPPED_COLUMNS_MAX = 1_000
const DROPPED_FIRST_MAX = 10

/** The rows of an operation, the schema of the table before it, and the policy that the rows follow. */
export type ReceiptSource = Readonly<{
  source: OperationRows
  rows: LinkableRows
  policy: RowPolicy
  /** null: there was no table. */
  before: TableSchema | null
}>

/** Drafts a receipt. Reads the rows again, because a receipt has the digests of the stored rows. */
export async function draftReceipt(
  team: TeamContext,
  { source, rows, policy, before }: ReceiptSource,
): Promise<ReceiptDetail> {
  const slices = team.slices.begin()
  const dropped = policy.drops
    ? await countDroppedCells(team, source, policy, slices)
    : NOTHING_DROPPED
  const columns = changedColumns(before, policy.schema.schema)
  const chunks = await digestChunks(team, source, rows, policy.schema.columns, slices)
  const rowCount = chunks.reduce((sum, chunk) => sum + chunk.rows, 0)
  return { rows: rowCount, about: JSON.stringify({ columns, dropped }), chunks }
}

/** The receipt of a merge with its counts, which are known only after the join. */
export function withMerge(
  draft: ReceiptDetail,
  { missing, key }: Pick<MergeRequest, 'missing' | 'key'>,
  counts: MergeCounts,
): ReceiptDetail {
  const mode = missing === 'delete' ? 'replace' : 'upsert'
  const merge: ReceiptMerge = { mode, key, ...counts }
  return { ...draft, about: JSON.stringify({ ...JSON.parse(draft.about), merge }) }
}

const NOTHING_DROPPED: ReceiptDropped = { count: 0, columns: [], first: [] }

async function countDroppedCells(
  team: TeamContext,
  source: OperationRows,
  policy: RowPolicy,
  slices: TimeSlices,
): Promise<ReceiptDropped> {
  const counts = new Map<string, { column: string; rule: string; count: number }>()
  const onProblem = (columnId: string, rule: string): void => {
    const column = cutText(columnId, COLUMN_ID_CHARS_MAX)
    const name = JSON.stringify([column, rule])
    const known = counts.get(name)
    if (known !== undefined) known.count++
    else if (counts.size < DROPPED_COLUMNS_MAX) counts.set(name, { column, rule, count: 1 })
  }
  const { problems, count } = await problemsOfRows(team, source, rulesOf(policy), {
    slices,
    onProblem,
  })
  return { count, columns: [...counts.values()], first: problems.slice(0, DROPPED_FIRST_MAX) }
}

function changedColumns(before: TableSchema | null, after: TableSchema): ReceiptColumns {
  const old = new Map((before?.columns ?? []).map(({ id, type }) => [id, type]))
  const left = new Set(old.keys())
  const added: string[] = []
  const changed: ReceiptColumns['changed'][number][] = []
  for (const { id, type } of after.columns) {
    const oldType = old.get(id)
    left.delete(id)
    if (oldType === undefined) added.push(id)
    else if (JSON.stringify(oldType) !== JSON.stringify(type)) {
      changed.push({ id, before: oldType, after: type })
    }
  }
  return { added, changed, removed: [...left] }
}

/**
 * The result of an operation with its public version, and with its receipt if requested. A repeat finds the receipt
 * of the first operation; an add without rows has none.
 * @param receiptOf - The operation, if its receipt is requested.
 */
export async function publicResult<
  T extends Readonly<{ version: number }> & (Pick<ChangeResult, 'rowIds'> | MergeCounts),
>(
  { team, table }: Pick<TablePlace, 'team' | 'table'>,
  result: T,
  receiptOf: Receipt['operation'] | undefined,
): Promise<T & Readonly<{ receipt?: Receipt }>> {
  const made = toPublicVersion(team, result)
  const isUnchanged =
    'rowIds' in result
      ? receiptOf === 'add' && result.rowIds.length === 0
      : result.added + result.changed + result.removed === 0
  if (receiptOf === undefined || isUnchanged) return made
  const receipt = await team.partition.read((view) => findReceipt(team, view, table, made.version))
  return receipt?.operation === receiptOf ? { ...made, receipt } : made
}

/**
 * The receipt of a public version, which is a stored version plus a version base: the base of its time, or the current
 * one. null: there is no receipt.
 */
export async function findReceipt(
  team: TeamContext,
  view: KvView,
  table: TableKey,
  version: number,
): Promise<Receipt | null> {
  const found = await findEntry(team, view, table, version)
  if (found === null) return findOldReceipt(team, view, table, version)
  const { entry } = found
  return entry.detail && toReceipt(found.version, { ...entry, detail: entry.detail })
}

/** A receipt that an earlier version of this package wrote. */
async function findOldReceipt(
  team: TeamContext,
  view: KvView,
  table: TableKey,
  version: number,
): Promise<Receipt | null> {
  const list = await view.get(receiptListKey(table))
  const kept = list === null ? [] : decodeReceiptList(list)
  const found =
    kept.find((listed) => listed.version + listed.base === version) ??
    kept.find((listed) => listed.version + versionBase(team) === version)
  if (found === undefined) return null
  const bytes = await view.get(receiptKey(table, found.version))
  if (bytes === null) {
    throw new StoreError('DATA_CORRUPT', `The receipt of version ${version} is listed, but missing`)
  }
  return toReceipt(found.version + found.base, decodeOldReceipt(bytes))
}

/** @param version - The public version. */
function toReceipt(version: number, { operation, at, detail }: OldReceipt): Receipt {
  const { columns, dropped, merge } = JSON.parse(detail.about) as Pick<
    Receipt,
    'columns' | 'dropped' | 'merge'
  >
  return {
    operation: operation as Receipt['operation'],
    version,
    versionBefore: operation === 'create' ? 0 : version - 1,
    at,
    rows: detail.rows,
    chunks: detail.chunks.map(({ serial, rows, digest }) => ({
      ...(serial !== null && { serial }),
      rows,
      sha256: toHex(digest),
    })),
    columns,
    dropped,
    ...(merge && { merge }),
  }
}
