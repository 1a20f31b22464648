// CONTRACT.md, section 5: kept `$rowID`s in every kind of input, of few rows and of many, and with `onSchemaError`.
import assert from 'node:assert/strict'
import { type Api, type ContractCase, CSV, type TableAt, uniqueName } from './api.js'
import { checkIds, numbered, overwrite } from './kept-id-history-cases.js'

const DROP = '?onSchemaError=dropColumns'
const UPDATE = '?onSchemaError=updateSchema'

type Sender = Readonly<{
  what: string
  /** Overwrites with rows `[$rowID, n]`. */
  send(
    api: Api,
    table: TableAt,
    rows: readonly (readonly [string, string])[],
    query: string,
  ): Promise<readonly string[]>
}>

/** `n` is a JSON token, and in CSV the text of a field. */
const SENDERS: readonly Sender[] = [
  {
    what: 'JSON',
    send: (api, table, rows, query) =>
      overwrite(api, table, `[${rows.map(rowJson).join(',')}]`, { query }),
  },
  {
    what: 'CSV',
    send: (api, table, rows, query) => {
      return overwrite(api, table, rowsCsv(rows), { type: CSV, query })
    },
  },
  {
    what: 'a stash of JSON and CSV',
    send: async (api, table, rows, query) => {
      const stashId = uniqueName('s')
      const half = rows.length >> 1
      const json = `[${rows.slice(0, half).map(rowJson).join(',')}]`
      await api.ok('PUT', `/stashes/${stashId}/0`, { body: json })
      const csv = { body: rowsCsv(rows.slice(half)), type: CSV }
      await api.ok('PUT', `/stashes/${stashId}/1`, csv)
      return overwrite(api, table, { $stashID: stashId }, { query })
    },
  },
]

function rowJson([$rowID, n]: readonly [string, string]): string {
  return `{"$rowID":"${$rowID}","n":${n}}`
}

function rowsCsv(rows: readonly (readonly [string, string])[]): string {
  return ['$rowID,n', ...rows.map(([$rowID, n]) => `${$rowID},${n.replaceAll('"', '')}`)].join('\n')
}

const ORDERS: readonly [what: string, order: (rowIds: readonly string[]) => readonly string[]][] = [
  ['in order', (rowIds) => rowIds],
  ['in reverse', (rowIds) => [...rowIds].reverse()],
  ['every third', (rowIds) => rowIds.map((rowId, i) => (i % 3 === 0 ? rowId : ''))],
]

const LARGE = 1_500

const large: ContractCase[] = SENDERS.flatMap(({ what, send }) =>
  ORDERS.map(([order, arrange]) => ({
    name: `${LARGE} rows of ${what} keep their IDs, ${order}`,
    run: async (api: Api) => {
      const table = await numbered(api, LARGE)
      const wanted = arrange(table.rowIds)
      const sent = wanted.map((rowId, n) => [rowId, String(n)] as const)
      const rowIds = await send(api, table, sent, '')
      assert.equal(new Set(rowIds).size, LARGE)
      for (const [i, rowId] of rowIds.entries()) {
        if (wanted[i] === '') assert.equal(table.rowIds.includes(rowId), false)
        else assert.equal(rowId, wanted[i])
      }
      assert.deepEqual(
        (await api.rowsOf(table, 700)).map(({ $rowID, n }) => [$rowID, n]),
        rowIds.map((rowId, n) => [rowId, n]),
      )
      for (const at of [0, 1, 749, 750, LARGE - 1]) {
        const { json } = await api.ok('GET', `${table.rows}/${rowIds[at]}`)
        assert.deepEqual(json, { data: { $rowID: rowIds[at], n: at } })
      }
    },
  })),
)

const misfits: ContractCase[] = SENDERS.flatMap(({ what, send }) =>
  ([5, LARGE] as const).flatMap((count) =>
    [DROP, UPDATE].map((query) => ({
      name: `${query.slice(15)}: ${count} rows of ${what} keep their IDs when some of them do not fit`,
      run: async (api: Api) => {
        const table = await numbered(api, count)
        const wanted = [...table.rowIds].reverse()
        const token = (n: number): string => (n % 4 === 1 ? `"x${n}"` : String(n))
        const sent = wanted.map((rowId, n) => [rowId, token(n)] as const)
        assert.deepEqual(await send(api, table, sent, query), wanted)
        const cells = wanted.map(($rowID, n) => {
          if (query === UPDATE) return { $rowID, n: n % 4 === 1 ? `x${n}` : String(n) }
          return n % 4 === 1 ? { $rowID } : { $rowID, n }
        })
        assert.deepEqual(await api.rowsOf(table), cells)
        if (count === 5) await checkIds(api, table, table.rowIds)
      },
    })),
  ),
)

export const keptIdInputCases: readonly ContractCase[] = [...large, ...misfits]
