// The checks at the end of a run: everything that can be read equals the oracle, and after the last garbage collections
// nothing unneeded is stored.
import assert from 'node:assert/strict'
import { NO_BYTES, sameBytes } from '../../../src/base/bytes.js'
import { decodeExtentPage } from '../../../src/format/extent-page.js'
import { indexOfKey } from '../../../src/format/key-index.js'
import { KEY_SPACE, tableOfKey } from '../../../src/format/keys.js'
import { decodeTableHead } from '../../../src/format/records.js'
import { storedIn } from '../../../src/format/shared-objects.js'
import { damageOf } from '../../support/damage.js'
import { findSome } from './find-operations.js'
import type { SampleRow } from './input.js'
import { alterKey, getAllByKey } from './key-operations.js'
import { type Model, runAlone } from './model.js'
import type { Operation } from './operation.js'
import {
  currentOf,
  EXPIRED_KEPT_MS,
  type ModelRow,
  type ModelTable,
  type State,
  shownCells,
} from './oracle.js'
import { create, deleteStash, overwrite, putChunk } from './row-operations.js'
import { idsBeside } from './row-picks.js'
import {
  getRow,
  listTables,
  readPage,
  readSchema,
  readVersion,
  runMaintain,
  scanAll,
} from './table-operations.js'
import { OTHER_TEAM, TEAM, type World } from './world.js'

/** Rows of a table that are read by ID. The others are read only in pages. */
const ROWS_READ = 25

export async function checkAll(model: Model, world: World): Promise<void> {
  const check = (one: Operation): Promise<void> => runAlone(one, model, world)
  await check(listTables(0))
  for (const table of model.state.tables) {
    const target = { instance: 0, tableId: table.id }
    await check(readVersion(target))
    await check(readSchema(target))
    await check(scanAll(target))
    await check(findSome(target))
    await check(getAllByKey(target))
    for (const state of model.states) state.walks = []
    await check(readPage(target, null, { limit: undefined, parsed: false }))
    while (model.state.walks[0] !== undefined) {
      await check(readPage(target, model.state.walks[0], { limit: undefined, parsed: false }))
    }
    for (const rowId of someRowIds(table)) await check(getRow(target, rowId, false))
  }
}

function someRowIds({ generations }: ModelTable): string[] {
  const ids = generations.flatMap(({ rows }) => rows.map(({ id }) => id))
  const step = Math.max(1, Math.floor(ids.length / ROWS_READ))
  return ids.filter((_, i) => i % step === 0)
}

/** Creates a table from each stash, to see the content of the stashes. */
export async function checkStashes(model: Model, world: World): Promise<void> {
  for (const stash of stashIds(model)) {
    const request = { name: 'of a stash', ref: { stash }, schema: null } as const
    await runAlone(create(0, { ...request, onSchemaError: 'dropColumns', key: null }), model, world)
  }
}

/** Verification finds no damage, because there is none. */
export async function checkVerified(world: World): Promise<void> {
  assert.deepEqual(await damageOf(world.store(0)), [])
}

const REWRITE_STASH = 'rewrite'
const REWRITTEN_ROWS = 12

/**
 * Sends the rows of each table back, like clients that have read them: they keep their IDs. The first time one of them
 * is sent as a new row, whose ID gives the IDs of the neighbouring places. None of these finds a row, and a row sent
 * with one the second time does not replace the row there.
 */
export async function checkRewrites(model: Model, world: World): Promise<void> {
  const check = (one: Operation): Promise<void> => runAlone(one, model, world)
  for (const { id: tableId } of model.state.tables) {
    await rewrite(tableId, model, world, (ids) => [null, ...ids.slice(1)])
    const beside = idsBeside(rowsOf(model, tableId))
    for (const rowId of beside) await check(getRow({ instance: 0, tableId }, rowId, true))
    // Some rows are now duplicate, which a key refuses.
    const change = { key: null, ifMatch: undefined }
    if (model.state.tables.length % 2 > 0) await check(alterKey({ instance: 0, tableId }, change))
    await rewrite(tableId, model, world, (ids) => [...beside, ...ids])
  }
}

