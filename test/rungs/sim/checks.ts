// Compares everything that can be read with the oracle, and, at the end of a history, everything stored with what is
// needed.
import { KEY_SPACE } from '../../../src/format/keys.js'
import type { RowWithId } from '../../../src/index.js'
import { changedRows, type SeenRows } from '../../support/replay-changes.js'
import { expectEqual, Mismatch, show } from '../model/operation.js'
import { matchRows, type StoredCells } from './operations.js'
import type { ModelFile, ModelTable, Oracle, Possible, TableState } from './oracle.js'
import { applyInSomeOrder, likelyState, showRows, showState } from './oracle.js'
import { type SimWorld, TEAM } from './world.js'

/** Reads everything, and adopts which of the possible states is real. */
export async function readAll(world: SimWorld, oracle: Oracle): Promise<void> {
  const listed = await world.outcomeOf(() => world.team.tables())
  if (listed.kind === 'done') {
    takeOverTables(oracle, listed.value as readonly Readonly<{ id: string; name: string }>[])
  }
  for (const table of oracle.knownTables()) await readTable(world, oracle, table)
  for (const file of [...oracle.files.values()]) await readFile(world, oracle, file)
}

function takeOverTables(
  oracle: Oracle,
  listed: readonly Readonly<{ id: string; name: string }>[],
): void {
  const left = new Map(listed.map(({ id, name }) => [id, name]))
  for (const table of oracle.tables) {
    // A table whose ID nobody was told cannot have been renamed.
    const [id] = [...left].find(([id, name]) => {
      return table.id === null ? name === table.name : id === table.id
    }) ?? [null]
    const name = id === null ? null : left.get(id)
    if (id !== null) left.delete(id)
    const possible = applyInSomeOrder(table.possible, [])
    const fitting = possible.filter(({ state }) => (state?.name ?? null) === name)
    if (fitting.length === 0) {
      const before = showPossible(table)
      throw new Mismatch(`${table.name} is listed as ${name}, and must be ${before}`)
    }
    table.possible = fitting
    table.id ??= id
  }
  if (left.size > 0) throw new Mismatch(`Tables that nobody made: ${[...left.values()].join()}`)
}

async function readTable(world: SimWorld, oracle: Oracle, table: ModelTable): Promise<void> {
  const target = world.team.table(table.id ?? '')
  const found = await world.outcomeOf(async () => {
    const version = await target.version()
    const rows: RowWithId[] = []
    for await (const row of target.scan()) rows.push(row)
    const { columns } = await target.schema()
    const { key: [key = null] = [] } = await target.info()
    return { version, rows, hasFiles: columns.some(({ id }) => id === 'f'), key }
  })
  if (found.kind === 'unknown') return
  if (found.kind === 'failed') {
    const mayBeGone = table.possible.some(({ state }) => state === null)
    if (world.isOfDisk(found.failure) || mayBeGone) return
    throw new Mismatch(`${table.name} cannot be read: ${found.failure.message}`)
  }
  const { version, rows, hasFiles, key } = found.value as {
    version: number
    rows: RowWithId[]
    hasFiles: boolean
    key: string | null
  }
  // An operation without an answer may take effect while the database is reopened.
  table.possible = applyInSomeOrder(table.possible, [])
  const fitting = table.possible.flatMap(({ state, pending }): Possible[] => {
    if (state?.version !== version || state.hasFiles !== hasFiles || state.key !== key) return []
    const matched = matchRows(state.rows, rows)
    return matched === null ? [] : [{ state: { ...state, rows: matched }, pending }]
  })
  const [first] = fitting
  if (first?.state == null) {
    const shown = rows.map(({ n, v, f = '' }) => `${n}=${v}${f}`).join(' ')
    throw new Mismatch(
      `${table.name} must be\n  ${showPossible(table)}\nbut is\n  ${version} by ${key}: ${shown}`,
    )
  }
  oracle.note(table, version, showState(first.state))
  for (const row of first.state.rows) oracle.noteRow(row)
  table.possible = distinct(fitting)
  await readRow(world, table, first.state)
  await readByKey(world, table, first.state)
  await followChanges(world, oracle, table, { version, rows })
}

