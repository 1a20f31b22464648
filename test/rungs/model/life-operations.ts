// Operations on the life of a table: its name, columns and deletion.
import { isDeepStrictEqual } from 'node:util'
import type { SchemaInput } from '../../../src/index.js'
import type { ModelSchema, Type } from './cell-rules.js'
import { INVALID, isRefusedByKey, type Key, namedRows } from './key-rules.js'
import {
  expectEqual,
  expectFailure,
  expectValue,
  type Operation,
  type Outcome,
} from './operation.js'
import { changeSchema, currentOf, type ModelTable } from './oracle.js'
import {
  type IfMatch,
  isPast,
  newGeneration,
  onTable,
  type TableTarget,
  tableOf,
} from './row-operations.js'

type Change = Readonly<{ ifMatch: IfMatch }>

export function renameTable(
  target: TableTarget,
  { name, ifMatch }: Change & Readonly<{ name: string }>,
): Operation {
  return {
    text: `rename to ${name} ifMatch ${ifMatch}`,
    run: (world) => tableOf(world, target).rename(name, { ifMatch }),
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        if (isPast(ifMatch, table)) return expectFailure(outcome, { code: 'PRECONDITION_FAILED' })
        if (table.name !== name) table.version++
        table.name = name
        expectEqual('the result', expectValue(outcome), { version: table.version })
      })
    },
  }
}

/** Drops columns, or adds some, without changing a row. */
export function alterTable(
  target: TableTarget,
  { schema, ifMatch }: Change & Readonly<{ schema: ModelSchema }>,
): Operation {
  return {
    text: `alter to ${schema.columns.map(({ id }) => id).join()} ifMatch ${ifMatch}`,
    run: async (world) => {
      const table = tableOf(world, target)
      const columns = (await table.schema()).columns.map(({ id }) => id)
      const drop = columns.filter((column) => !schema.columns.some(({ id }) => id === column))
      return table.alter({ schema: schema as SchemaInput, drop, ifMatch })
    },
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        if (isPast(ifMatch, table)) return expectFailure(outcome, { code: 'PRECONDITION_FAILED' })
        const generation = currentOf(table)
        const before = new Map(generation.schema.columns.map(({ id, type }) => [id, type]))
        const retypes = schema.columns.some(({ id, type }) => {
          const old = before.get(id)
          return old !== undefined && !isDeepStrictEqual(old, type)
        })
        if (retypes) return expectFailure(outcome, { code: 'REQUEST_VALIDATION_ERROR' })
        const keyed = { before: generation.schema, after: schema, rows: [] }
        if (isRefusedByKey(outcome, table.key, keyed)) return
        if (!isDeepStrictEqual(generation.schema, schema)) {
          table.version++
          const ids = new Set(schema.columns.map(({ id }) => id))
          generation.rows = generation.rows.map((row) => {
            return { ...row, cells: row.cells.filter(([id]) => ids.has(id)) }
          })
          changeSchema(generation, schema, table.version)
        }
        expectEqual('the result', expectValue(outcome), { version: table.version })
      })
    },
  }
}

type Wanted = Readonly<{ schema: ModelSchema; key: Key }>

/** Creates a table, or gives the oldest one with the name missing columns and wider types. */
export function ensureTable(
  instance: number,
  { name, schema, key }: Wanted & Readonly<{ name: string }>,
): Operation {
  return {
    text: `ensure "${name}" with ${schema.columns.map(({ id }) => id).join()}, unique by ${key}`,
    async run(world) {
      const request = { name, schema: schema as SchemaInput, ...(key && { key }) }
      const table = await world.team(instance).ensureTable(request)
      return { tableId: table.id, version: await table.version() }
    },
    check(state, outcome) {
      const table = state.tables.find((one) => one.name === name)
      if (table !== undefined) return checkEnsured(table, { schema, key }, outcome)
      if (isRefusedByKey(outcome, key, { before: null, after: schema, rows: [] })) return
      const { tableId, version } = expectValue(outcome) as Readonly<{
        tableId: string
        version: number
      }>
      expectEqual('the version', version, 1)
      state.tables.push({
        id: tableId,
        name,
        version,
        key,
        generations: [newGeneration([], schema)],
      })
    },
  }
}

function checkEnsured(table: ModelTable, wanted: Wanted, outcome: Outcome): void {
  const generation = currentOf(table)
  const after = ensuredSchema(table, wanted)
  if (after === null) {
    expectFailure(outcome, INVALID)
    return
  }
  const keyed = { before: generation.schema, after, rows: namedRows(generation.rows) }
  if (isRefusedByKey(outcome, table.key, keyed)) return
  if (!isDeepStrictEqual(generation.schema, after)) {
    table.version++
    changeSchema(generation, after, table.version)
  }
  const expected = { tableId: table.id, version: table.version }
  expectEqual('the table', expectValue(outcome), expected)
}

/** The columns of a table with the wanted ones; null: it has another key, or a type that cannot be widened so. */
function ensuredSchema(table: ModelTable, { schema, key }: Wanted): ModelSchema | null {
  if (key !== null && !isDeepStrictEqual(key, table.key)) return null
  const { columns } = currentOf(table).schema
  const types = new Map(schema.columns.map(({ id, type }) => [id, type]))
  if (columns.some(({ id, type }) => !isAtLeast(types.get(id) ?? type, type))) return null
  const kept = columns.map((column) => ({ ...column, type: types.get(column.id) ?? column.type }))
  const added = schema.columns.filter(({ id }) => !columns.some((column) => column.id === id))
  return { columns: [...kept, ...added] }
}

/** Whether a type accepts the values of another one, for the types in the schemas here. */
function isAtLeast(wider: Type, type: Type): boolean {
  if (isDeepStrictEqual(wider, type) || wider.kind === 'string') return true
  return wider.kind === 'dateTime' && type.kind === 'date'
}

export function deleteTable(target: TableTarget, { ifMatch }: Change): Operation {
  return {
    text: `delete the table ifMatch ${ifMatch}`,
    run: (world) => tableOf(world, target).delete({ ifMatch }),
    check(state, outcome, { now }) {
      onTable(state, target, outcome, (table) => {
        if (isPast(ifMatch, table)) return expectFailure(outcome, { code: 'PRECONDITION_FAILED' })
        expectEqual('the result', expectValue(outcome), undefined)
        currentOf(table).retired = { at: now, lastVersion: table.version }
        state.tables = state.tables.filter((other) => other !== table)
        state.walks = state.walks.filter(({ tableId }) => tableId !== table.id)
        state.dead.push(table)
      })
    },
  }
}
