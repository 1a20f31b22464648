// Concurrent operations on two stores that share their ports, in the order that a scheduler gives their steps. Then one
// order of whole operations must explain every answer and the final content.
import type { Scheduler } from 'fast-check'
import { toHex } from '../../../src/base/bytes.js'
import { indexOfKey, KEY_ENTRIES_RANGE, KEY_INDEXES_RANGE } from '../../../src/format/key-index.js'
import type { RowWithId, StoreError, StoreOptions, Table } from '../../../src/index.js'
import { isStoreError, openLevelKv, openStore } from '../../../src/index.js'
import type { KvStore, ObjectStore, UrlFetcher } from '../../../src/ports.js'
import { FaultDisk } from '../../conformance/faults/fault-disk.js'
import { type TestClock, testClock } from '../../conformance/test-clock.js'
import { joinedMaintenance, QUIET } from '../../support/maintenance.js'
import { Mismatch, show } from '../model/operation.js'
import { seededRandom } from '../model/seeded.js'
import { groupsBeside, logBeside, searchBeside } from './find-beside.js'
import { alterKey, getBeside, inTransaction, retypeKey, updateAndAdd } from './key-operations.js'
import { updateRows } from './life-operations.js'
import {
  changeTable,
  createTable,
  deleteRow,
  maintainBeside,
  matchRows,
  type OperationPlace,
  putChunk,
  type RowsOf,
  readBeside,
  type SimOperation,
  updateRow,
} from './operations.js'
import type { KeyColumn, ModelTable, Outcome } from './oracle.js'
import { applyInSomeOrder, likelyState, Oracle, showState } from './oracle.js'
import { scheduledKv, scheduledObjects, type Turn, turnsOf } from './scheduled-ports.js'
import { SETTLES, TEAM } from './world.js'

export type RaceSpec = Readonly<{
  /** Which of the two stores. */
  at: 0 | 1
  what:
    | 'add'
    | 'add stash'
    | 'overwrite'
    | 'overwrite if'
    | 'update'
    | 'update if'
    | 'delete'
    | 'read'
    | 'search'
    | 'groups'
    | 'log'
    | 'add twin'
    | 'take text'
    | 'give key'
    | 'take key'
    | 'get by key'
    | 'retype'
    | 'recompression'
  row: number
}>

export type Race = Readonly<{
  specs: readonly RaceSpec[]
  options: Pick<StoreOptions, 'inlineRowsMax' | 'cacheBytesMax'>
  /** The key with which the table is created. */
  key: KeyColumn | null
  /** Whether a recompression runs. The operations begin when it is about to swap the first segment. */
  settles: boolean
  /** false: commits lose their checks, to prove that the race detects it. */
  checks: boolean
}>

/** More conflicts in a key, in races on a table with one. */
export type KeyPast = Readonly<{
  /**
   * Before the race, the row that had the text of the twins was deleted, or has another; or a key is on empty cells.
   */
  before: 'nothing' | 'deleted' | 'changed' | 'empty'
  /** Whether twins come in pairs. */
  doubles: boolean
  /** Whether twins come in transactions. */
  transacts: boolean
}>

const NO_PAST: KeyPast = { before: 'nothing', doubles: false, transacts: false }

/** Tells that something begins. @returns a function that tells that it has ended. */
export type Begin = (name: string) => () => void

export const GRACE_MS = 60_000

export const NO_DISK = { isOfDisk: () => false }

/** The text that several operations of a race give to rows. */
const TWIN = 'twin'

/** @throws {Mismatch} if no order of the operations explains their answers */
export async function runRace(
  race: Race,
  scheduler: Scheduler,
  given: KeyPast,
  begin: Begin,
): Promise<void> {
  const past = race.key === 'v' ? given : NO_PAST
  const oracle = new Oracle()
  let turn: Turn = (_, step) => step()
  const puts: Puts = { next: () => undefined }
  const clock = testClock()
  const ports = { clock, puts, turn: (text, step) => turn(text, step) } satisfies Ports
  const { places, kv } = await openPlaces(race, ports)
  const [first] = places
  if (first === undefined) throw new Error('There are two stores')
  const stash = oracle.stash('s')
  const rows = oracle.newRows(2, null)
  await putChunk(stash, '0', rows, 'json').run(first)
  stash.chunks.set('0', [rows])
  const table = await makeTable(race.key, past, oracle, first)
  const operations = race.specs.map((spec) => bind(spec, oracle, table, past))
  const settling = race.settles
    ? await beginSettle(first, puts, () => {
        turn = turnsOf(scheduler)
      })
    : null
  turn = turnsOf(scheduler)
  const endSettling = settling === null ? undefined : begin('recompression')
  const running = operations.map(async (operation, i) => {
    const { at = 0, what = 'read' } = race.specs[i] ?? {}
    const end = begin(what)
    return outcomeOf(operation, places[at] ?? first).finally(end)
  })
  const outcomes = await scheduler.waitFor(Promise.all(running))
  await scheduler.waitFor(settling?.ended ?? Promise.resolve())
  endSettling?.()
  turn = (_, step) => step()
  settle(table, operations, outcomes)
  await checkTable(table, places)
  if (race.key !== null) await checkIndexes(first, kv, table)
  if (settling === null) return
  await checkSwapped(first, clock)
  await checkTable(table, places)
}

