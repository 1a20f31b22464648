// Receipts: what an operation did to a table, put by its commit and kept with the version that it makes.
//
// Invariant: a table lists exactly the receipts that it has. The commit of a receipt adds it to the list, and deletes
// those that the list gives up.
import type { Bytes } from '../../base/bytes.js'
import { toHex } from '../../base/bytes.js'
import { cutText } from '../../base/shown-text.js'
import { StoreError } from '../../base/store-error.js'
import type { TimeSlices } from '../../base/time-slices.js'
import { receiptKey, receiptListKey, type TableKey } from '../../format/keys.js'
import {
  decodeReceipt,
  decodeReceiptList,
  encodeReceipt,
  encodeReceiptList,
  type KeptReceipt,
  RECEIPTS_BYTES_MAX,
  RECEIPTS_MAX,
  type ReceiptOperation,
  type ReceiptRecord,
} from '../../format/receipt-records.js'
import type { ReadRecord } from '../../kv/kv.js'
import type { TableSchema } from '../../schema/column-kind.js'
import { COLUMN_ID_CHARS_MAX } from '../../schema/table-schema.js'
import type { MergeCounts, MergeRequest } from '../api/merge-types.js'
import type { Receipt, ReceiptColumns, ReceiptDropped, ReceiptMerge } from '../api/receipt-types.js'
import type { ChangeResult } from '../api/row-types.js'
import { toPublicVersion, versionBase } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { digestChunks } from '../ingest/digest-rows.js'
import { problemsOfRows, rulesOf } from '../ingest/problems-of-rows.js'
import type { LinkableRows, OperationRows } from '../ingest/rows-reader.js'
import type { RowPolicy } from '../ingest/stored-form.js'

/** Entries by column and rule, and problems, that a receipt lists of dropped cells. */
const DROPPED_COLUMNS_MAX = 1_000
const DROPPED_FIRST_MAX = 10

/** A receipt before its operation is committed. */
export type ReceiptDraft = Omit<ReceiptRecord, 'at' | 'versionBefore'>

/** The rows of an operation, the schema of the table before it, and the policy that the rows follow. */
export type ReceiptSource = Readonly<{
  operation: ReceiptOperation
  source: OperationRows
  rows: LinkableRows
  policy: RowPolicy
  /** null: there was no table. */
  before: TableSchema | null
}>

/** Reads the rows again: their digests are of what is stored. */
export async function draftReceipt(
  team: TeamContext,
  { operation, source, rows, policy, before }: ReceiptSource,
): Promise<ReceiptDraft> {
  const slices = team.slices.begin()
  const dropped = policy.drops ? await droppedOf(team, source, policy, slices) : NOTHING_DROPPED
  const columns = changedColumns(before, policy.schema.schema)
  const chunks = await digestChunks(team, source, rows, policy.schema.columns, slices)
  const rowCount = chunks.reduce((sum, chunk) => sum + chunk.rows, 0)
  return { operation, rows: rowCount, about: JSON.stringify({ columns, dropped }), chunks }
}

/** The draft of a merge with what the merge did, which is known only when its rows were joined. */
export function withMerge(
  draft: ReceiptDraft,
  { missing, key }: Pick<MergeRequest, 'missing' | 'key'>,
  counts: MergeCounts,
): ReceiptDraft {
  const mode = missing === 'delete' ? 'replace' : 'upsert'
  const merge: ReceiptMerge = { mode, key, ...counts }
  return { ...draft, about: JSON.stringify({ ...JSON.parse(draft.about), merge }) }
}

const NOTHING_DROPPED: ReceiptDropped = { count: 0, columns: [], first: [] }