function rowsOf({ state }: Model, tableId: string): readonly ModelRow[] {
  return state.tables.find(({ id }) => id === tableId)?.generations.at(-1)?.rows ?? []
}

async function rewrite(
  tableId: string,
  model: Model,
  world: World,
  claimsOf: (ids: readonly string[]) => readonly (string | null)[],
): Promise<void> {
  const table = model.state.tables.find(({ id }) => id === tableId)
  if (table === undefined) return
  const { schema } = currentOf(table)
  const live = rowsOf(model, tableId).filter(({ gone }) => !gone)
  const sent = live.slice(0, REWRITTEN_ROWS)
  const claims = claimsOf(sent.map(({ id }) => id))
  const rows = claims.map((claim, i): SampleRow => {
    const row = sent.find(({ id }) => id === claim) ?? sent[i]
    if (row === undefined) return []
    return shownCells(row, schema).map(([id, json]) => [id, { json, field: json }])
  })
  const chunk = { rows: { form: 'json', rows, times: 1, claims } } as const
  await runAlone(putChunk(0, { stash: REWRITE_STASH, serial: '0', ref: chunk }), model, world)
  const request = { ref: { stash: REWRITE_STASH }, schema: null, ifMatch: table.version }
  const operation = overwrite({ instance: 0, tableId }, { ...request, onSchemaError: 'abort' })
  await runAlone(operation, model, world)
}

const RUNS_MAX = 10

/** How long the store keeps a finished job. */
const JOB_TTL_MS = 7 * 86_400_000

/**
 * Collects garbage until nothing is left to do: a compaction leaves an object that a later garbage collection deletes,
 * and a recompression returns, at least a millisecond later, to segments that a stash named.
 */
async function maintainAll(world: World): Promise<void> {
  for (let runs = 0; runs < RUNS_MAX; runs++) {
    world.clock.pass((world.profile.options.orphanGraceMs ?? 0) + 1)
    const { compactions, recompressed, objects } = await world.store(0).maintain()
    if (runs > 0 && compactions + recompressed + objects === 0) return
  }
  throw new Error(`there is still something to do after ${RUNS_MAX} garbage collections`)
}

/** IDs of stashes that may exist. */
function stashIds({ states }: Model): Set<string> {
  return new Set(states.flatMap(({ stashes }) => [...stashes.keys()]))
}

/**
 * Ends everything that may end, lets the grace period pass, and counts: the records must be those of the tables, and
 * the objects those that their extent pages name.
 */
export async function checkLeaks(model: Model, world: World): Promise<void> {
  const check = (one: Operation): Promise<void> => runAlone(one, model, world)
  await world.reopen(1) // All other openings have ended, so that its garbage collections delete their leftovers.
  for (const state of model.states) state.scans = []
  for (const stash of stashIds(model)) await check(deleteStash(0, stash))
  const { overwrittenRowsTtlMs, historyRetentionMs, idempotencyTtlMs } = world.profile.options
  // The hint of an expired stash stays until it is due, even if the stash was deleted.
  const kept = [overwrittenRowsTtlMs, historyRetentionMs, idempotencyTtlMs]
  const ttls = [...kept, JOB_TTL_MS, EXPIRED_KEPT_MS]
  world.clock.pass(Math.max(...ttls) + 1)
  await check(runMaintain(0))
  await maintainAll(world)

  const { records, named } = await census(world, model.state)
  const tables = model.state.tables.length
  const expected = {
    ...(records.teamHead === 1 && { teamHead: 1 }), // It stays after all tables were deleted.
    ...(tables > 0 && { teamHead: 1, catalog: tables, tableHead: tables, schema: tables }),
    ...(tables > 0 && { log: tables }), // the newest entry of each table
    ...(records.filesHead === 1 && { filesHead: 1 }), // It stays after all files were deleted.
    // Records up to where the changes of a table were deleted.
    ...(records.change !== undefined && { change: Math.min(tables, records.change) }),
  }
  assert.deepEqual(records, expected)
  assert.deepEqual(await listObjects(world), [...named].sort())
}

