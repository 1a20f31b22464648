// Operations on the life of a table: its name, and its end.
import { isDeepStrictEqual } from 'node:util'
import type { SchemaInput } from '../../../src/index.js'
import type { ModelSchema } from './cell-rules.js'
import { isRefusedByKey } from './key-rules.js'
import { expectEqual, expectFailure, expectValue, type Operation } from './operation.js'
import { changeSchema, currentOf } from './oracle.js'
import { type IfMatch, isPast, onTable, type TableTarget, tableOf } from './row-operations.js'

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

/** Drops columns, or adds some, without touching a row. */
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
