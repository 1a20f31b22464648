// Operations that bring URLs of files into tables and stashes, and remove them.
import type { RowsInput, Stash, Table } from '../../../src/index.js'
import { isStoreError } from '../../../src/index.js'
import { expectEqual, type Outcome } from '../model/operation.js'
import {
  type BoundRows,
  bindCells,
  bindRows,
  type CellSpec,
  type Cells,
  escapeIds,
  FileChoices,
  idsIn,
  type RowsSpec,
  rowOf,
  SCHEMA,
  withoutEmpty,
} from './cells.js'
import { check, expectCode, expectDone, type Operation, type Place } from './operation.js'
import {
  type ModelRow,
  type ModelStash,
  type ModelTable,
  type Oracle,
  overwriteRows,
  placeOfStash,
  placeOfTable,
  rowsOfStash,
} from './oracle.js'
import { readTableVersion } from './raw-state.js'
import type { World } from './world.js'

/** The source of the rows of an operation. */
export type Origin = Readonly<{ input: RowsInput; stash: null } | { input: null; stash: string }> &
  Readonly<{ rows: readonly ModelRow[] }>

export function originOfRows(spec: RowsSpec, oracle: Oracle, now: number): Origin {
  const { input, rows } = bindRows(spec, oracle, now)
  return { input, rows, stash: null }
}

export function originOfStash(id: string, stash: ModelStash): Origin {
  return { input: null, rows: rowsOfStash(stash), stash: id }
}

function inputOf(origin: Origin, world: World, instance: number): RowsInput | Stash {
  return origin.stash === null ? origin.input : world.team(instance).stash(origin.stash)
}

function placesOf(table: ModelTable | null, { stash }: Origin): string[] {
  return [
    ...(table === null ? [] : [placeOfTable(table.id)]),
    ...(stash === null ? [] : [placeOfStash(stash)]),
  ]
}

function told({ stash, rows }: Origin): string {
  return stash === null ? `${rows.length} rows` : `the stash ${stash}`
}

export function createTable(oracle: Oracle, origin: Origin): Operation {
  const name = `table ${oracle.nextNumber()}`
  const add = (id: string): void => {
    oracle.tables.push({ id, name, rows: origin.rows, retired: [] })
  }
  return {
    text: `create ${name} of ${told(origin)}`,
    places: placesOf(null, origin),
    readsRows: true,
    refused: 'never',
    async run(world, instance) {
      const rows = inputOf(origin, world, instance)
      return (await world.team(instance).createTable({ name, schema: SCHEMA, rows })).tableId
    },
    settle: (outcome) => add(expectDone(outcome) as string),
    async recover(world, instance) {
      const tables = await world.team(instance).tables()
      const made = tables.find((one) => one.name === name)
      if (made !== undefined) add(made.id)
    },
  }
}

/** A change of one table, in one commit per step. */
function change(
  table: ModelTable,
  text: string,
  places: readonly string[],
  run: (table: Table, world: World, instance: number) => Promise<unknown>,
  steps: readonly ((now: number) => void)[],
): Operation {
  let versionBefore = 0
  return {
    text: `${text} (${table.name})`,
    places,
    readsRows: true,
    refused: 'never',
    async run(world, instance) {
      versionBefore = await readTableVersion(world, table.id)
      return run(world.team(instance).table(table.id), world, instance)
    },
    settle(outcome, { now }) {
      expectDone(outcome)
      for (const step of steps) step(now)
    },
    async recover(world, _, { now }) {
      const done = (await readTableVersion(world, table.id)) - versionBefore
      check(done <= steps.length, () => `${text} is ${steps.length} commits, not ${done}`)
      for (const step of steps.slice(0, done)) step(now)
    },
  }
}

export function addRows(table: ModelTable, origin: Origin): Operation {
  const step = (): void => {
    table.rows = [...table.rows, ...origin.rows]
  }
  return change(
    table,
    `add ${told(origin)}`,
    placesOf(table, origin),
    (target, world, instance) => target.addRows(inputOf(origin, world, instance)),
    [step],
  )
}

export function overwrite(table: ModelTable, origin: Origin): Operation {
  return change(
    table,
    `overwrite with ${told(origin)}`,
    placesOf(table, origin),
    (target, world, instance) => target.overwrite({ rows: inputOf(origin, world, instance) }),
    [(now) => overwriteRows(table, origin.rows, now)],
  )
}

/** Overwrites a table with its own rows in another order. They keep their IDs. */
export function turnRows(table: ModelTable): Operation {
  return change(
    table,
    'overwrite with its own rows',
    [placeOfTable(table.id)],
    async (target) => target.overwrite({ rows: [...(await target.page()).rows].reverse() }),
    [(now) => overwriteRows(table, [...table.rows].reverse(), now)],
  )
}

