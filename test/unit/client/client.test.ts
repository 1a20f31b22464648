// The client against a server of the contract that fails on command.
import { gzipSync } from 'node:zlib'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import {
  type Client,
  ClientError,
  type ClientOptions,
  createClient,
  defineSchema,
  type ImportProgress,
  isStoreError,
  type Row,
} from '../../../src/client/client.js'
import {
  createTestServer,
  type RequestFault,
  type TestServer,
  type TestServerOptions,
} from '../../conformance/testing.js'

type Started = Readonly<{ server: TestServer; client: Client }>

async function start(
  options: TestServerOptions = {},
  more: Partial<ClientOptions> = {},
): Promise<Started> {
  const server = await createTestServer(options)
  onTestFinished(() => server.close())
  return { server, client: createClient({ url: server.url, key: server.key, ...more }) }
}

/** Makes the client retry at once, so that no test waits. */
const AT_ONCE = { 'retry-after': '0' }

async function valuesOf(client: Client, tableId: string, column: string): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const row of client.table(tableId).scan({ pageSize: 7 })) values.push(row[column])
  return values
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
const rowsOf = (count: number): { n: number }[] => numbers(count).map((n) => ({ n }))

/** CSV with line breaks and quotes inside fields, where no chunk may end. */
function csvOf(count: number): Blob {
  const lines = numbers(count).map((n) => `${n},"a ""b""\n${'x'.repeat(n % 50)}"`)
  return new File([`n,text\n${lines.join('\n')}\n`], 'rows.csv')
}

