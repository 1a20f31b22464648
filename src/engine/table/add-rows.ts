// Adds rows to a table. The last step runs in the table's commit queue, on the table's current head.
import { type Awaitable, chain } from '../../base/awaitable.js'
import { schemaKey } from '../../format/keys.js'
import type { TableHead } from '../../format/records.js'
import type { ReadRecord } from '../../kv/kv.js'
import { readAwaitable } from '../../kv/read-awaitable.js'
import { putMarkers } from '../commit/file-markers.js'
import {
  type IdempotencyState,
  readIdempotency,
  recordsOfResult,
  saveResult,
} from '../commit/idempotency.js'
import type { AheadOfTurn, TableLook } from '../commit/table-looks.js'
import type { Plan, Planned } from '../commit/table-writer.js'
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
    ? readAwaitable(team.partition, (view) =>
        // A missing table is refused first.
        chain(readHead(team, view, table, tableId), () =>
          chain(
            readAddRepeat(place, request, (key) => view.get(key)),
            changedOf,
          ),
        ),
      )
    : firstOfLook(place, request, seen))
  if (first !== null) return first
  const { onSchemaError } = request
  const expected = { readSchema: () => readSchema(place), onSchemaError }
  const reader = new RowsReader(team, 'add', request.rows, request.signal, expected)
  const prepare = () => reader.prepare(request.rows)
  return linkUntilDone(reader, prepare, async () => {
    const look = seen ?? (ahead && (await team.writers.look(place, ahead)))
    seen = undefined // The next attempt looks again.
    const base = await (look === undefined
      ? readAwaitable(team.partition, (view) =>
          chain(
            readAddRepeat(place, request, (key) => view.get(key)),
            (repeat): Awaitable<ChangeResult | LinkBase> =>
              changedOf(repeat) ?? readLinkBase(place, reader, view),
          ),
        )
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

/** @returns undefined: the store is not shared, so nothing is read ahead */
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
): Awaitable<ChangeResult | null> {
  return chain(readAddRepeat(place, request, look.reader()), changedOf)
}

function readAddRepeat(
  { team, table }: TablePlace,
  { key }: Pick<CheckedAdd, 'key'>,
  read: ReadRecord,
): Awaitable<IdempotencyState | null> {
  return key === undefined ? null : readIdempotency(team.options, table, key, read)
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
  ready: ReadyRows,
): Plan<ChangeResult | Moved> {
  const { base, rows } = ready
  return (head, read) =>
    chain(readAddRepeat(place, operation, read), (repeat) => {
      const first = changedOf(repeat)
      if (first !== null) return { result: first }
      return chain(
        whatMoved(base, head, read),
        (moved): Awaitable<Planned<ChangeResult | Moved>> => {
          if (moved !== null) return { result: moved }
          if (linkableCount(rows) > 0) return planLink(place, reader, ready, repeat, { head, read })
          return { result: { version: head.version, rowIds: rowIdsOf([]) } }
        },
      )
    })
}

function planLink(
  place: TablePlace,
  reader: RowsReader,
  { base, rows, newSchema, receipt }: ReadyRows,
  repeat: IdempotencyState | null,
  { head, read }: Readonly<{ head: TableHead; read: ReadRecord }>,
): Awaitable<Planned<ChangeResult>> {
  const { team, table } = place
  const version = head.version + 1
  const { random } = team.options
  const before = head.generation
  const generation = newSchema === null ? before : underSchema(before, newSchema, version)
  const start = { read, random, table, generation, version, base: versionBase(team) }
  return chain(appendRows(start, rows), (added) => {
    const { runs } = added
    const saved = () => saveResult(team, repeat, { operation: 'add', table, version, runs })
    return chain(putMarkers(read, random, added.files), (markers) =>
      chain(checksOfObjects(place, reader), (own) =>
        chain(saved(), (kept) => {
          const puts = [...added.puts, ...kept.puts, ...markers]
          if (newSchema !== null) {
            puts.push(
              putSchema(table, generation, newSchema, version),
              ...hintOfTable(team, table, version),
            )
          }
          puts.push(...hintOfClosed(team, head, added.next, table))
          if ('segments' in rows) puts.push(...hintOfSegments(team, table, version))
          const checks = [...added.checks, ...checksOf(base.source), ...kept.checks, ...own]
          return {
            result: { version, rowIds: rowIdsOf(runs) },
            change: { next: added.next, puts, checks, operation: 'add', receipt },
          }
        }),
      ),
    )
  })
}