/** Applying the changes since the last read to its rows gives the current rows. */
async function followChanges(
  world: SimWorld,
  { base }: Oracle,
  table: ModelTable,
  now: SeenRows,
): Promise<void> {
  const { historyRetentionMs = 0 } = world.options.store
  const before = table.seen
  const at = world.clock.now()
  table.seen = historyRetentionMs > 0 ? { ...now, at, base } : null
  if (before === null || before.base !== base || table.seen === null) return
  const target = world.team.table(table.id ?? '')
  const found = await world.outcomeOf(async () => {
    let { version, rows } = before
    for await (const change of target.changes({ since: before.version })) {
      if (change.version > now.version) break // An operation without an answer took effect meanwhile.
      expectEqual('the version of a change', change.version, version + 1)
      version = change.version
      rows = await changedRows(target, change, rows, {})
    }
    return { version, rows }
  })
  if (found.kind === 'done') {
    expectEqual(`${table.name} by its changes since ${before.version}`, found.value, now)
  } else if (found.kind === 'failed' && !world.isOfDisk(found.failure)) {
    const isGone = found.failure.code === 'HISTORY_GONE' && at - before.at > historyRetentionMs
    if (isGone || found.failure.code === 'TABLE_NOT_FOUND') return
    throw new Mismatch(`The changes of ${table.name} cannot be read: ${found.failure.message}`)
  }
}

function showPossible({ possible }: ModelTable): string {
  return possible.map(({ state }) => showState(state)).join('\n  ')
}

/** States that read the same may differ in the versions of their rows, and in their pending operations. */
function distinct(possible: readonly Possible[]): Possible[] {
  const byText = new Map<string, Possible>()
  for (const one of possible) {
    const versions = one.state?.rows.map(({ version }) => version).join() ?? ''
    const adds = [...(one.state?.adds ?? [])].join()
    byText.set(`${versions} ${adds} ${one.pending.map(({ text }) => text).join()}`, one)
  }
  return [...byText.values()]
}

async function readRow(
  world: SimWorld,
  table: ModelTable,
  { rows }: NonNullable<TableState>,
): Promise<void> {
  const index = rows.length === 0 ? 0 : world.disk.steps % rows.length
  const row = rows[index]
  if (row === undefined) return
  const found = await world.outcomeOf(() => world.team.table(table.id ?? '').get(row.id ?? ''))
  if (found.kind !== 'done') {
    if (found.kind === 'unknown' || world.isOfDisk(found.failure)) return
    throw new Mismatch(`Row ${row.n} of ${table.name} cannot be read: ${found.failure.message}`)
  }
  const { row: cells, version } = found.value as { row: StoredCells; version: number }
  const fitting = table.possible.filter(({ state }) => state?.rows[index]?.version === version)
  if (fitting.length === 0 || matchRows([row], [cells]) === null) {
    const shown = `${cells['n']}=${cells['v']} of version ${version}`
    throw new Mismatch(`Row ${showRows([row])} of version ${row.version} is ${shown}`)
  }
  table.possible = fitting
}

/** In a table with a key, each row is found by it, and no row by an unused key. */
async function readByKey(
  world: SimWorld,
  table: ModelTable,
  { key, rows }: NonNullable<TableState>,
): Promise<void> {
  if (key === null) return
  const absent = key === 'n' ? -1 : 'no row'
  for (const value of [...rows.flatMap((row) => row[key] ?? []), absent]) {
    const found = await world.outcomeOf(() =>
      world.team.table(table.id ?? '').get({ [key]: value }),
    )
    if (found.kind === 'unknown') return
    if (found.kind === 'failed') {
      if (world.isOfDisk(found.failure)) return
      throw new Mismatch(
        `${table.name} cannot be read by ${key} ${value}: ${found.failure.message}`,
      )
    }
    const { row } = (found.value as { row: StoredCells } | null) ?? { row: null }
    const wanted = rows.filter((one) => one[key] === value)
    if (matchRows(wanted, row === null ? [] : [row]) !== null) continue
    throw new Mismatch(
      `${table.name} has by ${key} ${value}: ${showRows(wanted)}, not ${show(row)}`,
    )
  }
}

async function readFile(world: SimWorld, oracle: Oracle, file: ModelFile): Promise<void> {
  // A part of a file is checked only by its leaves, the whole file also by its digest.
  const start = world.disk.steps % 3 === 0 ? 0 : 1
  const range = start === 0 ? undefined : { start, limit: file.content.length }
  const found = await world.outcomeOf(async () => {
    const open = await world.team.files.get(file.id)
    if (open === null) return null
    const pieces: Uint8Array[] = []
    for await (const piece of open.stream(range)) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  })
  if (found.kind === 'unknown') return
  if (found.kind === 'failed') {
    if (world.isOfDisk(found.failure)) return
    throw new Mismatch(`The ${file.content} cannot be read: ${found.failure.message}`)
  }
  if (found.value === null && file.mayBeGone) {
    oracle.files.delete(file.id)
  } else if (found.value === null) {
    const age = world.clock.now() - file.completedAt
    const isOld = age > (world.options.store.fileRetentionMs ?? Number.POSITIVE_INFINITY)
    if (!isOld) throw new Mismatch(`The ${file.content} is gone after ${age} ms`)
    if (oracle.heldFiles().has(file.id)) {
      throw new Mismatch(`The ${file.content} is gone, and a row names it`)
    }
    oracle.files.delete(file.id)
  } else expectEqual(`the bytes of ${file.content}`, found.value, file.content.slice(start))
}