type Space = keyof typeof KEY_SPACE

const LOOKED_AT: readonly Space[] = ['row', 'extentPage', 'keyEntry', 'keyIndex']

/** Counts the team's records, except those that are checked one by one. */
async function census(
  world: World,
  state: State,
): Promise<{ records: Partial<Record<Space, number>>; named: Set<string> }> {
  const records: Partial<Record<Space, number>> = {}
  const named = new Set<string>()
  const entries = await readData(world, TEAM)
  const heads = new Map(
    entries
      .filter(([key]) => key[0] === KEY_SPACE.tableHead)
      .map(([key, value]) => [String(tableOfKey(key)), decodeTableHead(value)]),
  )
  for (const [key, value] of entries) {
    const space = spaceOf(key)
    if (!LOOKED_AT.includes(space)) {
      records[space] = (records[space] ?? 0) + 1
      continue
    }
    const generation = heads.get(String(tableOfKey(key)))?.generation
    if (space === 'keyEntry' || space === 'keyIndex') {
      const { index } = indexOfKey(key)
      assert.ok(sameBytes(index, generation?.keyIndex ?? NO_BYTES), 'an index is that of a key')
      continue
    }
    assert.ok(generation, 'rows and extent pages belong to tables')
    const place = numberAt(key, 17) * (space === 'extentPage' ? 256 : 1)
    const isInside = generation.firstExtent <= place && place < generation.nextExtent
    assert.ok(isInside, 'rows and extent pages belong to the generation of their table')
    if (space === 'row') continue
    for (const { segment } of decodeExtentPage(value)) {
      if (segment !== null) named.add(storedIn(segment))
    }
  }
  for (const { generation } of heads.values()) {
    if (generation.forward !== null) named.add(generation.forward.object)
  }
  const liveRows = [...heads.values()].map(({ generation }) => generation.liveRows)
  const expected = state.tables.map((table) => currentOf(table).rows.filter(({ gone }) => !gone))
  assert.deepEqual(liveRows.sort(), expected.map(({ length }) => length).sort())
  assert.deepEqual((await readData(world, OTHER_TEAM)).length, 0)
  return { records, named }
}

/** A team's records, without those of processes. */
async function readData(world: World, team: string): Promise<[Uint8Array, Uint8Array][]> {
  const all = await readAll(world, team)
  return all.filter(([key]) => !world.ports.kv.shared || !isOfProcess(key))
}

/** Whether a record belongs to a process that has a shared store open, not to the data. */
function isOfProcess(key: Uint8Array): boolean {
  const space: string = spaceOf(key)
  const isLastScan = space === 'workHint' && key.length === 2
  return space === 'writer' || space === 'duty' || isLastScan
}

function spaceOf(key: Uint8Array): Space {
  const found = Object.entries(KEY_SPACE).find(([, number]) => number === key[0])
  assert.ok(found, `${String(key[0])} is a key space`)
  return found[0] as Space
}

/** The six-byte number at an offset of a key. */
function numberAt(key: Uint8Array, offset: number): number {
  return key.subarray(offset, offset + 6).reduce((number, byte) => number * 256 + byte, 0)
}

async function readAll(world: World, team: string): Promise<[Uint8Array, Uint8Array][]> {
  const everything = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 100_000 }
  return world.ports.kv.partition(team).read((view) => view.scan(everything))
}

async function listObjects(world: World): Promise<string[]> {
  const { objects } = world.ports
  const all: string[] = []
  for (;;) {
    const ids = await objects.list('', all.at(-1))
    if (ids.length === 0) return all
    all.push(...ids)
  }
}
