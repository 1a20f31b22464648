// The feed of a table's changes, read from the committed records.
import { type Bytes, sameBytes } from '../../base/bytes.js'
import { disposable } from '../../base/disposable.js'
import { checkNotAborted } from '../../base/signals.js'
import { StoreError } from '../../base/store-error.js'
import {
  type ChangeRecord,
  changesRange,
  decodeChange,
  positionsOf,
  type SlotRun,
  versionOfChangeKey,
} from '../../format/change-records.js'
import type { ForwardMap } from '../../format/forward.js'
import type { Position, TableKey } from '../../format/keys.js'
import { decodeLogEntry, type LogEntry, logKey } from '../../format/log-records.js'
import type { Generation, TableHead } from '../../format/records.js'
import type { KvView } from '../../kv/kv.js'
import { checkArguments, checkSignal, checkVersion } from '../arguments/arguments.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { type RowIdRun, rowIdsOf } from '../ids/row-ids.js'
import { readHead } from '../read/generations.js'
import type { ChangesRequest, TableChange, WatchRequest } from '../types/history-types.js'
import type { ReadOptions, RowWithId } from '../types/read-types.js'
import { type Found, followChanges } from './follow-changes.js'
import { comparePositions, endOf } from './generation-end.js'
import { checkKept, findKeptGeneration, hasNone, missingChange } from './past-generation.js'
import { TableAtVersion } from './past-table.js'

/** A query reads at most this many changes, with at most this many bytes; a larger change is read by itself. */
const CHANGES_COUNT = 100
const CHANGES_BYTES = 4 * 1024 * 1024

/** The changes after a version, up to the last change. */
export async function* readChangesSince(
  place: () => TablePlace,
  request: ChangesRequest,
): AsyncGenerator<TableChange, void> {
  checkArguments('changes', request, ['since', 'signal'])
  const { since, signal } = request
  checkVersion(since, 'since')
  yield* followChanges(place, { since, signal: checkSignal(signal), follows: false }, FEED)
}

/** The changes after a version, and all later ones as they are made. */
export async function* watchChanges(
  place: () => TablePlace,
  request: WatchRequest,
): AsyncGenerator<TableChange, void> {
  checkArguments('watch', request, ['since', 'signal'])
  const { since, signal } = request
  if (since !== undefined) checkVersion(since, 'since')
  const { team } = place() // Throws if the ID of the table is invalid.
  const checked = checkSignal(signal)
  checkNotAborted('reading of changes', checked)
  // Without this check, the feed would fail only at the first change.
  if (team.history === undefined) throw hasNone(team)
  yield* followChanges(place, { since, signal: checked, follows: true }, FEED)
}

const FEED = { name: 'rows', start: checkFeedStart, read: readChanges }

async function checkFeedStart(
  { team, table }: TablePlace,
  view: KvView,
  head: TableHead,
  start: number,
): Promise<void> {
  if (start < head.version) await checkKept(team, view, table, head, start)
}

/** The next changes after a version; empty: there are no changes yet. */
async function readChanges(
  place: () => TablePlace,
  since: number,
): Promise<readonly Found<TableChange>[]> {
  const at = place()
  const { team, table, tableId } = at
  return team.partition.read(async (view) => {
    const head = await readHead(team, view, table, tableId)
    if (head.version === since) return []
    await checkKept(team, view, table, head, since)
    const count = CHANGES_COUNT + 1
    const range = changesRange(table, since + 1)
    const entries = await view.scan({ ...range, count, bytesMax: CHANGES_BYTES })
    const records = entries.map(([key, value]) => {
      return { version: versionOfChangeKey(key) ?? 0, record: decodeChange(value) }
    })
    const log = await view.getMany(records.map(({ version }) => logKey(table, version)))
    const found: Found<TableChange>[] = []
    for (const [index, { version, record }] of records.entries()) {
      if (version !== since + 1 + index) throw missingChange(since + 1 + index)
      const next = version === head.version ? head.generation : records[index + 1]?.record.before
      const after = next ?? (await generationBefore(view, table, version + 1))
      const now = await findKeptGeneration(view, table, head, after)
      if (now === null) break // The rows of the change are gone: the next look, which begins with this change, throws.
      const entry = log[index] ?? null
      const made = { version, record, after, now, entry: entry && decodeLogEntry(entry) }
      found.push({ version, item: await resolveTableChange(place, view, made) })
    }
    if (found.length === 0) throw gone()
    return found
  })
}

async function generationBefore(
  view: KvView,
  table: TableKey,
  version: number,
): Promise<Generation> {
  const [entry] = await view.scan({ ...changesRange(table, version), count: 1 })
  if (entry === undefined || versionOfChangeKey(entry[0]) !== version) throw missingChange(version)
  return decodeChange(entry[1]).before
}

/** A change, with the generation after it, and the current state of this generation. */
type Made = Readonly<{
  version: number
  record: ChangeRecord
  after: Generation
  now: Generation
  /** The entry of the log; null: there is none, or an earlier version of this package made the change. */
  entry: LogEntry | null
}>