async function makeTable(
  key: KeyColumn | null,
  { before }: KeyPast,
  oracle: Oracle,
  place: OperationPlace,
): Promise<ModelTable> {
  const meetsTwins = before === 'deleted' || before === 'changed'
  const rows = oracle.newRows(3, null).map((row, i) => {
    return meetsTwins && i === 0 ? { ...row, v: TWIN } : row
  })
  const create = createTable(NO_DISK, oracle, { rows, form: 'objects' }, { key })
  const { table } = create
  if (table === null) throw new Error('A table is created')
  settle(table, [create], [await outcomeOf(create, place)])
  const first = likelyState(table)?.rows[0]
  if (before === 'nothing' || first === undefined) return table
  const then = {
    deleted: () => deleteRow(NO_DISK, table, first),
    changed: () => updateRow(NO_DISK, oracle, table, first, undefined),
    empty: () => alterKey(NO_DISK, table, 'f'),
  }[before]()
  settle(table, [then], [await outcomeOf(then, place)])
  return table
}

/** What is called before each put of an object. */
type Puts = { next: () => void }

/**
 * A recompression, which runs freely until it is about to swap its first segment.
 * @param begin - From here on its steps wait for their turns.
 */
async function beginSettle(
  { store }: OperationPlace,
  puts: Puts,
  begin: () => void,
): Promise<Readonly<{ ended: Promise<unknown> }>> {
  const put = new Promise<void>((resolve) => {
    puts.next = () => {
      begin()
      resolve()
    }
  })
  const ended = store.maintain()
  await Promise.race([put, ended])
  puts.next = () => undefined
  return { ended }
}

/** Old objects are deleted, and nothing needs them. */
async function checkSwapped({ store }: OperationPlace, clock: TestClock): Promise<void> {
  for (let runs = 0; runs < 3; runs++) {
    clock.pass(GRACE_MS)
    await store.maintain()
  }
  const { findings } = await store.verify({ full: true })
  if (findings.length > 0) throw new Mismatch(`It is not clean: ${show(findings)}`)
}

/** A garbage collection leaves the index of the table's key, and no other. */
async function checkIndexes({ store, team }: OperationPlace, kv: KvStore, table: ModelTable) {
  await store.maintain()
  await checkTable(table, [{ store, team }])
  const { key } = await team.table(table.id ?? '').info()
  const keys = await kv.partition(TEAM).read(async (view) => {
    const ranges = [KEY_ENTRIES_RANGE, KEY_INDEXES_RANGE]
    const found = await Promise.all(ranges.map((range) => view.scan({ ...range, count: 10_000 })))
    return found.flat().map(([record]) => record)
  })
  const indexes = new Set(keys.map((record) => toHex(indexOfKey(record).index)))
  if (indexes.size === (key === undefined ? 0 : 1)) return
  throw new Mismatch(`A table with the key ${key} has the indexes ${[...indexes].join()}`)
}

type Ports = Readonly<{ clock: TestClock; puts: Puts; turn: Turn }>

/** The URL of a file that all stores can fetch. */
export const IMPORTED = 'https://example.com/rows.csv'

const SOURCES: UrlFetcher = {
  async fetch(url) {
    async function* body(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode('n\n1\n2\n')
    }
    const about = { url, contentType: 'text/csv', fileName: undefined }
    return { ...about, body: body(), close: () => undefined }
  },
}

export type Places = Readonly<{
  places: readonly OperationPlace[]
  /** Without turns, like `objects`. */
  kv: KvStore
  objects: ObjectStore
}>

/** Opens two stores on the same ports. */
export async function openPlaces(
  race: Readonly<{ options: StoreOptions; checks: boolean }>,
  { clock, puts, turn }: Ports,
): Promise<Places> {
  const disk = new FaultDisk({ seed: 1 })
  const kv = await openLevelKv(disk.level())
  const objects = disk.objects()
  const random = seededRandom(1)
  const opening = [0, 1].map(async () => {
    const store = await openStore({
      ...race.options,
      ...SETTLES,
      maintenance: joinedMaintenance(race.options.maintenance, SETTLES.maintenance, QUIET),
      orphanGraceMs: GRACE_MS,
      clock,
      random,
      sources: SOURCES,
      kv: scheduledKv(kv, turn, race.checks),
      objects: scheduledObjects(objects, turn, () => puts.next()),
    })
    return { store, team: store.team(TEAM) }
  })
  return { places: await Promise.all(opening), kv, objects }
}

