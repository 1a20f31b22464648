// What the client refuses before it sends anything, and how it numbers the rows of an input.
import { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type Client,
  ClientError,
  type ClientTable,
  createClient,
  type ImportInput,
  type ImportTarget,
} from '../../../src/client/client.js'
import {
  createTestServer,
  type TestServer,
  type TestServerOptions,
} from '../../conformance/testing.js'

type Started = Readonly<{ server: TestServer; client: Client; table: ClientTable }>

/** A server with the table T of three rows. */
async function start(options: TestServerOptions = {}): Promise<Started> {
  const server = await createTestServer(options)
  onTestFinished(() => server.close())
  const client = createClient({ url: server.url, key: server.key })
  const { tableId } = await client.importRows(rowsOf(3), { name: 'T' })
  return { server, client, table: client.table(tableId) }
}

const rowsOf = (count: number): { n: number }[] => Array.from({ length: count }, (_, n) => ({ n }))

async function textOf(table: ClientTable): Promise<string> {
  let text = ''
  for await (const part of table.toNDJSON()) text += part
  return text
}

/** The failure of a call that sends nothing. */
async function refused({ server }: Started, call: () => unknown): Promise<unknown> {
  const before = server.requests.length
  const failure: unknown = await (async () => call())().catch((reason: unknown) => reason)
  expect(server.requests.slice(before)).toEqual([])
  return failure
}

const REFUSED = { code: 'OPTION_NOT_ALLOWED' }

/** Options with a wrong type, as JavaScript programs may pass them. */
const wrong = (options: object): never => options as never

