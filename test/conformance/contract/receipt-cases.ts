// CONTRACT.md, section 5: `Prefer: return=receipt`, and the receipts of a table.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { SOURCE_URLS } from '../fake-sources.js'
import {
  type Api,
  type ContractCase,
  CSV,
  etagOf,
  TABLE_NOT_FOUND,
  tableAt,
  uniqueName,
  VALIDATION,
} from './api.js'
import { letLateSourcesGoOn } from './job-cases.js'

type Receipt = Readonly<{
  operation: string
  version: number
  versionBefore: number
  rows: number
  chunks: readonly Readonly<{ serial?: string; rows: number; sha256: string }>[]
  columns: unknown
  dropped: Readonly<{ count: number; columns: unknown; first: readonly unknown[] }>
}>

const PREFER = { prefer: 'return=receipt' }
const HISTORY_GONE = { status: 410, type: 'history_gone' } as const
const RECEIPT_NOT_FOUND = { status: 404, type: 'receipt_not_found' } as const

/** Sends a change that requests a receipt. */
async function change(api: Api, method: string, path: string, body: unknown, headers: object = {}) {
  const reply = await api.ok(method, path, { body, headers: { ...PREFER, ...headers } })
  const { data } = reply.json as { data: { tableID?: string; receipt?: Receipt } }
  const applied = reply.headers.get('preference-applied')
  assert.equal(applied, data.receipt === undefined ? null : 'return=receipt')
  return { ...data, etag: etagOf(reply) }
}

async function read(api: Api, tableId: string, version: number): Promise<Receipt> {
  const { json } = await api.ok('GET', `/tables/${tableId}/receipts/${version}`)
  return (json as { data: Receipt }).data
}

/** The digests that a receipt must have, from the texts of rows as a client sees them, without `$rowID`. */
function digestsOf(text: string, { chunks }: Receipt, firstRow: number): string[] {
  const rows = [...text.matchAll(/\{"\$rowID":"[\w-]{22}",?([^{}]*)\}/g)].map(([, row]) => row)
  let at = firstRow
  return chunks.map(({ rows: count }) => {
    const lines = rows.slice(at, at + count).map((row) => `{${row}}\n`)
    at += count
    return createHash('sha256').update(lines.join('')).digest('hex')
  })
}

