// Adding rows to a table. The last step runs in the table's commit queue, on the head as it is then.
import { isSync } from '../../base/awaitable.js'
import { schemaKey } from '../../format/keys.js'
import type { ReadRecord } from '../../kv/kv.js'
import { putMarkers } from '../commit/file-markers.js'
import {
  type IdempotencyState,
  readIdempotency,
  recordsOfResult,
  saveResult,
} from '../commit/idempotency.js'
import type { AheadOfTurn, TableLook } from '../commit/table-looks.js'
import type { Plan } from '../commit/table-writer.js'
import { hintOfClosed, hintOfSegments, hintOfTable } from '../commit/work-hints.js'
import { versionBase } from '../context/public-versions.js'
import type { TablePlace } from '../context/store-context.js'
import { rowIdsOf } from '../ids/row-ids.js'
import { RowsReader, recordsOfSource } from '../import/rows-reader.js'
import { readHead, readSchema } from '../read/generations.js'
import type { ChangeResult } from '../types/row-types.js'
import { appendRows, lastPageKey, linkableBytes, linkableCount } from './append-rows.js'
import type { CheckedAdd } from './check-requests.js'
import {
  baseOfLook,
  checksOf,
  checksOfObjects,
  type LinkBase,
  linkUntilDone,
  type Moved,
  type ReadyRows,
  readLinkBase,
  readyRows,
  whatMoved,
} from './link-rows.js'
import { putSchema, underSchema } from './schema-change.js'

export async function addRows(place: TablePlace, request: CheckedAdd): Promise<ChangeResult> {
  const { team, table, tableId } = place
  const ahead = aheadOfAdd(place, request)
  let seen = ahead && (await team.writers.look(place, ahead))
  const first = await (seen === undefined
    ? team.partition.read(async (view) => {
        await readHead(team, view, table, tableId) // 404 goes first.
        return changedOf(await readAddRepeat(place, request, (key) => view.get(key)))
      })
    : firstOfLook(place, request, seen))
  if (first !== null) return first
  const { onSchemaError } = request
  const expected = { readSchema: () => readSchema(place), onSchemaError }
  const reader = new RowsReader(team, 'add', request.rows, request.signal, expected)
  const prepare = () => reader.prepare(request.rows)
  return linkUntilDone(reader, prepare, async () => {
    const look = seen ?? (ahead && (await team.writers.look(place, ahead)))
    seen = undefined // The next try looks again.
    const base = await (look === undefined
      ? team.partition.read(async (view) => {
          const repeat = await readAddRepeat(place, request, (key) => view.get(key))
          return changedOf(repeat) ?? readLinkBase(place, reader, view)
        })
      : firstOrBase(place, request, reader, look))
    if ('rowIds' in base) return base
    const { key } = request
    if (key !== undefined) await team.limits.checkKeys(team, key.text)
    const { receipt } = request
    const ready = await readyRows(place, reader, base, base.schema, onSchemaError, receipt)
    const plan = planAdd(place, request, reader, ready)
    const added = await team.writers.change(place, plan, ahead, look)
    if (typeof added === 'string') return added
    team.limits.storeRows(team, linkableBytes(ready.rows))
    if (key !== undefined) team.limits.keepKey(team, key.text)
    return added
  })
}

/** @returns undefined: queries cost nothing here. */
function aheadOfAdd(
  { team, table }: TablePlace,
  { key, rows }: CheckedAdd,
): AheadOfTurn | undefined {
  if (!team.kv.shared) return undefined
  const source = recordsOfSource(rows)
  const always = [...source]
  if (key !== undefined) always.push(...recordsOfResult(table, key))
  return {
    keys: (head) => {
      const keys = [...always, schemaKey(table, head?.generation.schemaNumber ?? 0)]
      if (head !== null && source.length > 0) keys.push(lastPageKey(table, head.generation))
      return keys
    },
  }
}

async function firstOrBase(
  place: TablePlace,
  request: CheckedAdd,
  reader: RowsReader,
  look: TableLook,
): Promise<ChangeResult | LinkBase> {
  return (await firstOfLook(place, request, look)) ?? baseOfLook(place, reader, look)
}

function firstOfLook(
  place: TablePlace,
  request: CheckedAdd,
  look: TableLook,
): Promise<ChangeResult | null> {
  return readAddRepeat(place, request, look.reader()).then(changedOf)
}

function readAddRepeat(
  { team, table }: TablePlace,
  { key }: Pick<CheckedAdd, 'key'>,
  read: ReadRecord,
): Promise<IdempotencyState | null> {
  return readIdempotency(team.options, table, key, read)
}

/** The first result of a key; null: there is none, or no key was given. */
function changedOf(repeat: IdempotencyState | null): ChangeResult | null {
  if (repeat === null || repeat.first === null) return null
  return { version: repeat.first.version, rowIds: rowIdsOf(repeat.first.runs) }
}

function planAdd(
  place: TablePlace,
  operation: CheckedAdd,
  reader: RowsReader,
  { base, rows, newSchema, receipt }: ReadyRows,
): Plan<ChangeResult | Moved> {
  const { team, table } = place
  return async (head, read) => {
    const repeat = await readAddRepeat(place, operation, read)
    const first = changedOf(repeat)
    if (first !== null) return { result: first }
    const moved = await whatMoved(base, head, read)
    if (moved !== null) return { result: moved }
    if (linkableCount(rows) === 0) {
      return { result: { version: head.version, rowIds: rowIdsOf([]) } }
    }
    const version = head.version + 1
    const { random } = team.options
    const before = head.generation
    const generation = newSchema === null ? before : underSchema(before, newSchema, version)
    const added = await appendRows(
      { read, random, table, generation, version, base: versionBase(team) },
      rows,
    )
    const { runs } = added
    const kept = saveResult(team, repeat, { operation: 'add', table, version, runs })
    const markers = await putMarkers(read, random, added.files)
    const puts = [...added.puts, ...kept.puts, ...markers]
    if (newSchema !== null) {
      puts.push(
        putSchema(table, generation, newSchema, version),
        ...hintOfTable(team, table, version),
      )
    }
    puts.push(...hintOfClosed(team, head, added.next, table))
    if ('segments' in rows) puts.push(...hintOfSegments(team, table, version))
    const own = checksOfObjects(place, reader)
    const checks = [...added.checks, ...checksOf(base.source), ...kept.checks]
    checks.push(...(isSync(own) ? own : await own))
    return {
      result: { version, rowIds: rowIdsOf(runs) },
      change: { next: added.next, puts, checks, operation: 'add', receipt },
    }
  }
}