async function resolveTableChange(
  place: () => TablePlace,
  view: KvView,
  { version, record, after, now, entry }: Made,
): Promise<TableChange> {
  const { team } = place()
  const replaced = !sameBytes(after.nonce, record.before.nonce)
  const start = replaced ? { extent: after.firstExtent, slot: 0 } : endOf(record.before)
  const lookup = new RowIdLookup(place(), view, now, await team.forwards.of(after))
  const isNew = (run: SlotRun): boolean => comparePositions(run, start) >= 0
  const gone = record.removed.filter(isNew)
  const added = await lookup.idsOf(without(await addedRuns(lookup, start, after), gone))
  const changed = await lookup.idsOf(replaced ? [] : record.changed)
  const removed = await lookup.idsOf(replaced ? [] : record.removed.filter((run) => !isNew(run)))
  const ids = { added: rowIdsOf(added), changed: rowIdsOf(changed), removed: rowIdsOf(removed) }
  const shown = version + versionBase(team)
  const { author = null, note = null } = entry ?? {}
  return {
    version: shown,
    at: record.at,
    ...(entry && { operation: entry.operation }),
    ...(author !== null && { author }),
    ...(note !== null && { note }),
    replaced,
    retyped: after.widenedAt === version,
    ...ids,
    rows: (options) => disposable(readChangedRows(place, shown, ids, start, options)),
  }
}

/** The runs of positions that a change adds: from the end of the earlier rows to the end of the generation. */
async function addedRuns(
  lookup: RowIdLookup,
  start: Position,
  after: Generation,
): Promise<readonly SlotRun[]> {
  const runs: SlotRun[] = []
  for (let { extent, slot } = start; extent < after.nextExtent; extent++, slot = 0) {
    const isOpen = after.open?.extent === extent
    const limit = isOpen ? after.open.nextSlot : (await lookup.extent(extent)).rowCount
    if (limit > slot) runs.push({ extent, slot, count: limit - slot })
  }
  return runs
}

/** The runs without the positions of `others`, which are in order and lie within the runs. */
function without(runs: readonly SlotRun[], others: readonly SlotRun[]): readonly SlotRun[] {
  const left: SlotRun[] = []
  let next = 0
  for (const { extent, slot, count } of runs) {
    let from = slot
    const limit = slot + count
    for (; next < others.length; next++) {
      const other = others[next]
      if (other === undefined || other.extent > extent || other.slot >= limit) break
      if (other.slot > from) left.push({ extent, slot: from, count: other.slot - from })
      from = other.slot + other.count
    }
    if (limit > from) left.push({ extent, slot: from, count: limit - from })
  }
  return left
}

async function* readChangedRows(
  place: () => TablePlace,
  version: number,
  { added, changed }: Pick<TableChange, 'added' | 'changed'>,
  start: Position,
  options: ReadOptions | undefined,
): AsyncGenerator<RowWithId, void> {
  const past = new TableAtVersion(place, version)
  for (const rowId of changed) {
    const found = await past.get(rowId, options)
    if (found !== null) yield found.row
  }
  if (added.length > 0) yield* past.from(start, options)
}

/** Finds the IDs of rows by their positions, in one generation. */
class RowIdLookup {
  readonly #place: TablePlace
  readonly #view: KvView
  readonly #now: Generation
  readonly #forward: ForwardMap | null

  constructor(place: TablePlace, view: KvView, now: Generation, forward: ForwardMap | null) {
    this.#place = place
    this.#view = view
    this.#now = now
    this.#forward = forward
  }

  async extent(extent: number): Promise<Readonly<{ nonce: Bytes; rowCount: number }>> {
    const { open } = this.#now
    if (open?.extent === extent) return { nonce: open.nonce, rowCount: open.nextSlot }
    const { team, table } = this.#place
    return team.extents.read((key) => this.#view.get(key), table, extent)
  }

  async idsOf(runs: readonly SlotRun[]): Promise<readonly RowIdRun[]> {
    const ids: RowIdRun[] = []
    for (const run of runs) {
      const { nonce } = await this.extent(run.extent)
      const { extent, slot, count } = run
      if (this.#forward === null) ids.push({ nonce, extent, firstSlot: slot, count })
      else ids.push(...this.#kept(this.#forward, nonce, run))
    }
    return ids
  }

  /** The IDs of a run of rows, some of which may have preserved the IDs of an earlier generation. */
  *#kept(forward: ForwardMap, nonce: Bytes, run: SlotRun): Generator<RowIdRun, void> {
    const { firstExtent } = this.#now
    let last: { nonce: Bytes; extent: number; firstSlot: number; count: number } | undefined
    for (const { extent, slot } of positionsOf([run])) {
      const kept = forward.idAt({ extent: extent - firstExtent, slot })
      const id = kept ?? { nonce, extent, slot }
      const isNext =
        last !== undefined &&
        last.extent === id.extent &&
        last.firstSlot + last.count === id.slot &&
        sameBytes(last.nonce, id.nonce)
      if (isNext && last !== undefined) {
        last.count++
        continue
      }
      if (last !== undefined) yield last
      last = { nonce: id.nonce, extent: id.extent, firstSlot: id.slot, count: 1 }
    }
    if (last !== undefined) yield last
  }
}

function gone(): StoreError {
  const message =
    'The rows of a change are no longer kept: read the whole table again, and continue from there'
  return new StoreError('HISTORY_GONE', message)
}
