// Finding rows: conditions on a table's values, and orders. Nothing else runs.
import type { ColumnType, RowWithId, TableSchema, Where } from '../../../src/index.js'
import { type Order, randomOrder } from '../../store/find-cases.js'
import { cellOf, matches, sorted } from '../../store/find-oracle.js'
import { type Seeded, seeded } from '../../support/seeded.js'
import { rowsAsText } from './many-operations.js'
import { expectEqual, expectValue, type Operation } from './operation.js'
import { currentOf } from './oracle.js'
import { onTable, type TableTarget, tableOf } from './row-operations.js'

/** Conditions to test per table. */
const TRIES = 4

type Found = Readonly<{
  where: Where
  orderBy: Order | undefined
  ids: readonly string[]
  count: number
}>

/** Finds and counts rows by conditions on values of some rows. */
export function findSome(target: TableTarget): Operation {
  return {
    text: 'find',
    async run(world) {
      const table = tableOf(world, target)
      const schema = await table.schema()
      const rows: RowWithId[] = []
      for await (const row of table.scan({ numbers: 'text' })) rows.push(row)
      const random = seeded(rows.length + 7 * schema.columns.length + 1)
      const found: Found[] = []
      for (let tries = 0; tries < TRIES && rows.length > 0 && schema.columns.length > 0; tries++) {
        const where = whereOf(random, schema, random.pick(rows))
        const ids: string[] = []
        const orderBy = random.once(2) ? randomOrder(random, schema) : undefined
        const options = orderBy && { orderBy }
        for await (const { $rowID } of table.find(where, options)) ids.push($rowID)
        const [{ count = -1 } = {}] = await table.groups({ by: [], where })
        expectEqual('the rows of a group', count, ids.length)
        found.push({ where, orderBy, ids, count: await table.count(where) })
      }
      const asked = rows.map(({ $rowID }) => $rowID).filter(() => random.once(2))
      const many = await table.getMany(asked)
      expectEqual(
        'the rows by ID',
        many.map((result) => result?.row.$rowID),
        asked,
      )
      return found
    },
    check(state, outcome) {
      onTable(state, target, outcome, (table) => {
        const generation = currentOf(table)
        const rows = rowsAsText(generation)
        for (const { where, orderBy, ids, count } of expectValue(outcome) as Found[]) {
          const matching = rows.filter((row) => matches(generation.schema, row, where))
          const expected = sorted(generation.schema, matching, orderBy ?? [])
          const told = `the rows that match ${JSON.stringify({ where, orderBy })}`
          expectEqual(
            told,
            ids,
            expected.map(({ $rowID }) => $rowID),
          )
          expectEqual(`the number of ${told}`, count, expected.length)
        }
      })
    },
  }
}

/** A condition on a cell of a row. */
export function whereOf(random: Seeded, { columns }: TableSchema, row: RowWithId): Where {
  const { id, type } = random.pick(columns)
  const name = id.startsWith('$') ? `$${id}` : id
  const cell = cellOf(row, id)
  if (cell === undefined) return { [name]: random.pick([null, { isEmpty: false }]) }
  return { [name]: testOf(random, type, cell) }
}

function testOf(random: Seeded, type: ColumnType, cell: unknown): NonNullable<Where[string]> {
  if (type.kind === 'array') {
    const [first] = cell as (string | boolean)[]
    return first === undefined ? { isEmpty: true } : { has: first }
  }
  const value = cell as string | boolean
  const equal = [{ eq: value }, { ne: value }, { in: [value] }]
  if (type.kind === 'boolean' || type.kind === 'duration') return random.pick(equal)
  if (type.kind === 'string' && random.once(3)) {
    return { contains: String(value).slice(1, 4).toUpperCase(), ignoreCase: true }
  }
  return random.pick([...equal, { gte: value }, { lt: value }])
}
