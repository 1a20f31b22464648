// Reads, concurrent with other operations, that find rows, count them, or follow the log. Each shows one moment.
import type { ChangeEntry, Table } from '../../../src/index.js'
import { show } from '../model/operation.js'
import { type DiskJudge, matchRows, refused, type SimOperation } from './operations.js'
import type { ModelTable, TableState } from './oracle.js'

type Groups = Awaited<ReturnType<Table['groups']>>

type LogPage = Awaited<ReturnType<Table['log']>>

type Rows = NonNullable<TableState>['rows']

type Read = Readonly<{
  text: string
  run: SimOperation['run']
  fits(value: unknown, state: NonNullable<TableState>): boolean
}>

function readOf(world: DiskJudge, table: ModelTable, { text, run, fits }: Read): SimOperation {
  return {
    text: `${text} ${table.name}`,
    table,
    readsObjects: true,
    run,
    apply: (state, outcome) => {
      if (outcome.kind === 'unknown') return []
      if (outcome.kind === 'failed') return refused(world, state, outcome.failure, () => false)
      return state !== null && fits(outcome.value, state) ? [state] : []
    },
  }
}

/** The rows with a text in one of their texts, ignoring case, and their number. */
export function searchBeside(world: DiskJudge, table: ModelTable, text: string): SimOperation {
  const isFound = ({ v, f }: Rows[number]) => [v, f ?? ''].some((one) => one.includes(text))
  return readOf(world, table, {
    text: `search for ${text} in`,
    run: ({ team }) => team.table(table.id ?? '').page({ search: text.toUpperCase(), total: true }),
    fits: (value, { version, rows }) => {
      const page = value as Readonly<{ version: number; total: number; rows: [] }>
      const wanted = rows.filter(isFound)
      const isIt = page.version === version && page.total === wanted.length
      return isIt && matchRows(wanted, page.rows) !== null
    },
  })
}

/** The rows grouped by the files that they name, mostly none, with the sums and extremes of their numbers. */
export function groupsBeside(world: DiskJudge, table: ModelTable): SimOperation {
  const wanted = { by: ['f'], sum: ['n'], least: ['n'], greatest: ['n'] }
  return readOf(world, table, {
    text: 'groups of',
    run: ({ team }) => team.table(table.id ?? '').groups(wanted),
    fits: (value, { rows }) => {
      const found = (value as Groups).map(({ values, count, sum, least, greatest }) => {
        const numbers = [sum, least, greatest].map((of) => Number(of?.['n']))
        return show([values['f'] ?? null, count, ...numbers])
      })
      const expected = [...new Set(rows.map(({ f }) => f))].map((file) => {
        const ns = rows.filter(({ f }) => f === file).map(({ n }) => n)
        const sum = ns.reduce((one, other) => one + other, 0)
        return show([file, ns.length, sum, Math.min(...ns), Math.max(...ns)])
      })
      return found.sort().join() === expected.sort().join()
    },
  })
}

/** The log after a version: each version up to the table's, exactly once. */
export function logBeside(world: DiskJudge, table: ModelTable, since: number): SimOperation {
  return readOf(world, table, {
    text: `log after ${since} of`,
    run: ({ team }) => team.table(table.id ?? '').log({ since }),
    fits: (value, { version }) => {
      const page = value as LogPage
      const versions = page.entries.map((entry: ChangeEntry) => entry.version)
      const wanted = Array.from({ length: version - since }, (_, at) => since + 1 + at)
      return page.version === version && versions.join() === wanted.join()
    },
  })
}