/** Adds rows that the schema refuses, and that name files. */
export function addMisfits(
  table: ModelTable,
  cells: CellSpec,
  oracle: Oracle,
  now: number,
): Operation {
  const row = bindCells(cells, oracle.nextNumber(), new FileChoices(oracle, now))
  return {
    text: `add rows that do not fit (${table.name})`,
    places: [placeOfTable(table.id)],
    readsRows: true,
    refused: 'records',
    run: (world, instance) =>
      world
        .team(instance)
        .table(table.id)
        .addRows([withoutEmpty(row), { ...withoutEmpty(row), other: row.f ?? row.a }]),
    settle: (outcome) => void expectCode(outcome, 'COLUMN_ID_NOT_FOUND'),
    recover: async () => undefined,
  }
}

async function rowIdAt(table: Table, index: number): Promise<string> {
  const row = (await table.page()).rows[index]
  check(row !== undefined, () => `there must be a row ${index}`)
  return row?.$rowID ?? ''
}

/** Changes the cells of a row; `isText`: by JSON text, in which IDs have escapes. */
export function updateRow(
  table: ModelTable,
  index: number,
  cells: Cells,
  isText: boolean,
): Operation {
  const { n: _, ...changes } = cells
  const { f, a } = rowOf(cells)
  return change(
    table,
    `update row ${index} to ${JSON.stringify(changes)}${isText ? ' by text' : ''}`,
    [placeOfTable(table.id)],
    async (target) => {
      const rowId = await rowIdAt(target, index)
      return isText
        ? target.updateRowJson(rowId, escapeIds(JSON.stringify(changes)))
        : target.updateRow(rowId, changes)
    },
    [() => setRow(table, index, { f, a })],
  )
}

function setRow(table: ModelTable, index: number, cells: Partial<ModelRow>): void {
  table.rows = table.rows.map((row, i) => (i === index ? { ...row, ...cells } : row))
}

/** Moves the names in a row to another: first both rows have them, then only the other. */
export function moveNames(table: ModelTable, from: number, to: number): Operation {
  const [source, target] = [table.rows[from], table.rows[to]]
  const f = [...(source?.f ?? []), ...(target?.f ?? [])]
  const a = [...(source?.a ?? []), ...(target?.a ?? [])]
  return change(
    table,
    `move what row ${from} names to row ${to}`,
    [placeOfTable(table.id)],
    async (found) => {
      const [rowId, other] = [await rowIdAt(found, to), await rowIdAt(found, from)]
      await found.updateRow(rowId, { f: f.join(' ') || null, a })
      await found.updateRow(other, { f: null, a: null })
    },
    [() => setRow(table, to, { f, a }), () => setRow(table, from, { f: [], a: [] })],
  )
}

export function deleteRow(table: ModelTable, index: number): Operation {
  return change(
    table,
    `delete row ${index}`,
    [placeOfTable(table.id)],
    async (target) => target.deleteRow(await rowIdAt(target, index)),
    [
      () => {
        table.rows = table.rows.filter((_, i) => i !== index)
      },
    ],
  )
}

export function putChunk(
  oracle: Oracle,
  stash: string,
  serial: string,
  { input, rows, named }: BoundRows,
): Operation {
  return {
    text: `put the chunk ${serial} of the stash ${stash}`,
    places: [placeOfStash(stash)],
    readsRows: true,
    refused: 'never',
    async run(world, instance) {
      const target = world.team(instance).stash(stash)
      try {
        await target.put(serial, input)
      } catch (failure) {
        const isExpired = isStoreError(failure) && failure.code === 'STASH_NOT_FOUND'
        if (!isExpired || !oracle.expired.has(stash)) throw failure
        await target.delete() // as the error advises
        await target.put(serial, input)
      }
    },
    settle(outcome, { now }) {
      expectDone(outcome)
      const chunks = oracle.stashes.get(stash) ?? { createdAt: now, chunks: new Map() }
      chunks.chunks.set(serial, { rows, named, putAt: now, isSure: true })
      oracle.stashes.set(stash, chunks)
    },
    recover: (world, instance) => endStash(world, instance, oracle, stash),
  }
}

export function deleteStash(oracle: Oracle, stash: string): Operation {
  return {
    text: `delete the stash ${stash}`,
    places: [placeOfStash(stash)],
    readsRows: true,
    refused: 'never',
    run: (world, instance) => world.team(instance).stash(stash).delete(),
    settle(outcome: Outcome, _: Place) {
      expectDone(outcome)
      oracle.stashes.delete(stash)
    },
    recover: (world, instance) => endStash(world, instance, oracle, stash),
  }
}

/** A stash with unknown content. */
export async function endStash(
  world: World,
  instance: number,
  oracle: Oracle,
  stash: string,
): Promise<void> {
  await world.team(instance).stash(stash).delete()
  oracle.stashes.delete(stash)
}

/** The rows of every table, and what their cells name. */
export async function checkTables(world: World, instance: number, oracle: Oracle): Promise<void> {
  for (const table of oracle.tables) {
    const { rows } = await world.team(instance).table(table.id).page()
    const found = rows.map((row) => ({
      n: row['n'],
      f: idsIn(String(row['f'] ?? '')),
      a: idsIn(JSON.stringify(row['a'] ?? [])),
    }))
    expectEqual(`the rows of ${table.name}`, found, table.rows)
  }
}