describe('an import', () => {
  test.each([
    ['objects', rowsOf(1_000)],
    [
      'an async iterable of objects',
      (async function* () {
        yield* rowsOf(1_000)
      })(),
    ],
    ['a CSV file', csvOf(1_000)],
    [
      'NDJSON',
      new Blob(
        rowsOf(1_000).map((row) => `${JSON.stringify(row)}\n`),
        { type: 'application/x-ndjson' },
      ),
    ],
    ['JSON', new Blob([JSON.stringify(rowsOf(1_000))], { type: 'application/json' })],
  ])('of %s makes a table, in order', async (_, rows) => {
    const { server, client } = await start()

    const made = await client.importRows(rows, { name: 'T', chunkBytes: 2_048, parallel: 8 })

    expect(made.rows).toBe(1_000)
    expect(await valuesOf(client, made.tableId, 'n')).toEqual(numbers(1_000))
    expect(await client.tables()).toMatchObject([{ id: made.tableId, name: 'T' }])
    expect(await client.table(made.tableId).version()).toBe(made.version)
    expect(server.requests.filter(({ method }) => method === 'PUT').length).toBeGreaterThan(3)
  })

  test('adds to a table, and overwrites one', async () => {
    const { client } = await start()
    const { tableId } = await client.importRows([{ n: 1 }], { name: 'T' })

    await client.importRows([{ n: 2 }], { tableId, mode: 'add' })
    const both = await valuesOf(client, tableId, 'n')
    await client.importRows([{ n: 3 }], { tableId, mode: 'overwrite' })

    expect([both, await valuesOf(client, tableId, 'n')]).toEqual([[1, 2], [3]])
  })

  test.each([{ mode: 'overwrite' }, { mode: 'merge', key: ['n'] }] as const)(
    'with ifMatch changes no later version: $mode',
    async (change) => {
      const { client } = await start()
      const { tableId, version } = await client.importRows([{ n: 1 }], { name: 'T' })
      const { version: later } = await client.importRows([{ n: 2 }], { tableId, mode: 'add' })

      const stale = { ...change, tableId, ifMatch: version }
      await expect(client.importRows([{ n: 3 }], stale)).rejects.toMatchObject({ status: 412 })
      await expect(client.checkRows([{ n: 3 }], stale)).rejects.toMatchObject({ status: 412 })
      expect(await valuesOf(client, tableId, 'n')).toEqual([1, 2])

      await client.importRows([{ n: 3 }], { ...stale, ifMatch: later })
      expect(await valuesOf(client, tableId, 'n')).toContain(3)
      expect(await client.stashes()).toEqual([])
    },
  )

  test('an overwrite with ifMatch whose answer is lost is not repeated', async () => {
    const { server, client } = await start()
    const { tableId, version } = await client.importRows([{ n: 1 }], { name: 'T' })
    server.fail({ method: 'PUT', path: `/tables/${tableId}`, fault: { cut: 'answer' } })

    const target = { tableId, mode: 'overwrite', ifMatch: version } as const
    await expect(client.importRows([{ n: 2 }], target)).rejects.toMatchObject({ status: 0 })
    expect(await valuesOf(client, tableId, 'n')).toEqual([2])
  })

  test('a merge with ifMatch whose answer is lost is repeated, and reported', async () => {
    const { server, client } = await start()
    const { tableId, version } = await client.importRows([{ n: 1 }], { name: 'T' })
    const path = `/tables/${tableId}/merge`
    server.fail({ method: 'POST', path, fault: { cut: 'answer' }, times: 1 })

    const target = { tableId, mode: 'merge', key: ['n'], ifMatch: version } as const
    const { merged } = await client.importRows([{ n: 2 }], target)
    expect(merged).toMatchObject({ added: 1 })
  })

  test('of no rows makes an empty table', async () => {
    const { client } = await start()
    const schema = { columns: [{ id: 'n', type: { kind: 'number' } }] } as const

    const { tableId, rows } = await client.importRows([], { name: 'T', schema })

    expect([rows, await valuesOf(client, tableId, 'n')]).toEqual([0, []])
  })

  test('of a compressed file tells how many of its bytes are on the server', async () => {
    const { client } = await start()
    const packed = Uint8Array.from(
      gzipSync(
        `n;name\n${numbers(3_000)
          .map((n) => `${n};${n / 3}\n`)
          .join('')}`,
      ),
    )
    const file = new File([packed], 'rows.csv.gz')
    const told: [number, number][] = []

    const { tableId, read } = await client.importRows(file, {
      name: 'T',
      chunkBytes: 16_384,
      parallel: 1,
      onProgress: ({ rows, bytes }) => told.push([rows, bytes]),
    })

    expect(await valuesOf(client, tableId, 'n')).toEqual(numbers(3_000))
    expect(read).toMatchObject({ format: 'csv', delimiter: ';', rows: 3_000 })
    expect(told.length).toBeGreaterThan(2)
    expect(told.at(-1)).toEqual([3_000, packed.length])
    const cut = new File([packed.subarray(0, 5_000)], 'rows.csv.gz')
    await expect(client.importRows(cut, { name: 'T' })).rejects.toThrow(
      'The input is not valid CSV: the gzip data is damaged or cut off',
    )
    await expect(client.importRows(file, { name: 'T', dialect: 'plain' })).rejects.toThrow()
  })

  test('halves chunks that the server finds too large', async () => {
    const { server, client } = await start({ handler: { bodyBytesMax: 1_500 } })

    const { tableId } = await client.importRows(csvOf(500), { name: 'T', chunkBytes: 10_000 })

    expect(await valuesOf(client, tableId, 'n')).toEqual(numbers(500))
    const serials = server.requests.filter(({ method }) => method === 'PUT').map(({ path }) => path)
    expect(serials).toContain(`/stashes/${serials[0]?.split('/')[2]}/${2 ** 19}`)
  })

  test.each<RequestFault>([
    { status: 503, headers: AT_ONCE },
    { status: 429, headers: AT_ONCE },
    { cut: 'request' },
    { cut: 'answer' },
    { crash: 'before commit', of: 'machine' },
    { crash: 'after commit' },
  ])('survives %j at each of its requests', async (fault) => {
    const { server } = await start()
    const failures: number[] = []
    for (const [method, path] of [
      ['PUT', /^\/stashes/],
      ['POST', '/tables'],
    ] as const) {
      server.fail({ method, path, fault, times: 1 })
    }
    const patient = createClient({
      url: server.url,
      key: server.key,
      onRetry: ({ status }) => failures.push(status),
    })

    const { tableId } = await patient.importRows(rowsOf(300), {
      name: 'T',
      chunkBytes: 1_024,
      parallel: 1,
    })

    expect(await valuesOf(patient, tableId, 'n')).toEqual(numbers(300))
    expect(await patient.tables()).toHaveLength(1)
    expect(failures).toEqual(Array(2).fill('status' in fault ? fault.status : 0))
  })

  test('goes on where it was aborted, also in another program, and does nothing twice', async () => {
    const { server, client } = await start()
    const stop = new AbortController()
    let last: ImportProgress = { rows: 0, bytes: 0, chunks: 0 }
    const options = { name: 'T', stashId: 'nightly', chunkBytes: 1_024, parallel: 1 }

    const cut = client.importRows(rowsOf(2_000), {
      ...options,
      signal: stop.signal,
      onProgress: (progress) => {
        last = progress
        if (progress.chunks === 5) stop.abort(new Error('stopped'))
      },
    })
    await expect(cut).rejects.toThrow('stopped')
    const putBefore = server.requests.length
    const other = createClient({ url: server.url, key: server.key })
    const { tableId, rows } = await other.importRows(rowsOf(2_000), {
      ...options,
      startAt: last.chunks,
    })
    const again = await other.importRows(rowsOf(2_000), options)

    expect(last.chunks).toBe(5)
    expect(rows).toBe(2_000)
    expect(await valuesOf(other, tableId, 'n')).toEqual(numbers(2_000))
    expect(server.requests[putBefore]?.path).toBe(`/stashes/nightly/${5 * 2 ** 20}`)
    expect(again.tableId).toBe(tableId)
    expect(await other.tables()).toHaveLength(1)
  })

  test('resumes by digests: what is there is not sent again, and a complete import is not done again', async () => {
    const { server, client } = await start({ handler: { bodyBytesMax: 3_000 } })
    const stop = new AbortController()
    // Chunks are halved, so serials of halves must be recognised too.
    const options = { name: 'T', stashId: 'nightly', chunkBytes: 4_096, parallel: 2, resume: true }
    const cut = client.importRows(csvOf(500), {
      ...options,
      signal: stop.signal,
      onProgress: ({ chunks }) => chunks === 3 && stop.abort(new Error('stopped')),
    })
    await expect(cut).rejects.toThrow('stopped')
    const putBefore = server.requests.length

    const done = await client.importRows(csvOf(500), options)
    const sent = server.requests.slice(putBefore)
    const again = await client.importRows(csvOf(500), options)

    expect(await valuesOf(client, done.tableId, 'n')).toEqual(numbers(500))
    expect(done.skipped).toBeGreaterThanOrEqual(6)
    const serials = sent.filter(({ method }) => method === 'PUT').map(({ path }) => path)
    expect(serials).toEqual([...new Set(serials)])
    expect(again.tableId).toBe(done.tableId)
    expect(await client.tables()).toHaveLength(1)
    expect(again.skipped).toBe(0) // Its stash is gone: all chunks were sent again.
  })

  test('does not mix the rows of two inputs in one stash', async () => {
    const { server, client } = await start()
    const options = { name: 'T', stashId: 'nightly', chunkBytes: 1_024, resume: true }
    server.fail({ method: 'POST', path: '/tables', fault: { status: 400 } })
    await expect(client.importRows(rowsOf(300), options)).rejects.toMatchObject({ status: 400 })

    const other = client.importRows(rowsOf(299), options)
    await expect(other).rejects.toMatchObject({ type: 'stash_differs' })
    expect(await client.tables()).toEqual([])
    await client.deleteStash('nightly')
    const { tableId } = await client.importRows(rowsOf(299), options)
    expect(await valuesOf(client, tableId, 'n')).toEqual(numbers(299))
  })

  test('resumes at a server that does not list stashes by sending all again', async () => {
    const { server } = await start()
    const blind: typeof fetch = async (url, init) => {
      const isList = init?.method === 'GET' && String(url).includes('/stashes/')
      return isList ? new Response('{}', { status: 404 }) : fetch(url, init)
    }
    const client = createClient({ url: server.url, key: server.key, fetch: blind })
    const options = { name: 'T', stashId: 'nightly', chunkBytes: 1_024, resume: true }
    server.fail({ method: 'POST', path: '/tables', fault: { status: 400 } })
    await expect(client.importRows(rowsOf(300), options)).rejects.toMatchObject({ status: 400 })

    const { tableId, skipped } = await client.importRows(rowsOf(300), options)

    expect([skipped, await valuesOf(client, tableId, 'n')]).toEqual([0, numbers(300)])
  })

  test('merges by key, tells what it did, and keeps a receipt', async () => {
    const { client } = await start()
    const rows = rowsOf(10).map(({ n }) => ({ n, text: 'old' }))
    const { tableId } = await client.importRows(rows, { name: 'T' })
    const input = [
      { n: 1, text: 'old' },
      { n: 2, text: 'new' },
      { n: 10, text: 'new' },
    ]
    const merge = { tableId, mode: 'merge', key: ['n'], missing: 'delete', receipt: true } as const

    const done = await client.importRows(input, merge)

    const merged = { added: 1, changed: 1, unchanged: 1, removed: 8 }
    expect(done).toMatchObject({ rows: 3, merged, receipt: { operation: 'merge', rows: 3 } })
    expect(await valuesOf(client, tableId, 'n')).toEqual([1, 2, 10])
    expect(await client.table(tableId).info()).toMatchObject({ name: 'T', rowCount: 3 })
    const same = await client.importRows(input, merge)
    expect(same).not.toHaveProperty('receipt')
  })

  test.each([
    [
      {},
      [
        { n: 1, text: 'a' },
        { n: 2, text: 'b' },
      ],
    ],
    [{ unnamed: 'empty' }, [{ n: 1 }, { n: 2, text: 'b' }]],
    [{ missing: 'delete' }, [{ n: 1, text: 'a' }]],
    [{ missing: 'delete', unnamed: 'empty' }, [{ n: 1 }]],
  ] as const)('merges with %j', async (options, expected) => {
    const { client } = await start()
    const { tableId } = await client.importRows(
      [
        { n: 1, text: 'a' },
        { n: 2, text: 'b' },
      ],
      { name: 'T' },
    )
    await client.importRows([{ n: 1 }], { tableId, mode: 'merge', key: ['n'], ...options })

    const { rows } = await client.table(tableId).page()
    expect(rows.map(({ $rowID: _, ...row }) => row)).toEqual(expected)
  })

  test('is checked without a change: each problem with the chunk and the row of the input', async () => {
    const { server, client } = await start()
    const schema = { columns: [{ id: 'n', type: { kind: 'number' } }] } as const
    const rows = [...rowsOf(200), { n: 'x' }, { m: 1 }]

    const found = await client.checkRows(rows, { name: 'T', schema, chunkBytes: 1_024 })

    expect(found).toMatchObject({ rows: 202, problemCount: 2 })
    const last = found.problems[0]?.place?.chunk ?? 0
    expect(last).toBeGreaterThan(0)
    expect(found.problems).toMatchObject([
      { place: { chunk: last, row: 0 }, column: 'n', value: '"x"' },
      { place: { chunk: last, row: 0 }, column: 'm' },
    ])
    expect(await client.tables()).toEqual([])
    expect(server.requests.at(-2)?.method).toBe('DELETE')
  })

  test('is checked before a merge into a table with a key, whose keys the rows may have', async () => {
    const { server, client } = await start()
    const { tableId } = await server.store
      .team('test')
      .createTable({ name: 'T', key: ['n'], rows: [{ n: 1, m: 1 }] })
    const target = { tableId, mode: 'merge', key: ['n'] } as const

    expect(await client.checkRows([{ n: 1, m: 2 }], target)).toMatchObject({
      problemCount: 0,
      merged: { added: 0, changed: 1, unchanged: 0, removed: 0 },
    })
    const twice = client.checkRows([{ n: 2 }, { n: 2 }], target)
    await expect(twice).rejects.toMatchObject({ type: 'key_not_unique' })
    const wrong = await client.checkRows([{ n: 1, m: 'x' }], target)
    expect(wrong.problems).toMatchObject([{ row: 0, column: 'm' }])
  })

  test('is checked before a merge into a table without a key, with the keys if all values fit', async () => {
    const { client } = await start()
    const { tableId } = await client.importRows([{ n: 1 }, { n: 2 }], { name: 'T' })
    const target = { tableId, mode: 'merge', key: ['n'] } as const

    const twice = client.checkRows([{ n: 2 }, { n: 2 }], target)
    await expect(twice).rejects.toMatchObject({ status: 422, type: 'key_not_unique' })
    const wrong = await client.checkRows([{ n: 2 }, { n: 2 }, { n: 'x' }], target)
    expect(wrong).toMatchObject({ problemCount: 1, problems: [{ row: 2, column: 'n' }] })
    expect(wrong).not.toHaveProperty('merged')
    const more = { ...target, onSchemaError: 'updateSchema', missing: 'delete' } as const
    expect(await client.checkRows([{ n: 3, m: 1 }], more)).toMatchObject({
      problemCount: 0,
      merged: { added: 1, changed: 0, unchanged: 0, removed: 2 },
    })
    expect(await valuesOf(client, tableId, 'n')).toEqual([1, 2])
  })

  test('ends with the first failure of a chunk, which says where the rows are wrong', async () => {
    const { client } = await start()
    const schema = { columns: [{ id: 'n', type: { kind: 'number' } }] } as const
    const failed = client.importRows([{ n: 1 }, { n: 'x' }], { name: 'T', schema })

    await expect(failed).rejects.toMatchObject({ status: 422, type: 'column_has_invalid_value' })
    await expect(failed).rejects.toThrow(/column 'n' in row 1/)
    expect(await client.tables()).toEqual([])
  })

  test('ends with what is wrong in the earliest chunk, although a later one is refused first', async () => {
    const { server, client } = await start()
    const text = `n,text\n${numbers(4)
      .map((n) => `${n},5" ${'x'.repeat(2_000)}\n`)
      .join('')}`
    server.fail({ method: 'PUT', path: /\/0$/, fault: { delayMs: 300 } })
    const options = { name: 'T', chunkBytes: 1_024, parallel: 8 }
    const failed = client.importRows(new File([text], 'rows.csv'), options)

    await expect(failed).rejects.toMatchObject({ status: 400, place: { chunk: 0, row: 0 } })
    await expect(failed).rejects.toThrow(/quote in an unquoted field in row 0 /)
    expect(server.requests.filter(({ method }) => method === 'PUT')).toHaveLength(2)
  })

  test.each<[string, object[] | Blob, RegExp]>([
    [
      'a cell without JSON',
      [{ n: Number.NaN }],
      /^Row 0 \(counted from 0\), column 'n': must be a finite number, not NaN$/,
    ],
    [
      'a row that is an array',
      [[1]],
      /^Row 0 \(counted from 0\) is not an object of cells but an array$/,
    ],
    [
      'a Blob of no type',
      new Blob(['n\n1\n']),
      /^The format of the rows is unknown: set `format`$/,
    ],
    [
      'a quote that stays open',
      new File(['n\n"1\n'], 'a.csv'),
      /^The input is not valid CSV at line 2: /,
    ],
  ])('of %s is refused', async (_, rows, message) => {
    const { client } = await start()

    await expect(client.importRows(rows, { name: 'T' })).rejects.toThrow(message)
  })
})

describe('a row', () => {
  async function startWithRow(more: Partial<ClientOptions> = {}) {
    const started = await start({}, more)
    const { tableId } = await started.client.importRows([{ n: 1 }], { name: 'T' })
    const table = started.client.table(tableId)
    const [row] = (await table.page()).rows
    return { ...started, table, rowId: row?.$rowID ?? '' }
  }

  test('is read, changed and deleted', async () => {
    const { table, rowId } = await startWithRow()

    const { version } = await table.updateRow(rowId, { n: 2 })
    const found = await table.get(rowId)
    await table.deleteRow(rowId)

    expect(found).toMatchObject({ row: { n: 2 }, version })
    expect(await table.get(rowId)).toBeNull()
    await expect(table.updateRow(rowId, { n: 3 })).rejects.toMatchObject({ type: 'row_not_found' })
  })

  test('is changed by a function again when another client was first', async () => {
    const { table, rowId } = await startWithRow()
    const seen: unknown[] = []

    await table.updateRow(rowId, async ({ n }) => {
      seen.push(n)
      if (seen.length === 1) await table.updateRow(rowId, { n: 10 })
      return { n: Number(n) + 1 }
    })

    expect(seen).toEqual([1, 10])
    expect((await table.get(rowId))?.row).toMatchObject({ n: 11 })
  })

  test('stays as it is if the function returns null, and if its version is another', async () => {
    const { table, rowId } = await startWithRow()
    const version = await table.version()

    await table.updateRow(rowId, () => null)
    await table.updateRow(rowId, { n: 5 })
    const late = table.updateRow(rowId, { n: 6 }, { ifMatch: version })

    await expect(late).rejects.toMatchObject({ status: 412, type: 'precondition_failed' })
    expect((await table.get(rowId))?.row).toMatchObject({ n: 5 })
  })

  test('is one of many that are changed or deleted by one request, all or none', async () => {
    const { table, rowId } = await startWithRow()
    const { rowIds, version } = await table.addRows([{ n: 2 }, { n: 3 }])
    const [second = '', third = ''] = rowIds

    const updates = [rowId, third].map((id, at) => ({ rowId: id, cells: { n: at * 10 } }))
    const changed = await table.updateRows(
      updates.map((update) => ({ ...update, ifMatch: version })),
    )
    expect((await table.page()).rows.map(({ n }) => n)).toEqual([0, 2, 10])
    expect((await table.get(third))?.version).toBe(changed.version)

    const late = [{ rowId: second, cells: { n: 'x' } }, ...updates, { rowId: 'none', cells: {} }]
    const stale = late.map((update) => ({ ...update, ifMatch: version }))
    await expect(table.updateRows(stale)).rejects.toMatchObject({
      status: 404,
      type: 'row_not_found',
      problemCount: 4,
      problems: [
        { row: 0, type: 'column_has_invalid_value', column: 'n' },
        { row: 1, type: 'precondition_failed', message: expect.stringContaining(version) },
        { row: 2, type: 'precondition_failed' },
        { row: 3, type: 'row_not_found' },
      ],
    })
    const tooOld = table.deleteRows([second, { rowId: third, ifMatch: version }])
    await expect(tooOld).rejects.toMatchObject({ status: 412, problems: [{ row: 1 }] })
    expect(await table.count()).toBe(3)

    const ok = [{ rowId: third, ifMatch: changed.version }, second, 'none']
    expect(await table.deleteRows(ok)).toMatchObject({ deleted: 2, missing: 1 })
    expect((await table.page()).rows.map(({ n }) => n)).toEqual([0])
    await table.updateRows([{ rowId, cells: { m: [1] } }], { onSchemaError: 'updateSchema' })
    expect((await table.get(rowId))?.row).toMatchObject({ n: 0, m: [1] })
  })

  test.each([true, false])('is changed once though answers are lost: keys %s', async (hasKeys) => {
    const { server, table: made, rowId } = await startWithRow()
    const lost: string[] = []
    const losing = createClient({
      url: server.url,
      key: server.key,
      idempotencyKeys: hasKeys,
      fetch: async (...request) => {
        const answer = await fetch(...request)
        const method = request[1]?.method ?? ''
        if (!/PATCH|DELETE/.test(method) || lost.includes(method)) return answer
        lost.push(method)
        await answer.text()
        throw new TypeError('fetch failed')
      },
    })
    const table = losing.table(made.id)
    const ifMatch = await made.version()
    const updated = table.updateRows([{ rowId, cells: { n: 5 }, ifMatch }])
    const deletion = () => table.deleteRows([{ rowId, ifMatch: '9' }])

    if (hasKeys) {
      const { version } = await updated
      expect((await made.get(rowId))?.version).toBe(version)
      expect(await deletion()).toMatchObject({ deleted: 1, missing: 0 })
    } else {
      await expect(updated).rejects.toMatchObject({ status: 0 })
      expect(await deletion()).toMatchObject({ deleted: 0, missing: 1 })
    }
    expect(lost).toEqual(['PATCH', 'DELETE'])
  })

  test('is converted with all others, or none, once though an answer is lost', async () => {
    const { server, client } = await start()
    const rows = [{ s: '1.50' }, { s: 'x' }]
    const { tableId } = await client.importRows(rows, { name: 'T' })
    const convert = { column: 's', type: 'number' } as const
    let isLost = false
    const losing = createClient({
      url: server.url,
      key: server.key,
      fetch: async (...request) => {
        const answer = await fetch(...request)
        if (isLost || !String(request[0]).endsWith('/convert') || !answer.ok) return answer
        isLost = true
        await answer.text()
        throw new TypeError('fetch failed')
      },
    })
    const table = losing.table(tableId)
    const version = await table.version()
    const checked = await table.checkConversion({ ...convert, ifMatch: version })
    expect(checked).toMatchObject({ rows: 2, problemCount: 1, version })
    expect(checked.problems).toMatchObject([{ row: 1, column: 's', value: '"x"' }])
    await expect(table.convertColumn(convert)).rejects.toMatchObject({
      type: 'column_has_invalid_value',
      problems: [{ row: 1, column: 's' }],
    })
    const late = table.convertColumn({ ...convert, ifMatch: '0' })
    await expect(late).rejects.toMatchObject({ status: 412 })
    await table.deleteRows([(await table.page()).rows[1]?.$rowID ?? ''])
    const { version: made } = await table.convertColumn(convert)
    expect([isLost, (await table.page()).rows[0]?.['s'], await table.version()]).toEqual([
      true,
      1.5,
      made,
    ])
  })

  test('and a page are not read again while their version is the same', async () => {
    const { table, rowId } = await startWithRow()
    await table.addRows([{ n: 2 }, { n: 3 }])
    const first = await table.get(rowId)
    const ifNoneMatch = await table.version()
    const unchanged = { status: 304, type: 'not_modified' }

    const row = { ifNoneMatch: first?.version }
    await expect(table.get(rowId, row)).rejects.toMatchObject(unchanged)
    await expect(table.page({ ifNoneMatch })).rejects.toMatchObject(unchanged)
    await expect(table.scan({ ifNoneMatch }).next()).rejects.toMatchObject(unchanged)

    await table.updateRow(rowId, { n: 4 })
    expect((await table.get(rowId, row))?.row).toMatchObject({ n: 4 })
    const found: unknown[] = []
    for await (const { n } of table.rows({ ifNoneMatch, pageSize: 2 })) found.push(n)
    expect(found).toEqual([4, 2, 3])
  })

  test('is added once, also if the answer is lost', async () => {
    const { server, table } = await startWithRow()
    server.fail({ method: 'POST', fault: { cut: 'answer' } })

    const { rowIds } = await table.addRows([{ n: 7 }])

    expect((await table.get(rowIds[0] ?? ''))?.row).toMatchObject({ n: 7 })
    expect((await table.page()).rows).toHaveLength(2)
  })

  test('is not added a second time to a server without idempotency keys', async () => {
    const { server, table } = await startWithRow({ idempotencyKeys: false })
    server.fail({ method: 'POST', fault: { cut: 'answer' } })

    await expect(table.addRows([{ n: 7 }])).rejects.toMatchObject({
      name: 'ClientError',
      status: 0,
    })
    expect(server.requests.at(-1)?.headers).not.toHaveProperty('idempotency-key')
    expect((await table.page()).rows).toHaveLength(2)
  })
})

test('rows ends with its limit, whatever the pages are', async () => {
  const { client, server } = await start()
  const { tableId } = await client.importRows(rowsOf(20), { name: 'T' })
  const read = async (options: object): Promise<[unknown[], (string | null)[]]> => {
    const [values, before]: [unknown[], number] = [[], server.requests.length]
    for await (const { n } of client.table(tableId).scan(options)) values.push(n)
    const asked = server.requests.slice(before).map(({ path }) => {
      return new URL(path, server.url).searchParams.get('limit')
    })
    return [values, asked]
  }
  const first = (count: number) => rowsOf(count).map(({ n }) => n)
  expect(await read({ limit: 3 })).toEqual([first(3), ['3']])
  expect(await read({ limit: 5, pageSize: 2 })).toEqual([first(5), ['2', '2', '1']])
  expect(await read({ limit: 30, pageSize: 15 })).toEqual([first(20), ['15', '15']])
  expect(await read({})).toEqual([first(20), [null]])
})

test('a failure has its message in JSON, without its cause', async () => {
  const { client } = await start()
  const failure = await client
    .table('none')
    .page()
    .catch((reason) => reason)
  expect(JSON.parse(JSON.stringify(failure))).toMatchObject({
    name: 'ClientError',
    message: failure.message,
    type: 'table_not_found',
    status: 404,
  })
})

test('a message of a server forges no line of a log', async () => {
  const error = { type: 'x', message: 'no\r\n2026 all is well\u001b[2K\u202e' }
  const fetch = async () => Response.json({ error }, { status: 400 })
  const client = createClient({ url: 'http://127.0.0.1:1', key: 'k', fetch })
  const failure = await client.tables().catch((reason: ClientError) => reason)
  expect(failure).toMatchObject({
    message: 'no\\u000d\\u000a2026 all is well\\u001b[2K\\u202e',
  })
})

test('rows are found by conditions, and have the types of a schema', async () => {
  const { client } = await start()
  const schema = defineSchema({ columns: { n: 'number', tags: ['string'] } })
  const { tableId } = await client.importRows(rowsOf(20), { name: 'T', schema })
  const table = client.table(tableId, schema)
  await table.addRows([{ n: 2 ** 60, tags: ['last'] }]) // 24 more in JSON

  const found: number[] = []
  for await (const row of table.scan({ where: { n: { gte: 17n } }, pageSize: 2 })) {
    expectTypeOf(row).toEqualTypeOf<Row<typeof schema>>()
    found.push(row.n ?? 0)
  }
  expect(found).toEqual([17, 18, 19, 2 ** 60])
  const { rows } = await table.page({ where: { n: { gt: 2n ** 60n } }, columns: ['tags'] })
  expect(rows.map(({ tags }) => tags?.map((tag) => tag.length))).toEqual([[4]])
  // @ts-expect-error It was not asked for.
  expect(rows[0]?.n).toBeUndefined()
  const rowId = rows[0]?.$rowID ?? ''
  await table.updateRow(rowId, ({ tags = [] }) => ({ tags: [...tags, 'more'] }))
  expect((await table.get(rowId))?.row.tags).toEqual(['last', 'more'])
  // @ts-expect-error A number is wanted.
  await expect(table.addRows([{ n: 'x' }])).rejects.toMatchObject({ status: 422 })
  await expect(client.table(tableId).page({ where: { x: 1 } })).rejects.toMatchObject({
    status: 400,
  })
})

test('an option that is undefined is one that is not given, for the compiler too', async () => {
  const none = undefined
  const unset = { triesMax: none, idempotencyKeys: none, onRetry: none, fetch: none }
  const { client } = await start({}, unset)
  const schema = defineSchema({ columns: { n: 'number' } })
  const { tableId, version } = await client.importRows(rowsOf(3), {
    ...{ name: 'T', schema: none, onSchemaError: none, format: none, chunkBytes: none },
    ...{ parallel: none, onProgress: none, stashId: none, resume: none, startAt: none },
    ...{ receipt: none, signal: none },
  })
  const change = { tableId, mode: 'merge', key: ['n'], missing: none, ifMatch: none } as const
  await client.importRows(rowsOf(2), change)
  await client.importRows(rowsOf(3), { tableId, mode: 'overwrite', schema: none, ifMatch: none })
  const table = client.table(tableId)
  const find = { where: none, columns: none, limit: none, signal: none }
  const { rows } = await table.page({ ...find, continuation: none })
  const [{ $rowID } = { $rowID: '' }] = rows

  expect(rows.map(({ n }) => n)).toEqual([0, 1, 2])
  expect((await client.table(tableId, schema).page({ ...find, continuation: none })).rows).toEqual(
    rows,
  )
  let text = ''
  for await (const part of table.toCSV({ ...find, delimiter: none })) text += part
  for await (const part of table.toNDJSON(find)) text += part
  expect(text).toBe('n\n0\n1\n2\n{"n":0}\n{"n":1}\n{"n":2}\n')
  expect(await table.addRows([{ n: 3 }], { onSchemaError: none, signal: none })).toMatchObject({
    rowIds: [expect.any(String)],
  })
  await table.updateRow($rowID, { n: 9 }, { ifMatch: none, onSchemaError: none })
  expect(await table.version()).not.toBe(version)
  const file = { appId: 'a', fileName: none, contentType: none, onProgress: none }
  expect(await client.upload(new Blob(['x']), file)).toMatchObject({ url: expect.any(String) })
})

test('options that are wrong are a StoreError, what a signal ends throws its reason', async () => {
  const { client } = await start()
  const { tableId } = await client.importRows(rowsOf(1), { name: 'T' })
  const wrong = client.importRows(rowsOf(1), { name: 'T', chunkBytes: 1 })
  const failure: unknown = await wrong.catch((reason: unknown) => reason)
  expect([isStoreError(failure), failure]).toMatchObject([true, { code: 'OPTION_NOT_ALLOWED' }])

  const reason = new Error('enough')
  const ended = { signal: AbortSignal.abort(reason) }
  await expect(client.tables(ended)).rejects.toBe(reason)
  await expect(client.table(tableId).page(ended)).rejects.toBe(reason)
  await expect(client.importRows(rowsOf(1), { name: 'T', ...ended })).rejects.toBe(reason)
})

test('a file is uploaded, and read at its URL', async () => {
  const { server, client } = await start()
  server.fail({ method: 'PUT', fault: { status: 503, headers: AT_ONCE } })
  const file = new File(['hello'], 'greeting.txt', { type: 'text/plain' })

  const { url } = await client.upload(file, { appId: 'app' })

  const read = await fetch(url)
  expect(await read.text()).toBe('hello')
  expect(read.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(url).toMatch(/greeting\.txt$/)
})

test('the progress of an upload is told, from the beginning for each attempt', async () => {
  const { server, client } = await start()
  server.fail({ method: 'PUT', fault: { status: 503, headers: AT_ONCE }, times: 1 })
  const file = new File(['x'.repeat(300_000)], 'long.txt', { type: 'text/plain' })
  const told: number[] = []

  const { url } = await client.upload(file, {
    appId: 'app',
    onProgress: (bytes) => told.push(bytes),
  })

  expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(300_000)
  // A connection that the first answer closed may cost one more attempt.
  expect(told.filter((bytes) => bytes === 0).length).toBeGreaterThanOrEqual(2)
  expect(told.at(-1)).toBe(300_000)
  const last = told.slice(told.lastIndexOf(0))
  expect(last).toEqual(last.toSorted((a, b) => a - b))
  const length = { appId: 'app', onProgress: 'no' as never }
  await expect(client.upload(file, length)).rejects.toMatchObject({ code: 'OPTION_NOT_ALLOWED' })
})

describe('failures', () => {
  test('have the status, the type and the words of the server', async () => {
    const { client } = await start()
    await expect(client.table('x').page()).rejects.toMatchObject({
      name: 'ClientError',
      status: 404,
      type: 'table_not_found',
    })
    await expect(client.table('x').version()).rejects.toBeInstanceOf(ClientError)
  })

  test('are given up after so many attempts as were asked for', async () => {
    const tried: number[] = []
    const { server, client } = await start(
      {},
      { triesMax: 3, onRetry: (_, pauseMs) => tried.push(pauseMs) },
    )
    server.fail({ fault: { status: 503, headers: AT_ONCE }, times: 10 })

    await expect(client.tables()).rejects.toMatchObject({ status: 503, type: 'injected' })
    expect(tried).toEqual([0, 0])
  })

  test('a pause ends when the call is aborted', async () => {
    const stop = new AbortController()
    const onRetry = () => setImmediate(() => stop.abort(new Error('stopped')))
    const { server, client } = await start({}, { onRetry })
    server.fail({ fault: { status: 503, headers: { 'retry-after': '60' } } })

    await expect(client.tables({ signal: stop.signal })).rejects.toThrow('stopped')
  })

  test('no server there is told with its reason', async () => {
    const client = createClient({ url: 'http://127.0.0.1:1', key: 'k', triesMax: 1 })

    await expect(client.tables()).rejects.toThrow(/^The server did not answer: /)
  })
})

test.each([
  [{ url: 'ftp://x', key: 'k' }, /^Option "url" must be an http or https URL, not "ftp:\/\/x"$/],
  [{ url: 'http://x', key: '' }, /^Option "key" is empty; it must be an API key of the server$/],
  [{ url: 'http://x' }, /^Option "key" must be an API key of the server, not undefined$/],
  ...['trisMax', 'tries'].map((name): [object, RegExp] => [
    { url: 'http://x', key: 'k', [name]: 1 },
    RegExp(
      `^createClient takes no "${name}"; it takes url, key, triesMax, idempotencyKeys, onRetry, fetch; did you mean "triesMax"\\?$`,
    ),
  ]),
  [{ url: 'http://x', key: 'k', other: 1 }, /^createClient takes no "other"; it takes .*, fetch$/],
])('an option that is not as it must be is refused: %j', (options, message) => {
  expect(() => createClient(options as ClientOptions)).toThrow(message)
})

test('a row is read by its key, which must be that of the table', async () => {
  const { server, client } = await start()
  const rows = [
    { email: 'a@b.example', n: 1, $x: 'p' },
    { email: 'c@d.example', n: 2, $x: 'q' },
  ]
  const { tableId } = await client.importRows(rows, { name: 'T' })
  const table = client.table(tableId)
  await expect(table.get({ email: 'a@b.example' })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('the table has no key'),
  })
  const alter = async (key: readonly string[]) => {
    const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ key })
    const answer = await fetch(`${server.url}/tables/${tableId}`, {
      method: 'PATCH',
      headers,
      body,
    })
    expect(answer.status).toBe(200)
  }
  await alter(['email'])
  const found = await table.get({ email: 'c@d.example' })

  expect(found).toMatchObject({ row: rows[1], version: expect.any(String) })
  expect(await table.get({ email: 'x@y.example' })).toBeNull()
  for (const wrong of [{ n: 1 }, { email: 'c@d.example', n: 2 }, {}]) {
    await expect(table.get(wrong)).rejects.toMatchObject({ status: 400 })
  }
  await alter(['n', '$x'])
  expect((await table.get({ $x: 'p', n: 1 }))?.row).toMatchObject(rows[0] as object)
  expect(await table.get({ $x: 'p', n: 2 })).toBeNull()
  const same = table.get({ $x: 'p', n: 1 }, { ifNoneMatch: found?.version })
  await expect(same).rejects.toMatchObject({ status: 304 })
  for (const value of ['\ud800', null, undefined, {}, Number.NaN]) {
    const wrong = table.get({ $x: value as string, n: 1 })
    await expect(wrong).rejects.toMatchObject({ name: 'ClientError' })
  }
  expect(await table.count()).toBe(2)
  expect(await table.count({ n: { gt: 1 } })).toBe(1)
  expect(await table.count({}, { search: 'C@D' })).toBe(1)
  expect(await table.count({}, { search: { text: 'Ç@D', ignoreAccents: true } })).toBe(1)
  expect(await table.count({}, { search: { text: 'Ç@D' } })).toBe(0)
  const orderBy = [{ column: 'n', descending: true }]
  const page = await table.page({ orderBy, limit: 1, total: true })
  expect(page).toMatchObject({ rows: [{ n: 2 }], total: 2, continuation: expect.any(String) })
  expect(await table.page({ orderBy, from: 1 })).toMatchObject({ rows: [{ n: 1 }] })
  const ns: unknown[] = []
  for await (const { n } of table.scan({ orderBy, pageSize: 1 })) ns.push(n)
  expect(ns).toEqual([2, 1])
  await expect(table.count({ m: 1 })).rejects.toMatchObject({ status: 400 })
  const groups = await table.groups({ by: [], greatest: ['n'], where: { n: { gt: 1 } } })
  expect(groups).toEqual([{ values: {}, count: 1, greatest: { n: 2 } }])
})

test('a 404 of no API says that the base path may be missing', async () => {
  const fetch = async () => new Response('Not Found', { status: 404 })
  const client = createClient({ url: 'http://127.0.0.1:8787', key: 'k', fetch })
  await expect(client.tables()).rejects.toMatchObject({
    status: 404,
    message:
      'There is no rowstash API at http://127.0.0.1:8787/tables (status 404): is the base path, such as /api, missing from the url?',
  })
})

test.each([
  [404, { error: { type: 'request_error', message: 'Unknown path' } }],
  [405, {}],
])(
  'a server that does not describe its tables is told from one without the table: %i',
  async (status, body) => {
    const answers = [
      Response.json(body, { status }),
      Response.json(
        { error: { type: 'table_not_found', message: 'No such table' } },
        { status: 404 },
      ),
    ]
    const fetch = async () => answers.shift() ?? Response.error()
    const table = createClient({ url: 'http://127.0.0.1:8787', key: 'k', fetch }).table('t')

    await expect(table.info()).rejects.toMatchObject({
      status,
      message: expect.stringMatching(/does not describe its tables .*GET \/tables\/\{tableID\}/),
    })
    await expect(table.info()).rejects.toMatchObject({
      type: 'table_not_found',
      message: 'No such table',
    })
  },
)

test('a port that fetch refuses is asked once', async () => {
  const onRetry = () => {
    throw new Error('It was repeated')
  }
  const client = createClient({ url: 'http://127.0.0.1:1/api', key: 'k', onRetry })
  await expect(client.tables()).rejects.toThrow('The server did not answer: bad port')
})

describe('a table', () => {
  test('is found by its name, gets another, and ends, also if the answer is lost', async () => {
    const { server, client } = await start()
    const { tableId } = await client.importRows(rowsOf(3), { name: 'A' })
    await client.importRows(rowsOf(1), { name: 'A' })
    const table = await client.tableByName('A')
    if (table === null) throw new Error('no table')

    expect(table.id).toBe(tableId)
    const { version } = await table.rename('B')
    expect(await table.info()).toMatchObject({ name: 'B', rowCount: 3, version })
    expect((await client.tableByName('A'))?.id).not.toBe(tableId)
    server.fail({ method: 'DELETE', fault: { cut: 'answer' } })
    await table.delete()

    expect(await client.tableByName('B', defineSchema({ columns: { n: 'number' } }))).toBeNull()
    await table.delete()
    await expect(table.info()).rejects.toMatchObject({ type: 'table_not_found' })
  })
})