describe('the target of an import', () => {
  test.each([
    [
      'another mode',
      { mode: 'replace' },
      /^Option "mode" must be one of 'add', 'overwrite', 'merge', not "replace"$/,
    ],
    ['a mode in other case', { mode: 'Merge' }, /not "Merge"$/],
    ['no mode', {}, /^Option "mode" is missing: with a `tableId`, importRows can add/],
    ['a mode that is undefined', { mode: undefined }, /^Option "mode" is missing/],
    ['a merge without key', { mode: 'merge' }, /^Option "key" is missing: a merge needs/],
    [
      'a key that is a text',
      { mode: 'merge', key: 'n' },
      /"key" must be a list of 1 to 16 .*, such as \['id'\], not "n"$/,
    ],
    ['an empty key', { mode: 'merge', key: [] }, /"key" must be a list of 1 to 16 different/],
    [
      'a key twice',
      { mode: 'merge', key: ['n', 'n'] },
      /"key" must be a list of 1 to 16 different/,
    ],
    [
      'the key of an add',
      { mode: 'add', key: ['n'] },
      /^importRows with the mode 'add' takes no "key"; it takes tableId, mode$/,
    ],
    ['the condition of an add', { mode: 'add', ifMatch: '1' }, /takes no "ifMatch"/],
    [
      'the schema of a merge',
      { mode: 'merge', key: ['n'], schema: { columns: [] } },
      /takes no "schema"/,
    ],
    [
      'a number as version',
      { mode: 'overwrite', ifMatch: 1 },
      /"ifMatch" must be a version as text/,
    ],
  ])('of a table is refused: %s', async (_, options, message) => {
    const started = await start()
    const before = await textOf(started.table)
    const target = wrong({ tableId: started.table.id, ...options })

    for (const call of ['importRows', 'checkRows'] as const) {
      const failure = await refused(started, () => started.client[call](rowsOf(1), target))
      const text = new RegExp(message.source.replace('importRows', call))
      expect(failure).toMatchObject({ ...REFUSED, message: expect.stringMatching(text) })
    }
    expect(await textOf(started.table)).toBe(before)
  })

  test.each([
    { mode: 'merge', key: ['n'] },
    { mode: 'add' },
    { key: ['n'] },
    { tableId: 'x', mode: 'overwrite' },
    { ifMatch: '1' },
  ])('of a new table takes no option of a changed table: %j', async (options) => {
    const started = await start()

    const call = () => started.client.importRows(rowsOf(1), wrong({ name: 'New', ...options }))
    const message = expect.stringMatching(
      /cannot be combined with `name` .*pass its `tableId` instead/,
    )
    expect(await refused(started, call)).toMatchObject({ ...REFUSED, message })
    expect(await started.client.tables()).toHaveLength(1)
  })

  test.each([
    undefined,
    {},
    { name: undefined },
    { name: '' },
    { name: 'x'.repeat(1_001) },
    { name: 5 },
  ])('is needed: %j', async (options) => {
    const started = await start()
    const call = () => started.client.importRows(rowsOf(1), wrong(options as object))
    expect(await refused(started, call)).toMatchObject(REFUSED)
  })

  test('of each kind takes nothing of another, for the compiler too', async () => {
    const [tableId, name, key, none] = ['t', 'T', ['k'], undefined] as const
    const schema = { columns: [] }
    const targets: readonly ImportTarget[] = [
      { name, schema },
      { tableId, mode: 'add', schema: none, ifMatch: none, name: none },
      { tableId, mode: 'overwrite', schema, ifMatch: '1', key: none },
      { tableId, mode: 'merge', key, missing: 'delete', ifMatch: '1', schema: none },
      // @ts-expect-error There is no target.
      {},
      // @ts-expect-error A change needs a mode.
      { tableId },
      // @ts-expect-error A new table has no mode,
      { name, mode: 'add' },
      // @ts-expect-error no ID,
      { name, tableId },
      // @ts-expect-error neither with a mode,
      { name, tableId, mode: 'add' },
      // @ts-expect-error no key,
      { name, key },
      // @ts-expect-error no rows that are missing,
      { name, missing: 'keep' },
      // @ts-expect-error and no version.
      { name, ifMatch: '1' },
      // @ts-expect-error A table that is changed keeps its name,
      { name, tableId, mode: 'overwrite' },
      // @ts-expect-error whatever the change is.
      { name, tableId, mode: 'merge', key },
      // @ts-expect-error An add has no schema,
      { tableId, mode: 'add', schema },
      // @ts-expect-error no condition,
      { tableId, mode: 'add', ifMatch: '1' },
      // @ts-expect-error no key,
      { tableId, mode: 'add', key },
      // @ts-expect-error and no rows that are missing.
      { tableId, mode: 'add', missing: 'keep' },
      // @ts-expect-error An overwrite has no key,
      { tableId, mode: 'overwrite', key },
      // @ts-expect-error and no rows that are missing.
      { tableId, mode: 'overwrite', missing: 'keep' },
      // @ts-expect-error A merge has no schema,
      { tableId, mode: 'merge', key, schema },
      // @ts-expect-error and needs a key.
      { tableId, mode: 'merge' },
    ]
    const started = await start()
    const wrongCount = targets.length - 4
    for (const target of targets.slice(-wrongCount)) {
      for (const call of ['importRows', 'checkRows'] as const) {
        const failure = await refused(started, () => started.client[call](rowsOf(1), target))
        expect(failure, JSON.stringify(target)).toMatchObject(REFUSED)
      }
    }
    const both = { name: 'x', mode: 'add' } as const
    // @ts-expect-error Neither does an object that is made before the call.
    expect(await refused(started, () => started.client.importRows([], both))).toMatchObject(REFUSED)
  })

  test('may have options of others that are undefined', async () => {
    const { client, table } = await start()
    const none = undefined
    await client.importRows(rowsOf(1), { name: 'New', tableId: none, mode: none, key: none })
    const add = { name: none, tableId: table.id, mode: 'add', key: none } as const
    await client.importRows(rowsOf(1), add)
    expect((await textOf(table)).split('\n')).toHaveLength(5)
  })
})

