// Selects the rows that a walk reads: the current rows of the table, or the rows of a retired generation within
// retention.

import { type Awaitable, chain } from '../../base/awaitable.js'
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import { retirementsRange, type TableKey, tableHeadKey } from '../../format/keys.js'
import {
  decodeRetirement,
  type Generation,
  type Retirement,
  type TableHead,
} from '../../format/records.js'
import type { KvView, ReadRecord } from '../../kv/kv.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import { tooBusy } from '../commit/commit-until-accepted.js'
import { tableNotFound } from '../commit/table-writer.js'
import type { StoreContext, TablePlace, TeamContext } from '../context/store-context.js'

/** A generation, and the last table version of its rows. */
export type GenerationInUse = Readonly<{ generation: Generation; version: number }>

/**
 * Maximum number of retirements of a table that are read, from the newest on. Garbage collection ends the older ones.
 */
export const RETIREMENTS_MAX = 10_000

export function readHead(
  { heads }: Pick<StoreContext, 'heads'>,
  view: KvView,
  table: TableKey,
  tableId: string,
): Awaitable<TableHead> {
  return chain(view.get(tableHeadKey(table)), (bytes) => {
    if (bytes === null) throw tableNotFound(tableId)
    return heads.decode(bytes)
  })
}

/** The current schema of a table, and its commit. @throws {StoreError} TABLE_NOT_FOUND */
export function readSchemaOfCommit({
  team,
  table,
  tableId,
}: TablePlace): Promise<Readonly<{ schema: IndexedSchema; commitNonce: Bytes }>> {
  return team.partition.read(async (view) => {
    const { commitNonce, generation } = await readHead(team, view, table, tableId)
    const read: ReadRecord = (key) => view.get(key)
    return { schema: await team.schemas.get(table, generation.schemaNumber, read), commitNonce }
  })
}

/** The current schema of a table. @throws {StoreError} TABLE_NOT_FOUND */
export async function readSchema(place: TablePlace): Promise<IndexedSchema> {
  return (await readSchemaOfCommit(place)).schema
}

/** The head of a table; null: there is no such table. */
export function readHeadOrNull(
  { heads }: Pick<StoreContext, 'heads'>,
  view: KvView,
  table: TableKey,
): Awaitable<TableHead | null> {
  return chain(view.get(tableHeadKey(table)), (bytes) =>
    bytes === null ? null : heads.decode(bytes),
  )
}

/**
 * Finds the generation with a nonce: the table's own, or a retired one within retention.
 * @param head - null: the table was deleted, so only a generation that a scan has pinned can be read.
 * @throws {StoreError} CONTINUATION_INVALID, TABLE_NOT_FOUND
 */
export async function findGeneration(
  { options, pins }: TeamContext,
  view: KvView,
  { table, tableId }: Pick<TablePlace, 'table' | 'tableId'>,
  head: TableHead | null,
  nonce: Bytes,
): Promise<GenerationInUse> {
  if (head !== null && sameBytes(head.generation.nonce, nonce)) return inUse(head)
  const retired = await readRetirements(view, table)
  const index = retired.findIndex(({ generation }) => sameBytes(generation.nonce, nonce))
  const found = retired[index]
  if (found !== undefined && !found.dropping) {
    const isKept =
      head !== null && isRetained(found, index, options, await options.clock.lifetimeMs())
    if (isKept || pins.has(nonce)) {
      return { generation: found.generation, version: found.lastVersion }
    }
  }
  if (head === null) throw tableNotFound(tableId)
  throw continuationInvalid('the rows it continues were overwritten and are no longer kept')
}

/** Maximum number of attempts to pin a generation. An attempt fails only if an overwrite happens at that moment. */
const PIN_TRIES_MAX = 20

/**
 * Keeps the current rows of a table readable until `unpin` is called, once. Resolves when the pin is published to other
 * processes.
 * @throws {StoreError} TABLE_NOT_FOUND; STORAGE_UNAVAILABLE if the table is overwritten again and again
 */
export async function pinGeneration({
  team,
  table,
  tableId,
}: TablePlace): Promise<Readonly<{ generation: Generation; unpin: () => Awaitable<void> }>> {
  const read = (): Promise<TableHead> =>
    team.partition.read((view) => readHead(team, view, table, tableId))
  let { generation } = await read()
  for (let tries = 0; tries < PIN_TRIES_MAX; tries++) {
    const unpin = team.pins.pin(generation.nonce)
    if (!team.kv.shared) return { generation, unpin }
    try {
      await team.incarnation.publish()
      const head = await read()
      // A process that finds a generation retired looks for pins before it drops the generation.
      if (sameBytes(head.generation.nonce, generation.nonce)) {
        return { generation, unpin: () => unpinned(team, unpin) }
      }
      generation = head.generation
    } catch (failure) {
      unpin()
      throw failure
    }
    unpin()
  }
  throw tooBusy('The table keeps being overwritten')
}

async function unpinned({ incarnation }: TeamContext, unpin: () => void): Promise<void> {
  unpin()
  await incarnation.publish().catch(() => undefined) // After a failure, the next renewal publishes it.
}

/** A generation without rows. */
export function emptyGeneration(
  nonce: Bytes,
  firstExtent: number,
  schemaNumber: number,
): Generation {
  const range = { firstExtent, nextExtent: firstExtent }
  const counts = { liveRows: 0, deletedRows: 0, convertBefore: 0, widenedAt: 0 }
  return { nonce, ...range, ...counts, schemaNumber, open: null, forward: null, keyIndex: null }
}

export function inUse(head: TableHead): GenerationInUse {
  return { generation: head.generation, version: head.version }
}

/** Retirements of a table, newest first. */
export async function readRetirements(view: KvView, table: TableKey): Promise<Retirement[]> {
  const scan = { ...retirementsRange(table), count: RETIREMENTS_MAX, reverse: true }
  const entries = await view.scan(scan)
  return entries.map(([, bytes]) => decodeRetirement(bytes))
}

/** @param index - The number of newer retirements of the table. */
export function isRetained(
  { retiredAt }: Retirement,
  index: number,
  limits: Readonly<{ overwrittenRowsTtlMs: number; overwrittenRowSetsMax: number }>,
  now: number,
): boolean {
  return index < limits.overwrittenRowSetsMax && now - retiredAt <= limits.overwrittenRowsTtlMs
}

export function continuationInvalid(problem: string): StoreError {
  return new StoreError('CONTINUATION_INVALID', `Invalid continuation: ${problem}`)
}