async function droppedOf(
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

/** The part of an operation's commit that stores its receipt. */
export type SavedReceipt = Readonly<{
  puts: readonly (readonly [Bytes, Bytes])[]
  deletes: readonly Bytes[]
  receipt?: Receipt
}>

const NO_RECEIPT: SavedReceipt = { puts: [], deletes: [] }

/** @param draft - null: none was asked for. @param version - The version that the commit makes. */
export async function saveReceipt(
  team: TeamContext,
  read: ReadRecord,
  table: TableKey,
  draft: ReceiptDraft | null,
  version: number,
): Promise<SavedReceipt> {
  if (draft === null) return NO_RECEIPT
  const record = { ...draft, at: team.options.clock.now(), versionBefore: version - 1 }
  const bytes = encodeReceipt(record)
  const entry = { version, base: versionBase(team), bytes: bytes.length }
  const listKey = receiptListKey(table)
  const kept = [...(await readList(read, table)), entry]
  const deletes: Bytes[] = []
  let total = kept.reduce((sum, { bytes: size }) => sum + size, 0)
  while (kept.length > RECEIPTS_MAX || (kept.length > 1 && total > RECEIPTS_BYTES_MAX)) {
    const oldest = kept.shift()
    if (oldest === undefined) break
    total -= oldest.bytes
    deletes.push(receiptKey(table, oldest.version))
  }
  const puts = [
    [receiptKey(table, version), bytes] as const,
    [listKey, encodeReceiptList(kept)] as const,
  ]
  return { puts, deletes, receipt: toReceipt(entry, record) }
}

async function readList(read: ReadRecord, table: TableKey): Promise<KeptReceipt[]> {
  const bytes = await read(receiptListKey(table))
  return bytes === null ? [] : decodeReceiptList(bytes)
}

function toReceipt({ version, base }: KeptReceipt, record: ReceiptRecord): Receipt {
  const { operation, at, versionBefore, rows, about, chunks } = record
  const { columns, dropped, merge } = JSON.parse(about) as Pick<
    Receipt,
    'columns' | 'dropped' | 'merge'
  >
  return {
    operation,
    version: version + base,
    versionBefore: operation === 'create' ? 0 : versionBefore + base,
    at,
    rows,
    chunks: chunks.map(({ serial, rows: rowCount, digest }) => ({
      ...(serial !== null && { serial }),
      rows: rowCount,
      sha256: toHex(digest),
    })),
    columns,
    dropped,
    ...(merge && { merge }),
  }
}

/**
 * The result of an operation with its public version, and with its receipt if that was asked for: a repeat finds the
 * receipt of the first operation, and an add without rows has none.
 * @param receiptOf - The operation, if its receipt is asked for.
 */
export async function publicResult<
  T extends Readonly<{ version: number; receipt?: Receipt }> &
    (Pick<ChangeResult, 'rowIds'> | MergeCounts),
>(
  { team, table }: Pick<TablePlace, 'team' | 'table'>,
  result: T,
  receiptOf: ReceiptOperation | undefined,
): Promise<T> {
  const made = toPublicVersion(team, result)
  const isUnchanged =
    'rowIds' in result
      ? receiptOf === 'add' && result.rowIds.length === 0
      : result.added + result.changed + result.removed === 0
  if (receiptOf === undefined || isUnchanged || result.receipt !== undefined) return made
  const receipt = await team.partition.read((view) =>
    findReceipt(team, (key) => view.get(key), table, made.version),
  )
  return receipt?.operation === receiptOf ? { ...made, receipt } : made
}

/**
 * The receipt of a version, as callers know it: under the version base of that time, or under the one of now.
 * null: none is kept.
 */
export async function findReceipt(
  team: TeamContext,
  read: ReadRecord,
  table: TableKey,
  version: number,
): Promise<Receipt | null> {
  const kept = await readList(read, table)
  const now = versionBase(team)
  const entry =
    kept.find((listed) => listed.version + listed.base === version) ??
    kept.find((listed) => listed.version + now === version)
  if (entry === undefined) return null
  const bytes = await read(receiptKey(table, entry.version))
  if (bytes === null) {
    throw new StoreError('DATA_CORRUPT', `The receipt of version ${version} is listed, but missing`)
  }
  return toReceipt(entry, decodeReceipt(bytes))
}
