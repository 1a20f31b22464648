// CONTRACT.md, section 6: POST /tables/{tableID}/merge.
import assert from 'node:assert/strict'
import {
  type Api,
  NOT_UNIQUE as COLUMN_NOT_UNIQUE,
  type ContractCase,
  CSV,
  etagOf,
  PRECONDITION,
  REQUEST_ERROR,
  RESERVED,
  type SendOptions,
  STASH_NOT_FOUND,
  TABLE_NOT_FOUND,
  type TableAt,
  TSV,
  UNSUPPORTED,
  uniqueName,
  VALIDATION,
} from './api.js'

const TYPES = { email: 'string', n: 'number' } as const
const ROWS = [
  { email: 'a', n: 1 },
  { email: 'b', n: 2 },
]
const NOT_UNIQUE = { status: 422, type: 'key_not_unique' } as const

type Merged = Readonly<{
  added: number
  changed: number
  unchanged: number
  removed: number
  rowIDs?: readonly string[]
  receipt?: Readonly<{ operation: string; merge: unknown }>
}>

const at = ({ path }: TableAt, query = '?key=email'): string => `${path}/merge${query}`

export const mergeCases: readonly ContractCase[] = [
  {
    name: 'a merge changes, adds and leaves rows by their key, and answers how many',
    run: async (api) => {
      const table = await api.createTyped(TYPES, ROWS)
      const body = 'email,n\nc,3\nb,20\na,1.0\n'
      const reply = await api.ok('POST', at(table), { body, type: CSV })
      const { rowIDs, ...counts } = (reply.json as { data: Merged }).data

      assert.equal(reply.status, 200)
      assert.equal(etagOf(reply), '"2"')
      assert.deepEqual(counts, { added: 1, changed: 1, unchanged: 1, removed: 0 })
      const [added] = rowIDs ?? []
      const { json } = await api.ok('GET', `${table.rows}/${added}`)
      assert.deepEqual((json as { data: unknown }).data, { $rowID: added, email: 'c', n: 3 })
      assert.deepEqual(await api.cellsOf(table), [
        { email: 'a', n: 1 },
        { email: 'b', n: 20 },
        { email: 'c', n: 3 },
      ])
    },
  },
  {
    name: 'a merge with mode=replace deletes the rows that a stash does not have',
    run: async (api) => {
      const table = await api.createTyped(TYPES, ROWS)
      const stash = uniqueName('s')
      await api.ok('PUT', `/stashes/${stash}/0`, { body: [{ email: 'b', n: 2 }] })
      const query = '?key=email&mode=replace'
      const { json } = await api.ok('POST', at(table, query), { body: { $stashID: stash } })

      const counts = { added: 0, changed: 0, unchanged: 1, removed: 1 }
      assert.deepEqual((json as { data: Merged }).data, { ...counts, rowIDs: [] })
      assert.deepEqual(await api.cellsOf(table), [{ email: 'b', n: 2 }])
    },
  },
  {
    name: 'a merge keeps or empties cells in columns that no row names, as unnamed or else mode says',
    run: async (api) => {
      const queries = ['', '&unnamed=empty', '&mode=replace&unnamed=keep', '&mode=replace']
      for (const [index, query] of queries.entries()) {
        const table = await api.createTyped(TYPES, ROWS)
        await api.ok('POST', at(table, `?key=email${query}`), { body: [{ email: 'a' }] })
        const merged = index % 2 === 0 ? { email: 'a', n: 1 } : { email: 'a' }
        const others = index < 2 ? [{ email: 'b', n: 2 }] : []
        assert.deepEqual(await api.cellsOf(table), [merged, ...others], query)
      }
    },
  },
  {
    name: 'a merge with validate=only counts and changes nothing',
    run: async (api) => {
      const table = await api.createTyped(TYPES, ROWS)
      const query = '?key=email&key=n&validate=only'
      const body = [
        { email: 'a', n: 1 },
        { email: 'b', n: 3 },
      ]
      const reply = await api.ok('POST', at(table, query), { body })

      assert.equal(etagOf(reply), '"1"')
      const counts = { added: 1, changed: 0, unchanged: 1, removed: 0 }
      assert.deepEqual((reply.json as { data: Merged }).data, counts)
      assert.deepEqual(await api.cellsOf(table), ROWS)
    },
  },
  {
    name: 'a merge is repeated under its key without an effect, and has a receipt',
    run: async (api) => {
      const table = await api.createTyped(TYPES, ROWS)
      const headers = { 'idempotency-key': uniqueName('k'), prefer: 'return=receipt' }
      const body = [{ email: 'a', n: 5 }, { email: 'd' }]
      const first = await api.ok('POST', at(table), { body, headers })
      const again = await api.ok('POST', at(table), { body, headers })

      assert.equal(again.text, first.text)
      const { receipt } = (first.json as { data: Merged }).data
      const counts = { added: 1, changed: 1, unchanged: 0, removed: 0 }
      assert.equal(receipt?.operation, 'merge')
      assert.deepEqual(receipt?.merge, { mode: 'upsert', key: ['email'], ...counts })
      const { json } = await api.ok('GET', `${table.path}/receipts/2`)
      assert.deepEqual((json as { data: unknown }).data, receipt)
    },
  },
  {
    name: 'a merge with onSchemaError=updateSchema adds the columns that the table lacks',
    run: async (api) => {
      const table = await api.createTyped(TYPES, ROWS)
      const query = '?key=email&onSchemaError=updateSchema'
      const body = [{ email: 'a', n: 1, more: true }]
      const unknown = { status: 422, type: 'column_id_not_found' } as const
      await api.refused('POST', at(table), { body }, unknown)
      await api.ok('POST', at(table, query), { body })

      assert.deepEqual(await api.cellsOf(table), [{ email: 'a', n: 1, more: true }, ROWS[1]])
    },
  },
  {
    name: 'a merge names both rows that have one key',
    run: async (api) => {
      const table = await api.createTyped(TYPES, [...ROWS, { email: 'b', n: 3 }])
      const twice = [{ email: 'x' }, { email: 'y' }, { email: 'x' }]
      const ofInput = await api.refused('POST', at(table), { body: twice }, NOT_UNIQUE)
      assert.match(ofInput, /row 0 .*row 2 /)
      const ofTable = await api.refused('POST', at(table), { body: [{ email: 'b' }] }, NOT_UNIQUE)
      assert.match(ofTable, /Rows [\w-]{22} and [\w-]{22} of the table/)
    },
  },
  {
    name: 'a merge takes CSV and TSV by all their media types, and If-Match',
    run: async (api) => {
      const table = await api.createTyped(TYPES, ROWS)
      const types = [CSV, 'application/csv', TSV, 'text/tsv']
      for (const [i, type] of types.entries()) {
        const separator = type.includes('tsv') || type === TSV ? '\t' : ','
        const body = [`email${separator}n`, `a${separator}${10 + i}`, ''].join('\n')
        const headers = { 'if-match': `"${1 + i}"` }
        const { json } = await api.ok('POST', at(table), { body, type, headers })
        assert.equal((json as { data: Merged }).data.changed, 1)
      }
      assert.deepEqual((await api.cellsOf(table))[0], { email: 'a', n: 13 })
    },
  },
  {
    name: 'a merge refuses bodies as an add does',
    run: async (api) => {
      const table = await api.createTyped(TYPES, ROWS)
      const refused = (options: SendOptions, wanted: Parameters<Api['refused']>[3]) =>
        api.refused('POST', at(table), options, wanted)
      await refused({ body: { $stashID: uniqueName('s') } }, STASH_NOT_FOUND)
      await refused({ body: 'email', type: 'text/plain' }, UNSUPPORTED)
      await refused({ body: [{ $stashID: 'x' }] }, RESERVED)
      await refused({ body: 'email,email\na,b\n', type: CSV }, COLUMN_NOT_UNIQUE)
      await refused({ body: [], key: 'unknown' }, REQUEST_ERROR)
      const headers = { 'idempotency-key': uniqueName('k') }
      await api.ok('POST', at(table), { body: [{ email: 'c' }], headers })
      const reused = { status: 422, type: 'request_validation_error' } as const
      await refused({ body: [{ email: 'd' }], headers }, reused)
    },
  },
  {
    name: 'a merge is refused for a wrong parameter, a missing key, an old version and a missing table',
    run: async (api) => {
      const table = await api.createTyped(TYPES, ROWS)
      const body = [{ email: 'a' }]
      for (const query of ['', '?key=email&mode=insert', '?key=none', '?key=email&validate=yes']) {
        await api.refused('POST', at(table, query), { body }, VALIDATION)
      }
      const empty = { status: 422, type: 'column_has_invalid_value' } as const
      await api.refused('POST', at(table), { body: [{ email: 'x' }, { n: 1 }] }, empty)
      await api.ok('POST', table.rows, { body })
      const headers = { 'if-match': '"1"' }
      await api.refused('POST', at(table), { body: [{ email: 'z' }], headers }, PRECONDITION)
      const missing = `/tables/${uniqueName('t')}/merge?key=email`
      await api.refused('POST', missing, { body }, TABLE_NOT_FOUND)
    },
  },
]