/** Each call of the client with options that it does not accept, or with wrong values. */
const CALLS: readonly [string, (given: never, started: Started) => unknown, string][] = [
  ['tables', (given, { client }) => client.tables(given), 'signal'],
  ['tableByName', (given, { client }) => client.tableByName('T', undefined, given), 'signal'],
  ['stashes', (given, { client }) => client.stashes(given), 'signal'],
  ['stashChunks', (given, { client }) => client.stashChunks('s', given), 'signal'],
  ['deleteStash', (given, { client }) => client.deleteStash('s', given), 'signal'],
  [
    'upload',
    (given, { client }) => client.upload(new Blob(['x']), given),
    'appId, fileName, contentType, onProgress, signal',
  ],
  ['info', (given, { table }) => table.info(given), 'signal'],
  ['rename', (given, { table }) => table.rename('U', given), 'signal'],
  ['delete', (given, { table }) => table.delete(given), 'signal'],
  ['version', (given, { table }) => table.version(given), 'signal'],
  ['changes', (given, { table }) => table.changes(given), 'since, signal'],
  ['watch', (given, { table }) => table.watch(given), 'since, signal'],
  [
    'page',
    (given, { table }) => table.page(given),
    'where, search, columns, orderBy, limit, signal, continuation, from, total, ifNoneMatch',
  ],
  [
    'scan',
    (given, { table }) => table.scan(given),
    'where, search, columns, orderBy, limit, signal, pageSize, ifNoneMatch',
  ],
  [
    'toCSV',
    (given, { table }) => table.toCSV(given),
    'where, search, columns, orderBy, limit, signal, delimiter',
  ],
  [
    'toNDJSON',
    (given, { table }) => table.toNDJSON(given),
    'where, search, columns, orderBy, limit, signal',
  ],
  ['get', (given, { table }) => table.get('r', given), 'ifNoneMatch, signal'],
  ['addRows', (given, { table }) => table.addRows([{ n: 1 }], given), 'onSchemaError, signal'],
  [
    'updateRow',
    (given, { table }) => table.updateRow('r', { n: 1 }, given),
    'ifMatch, onSchemaError, signal',
  ],
  ['deleteRow', (given, { table }) => table.deleteRow('r', given), 'signal'],
  [
    'updateRows',
    (given, { table }) => table.updateRows([{ rowId: 'r', cells: {} }], given),
    'onSchemaError, signal',
  ],
  ['deleteRows', (given, { table }) => table.deleteRows(['r'], given), 'signal'],
  ...(['convertColumn', 'checkConversion'] as const).map((call): (typeof CALLS)[number] => [
    call,
    (given, { table }) => table[call]({ column: 'n', type: 'number' }, given),
    'signal',
  ]),
]

