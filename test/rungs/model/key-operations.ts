// Operations that set, change, remove and use the key of a table.
import type { KeyValues } from '../../../src/engine/types/call-types.js'
import { canonicalToken } from '../../../src/format/row-values.js'
import type { ReadResult } from '../../../src/index.js'
import { parseRendered } from '../../../src/schema/parse-rendered.js'
import type { ModelSchema } from './cell-rules.js'
import {
  type Cells,
  INVALID,
  isRefusedByKey,
  type Key,
  keyText,
  kindOf,
  namedRows,
} from './key-rules.js'
import { expectEqual, expectFailure, expectValue, type Operation } from './operation.js'
import { currentOf, rowJsonOf, shownCells } from './oracle.js'
import { type IfMatch, isPast, onTable, type TableTarget, tableOf } from './row-operations.js'

export function alterKey(
  target: TableTarget,
  { key, ifMatch }: Readonly<{ key: Key; ifMatch: IfMatch }>,
): Operation {
  return {
    text: `alter the key to ${key === null ? 'none' : key.join()} ifMatch ${ifMatch}`,
    run: (world) => tableOf(world, target).alter({ key, ifMatch }),
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        if (isPast(ifMatch, table)) return expectFailure(outcome, { code: 'PRECONDITION_FAILED' })
        if (key?.join() !== table.key?.join()) {
          const { schema: after, rows } = currentOf(table)
          const change = { before: null, after, rows: namedRows(rows) }
          if (isRefusedByKey(outcome, key, change)) return
          table.version++
          table.key = key
        }
        expectEqual('the result', expectValue(outcome), { version: table.version })
      })
    },
  }
}

/** The values of a key as a program passes them. */
export function keyValues(key: readonly string[], cells: Cells, schema: ModelSchema): KeyValues {
  const shown = new Map(shownCells({ cells }, schema))
  return Object.fromEntries(key.map((id) => [id, givenValue(shown.get(id) ?? '""')]))
}

function givenValue(token: string): string | number | bigint | boolean {
  return /^-?\d+$/.test(token) ? BigInt(token) : JSON.parse(token)
}

function tokenOf(value: unknown): string {
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}

function fitsKind(value: unknown, kind: string | undefined): boolean {
  if (kind === 'number') return typeof value === 'number' || typeof value === 'bigint'
  return typeof value === (kind === 'boolean' ? 'boolean' : 'string')
}

const READS = 3

export function getByKey(target: TableTarget, values: KeyValues): Operation {
  const ids = Object.keys(values)
  const shown = ids.map((id) => `${id}: ${tokenOf(values[id])}`)
  return {
    text: `get the row with the key ${shown.join(', ')}`,
    async run(world) {
      const table = tableOf(world, target)
      // Repeated reads cache the row, and later ones come from the cache.
      for (let time = 1; time < READS; time++) await table.get(values)
      return table.get(values)
    },
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        const { key } = table
        const generation = currentOf(table)
        const { schema, rows } = generation
        const isKey = key?.length === ids.length && key.every((id) => ids.includes(id))
        if (!isKey || !key.every((id) => fitsKind(values[id], kindOf(schema, id)))) {
          return expectFailure(outcome, INVALID)
        }
        const wanted = JSON.stringify(key.map((id) => canonicalToken(tokenOf(values[id]))))
        const row = rows.find(({ gone, cells }) => {
          return !gone && keyText(key, cells, schema) === wanted
        })
        const found = expectValue(outcome) as ReadResult | null
        if (row === undefined) return expectEqual('the row', found, null)
        const expected = { row: parseRendered(rowJsonOf(row, generation)), version: row.version }
        expectEqual('the row', found, expected)
      })
    },
  }
}

/** All rows with a key are found by it, and it is the key that the table reports. */
export function getAllByKey(target: TableTarget): Operation {
  return {
    text: 'get the rows by their keys',
    async run(world) {
      const table = tableOf(world, target)
      const { key = null } = await table.info()
      const { columns } = await table.schema()
      const found: (readonly [string, string | null])[] = []
      for await (const { $rowID, ...cells } of table.scan({ numbers: 'text' })) {
        if (key === null || !key.every((id) => Object.hasOwn(cells, id))) continue
        const values = key.map((id) => {
          const isNumber = columns.find((column) => column.id === id)?.type.kind === 'number'
          return [id, isNumber ? givenValue(String(cells[id])) : cells[id]] as const
        })
        const result = await table.get(Object.fromEntries(values) as KeyValues)
        found.push([$rowID, result?.row.$rowID ?? null])
      }
      return { key, found }
    },
    check(state, outcome) {
      onTable(state, target, outcome, ({ key, generations }) => {
        const { rows, schema } = currentOf({ generations })
        const keyed = rows.filter(({ gone, cells }) => {
          return key !== null && !gone && keyText(key, cells, schema) !== null
        })
        const found = keyed.map(({ id }) => [id, id])
        expectEqual('the rows by their keys', expectValue(outcome), { key, found })
      })
    },
  }
}
