// Finds the state of a table at a version.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { StoreError } from '../../base/store-error.js'
import {
  changeKey,
  decodeChange,
  decodeChangeStart,
  decodeHistory,
  historyKey,
} from '../../format/change-records.js'
import { schemaKey, type TableKey } from '../../format/keys.js'
import type { Generation, TableHead } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace, TeamContext } from '../context/store-context.js'
import { readHead, readRetirements } from '../read/generations.js'
import { endOf } from './generation-end.js'
import { type PastScope, PastView } from './past-view.js'

/** A table at a version: its generation, and a view of the records at this version. */
export type Past = Readonly<{ generation: Generation; version: number; view: KvView }>

/**
 * Converts a public version to the version of the records.
 * @throws {StoreError} HISTORY_GONE: if the version predates a restore or a possible loss of commits
 */
export function recordVersion(team: TeamContext, version: number): number {
  const own = version - versionBase(team)
  if (own >= 0) return own
  throw historyGone(`Version ${version} predates a restore, or a possible loss of commits`)
}

/**
 * The state of a table at a version.
 * @param version - A version of the records.
 * @throws {StoreError} TABLE_NOT_FOUND, HISTORY_GONE, REQUEST_VALIDATION_ERROR
 */
export async function findPast(
  { team, table, tableId }: TablePlace,
  view: KvView,
  version: number,
): Promise<Past> {
  const head = await readHead(team, view, table, tableId)
  checkNotLater(team, head, version)
  if (version === head.version) return { generation: head.generation, version, view }
  await checkKept(team, view, table, head, version)
  const record = await view.get(changeKey(table, version + 1))
  if (record === null) throw missingChange(version + 1)
  const { before } = decodeChange(record)
  const now = await findKeptGeneration(view, table, head, before)
  // Earlier versions of this package delete schemas that their tables do not use.
  const schema = await view.get(schemaKey(table, before.schemaNumber))
  if (now === null || schema === null) throw notKept(team, version)
  const end = endOf(before)
  const isOpen = before.open !== null && now.open?.extent === before.open.extent
  const hiddenRows = before.open === null || isOpen ? 0 : await addedTo(team, view, table, end)
  const scope: PastScope = { table, version, end, hiddenRows }
  const generation = isOpen ? before : { ...before, open: null }
  return { generation, version, view: new PastView(view, scope) }
}

/** The number of rows of an extent that were added after a position in it. */
async function addedTo(
  { extents }: TeamContext,
  view: KvView,
  table: TableKey,
  end: Readonly<{ extent: number; slot: number }>,
): Promise<number> {
  const { rowCount } = await extents.read((key) => view.get(key), table, end.extent)
  return rowCount - end.slot
}

/** The current record of a generation: in the table's head, or in a retirement. null: the generation was deleted. */
export async function findKeptGeneration(
  view: KvView,
  table: TableKey,
  { generation }: TableHead,
  { nonce }: Generation,
): Promise<Generation | null> {
  if (sameBytes(generation.nonce, nonce)) return generation
  const retired = await readRetirements(view, table)
  const found = retired.find((retirement) => sameBytes(retirement.generation.nonce, nonce))
  return found === undefined || found.dropping ? null : found.generation
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
export function checkNotLater(team: TeamContext, head: TableHead, version: number): void {
  if (version <= head.version) return
  const base = versionBase(team)
  const message = `The table is at version ${head.version + base}: version ${version + base} does not exist yet`
  throw new StoreError('REQUEST_VALIDATION_ERROR', message)
}

/** Checks that no change after a version was deleted. @throws {StoreError} HISTORY_GONE */
export async function checkKept(
  team: TeamContext,
  view: KvView,
  table: TableKey,
  head: TableHead,
  version: number,
): Promise<void> {
  const [last = null, history = null] = await view.getMany([
    changeKey(table, head.version),
    historyKey(table),
  ])
  if (last === null) throw hasNone(team)
  const since = Math.max(decodeChangeStart(last).since, sinceOf(history))
  if (version < since) throw notKept(team, version, since)
}

function sinceOf(history: Bytes | null): number {
  return history === null ? 0 : decodeHistory(history)
}

/** The error for a table whose last change has no history. */
export function hasNone({ options }: TeamContext): StoreError {
  const what =
    options.historyRetentionMs > 0
      ? 'history begins with the next change'
      : 'open the store with historyRetentionMs to keep changes from then on'
  return historyGone(`The last change of the table was not kept: ${what}`)
}

function notKept(team: TeamContext, version: number, since?: number): StoreError {
  const base = versionBase(team)
  const kept = since === undefined ? '' : `; the earliest version kept is ${since + base}`
  const advice = 'read the whole table again, and continue from there'
  return historyGone(`Version ${version + base} is no longer kept${kept}: ${advice}`)
}

function historyGone(message: string): StoreError {
  return new StoreError('HISTORY_GONE', message)
}

export function missingChange(version: number): StoreError {
  return new StoreError('DATA_CORRUPT', `The change that made version ${version} is missing`)
}