describe('options', () => {
  test.each(CALLS)('of %s must have known names and valid values', async (name, call, taken) => {
    const started = await start()

    const unknown = await refused(started, () => call(wrong({ ifmatch: '1' }), started))
    const meant = taken.startsWith('ifMatch') ? '; did you mean "ifMatch"?' : ''
    const message = `${name} takes no "ifmatch"; it takes ${taken}${meant}`
    expect(unknown).toMatchObject({ ...REFUSED, message })
    for (const given of [{ signal: 'no' }, 'no', null, new Map()]) {
      expect(await refused(started, () => call(wrong(given as object), started))).toMatchObject(
        REFUSED,
      )
    }
  })

  test.each([
    ['a text', 'r', /takes an array of rows, not a string/],
    ['an update that is no object', [1], /Row 0 .* of updateRows/],
    ['no ID', [{ cells: {} }], /^rowId of Row 0 .* must be/],
    ['no cells', [{ rowId: 'r' }], /^Row 0 .* is not an object of cells/],
    ['another member', [{ rowId: 'r', cell: {} }], /takes no "cell"; it takes .*mean "cells"/],
    ['a number as a version', [{ rowId: 'r', cells: {}, ifMatch: 1 }], /must be a version/],
    ['a version that is none', [{ rowId: 'r', cells: {}, ifMatch: 'a' }], /must be a version/],
  ])('updateRows refuses %s', async (_, given, message) => {
    const started = await start()
    const failure = await refused(started, () => started.table.updateRows(wrong(given as object)))
    expect(String((failure as Error).message)).toMatch(message)
  })

  test('deleteRows refuses what names no row', async () => {
    const started = await start()
    for (const given of ['r', [1], [{}], [''], [{ rowId: 'r', ifMatch: 1 }]]) {
      const call = () => started.table.deleteRows(wrong(given as object))
      expect(await refused(started, call)).toBeInstanceOf(Error)
    }
    const call = () => started.table.deleteRows([{ rowId: 'r', cells: {} } as never])
    expect(await refused(started, call)).toMatchObject(REFUSED)
  })

  test.each([
    ['nothing', undefined, /convertColumn/],
    ['no column', { type: 'number' }, /^column must be/],
    [
      'a type that is no JSON',
      { column: 'n', type: () => 1 },
      /"convertColumn" has an invalid value for 'type'/,
    ],
    ['another member', { column: 'n', kind: 'number' }, /takes no "kind"/],
    ['a number as a version', { column: 'n', type: 'number', ifMatch: 1 }, /version as text/],
  ])('convertColumn refuses %s', async (_, given, message) => {
    const started = await start()
    const failure = await refused(started, () =>
      started.table.convertColumn(wrong(given as object)),
    )
    expect(String((failure as Error).message)).toMatch(message)
  })

  test('of importRows and checkRows are known: a check has no stash of the caller', async () => {
    const started = await start()
    const { client } = started
    const imported = await refused(started, () =>
      client.importRows([], wrong({ name: 'N', nam: 1 })),
    )
    const checked = await refused(started, () =>
      client.checkRows([], wrong({ name: 'N', stashId: 's' })),
    )
    expect(imported).toMatchObject({
      ...REFUSED,
      message: expect.stringMatching(
        /^importRows takes no "nam"; it takes name, schema, .*; did you mean "name"\?$/,
      ),
    })
    expect(checked).toMatchObject({
      ...REFUSED,
      message: expect.stringMatching(/^checkRows takes no "stashId"; /),
    })
  })

  test.each([
    ['chunkBytes', 1_023],
    ['parallel', 0],
    ['startAt', -1],
    ['startAt', 2 ** 30 + 1],
    ['format', 'xlsx'],
    ['onSchemaError', 'drop'],
    ['onProgress', 1],
    ['stashId', '-a'],
    ['resume', 'yes'],
    ['receipt', 1],
    ['schema', []],
    ['ifMatch', '1\n'],
    ['signal', {}],
  ])('of an import are in their ranges: %s %j', async (name, value) => {
    const started = await start()
    const target = name === 'ifMatch' ? { tableId: 'T', mode: 'overwrite' } : { name: 'N' }
    const call = () => started.client.importRows([], wrong({ ...target, [name]: value }))
    const message = expect.stringMatching(new RegExp(`^Option "${name}" must be `))
    expect(await refused(started, call)).toMatchObject({ ...REFUSED, message })
  })

  test('of an import has a schema that JSON can represent', async () => {
    const started = await start()
    const schema = { columns: [{ id: 'a', type: 1n }] }
    const call = () => started.client.importRows([{ a: 1 }], wrong({ name: 'N', schema }))
    expect(await refused(started, call)).toMatchObject(REFUSED)
  })

  test.each([
    ['limit', 0],
    ['limit', 1.5],
    ['limit', '7'],
    ['where', 'n'],
    ['search', 5],
    ['search', {}],
    ['search', { text: 'x', ignoreCase: true }],
    ['search', { text: 'x', ignoreAccents: 1 }],
    ['from', -1],
    ['columns', 'n'],
    ['columns', [1]],
  ])('of a read are in their ranges: %s %j', async (name, value) => {
    const started = await start()
    const { table } = started
    const given = wrong({ [name]: value })
    for (const call of [
      () => table.page(given),
      () => table.scan(given),
      () => table.toCSV(given),
      () => table.toNDJSON(given),
    ]) {
      expect(await refused(started, call)).toMatchObject(REFUSED)
    }
  })

  test.each([
    ...[{ onRetry: 1 }, { fetch: 'no' }, { idempotencyKeys: 'no' }, { triesMax: 101 }],
    ...[{ key: 'ключ' }, { key: 'a\nb' }, { key: '\ud800' }],
  ])('of a client are as they must be: %j', (given) => {
    expect(() => createClient(wrong({ url: 'http://x', key: 'k', ...given }))).toThrow(/^Option "/)
  })

  test('a change by a function has no condition of the caller, which it would not keep', async () => {
    const started = await start()
    const call = () => started.table.updateRow('r', () => ({ n: 9 }), { ifMatch: '1' })
    expect(await refused(started, call)).toMatchObject(REFUSED)
  })

  test.each([undefined, {}, { appId: '' }, { appId: 5 }])(
    'an upload names its app: %j',
    async (given) => {
      const started = await start()
      const call = () => started.client.upload(new Blob(['x']), wrong(given as object))
      const message = expect.stringMatching(/^Option "appId" /)
      expect(await refused(started, call)).toMatchObject({ ...REFUSED, message })
    },
  )
})

describe('arguments', () => {
  const INVALID = { name: 'ClientError', status: 0, type: 'argument_invalid' }

  test.each([undefined, '', '.', '..', 5, '\ud800'])(
    'an ID must not be %j, which would change the path',
    async (id) => {
      const started = await start()
      const { client, table } = started
      const given = wrong(id as never)
      const calls = [
        () => client.table(given),
        () => client.deleteStash(given),
        () => client.stashChunks(given),
        () => table.get(given),
        () => table.updateRow(given, { n: 1 }),
        () => table.deleteRow(given),
      ]
      for (const call of calls) expect(await refused(started, call)).toMatchObject(INVALID)
      expect(await client.tables()).toHaveLength(1)
    },
  )

  test.each([undefined, null, 5n, Number.NaN, new Date(0)])(
    'a name is a text, not %s',
    async (name) => {
      const started = await start()
      const { client, table } = started
      for (const call of [
        () => table.rename(name as never),
        () => client.tableByName(name as never),
      ]) {
        expect(await refused(started, call)).toMatchObject(INVALID)
      }
    },
  )

  test.each([
    ['a Map', new Map([['n', 1]]), /is not an object of cells but a Map; see Object.fromEntries$/],
    [
      'bytes',
      new Uint8Array([1]),
      /but a Uint8Array; pass bytes or text in a Blob, or a stream of bytes, with `format`/,
    ],
    ['a Buffer', Buffer.from('n\n1'), /but a Uint8Array; pass bytes or text in a Blob/],
    ['an array', [1], /but an array$/],
    ['a text', 'n', /but a string; pass bytes or text in a Blob/],
    ['null', null, /but null$/],
    ['a date', new Date(0), /but a Date$/],
  ])('a row is an object of cells, not %s', async (_, row, message) => {
    const started = await start()
    const { client, table } = started
    const rows = wrong([{ n: 1 }, row])

    for (const call of [() => client.importRows(rows, { name: 'N' }), () => table.addRows(rows)]) {
      const failure = await refused(started, call)
      expect(failure).toMatchObject({ ...INVALID, message: expect.stringMatching(message) })
      expect(failure).toMatchObject({
        message: expect.stringMatching(/^Row 1 \(counted from 0\) /),
      })
    }
    const change = await refused(started, () => table.updateRow('r', wrong(row as object)))
    expect(change).toMatchObject({
      ...INVALID,
      message: expect.stringMatching(/^The change of a row /),
    })
  })

  test.each([
    ['a text', 'a\n1', /not a string; pass bytes or text in a Blob/],
    ['bytes', new Uint8Array([97, 10, 49]), /not a Uint8Array; pass bytes or text in a Blob/],
    [
      'another object',
      { csv: 'a\n1' },
      /^The input must be objects, as an array or iterable; a Blob; .*; or \{ chunks \}, not an object$/,
    ],
    ['chunks that are an array', { chunks: [] }, /not an object$/],
    ['nothing', undefined, /not undefined$/],
    ['a Promise', Promise.resolve([]), /an await is missing/],
  ])('an input is not %s', async (_, input, message) => {
    const started = await start()
    const call = () => started.client.importRows(wrong(input as object), { name: 'N' })
    expect(await refused(started, call)).toMatchObject({
      ...INVALID,
      message: expect.stringMatching(message),
    })
  })

  test('an object with toJSON is a row', async () => {
    class Order {
      readonly #n = 7
      toJSON() {
        return { n: this.#n }
      }
    }
    const { table } = await start()
    await table.addRows([new Order()])
    expect(await textOf(table)).toMatch(/\{"n":7\}\n$/)
  })

  test('a file to upload is a Blob', async () => {
    const started = await start()
    const call = () => started.client.upload(wrong(new Uint8Array(1)), { appId: 'a' })
    const message = expect.stringMatching(/^upload takes a Blob or a File, not a Uint8Array/)
    expect(await refused(started, call)).toMatchObject({ ...INVALID, message })
  })
})

describe('a stream of bytes', () => {
  const pieces = [Buffer.from('n,t\n1,"a'), Buffer.from('\nb"\n2,c\n')]

  test.each([
    ['of Node', () => Readable.from(pieces)],
    ['of the web', () => new Blob(pieces).stream()],
  ])('%s is imported with its format, and refused without', async (_, open) => {
    const { client } = await start()
    const stream = open as () => ImportInput

    const { tableId, rows } = await client.importRows(stream(), { name: 'N', format: 'csv' })

    expect(rows).toBe(2)
    expect(await textOf(client.table(tableId))).toBe('{"n":1,"t":"a\\nb"}\n{"n":2,"t":"c"}\n')
    const message =
      /^Row 0 \(counted from 0\) is not an object of cells but a Uint8Array; .* with `format`/
    await expect(client.importRows(stream(), { name: 'M' })).rejects.toThrow(message)
  })

  test('has no texts and no objects', async () => {
    const { client } = await start()
    const message = 'With `format`, a stream must be of Uint8Array, not an object'
    const stream = wrong(Readable.from([{ n: 1 }]))
    await expect(client.importRows(stream, { name: 'N', format: 'csv' })).rejects.toThrow(message)
  })
})

describe('bytes without rows', () => {
  test.each(['csv', 'tsv', 'json', 'ndjson'] as const)('are refused as %s', async (format) => {
    const started = await start()
    const { client, table } = started
    const target = { tableId: table.id, mode: 'overwrite' } as const
    for (const blank of ['', ' \r\n\t', '\ufeff\n']) {
      const inputs = [() => new Blob([blank]), () => Readable.from([Buffer.from(blank)])]
      for (const input of inputs) {
        const import_ = () => client.importRows(input(), { ...target, format })
        expect(await refused(started, import_)).toMatchObject({
          type: 'argument_invalid',
          message: expect.stringContaining('allowEmpty: true'),
        })
        const check = () => client.checkRows(input(), { ...target, format })
        expect(await refused(started, check)).toMatchObject({ type: 'argument_invalid' })
      }
      expect(await textOf(table)).not.toBe('')
      await client.importRows(inputs[0]?.() ?? [], { ...target, format, allowEmpty: true })
      expect(await textOf(table)).toBe('')
      await client.importRows(rowsOf(1), { tableId: table.id, mode: 'add' })
    }
  })
})

describe('a row is numbered in the whole input', () => {
  const BAD = 700

  const values = (count: number): unknown[] => rowsOf(count).map(({ n }) => (n === BAD ? 'x' : n))

  const inputs: [string, () => ImportInput][] = [
    ['an array', () => values(1_000).map((n) => ({ n }))],
    [
      'NDJSON',
      () =>
        new Blob(
          [
            values(1_000)
              .map((n) => `${JSON.stringify({ n })}\n`)
              .join(''),
          ],
          { type: 'application/x-ndjson' },
        ),
    ],
    ['CSV', () => new File([`n\n${values(1_000).join('\n')}\n`], 'a.csv')],
    // Blank lines are rows without cells, on the server and here.
    [
      'CSV with blank lines',
      () =>
        new File(
          [
            `n,m\r\n\r\n\r\n${values(1_000)
              .slice(2)
              .map((n) => `${n},`)
              .join('\r\n')}`,
          ],
          'a.csv',
        ),
    ],
  ]
  const schema = {
    columns: [
      { id: 'n', type: { kind: 'number' } },
      { id: 'm', type: { kind: 'string' } },
    ],
  } as const

  test.each(inputs)('of %s, in a failure and in what a check finds', async (_, open) => {
    const { client } = await start()
    const target = { name: 'N', schema, chunkBytes: 1_024, dialect: 'plain' } as const

    const failure: unknown = await client
      .importRows(open(), target)
      .catch((reason: unknown) => reason)
    const { problems } = await client.checkRows(open(), target)

    expect(failure).toBeInstanceOf(ClientError)
    expect(failure).toMatchObject({
      message: expect.stringContaining(` in row ${BAD} (counted from 0): must be`),
      place: { chunk: expect.any(Number), inputRow: BAD },
    })
    expect((failure as ClientError).place?.chunk).toBeGreaterThan(1)
    expect(problems).toMatchObject([{ column: 'n', place: { inputRow: BAD } }])
  })

  test('of chunks that were halved', async () => {
    const { client } = await start({ handler: { bodyBytesMax: 1_500 } })
    const rows = values(1_000).map((n) => ({ n }))

    const failed = client.importRows(rows, { name: 'N', schema })

    await expect(failed).rejects.toMatchObject({
      message: expect.stringContaining(` in row ${BAD} (counted from 0): must be`),
      place: { chunk: 0, inputRow: BAD },
    })
  })

  test('of an import that goes on', async () => {
    const { client } = await start()
    const rows = values(1_000).map((n) => ({ n }))
    const options = { name: 'N', schema, chunkBytes: 1_024, stashId: 's', resume: true } as const
    for (let time = 0; time < 2; time++) {
      await expect(client.importRows(rows, options)).rejects.toMatchObject({
        place: { inputRow: BAD },
      })
    }
  })

  test('of a chunk that no server reads', async () => {
    const { client } = await start({ handler: { bodyBytesMax: 1_500 } })
    const rows = [...rowsOf(500), { text: 'x'.repeat(2_000) }]
    const failed = client.importRows(rows, { name: 'N' })
    await expect(failed).rejects.toMatchObject({ status: 413, place: { inputRow: 500 } })
  })

  test('of two rows with one key', async () => {
    const { client, table } = await start()
    const rows = [...rowsOf(500), { n: 3 }]
    const merge = { tableId: table.id, mode: 'merge', key: ['n'], chunkBytes: 1_024 } as const
    await expect(client.importRows(rows, merge)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^row 3 \(counted from 0\) and row 500 \(counted from 0\) of the input/i,
      ),
      place: { chunk: 0, inputRow: 3 },
    })
  })

  test('of a row that cannot be sent', async () => {
    const { client } = await start()
    const rows = wrong([...rowsOf(500), new Map()])
    const failed = client.importRows(rows, { name: 'N', chunkBytes: 1_024 })
    await expect(failed).rejects.toMatchObject({ place: { inputRow: 500 } })
  })

  test('of chunks of the caller as the server does, as nobody else knows how they were cut', async () => {
    const { client } = await start()
    const body = () => new TextEncoder().encode('[{"n":"x"}]')
    const chunks = (async function* () {
      yield { rows: 1, bytes: 11, type: 'application/json', body }
    })()
    const failed = client.importRows({ chunks }, { name: 'N', schema })
    const message = expect.stringContaining("in row 0 (counted from 0) of chunk '0'")
    await expect(failed).rejects.toMatchObject({ message, place: { chunk: 0, row: 0 } })
    await expect(failed).rejects.not.toHaveProperty('place.inputRow')
  })
})

