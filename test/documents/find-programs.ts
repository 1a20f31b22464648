// The programs in READING.md that find rows.
import assert from 'node:assert/strict'
import { memory, type Program, runModule } from './run-module.js'

const find: Program = {
  document: 'src/guides/READING.md',
  begins: 'for await (const row of table.find(',
  declared: [
    "declare const table: import('rowstash').Table",
    'declare const rowIds: string[]',
  ].join(';'),
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const rows = [
      { id: 1, name: 'Ada', total: 34.5, paid: true },
      { id: 2, name: 'Bob', total: 1_500, paid: false },
    ]
    const made = await team.createTable({ name: 'Orders', rows })
    const printed: Readonly<Record<string, unknown>>[] = []
    await runModule(text, {
      table: team.table(made.tableId),
      rowIds: [...made.rowIds],
      console: { log: (row: Readonly<Record<string, unknown>>) => printed.push(row) },
    })

    const [first, second] = printed
    assert.deepEqual({ ...first, $rowID: '' }, { $rowID: '', ...rows[0] })
    assert.deepEqual({ ...second, $rowID: '' }, { $rowID: '', name: 'Ada' })
    assert.deepEqual(printed.slice(2), [1, 2, [1, 2]])
  },
}

const pagination: Program = {
  document: 'src/guides/READING.md',
  begins: 'let continuation',
  declared: "declare const table: import('rowstash').Table",
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const rows = Array.from({ length: 1_200 }, (_, id) => ({ id }))
    const { tableId } = await team.createTable({ name: 'Orders', rows })
    const printed: unknown[] = []
    const log = ({ id }: Readonly<{ id: unknown }>) => printed.push(id)
    await runModule(text, { table: team.table(tableId), console: { log } })

    assert.deepEqual(
      printed,
      rows.map(({ id }) => id),
    )
  },
}

const sort: Program = {
  document: 'src/guides/READING.md',
  begins: "const orderBy = [{ column: 'total'",
  declared: "declare const table: import('rowstash').Table",
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const rows = ['Zoe', 'Öhm', 'Ada'].map((name) => ({ name, total: 5, paid: name !== 'Zoe' }))
    const { tableId } = await team.createTable({ name: 'Orders', rows })
    const printed: unknown[] = []
    const log = (...values: unknown[]) => {
      const [first] = values as Readonly<{ name?: unknown }>[]
      printed.push(first?.name ?? values)
    }
    await runModule(text, { table: team.table(tableId), console: { log } })

    assert.deepEqual(printed, [[2, 2, undefined], 'Ada', 'Öhm', 'Zoe'])
  },
}

const group: Program = {
  document: 'src/guides/READING.md',
  begins: "const request = { by: ['name']",
  declared: "declare const table: import('rowstash').Table",
  async run({ text }, surroundings) {
    const team = (await memory(surroundings)).team('acme')
    const rows = [17.1, 0.2].map((total, id) => ({ id: id + 1, name: 'Ada', total }))
    const { tableId } = await team.createTable({ name: 'Orders', rows })
    const printed: unknown[] = []
    const log = (...values: unknown[]) => void printed.push(values)
    await runModule(text, { table: team.table(tableId), console: { log } })

    assert.deepEqual(printed, [[{ name: 'Ada' }, 2, { total: '17.3' }]])
  },
}

export const FIND_PROGRAMS: readonly Program[] = [pagination, find, sort, group]