/** The result of a job, once it has one. */
async function endOfJob(api: Api, jobId: string): Promise<unknown> {
  for (;;) {
    const { json } = await api.ok('GET', `/jobs/${jobId}`)
    const { status, result } = (json as { data: { status: string; result?: unknown } }).data
    if (status !== 'running') return result
    await letLateSourcesGoOn(api)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

export const receiptCases: readonly ContractCase[] = [
  {
    name: 'a version says who made it, when and how, with or without a receipt',
    async run(api) {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }, { n: 2 }])
      await api.ok('PATCH', `${table.rows}/${table.rowIds[0]}`, { body: { n: 3 } })
      const { json } = await api.ok('GET', `${table.path}/changes/2`)
      const { data } = json as { data: Record<string, unknown> }
      const { at, author, ...rest } = data
      assert.equal(typeof at, 'number')
      assert.ok(typeof author === 'string' && author.length > 0)
      const counts = { added: 0, changed: 1, removed: 0 }
      assert.deepEqual(rest, { version: 2, operation: 'update', counts })

      for (const version of ['0', '3', 'x']) {
        await api.refused('GET', `${table.path}/changes/${version}`, {}, HISTORY_GONE)
      }
      const nowhere = tableAt('00000000-0000-4000-8000-000000000000')
      await api.refused('GET', `${nowhere.path}/changes/1`, {}, TABLE_NOT_FOUND)
      await api.refused('GET', `${table.path}/changes/%zz`, {}, VALIDATION)
      const other = { key: api.server.otherKey }
      await api.refused('GET', `${table.path}/changes/1`, other, TABLE_NOT_FOUND)
    },
  },
  {
    name: 'a create, an add and an overwrite answer with a receipt, which is read back as it was',
    run: async (api) => {
      const rows = [{ n: 34.5, s: 'ä' }, {}, { n: 2 }]
      const made = await change(api, 'POST', '/tables', { name: uniqueName('r'), rows })
      const table = tableAt(made.tableID ?? '')
      const added = await change(api, 'POST', table.rows, [{ n: 3 }])
      const replaced = await change(api, 'PUT', table.path, [{ n: 4 }])

      const about = [made, added, replaced].map(({ receipt, etag }) => {
        assert.equal(etag, `"${receipt?.version}"`)
        return [receipt?.operation, receipt?.version, receipt?.versionBefore, receipt?.rows]
      })
      assert.deepEqual(about, [
        ['create', 1, 0, 3],
        ['add', 2, 1, 1],
        ['overwrite', 3, 2, 1],
      ])
      assert.deepEqual(made.receipt?.columns, { added: ['n', 's'], changed: [], removed: [] })
      for (const { receipt } of [made, added, replaced]) {
        assert.deepEqual(await read(api, table.id, receipt?.version ?? 0), receipt)
      }
    },
  },
  {
    name: 'an import answers with the receipt of its create',
    run: async (api) => {
      const send = (headers: object) => {
        const body = { fromUrl: SOURCE_URLS.csv, displayName: uniqueName('r') }
        return api.ok('POST', '/tables/import', { body, headers: { ...headers } })
      }
      const reply = await send(PREFER)
      const [made] = (reply.json as { data: [{ tableID: string; receipt: Receipt }] }).data
      assert.equal(reply.headers.get('preference-applied'), 'return=receipt')
      assert.deepEqual([made.receipt.operation, made.receipt.rows], ['create', 3])
      assert.deepEqual(await read(api, made.tableID, made.receipt.version), made.receipt)
      const text = await api.textOf(tableAt(made.tableID))
      const digests = made.receipt.chunks.map(({ sha256 }) => sha256)
      assert.deepEqual(digestsOf(text, made.receipt, 0), digests)
      assert.ok(!(await send({})).text.includes('receipt'))
    },
  },
  {
    name: 'an asynchronous operation has its receipt in its answer, or in the result of its job',
    run: async (api) => {
      const headers = { 'x-glide-asynchronous': 'true' }
      const body = { name: uniqueName('r'), rows: [{ n: 1 }] }
      const made = await change(api, 'POST', '/tables', body, headers)
      assert.equal(made.receipt?.rows, 1)
      assert.equal(made.etag, `"${made.receipt?.version}"`)

      const late = { fromUrl: SOURCE_URLS.late, displayName: uniqueName('r') }
      const sent = { body: late, headers: { ...PREFER, ...headers } }
      const reply = await api.send('POST', '/tables/import', sent)
      assert.equal(reply.status, 202)
      const { jobID } = (reply.json as { data: { jobID: string } }).data
      const [imported] = (await endOfJob(api, jobID)) as [{ tableID: string; receipt: Receipt }]
      assert.equal(imported.receipt.operation, 'create')
      const { version } = imported.receipt
      assert.deepEqual(await read(api, imported.tableID, version), imported.receipt)
    },
  },
  {
    name: 'the digests of a receipt are those of the rows that are read back, chunk by chunk',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number', s: 'string' }, [{ n: 0 }])
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '10', [{ n: 3, s: 'x\n' }])
      await api.ok('PUT', `/stashes/${stashId}/9`, { body: 'n,s\n1.50,7\n2,ä\n', type: CSV })
      const { receipt } = await change(api, 'POST', table.rows, { $stashID: stashId })

      assert.ok(receipt !== undefined)
      const parts = receipt.chunks.map(({ serial, rows }) => [serial, rows])
      assert.deepEqual(parts, [
        ['9', 2],
        ['10', 1],
      ])
      const digests = receipt.chunks.map(({ sha256 }) => sha256)
      assert.deepEqual(digestsOf(await api.textOf(table), receipt, 1), digests)
    },
  },
  {
    name: 'a receipt counts dropped cells, and names changed columns',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const path = `${table.rows}?onSchemaError=dropColumns`
      const { receipt } = await change(api, 'POST', path, [{ n: 'x', m: 1 }, { n: true }, { n: 1 }])
      const dropped = { count: receipt?.dropped.count, columns: receipt?.dropped.columns }
      assert.deepEqual(dropped, {
        count: 3,
        columns: [
          { column: 'n', rule: 'a finite number', count: 2 },
          { column: 'm', rule: 'the ID of a column of the schema', count: 1 },
        ],
      })
      assert.equal(receipt?.dropped.first.length, 3)

      const widening = `${table.rows}?onSchemaError=updateSchema`
      const wide = await change(api, 'POST', widening, [{ n: 'x', o: true }])
      assert.deepEqual(wide.receipt?.columns, {
        added: ['o'],
        changed: [{ id: 'n', before: { kind: 'number' }, after: { kind: 'string' } }],
        removed: [],
      })
    },
  },
  {
    name: 'no receipt without Prefer: return=receipt, on a check, or for an add without rows',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const send = (prefer: string, body: unknown, query = '') =>
        change(api, 'POST', `${table.rows}${query}`, body, { prefer })
      for (const prefer of ['return=minimal', 'respond-async', 'return=minimal, return=receipt']) {
        assert.equal((await send(prefer, [{ n: 1 }])).receipt, undefined)
      }
      assert.equal((await send('return=receipt', [{ n: 1 }], '?validate=only')).receipt, undefined)
      assert.equal((await send('return=receipt', [])).receipt, undefined)
      for (const prefer of ['RETURN="receipt"', 'wait=5, return=receipt; x=1']) {
        assert.equal((await send(prefer, [{ n: 1 }])).receipt?.rows, 1)
      }
    },
  },
  {
    name: 'a repeat with the same Idempotency-Key has the receipt of the first request',
    run: async (api) => {
      const headers = { 'idempotency-key': uniqueName('key').slice(0, 60) }
      const body = { name: uniqueName('r'), rows: [{ n: 1 }] }
      const first = await change(api, 'POST', '/tables', body, headers)
      const again = await change(api, 'POST', '/tables', body, headers)
      assert.equal(again.tableID, first.tableID)
      assert.deepEqual(again.receipt, first.receipt)
    },
  },
  {
    name: 'a receipt that is not there is 404, of a table that is not there another 404',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      for (const version of ['1', '2', '0', '01', '-1', 'x', '1e3', '99999999999999999999']) {
        await api.refused('GET', `${table.path}/receipts/${version}`, {}, RECEIPT_NOT_FOUND)
      }
      const nowhere = tableAt('00000000-0000-4000-8000-000000000000')
      for (const version of ['1', 'x']) {
        await api.refused('GET', `${nowhere.path}/receipts/${version}`, {}, TABLE_NOT_FOUND)
      }
      await api.refused('GET', `${table.path}/receipts/%zz`, {}, VALIDATION)
      const made = await change(api, 'POST', table.rows, [{ n: 2 }])
      const path = `${table.path}/receipts/${made.receipt?.version}`
      await api.refused('GET', path, { key: api.server.otherKey }, TABLE_NOT_FOUND)
    },
  },
]