export function bind(
  { what, row }: RaceSpec,
  oracle: Oracle,
  table: ModelTable,
  { doubles, transacts }: KeyPast = NO_PAST,
): SimOperation {
  const wrapped = transacts ? inTransaction : (one: SimOperation) => one
  const state = likelyState(table)
  const target = state?.rows[row % state.rows.length]
  if (state === null || target === undefined) throw new Error('The table has rows')
  const own: RowsOf = { rows: oracle.newRows(1 + (row % 2), null), form: 'objects' }
  switch (what) {
    case 'add':
      return changeTable(NO_DISK, 'add', table, own, {})
    case 'add stash':
      return changeTable(NO_DISK, 'add', table, { stash: oracle.stash('s') }, {})
    case 'overwrite':
      return changeTable(NO_DISK, 'overwrite', table, own, {})
    case 'overwrite if':
      return changeTable(NO_DISK, 'overwrite', table, own, { ifMatch: state.version })
    case 'update':
      return updateRow(NO_DISK, oracle, table, target, undefined)
    case 'update if':
      return updateRow(NO_DISK, oracle, table, target, state.version)
    case 'delete':
      return deleteRow(NO_DISK, table, target)
    case 'read':
      return readBeside(NO_DISK, table)
    case 'search':
      return searchBeside(NO_DISK, table, row % 2 === 0 ? target.v : String(row))
    case 'groups':
      return groupsBeside(NO_DISK, table)
    case 'log':
      return logBeside(NO_DISK, table, state.version)
    case 'add twin': {
      const twins = oracle.newRows(doubles ? 2 : 1, null).map((one) => ({ ...one, v: TWIN }))
      return wrapped(changeTable(NO_DISK, 'add', table, { rows: twins, form: 'objects' }, {}))
    }
    case 'take text':
      if (doubles)
        return transacts ? updateAndAdd(NO_DISK, oracle, table, target) : exchange(table, row)
      return wrapped(updateRow(NO_DISK, oracle, table, target, undefined, TWIN))
    case 'give key':
      return alterKey(NO_DISK, table, row % 2 === 0 ? 'v' : 'n')
    case 'take key':
      return alterKey(NO_DISK, table, null)
    case 'retype':
      return state.key === 'n'
        ? retypeKey(NO_DISK, table, state.version)
        : readBeside(NO_DISK, table)
    case 'recompression':
      return maintainBeside()
    case 'get by key':
      return getBeside(NO_DISK, table, 'v', row % 2 === 0 ? TWIN : target.v)
  }
}

/** Two rows exchange their texts. */
function exchange(table: ModelTable, row: number): SimOperation {
  const rows = likelyState(table)?.rows ?? []
  const pair = [rows[row % rows.length], rows[(row + 1) % rows.length]] as const
  const [one, other] = pair
  if (one === undefined || other === undefined) throw new Error('The table has rows')
  const given =
    one === other
      ? [{ row: one, text: one.v }]
      : [
          { row: one, text: other.v },
          { row: other, text: one.v },
        ]
  return updateRows(NO_DISK, table, given)
}

export async function outcomeOf(operation: SimOperation, place: OperationPlace): Promise<Outcome> {
  try {
    const outcome: Outcome = { kind: 'done', value: await operation.run(place) }
    operation.settle?.(outcome)
    return outcome
  } catch (failure) {
    if (!isStoreError(failure)) throw failure
    return { kind: 'failed', failure: failure as StoreError }
  }
}

export function settle(
  table: ModelTable,
  operations: readonly SimOperation[],
  outcomes: readonly Outcome[],
): void {
  const applied = operations.map(({ text, apply }, i) => {
    return { text, apply, outcome: outcomes[i] ?? { kind: 'unknown' as const } }
  })
  const before = table.possible
  table.possible = applyInSomeOrder(before, applied)
  if (table.possible.length > 0) return
  const told = applied.map(({ text, outcome }) => `${text}: ${show(outcome)}`).join('\n  ')
  const from = before.map(({ state }) => showState(state)).join(' or ')
  throw new Mismatch(`In no order from ${from} this fits:\n  ${told}`)
}

async function checkTable(table: ModelTable, places: readonly OperationPlace[]): Promise<void> {
  for (const { team } of places) {
    const { version, rows } = await team.table(table.id ?? '').page()
    const fits = table.possible.some(({ state }) => {
      return state?.version === version && matchRows(state.rows, rows) !== null
    })
    if (fits) {
      await checkKeys(team.table(table.id ?? ''), rows)
      continue
    }
    const wanted = table.possible.map(({ state }) => showState(state)).join('\n  ')
    throw new Mismatch(`The table must be\n  ${wanted}\nbut is ${version}: ${show(rows)}`)
  }
}

/** Each row is found by its key. */
async function checkKeys(table: Table, rows: readonly RowWithId[]): Promise<void> {
  const { key: [key] = [] } = await table.info()
  if (key === undefined) return
  for (const { $rowID, ...cells } of rows) {
    const value = cells[key]
    if (typeof value !== 'string' && typeof value !== 'number') continue
    const found = await table.get({ [key]: value })
    if (found?.row.$rowID === $rowID) continue
    throw new Mismatch(`By ${key} ${value} must be ${$rowID}, but is ${show(found)}`)
  }
}