/** After an accepted loss: nothing is there that never existed, and no version is reused. */
export async function checkRemains(world: SimWorld, oracle: Oracle): Promise<void> {
  const listed = await world.outcomeOf(() => world.team.tables())
  if (listed.kind !== 'done') return
  for (const { id, name } of listed.value as readonly Readonly<{ id: string; name: string }>[]) {
    const table = oracle.tables.find((one) => one.id === id || one.name === name)
    if (table === undefined) throw new Mismatch(`A table that nobody made: ${name}`)
    const target = world.team.table(id)
    const found = await world.outcomeOf(async () => {
      const version = await target.version()
      const rows: StoredCells[] = []
      for await (const row of target.scan()) rows.push(row)
      return { version, rows }
    })
    if (found.kind !== 'done') continue
    const { version, rows } = found.value as { version: number; rows: StoredCells[] }
    if (version <= oracle.highest(table)) {
      throw new Mismatch(`${name} had version ${oracle.highest(table)}, and has ${version} now`)
    }
    for (const { n, v } of rows) {
      if (!oracle.wasText(n, v)) throw new Mismatch(`Row ${n} of ${name} never was ${v}`)
    }
  }
}

const RUNS_MAX = 12
const LONG_MS = 40 * 24 * 3_600_000

/** Ends everything that may end, and checks what remains. Nothing fails any more. */
export async function checkNothingIsLeft(world: SimWorld, oracle: Oracle): Promise<void> {
  for (const { id } of oracle.knownTables()) {
    await world.team.table(id ?? '').overwrite({ rows: [] })
  }
  for (const id of oracle.stashes.keys()) await world.team.stash(id).delete()
  // The first garbage collection expires stashes of jobs whose start crashed; the second forgets that they expired.
  for (let round = 0; round < 2; round++) {
    world.clock.pass(LONG_MS)
    await maintainToTheEnd(world)
  }
  const counts = await countRecords(world)
  const tables = oracle.knownTables().length
  const { catalog, tableHead, log } = KEY_SPACE
  const heads = { [catalog]: tables, [tableHead]: tables, [log]: tables }
  const history = counts[KEY_SPACE.change]
  const keyed = oracle.knownTables().filter((table) => likelyState(table)?.key != null).length
  const expected = {
    // Records up to where the changes of a table were deleted.
    ...(history !== undefined && { [KEY_SPACE.change]: Math.min(history, tables) }),
    ...(tables > 0 && { [KEY_SPACE.schema]: tables, ...heads }),
    ...(keyed > 0 && { [KEY_SPACE.keyIndex]: keyed }),
    // It stays after all tables were deleted.
    ...((tables > 0 || counts[KEY_SPACE.teamHead] === 1) && { [KEY_SPACE.teamHead]: 1 }),
    ...(counts[KEY_SPACE.filesHead] !== undefined && { [KEY_SPACE.filesHead]: 1 }),
  }
  expectEqual('the number of records in each key space', counts, expected)
  expectEqual('the objects', await world.objects.list(''), [])
}

async function maintainToTheEnd(world: SimWorld): Promise<void> {
  const orphanGraceMs = world.options.store.orphanGraceMs ?? 0
  for (let runs = 0; runs < RUNS_MAX; runs++) {
    world.clock.pass(orphanGraceMs)
    const report = await world.store.maintain()
    if (runs > 1 && Object.values(report).every((count) => count === 0)) return
  }
  throw new Mismatch(`There is still something to do after ${RUNS_MAX} garbage collections`)
}

const EVERYTHING = { start: new Uint8Array(0), limit: Uint8Array.of(0xff), count: 100_000 }

async function countRecords({ kv }: SimWorld): Promise<Record<number, number>> {
  const entries = await kv.partition(TEAM).read((view) => view.scan(EVERYTHING))
  const counts: Record<number, number> = {}
  for (const [key] of entries) counts[key[0] ?? 0] = (counts[key[0] ?? 0] ?? 0) + 1
  return counts
}