test('rows end with the row at which the signal is aborted', async () => {
  const { client } = await start()
  const { tableId } = await client.importRows(rowsOf(100), { name: 'N' })
  const stop = new AbortController()
  const seen: unknown[] = []

  const walk = async () => {
    for await (const { n } of client.table(tableId).scan({ signal: stop.signal })) {
      seen.push(n)
      if (n === 4) stop.abort()
    }
  }

  await expect(walk()).rejects.toMatchObject({ name: 'AbortError' })
  expect(seen).toEqual([0, 1, 2, 3, 4])
})

describe('values', () => {
  test('a row or a condition with a value that means nothing is refused', async () => {
    const started = await start()
    const { client, table } = started
    const INVALID_ROW = { type: 'argument_invalid', message: expect.stringContaining("column 'n'") }
    for (const n of [Number.NaN, new Date('31.12.2026'), [undefined], new Map(), () => 1]) {
      const calls = [
        () => client.importRows([{ n }], { name: 'N' }),
        () => table.addRows([{ n }]),
        () => table.updateRow('r', { n }),
      ]
      for (const call of calls) expect(await refused(started, call)).toMatchObject(INVALID_ROW)
      const where = { n } as never
      for (const call of [() => table.page({ where }), () => table.scan({ where }).next()]) {
        expect(await refused(started, call)).toMatchObject(REFUSED)
      }
    }
    for (const where of [
      { n: undefined },
      { n: { eq: undefined } },
      { n: { in: [undefined] } },
      { $or: undefined },
      { $or: [{ n: undefined }] },
      { $not: { n: undefined } },
    ]) {
      const failure = await refused(started, () => table.toNDJSON({ where: where as never }).next())
      expect(failure).toMatchObject({ ...REFUSED, message: expect.stringMatching(/'(?:n|\$or)'/) })
    }
  })

  test('dates, BigInts and undefined mean what they mean in the library', async () => {
    const { client, table } = await start()
    const rows = [{ n: 1n, at: new Date(0), big: 2n ** 70n, none: undefined }]
    const { tableId } = await client.importRows(rows, { name: 'V' })
    const made = client.table(tableId)
    const cells = '{"n":1,"at":"1970-01-01T00:00:00.000Z","big":1180591620717411303424}\n'
    expect(await textOf(made)).toBe(cells)
    const where = { at: { lte: new Date(0) }, big: { gt: 2n ** 70n - 1n } }
    const [row] = (await made.page({ where })).rows
    await made.updateRow(row?.$rowID ?? '', { n: undefined, at: null })
    expect(await textOf(made)).toBe('{"n":1,"big":1180591620717411303424}\n')

    await table.addRows([{ n: Number.NaN }], { onSchemaError: 'dropColumns' })
    const tableWithDrops = { tableId: table.id, mode: 'add', onSchemaError: 'dropColumns' } as const
    const added = await client.importRows([{ n: () => 1 }], { ...tableWithDrops, receipt: true })
    expect(added.receipt).toMatchObject({ dropped: { count: 1 } })
    expect(await textOf(table)).toBe('{"n":0}\n{"n":1}\n{"n":2}\n{}\n{}\n')
  })

  test('blobs, signals and responses of another realm or implementation are taken', async () => {
    const { server } = await start()
    // node-fetch and jsdom have their own classes. These have the parts that the client needs.
    const foreignFetch = (async (...request: Parameters<typeof fetch>) => {
      const answer = await fetch(...request)
      const { ok, status, headers, body } = answer
      return { ok, status, headers, body, json: () => answer.json(), text: () => answer.text() }
    }) as typeof fetch
    const client = createClient({ url: server.url, key: server.key, fetch: foreignFetch })
    const blob = {
      [Symbol.toStringTag]: 'Blob',
      size: 4,
      type: 'text/csv',
      stream: () => new Blob(['n\n1\n']).stream(),
    } as never
    const ends = new EventTarget()
    const signal = Object.assign(ends, { aborted: false, reason: new Error('enough') }) as never
    const { rows } = await client.importRows(blob, { name: 'B', signal })
    expect(rows).toBe(1)
    const underWay = client.importRows(
      (async function* () {
        yield { n: 1 }
        ends.dispatchEvent(new Event('abort'))
        yield { n: 2 }
      })(),
      { name: 'C', signal },
    )
    await expect(underWay).rejects.toThrow('enough')
  })

  test('a signal of another realm is followed once, however many rows are read', async () => {
    const { server } = await start()
    const client = createClient({ url: server.url, key: server.key })
    const rows = Array.from({ length: 100 }, (_, n) => ({ n }))
    const { tableId } = await client.importRows(rows, { name: 'D' })
    const ends = new EventTarget()
    const listen = vi.spyOn(ends, 'addEventListener')
    const signal = Object.assign(ends, { aborted: false, reason: new Error('enough') }) as never

    let read = 0
    for await (const _ of client.table(tableId).scan({ signal, pageSize: 50 })) read++

    expect(read).toBe(100)
    expect(listen).toHaveBeenCalledTimes(1)
  })
})
