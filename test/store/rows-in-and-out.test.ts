// Goal: rows are accepted as text streams of any length, and are returned as text that gives the same rows again.
import vm from 'node:vm'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  openMemory,
  type RowsInput,
  type RowWithId,
  type Store,
  type Table,
  type TextRows,
} from '../../src/index.js'
import { runOptions } from '../support/fast-check-options.js'
import { runsAll } from '../support/what-runs.js'

async function open(options = {}) {
  const store = await openMemory({
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
    ...options,
  })
  onTestFinished(() => store.close())
  return store
}

async function* piecesOf(text: string, size: number, onPiece = (): void => undefined) {
  const bytes = new TextEncoder().encode(text)
  for (let at = 0; at < bytes.length; at += size) {
    onPiece()
    yield bytes.slice(at, at + size)
  }
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let text = ''
  for await (const piece of pieces) text += decoder.decode(piece, { stream: true })
  return text + decoder.decode()
}

async function rowsOf(table: Table): Promise<unknown[]> {
  const rows: unknown[] = []
  for await (const { $rowID: _, ...cells } of table.scan({ numbers: 'text' })) rows.push(cells)
  return rows
}

async function tableOf(store: Store, rows: RowsInput, schema?: object): Promise<Table> {
  const team = store.team('t')
  const { tableId } = await team.createTable({
    name: 'x',
    rows,
    ...(schema && { schema }),
  } as never)
  return team.table(tableId)
}

/** Rows of 2 KB each, so that a piece has few of them. */
const longRows = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ n, s: String(n).padEnd(2_000, 'x') }))

const TEXTS = {
  csv: 'n,s\n1.50,"ä, ""b""\nc"\n,x\n3,\n',
  tsv: 'n\ts\n1.50\t"ä, ""b""\nc"\n\tx\n3\t\n',
  json: '[{"n":1.50,"s":"ä, \\"b\\"\\nc"},{"s":"x"},{"n":3}]',
  ndjson: '{"n":1.50,"s":"ä, \\"b\\"\\nc"}\n{"s":"x"}\n\n{"n":3}\n',
} as const
type Form = keyof typeof TEXTS
const FORMS = Object.keys(TEXTS) as Form[]
const ROWS = [{ n: '1.50', s: 'ä, "b"\nc' }, { s: 'x' }, { n: '3' }]

function streamed(form: Form, text: string, size: number): RowsInput {
  return { [form]: piecesOf(text, size) } as unknown as RowsInput
}

describe('rows as texts of several formats', () => {
  const TEXTS_OF_CHUNKS = [
    { csv: 'id,n\n1,2\n' },
    { json: '[{"n":3.50,"t":"x"}]' },
    { tsv: 't\ty\n' },
  ]

  async function* chunksOf(texts: readonly TextRows[]): AsyncGenerator<TextRows, void> {
    yield* texts
  }

  test('are the rows of a stash with the same chunks', async () => {
    await using store = await openMemory()
    const team = store.team('t')
    for (const [serial, text] of TEXTS_OF_CHUNKS.entries()) await team.stash('s').put(serial, text)
    const inputs = [{ chunks: chunksOf(TEXTS_OF_CHUNKS) }, team.stash('s')]
    const written: unknown[] = []
    for (const rows of inputs) {
      const { tableId } = await team.createTable({ name: 'a', rows })
      const table = team.table(tableId)
      written.push([await table.schema(), await textOf(table.toNDJSON())])
    }

    expect(written[0]).toEqual(written[1])
    expect(JSON.stringify(written[0])).toContain('3.50')
  })

  test('are refused with the number of the chunk that does not fit, and so is anything but chunks', async () => {
    await using store = await openMemory()
    const team = store.team('t')
    const schema = { columns: [{ id: 'n', type: 'number' }] } as const
    const rows = { chunks: chunksOf([{ csv: 'n\n1\n' }, { csv: 'n\n2\nx\n' }]) }

    await expect(team.createTable({ name: 'a', schema, rows })).rejects.toMatchObject({
      code: 'COLUMN_HAS_INVALID_VALUE',
      chunk: '1',
      row: 1,
    })
    for (const bad of [{ chunks: [] }, { chunks: chunksOf([]), csv: '' }, { chunks: 5 }]) {
      const making = team.createTable({ name: 'a', rows: bad as never })
      await expect(making).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
    }
    expect(await team.tables()).toEqual([])
  })
})

describe('rows as a stream of text', () => {
  test.each(FORMS)('of %s are taken by each operation, whatever the pieces are', async (form) => {
    const store = await open()
    const team = store.team('t')
    const rows = (size: number): RowsInput => streamed(form, TEXTS[form], size)
    const table = await tableOf(store, rows(1))
    expect(await rowsOf(table)).toEqual(ROWS)
    await table.addRows(rows(3))
    expect(await rowsOf(table)).toEqual([...ROWS, ...ROWS])
    await table.overwrite({ rows: rows(7) })
    expect(await rowsOf(table)).toEqual(ROWS)
    expect(await team.stash('s').put(0, rows(2))).toEqual({ rows: 3 })
    await table.addRows(team.stash('s'))
    expect(await rowsOf(table)).toEqual([...ROWS, ...ROWS])
    expect((await table.preflight({ rows: rows(5) })).rows).toBe(3)
    const job = await team.startJob({ overwrite: { tableId: table.id, rows: rows(4) } })
    expect((await job.wait()).status).toBe('succeeded')
    expect(await rowsOf(table)).toEqual(ROWS)
  })

  test('may be a web stream, and NDJSON may be a text', async () => {
    const store = await open()
    const web = new Blob([TEXTS.csv]).stream() as ReadableStream<Uint8Array>
    expect(await rowsOf(await tableOf(store, { csv: web }))).toEqual(ROWS)
    expect(await rowsOf(await tableOf(store, { ndjson: TEXTS.ndjson }))).toEqual(ROWS)
    const bytes = new TextEncoder().encode(TEXTS.ndjson)
    expect(await rowsOf(await tableOf(store, { ndjson: bytes }))).toEqual(ROWS)
  })

  test('are stored as they come: not all of them are in memory', async () => {
    const store = await open()
    const line = `${'x'.repeat(1_000)}\n`
    let pieces = 0
    let stored = 0
    async function* long(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode('s\n')
      for (; pieces < 120; pieces++) {
        stored = Math.max(stored, store.activity().rowsIn)
        yield new TextEncoder().encode(line.repeat(100))
      }
    }
    const table = await tableOf(store, { csv: long() })

    expect((await table.info()).rowCount).toBe(12_000)
    expect(stored).toBeGreaterThan(0) // Of 12 MB, some were stored before the last arrived.
  })

  test.each([
    ['csv', 'n\n1\nx\n', { code: 'COLUMN_HAS_INVALID_VALUE', row: 1, line: 3 }],
    ['json', '[{"n":1},{"n":"x"}]', { code: 'COLUMN_HAS_INVALID_VALUE', row: 1 }],
    ['ndjson', '{"n":1}\n{"n":', { code: 'REQUEST_VALIDATION_ERROR' }],
  ] as const)('of %s that are wrong leave no table', async (form, text, failure) => {
    const store = await open()
    const schema = { columns: [{ id: 'n', type: 'number' }] }
    const making = tableOf(store, streamed(form, text, 2), schema)
    await expect(making).rejects.toMatchObject(failure)
    const putting = store
      .team('t')
      .stash('s')
      .put(0, streamed(form, text, 2))
    if (form === 'ndjson') await expect(putting).rejects.toMatchObject(failure)
    else expect(await putting).toEqual({ rows: 2 })
    expect(await store.team('t').tableNames()).toEqual([])
  })

  test.each(['json', 'ndjson'] as const)(
    'of %s tell the character of a mistake as a whole text does, behind the first run too',
    async (form) => {
      // More rows than a run has, with characters of two, three and four bytes.
      const rows = new Array<string>(140_000).fill('{"n":"é€😀"}')
      rows[139_000] = '{"n" "é"}'
      const text = form === 'json' ? `[${rows.join(' , ')}]` : rows.join('\r\n')
      const mistake = text.indexOf('" "') + 2
      const message = `Expected ":" at character ${mistake} of the input, in row 139000 (counted from 0)`
      const store = await open()
      const table = await tableOf(store, [{ n: 'x' }])

      if (form === 'json') {
        const whole = `\ufeff${text}`
        await expect(table.addRows({ json: whole })).rejects.toMatchObject({ message })
      }
      for (const mark of runsAll ? ['', '\ufeff'] : ['\ufeff']) {
        const given = () => streamed(form, mark + text, 1_000_000)
        await expect(table.addRows(given())).rejects.toMatchObject({ message })
        await expect(table.preflight({ rows: given() })).rejects.toMatchObject({ message })
      }
    },
  )

  test('that fail, fail the operation so, and nothing changes', async () => {
    const store = await open()
    const table = await tableOf(store, [{ n: 1 }])
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode('n\n1\n')
      throw new Error('the disk of the caller')
    }
    await expect(table.addRows({ csv: failing() })).rejects.toThrow('the disk of the caller')
    await expect(table.overwrite({ rows: { csv: failing() } })).rejects.toThrow('the disk of the')
    const odd = {
      csv: (async function* () {
        yield 'n\n1\n'
      })(),
    } as unknown as RowsInput
    await expect(table.addRows(odd)).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
    const two = { csv: failing(), offset: 1 } as unknown as RowsInput
    await expect(table.addRows(two)).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
    expect((await table.info()).version).toBe(1)
  })
})

describe('a text without rows', () => {
  const BLANKS = ['', ' \n', '\r\n\t\n', '\ufeff', '\ufeff \n']

  test.each(FORMS)('of blanks is refused as %s, unless it is meant', async (form) => {
    const store = await open()
    const team = store.team('t')
    const table = await tableOf(store, [{ n: 1 }])
    for (const blank of BLANKS) {
      for (const rows of [() => blank, () => piecesOf(blank, 1)]) {
        const [given, meant] = [
          () => ({ [form]: rows() }),
          () => ({ [form]: rows(), allowEmpty: true }),
        ]
        const calls = (text: () => object) => [
          () => table.overwrite({ rows: text() as RowsInput }),
          () => table.merge({ rows: text() as RowsInput, key: ['n'], missing: 'delete' }),
          () => table.preflight({ rows: text() as RowsInput }),
          () =>
            team.stash('s').put(0, text() as RowsInput, { signal: new AbortController().signal }),
          () => team.startJob({ overwrite: { tableId: table.id, rows: text() as RowsInput } }),
        ]
        for (const call of calls(given)) {
          await expect(call()).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
        }
        expect(await rowsOf(table)).toEqual([{ n: '1' }])
        for (const call of calls(meant).slice(0, 1)) await call()
        expect(await rowsOf(table)).toEqual([])
        await table.addRows([{ n: 1 }])
        expect(await team.stash('s').put(0, meant() as unknown as RowsInput)).toEqual({ rows: 0 })
      }
    }
  })

  test('empties a table where it is well-formed', async () => {
    const store = await open()
    const table = await tableOf(store, [{ n: 1 }])
    async function* none(): AsyncGenerator<object> {}
    const texts = [{ json: '[]' }, { csv: 'n\n' }, { csv: piecesOf('n', 1) }, { tsv: 'n' }]
    for (const rows of [...texts, { json: piecesOf('[ ]', 1) }, [], none()]) {
      await table.overwrite({ rows: rows as RowsInput })
      expect(await rowsOf(table)).toEqual([])
      await table.addRows([{ n: 1 }])
    }
  })

  test('of a wrong flag is refused', async () => {
    const table = await tableOf(await open(), [{ n: 1 }])
    const rows = { csv: '', allowEmpty: 'yes' } as unknown as RowsInput
    await expect(table.overwrite({ rows })).rejects.toThrow('allowEmpty must be true or false')
  })
})

describe('rows behind one that does not fit', () => {
  const COUNT = 200_000
  const schema = { columns: [{ id: 'n', type: 'number' }] } as const

  /** Rows or lines, the second of which does not fit, and the number of those read. */
  function source(cell: unknown) {
    const read = { count: 0, isEnded: false }
    function* rows(): Generator<object> {
      try {
        for (; read.count < COUNT; read.count++) yield { n: read.count === 1 ? cell : read.count }
      } finally {
        read.isEnded = true
      }
    }
    async function* streamed(): AsyncGenerator<object> {
      yield* rows()
    }
    async function* lines(): AsyncGenerator<Uint8Array> {
      for (const row of rows()) yield Buffer.from(`${JSON.stringify(row)}\n`)
    }
    return { read, forms: [() => rows(), () => streamed(), () => ({ ndjson: lines() })] }
  }

  const FORMS = [0, 1, 2]
  test.each(
    ['create', 'add', 'overwrite', 'overwrite with a schema', 'merge'].map((operation, at) => ({
      operation,
      forms: runsAll ? FORMS : [at % FORMS.length],
    })),
  )('are not read by $operation', async ({ operation, forms: tried }) => {
    const store = await open()
    const team = store.team('t')
    const table = await tableOf(store, [{ n: 1 }])
    const run = (rows: RowsInput) => {
      if (operation === 'create') return team.createTable({ name: 'x', schema, rows: rows as [] })
      if (operation === 'add') return table.addRows(rows)
      if (operation === 'merge') return table.merge({ rows, key: ['n'] })
      return table.overwrite({ rows, ...(operation !== 'overwrite' && { schema }) })
    }
    for (const form of tried) {
      const { read, forms } = source('x')
      await expect(run(forms[form]?.() as RowsInput)).rejects.toMatchObject({
        code: 'COLUMN_HAS_INVALID_VALUE',
        row: 1,
        column: 'n',
        value: '"x"',
      })
      expect(read.isEnded).toBe(true)
      expect(read.count).toBeLessThan(form === 2 ? 70_000 : 100)
    }
    expect(await rowsOf(table)).toEqual([{ n: '1' }])
    expect(await team.tables()).toHaveLength(1)
  })

  test('are read if they decide what happens to that row', async () => {
    const store = await open()
    const table = await tableOf(store, [{ n: 1 }])
    const { read, forms } = source('x')
    await table.overwrite({ rows: forms[0]?.() as RowsInput, onSchemaError: 'dropColumns' })
    expect(read.count).toBe(COUNT)
    const other = source({ x: 1 })
    const { rejects } = expect(tableOf(store, other.forms[1]?.() as RowsInput))
    await rejects.toMatchObject({ code: 'COLUMN_HAS_INVALID_VALUE', row: 1 })
    expect(other.read.count).toBeLessThan(100)
  })

  test('are read if they are a text, which is refused as malformed before its values are', async () => {
    const store = await open({ segmentRowsMax: 4 })
    const table = await tableOf(store, [{ n: 1 }])
    const cells = ['1', '"x"', '2', '3', '4', '5', '6']
    const json = `[${cells.map((cell) => `{"n":${cell}}`).join()},{]`
    const csv = `n\n${cells.join('\n')}\n7,8`
    for (const rows of [{ json }, { json: Buffer.from(json) }, { csv }] as const) {
      const malformed = { code: 'REQUEST_VALIDATION_ERROR' }
      await expect(table.addRows(rows)).rejects.toMatchObject(malformed)
      await expect(table.overwrite({ rows })).rejects.toMatchObject(malformed)
      await expect(table.merge({ rows, key: ['n'] })).rejects.toMatchObject(malformed)
    }
  })
})

describe('a text that looks like a path', () => {
  const PATHS = [
    'orders.csv',
    'C:\\data\\x.csv',
    './x',
    '../x',
    '/tmp/x',
    '~/x',
    'file:///x',
    'https://h/x?y=1',
  ]

  test.each(FORMS)('is refused as %s, with what to do', async (form) => {
    const store = await open()
    for (const path of PATHS) {
      const rows = { [form]: path } as unknown as RowsInput
      await expect(tableOf(store, rows), path).rejects.toThrow(
        /looks like a path or a URL: pass the content/,
      )
      await expect(store.team('t').stash('s').put(0, rows), path).rejects.toThrow(/a path/)
      const boxed = { [form]: new String(path) } as unknown as RowsInput
      await expect(tableOf(store, boxed)).rejects.toMatchObject({
        code: 'REQUEST_VALIDATION_ERROR',
      })
    }
    expect(await store.team('t').tables()).toEqual([])
  })

  test('is a header with a line end, and so is one that does not', async () => {
    const store = await open()
    for (const csv of ['orders.csv\n', 'id,total', 'a/b,c', '"x.csv"', 'price in €/h', 'v1.2']) {
      await expect(tableOf(store, { csv }), csv).resolves.toBeDefined()
    }
  })
})

const anyText = fc.oneof(
  fc.string({ minLength: 1, unit: 'binary' }),
  fc.constantFrom(' ', 'a,b', '"', '\n', '\r\n', 'true', '5', '\ufeff', ' x ', '[]', 'null', "'"),
)
const anyCells = fc.record(
  {
    s: anyText,
    'odd "id", too': anyText,
    n: fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })),
    b: fc.boolean(),
    l: fc.array(anyText, { maxLength: 3 }),
    m: fc.array(fc.integer(), { maxLength: 3 }),
  },
  { requiredKeys: [] },
)
const TYPES = {
  columns: [
    { id: 's', type: 'string' },
    { id: 'odd "id", too', type: 'string' },
    { id: 'n', type: 'number' },
    { id: 'b', type: 'boolean' },
    { id: 'l', type: { kind: 'array', items: { kind: 'string' } } },
    { id: 'm', type: { kind: 'array', items: { kind: 'number' } } },
  ],
}

describe('rows that go out as text', () => {
  test('come in again as the same rows', async () => {
    const store = await open({ pageRowsMax: 3 })
    await fc.assert(
      fc.asyncProperty(fc.array(anyCells, { maxLength: 8 }), async (rows) => {
        const table = await tableOf(store, rows, TYPES)
        const expected = await rowsOf(table)
        const csv = table.toCSV()
        const ndjson = { ndjson: table.toNDJSON(), allowEmpty: true } // Without rows it has no bytes.
        expect(await rowsOf(await tableOf(store, { csv }, TYPES))).toEqual(expected)
        expect(await rowsOf(await tableOf(store, ndjson, TYPES))).toEqual(expected)
        for (const { id } of await store.team('t').tableNames())
          await store.team('t').table(id).delete()
      }),
      runOptions(60),
    )
  })

  test('are these bytes', async () => {
    const store = await open()
    const table = await tableOf(store, { json: TEXTS.json })
    expect(await textOf(table.toCSV())).toBe('n,s\n1.50,"ä, ""b""\nc"\n,x\n3,\n')
    expect(await textOf(table.toNDJSON())).toBe(
      '{"n":1.50,"s":"ä, \\"b\\"\\nc"}\n{"s":"x"}\n{"n":3}\n',
    )
    const narrow = await tableOf(store, { csv: 'a\n\n""\nx\n""\n' })
    expect(await textOf(narrow.toCSV())).toBe('a\n""\n""\nx\n""\n')
  })

  test('are those that match, with the columns that are wanted', async () => {
    const store = await open()
    const rows = Array.from({ length: 2_500 }, (_, n) => ({ n, s: `x${n}`, t: [n] }))
    const table = await tableOf(store, rows)
    const where = { n: { gte: 2_498 } }
    expect(await textOf(table.toCSV({ where, columns: ['t', 'n'] }))).toBe(
      't,n\n[2498],2498\n[2499],2499\n',
    )
    expect(await textOf(table.toNDJSON({ where }))).toBe(
      '{"n":2498,"s":"x2498","t":[2498]}\n{"n":2499,"s":"x2499","t":[2499]}\n',
    )
    expect(await textOf(table.toNDJSON({ where, columns: ['t', 'n', 't'], limit: 1 }))).toBe(
      '{"t":[2498],"n":2498}\n',
    )
    const all = await textOf(table.toNDJSON({ columns: ['s'] }))
    expect(all).toBe(rows.map(({ s }) => `{"s":"${s}"}\n`).join(''))
    expect(await textOf(table.toCSV({ where: { n: -1 }, columns: [] }))).toBe('\n')
    expect(await textOf(table.toCSV({ columns: ['s'], limit: 2 }))).toBe(
      `s\n${rows
        .slice(0, 2)
        .map(({ s }) => `${s}\n`)
        .join('')}`,
    )
    const wrong = [{ columns: ['x'] }, { where: { x: 1 } }, { columns: 'n' as never }, { limit: 0 }]
    for (const options of wrong) {
      await expect(textOf(table.toCSV(options))).rejects.toMatchObject({
        code: 'REQUEST_VALIDATION_ERROR',
      })
    }
  })

  test('are those of the moment at which they began', async () => {
    const store = await open({ orphanGraceMs: 0, overwrittenRowSetsMax: 0 })
    const table = await tableOf(store, longRows(3_000))
    const { rowIds } = await table.addRows(longRows(5))
    await table.updateRow(rowIds.at(0) ?? '', { n: -1 })
    const before = await textOf(table.toNDJSON({ columns: ['$rowID', 'n', 's'] }))
    const changes = [
      (id: string) => table.updateRow(id, { s: 'changed' }),
      () => table.deleteRows(ids.slice(600, 2_800)), // The rest is compacted.
      () => table.addRows([{ n: 0 }]),
      () => table.alter({ add: [{ id: 'more', type: { kind: 'string' } }] }),
      () => table.overwrite({ rows: [] }),
      () => table.delete(),
    ]
    const ids = [...before.matchAll(/"\$rowID":"([^"]*)"/g)].map(([, id = '']) => id)
    for (const [number, change] of changes.entries()) {
      const { rowCount, pieces } = await table.openExport({
        format: 'ndjson',
        columns: ['$rowID', 'n', 's'],
      })
      const all = await textOf(table.toNDJSON({ columns: ['$rowID', 'n', 's'] }))
      const first = await pieces.next()
      await change(ids[2_900 + number] ?? '')
      for (let round = 0; round < 3; round++) await store.maintain()
      const text = new TextDecoder().decode(first.value) + (await textOf(pieces))
      expect(text === all).toBe(true)
      expect(text.split('\n')).toHaveLength((rowCount ?? 0) + 1)
    }
  })

  test('of a table with many changed rows are of one version, or the export fails', async () => {
    const store = await open({ pageBytesMax: 1_024 })
    const table = await tableOf(store, longRows(1_000))
    for (let part = 0; part < 10; part++) await table.addRows(longRows(1))
    expect((await textOf(table.toNDJSON())).split('\n')).toHaveLength(1_011)
    const { rowCount, pieces } = await table.openExport({ format: 'ndjson' })
    expect(rowCount).toBe(undefined)
    await pieces.next()
    await table.addRows([{ n: 1 }])
    await expect(textOf(pieces)).rejects.toMatchObject({ code: 'TRANSACTION_CONFLICT' })
  })

  test('end when they are aborted, or are not wanted any more', async () => {
    const store = await open()
    const table = await tableOf(
      store,
      Array.from({ length: 2_500 }, (_, n) => ({ n, s: 'x'.repeat(2_000) })),
    )
    const abort = new AbortController()
    const out = table.toCSV({ signal: abort.signal })
    await out.next()
    await out.next()
    abort.abort()
    await expect(out.next()).rejects.toMatchObject({ code: 'ABORTED' })
    const other = table.toNDJSON()
    await other.next()
    await other[Symbol.asyncDispose]()
    expect((await other.next()).done).toBe(true)
    await expect(table.toCSV({ other: 1 } as never).next()).rejects.toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
    })
    await table.overwrite({ rows: [] })
    expect((await store.maintain()).generations).toBe(0) // Retention keeps them, no export does.
  })
})

test('a close does not wait for the end of a stream of bytes', async () => {
  const store = await open()
  const table = await tableOf(store, [])
  let closing: Promise<void> | undefined
  let read = 0
  async function* long() {
    for (let i = 0; i < 1_000; i++) {
      read++
      if (i === 2) closing = store.close()
      yield new TextEncoder().encode(`{"n":${i}}\n`)
    }
  }

  await expect(table.addRows({ ndjson: long() })).rejects.toMatchObject({
    code: 'STORE_CLOSED',
    outcome: 'unchanged',
  })
  await closing
  expect(read).toBe(3)
})

test('a store and a backup are ended by await using', async () => {
  const store = await openMemory()
  await tableOf(store, [{ n: 1 }])
  const backup = store.backup()
  await backup.next()
  await backup[Symbol.asyncDispose]()
  expect((await backup.next()).done).toBe(true)
  await store[Symbol.asyncDispose]()
  expect(store.status()).toMatchObject({ writable: false, code: 'STORE_CLOSED' })
})

test('a row that goes out has no row ID', async () => {
  const store = await open()
  const table = await tableOf(store, [{ n: 1 }])
  const rows: RowWithId[] = []
  for await (const row of table.scan()) rows.push(row)
  expect(await textOf(table.toNDJSON())).not.toContain(rows[0]?.$rowID)
})

describe('values of another realm', () => {
  const foreign = (text: string) => vm.runInNewContext(text, { Symbol, setTimeout }) as never

  test('bytes and streams of bytes are read wherever rows and files are given', async () => {
    const store = await open()
    const team = store.team('t')
    const csv = () => foreign('new Uint8Array([97,10,49,10])')
    const json = () => foreign('new Uint8Array([91,123,125,93])')
    const streamed = async function* () {
      yield csv()
    }
    const shared = new Uint8Array(new SharedArrayBuffer(4))
    shared.set([97, 10, 49, 10])
    for (const rows of [{ csv: csv() }, { csv: streamed() }, { json: json() }, { csv: shared }]) {
      const options = { name: 'T', rows, idempotencyKey: crypto.randomUUID() }
      expect((await team.createTable(options)).rowIds).toHaveLength(1)
    }
    const { tableId, rowIds } = await team.createTable({ name: 'T', rows: [{ a: 1 }] })
    const table = team.table(tableId)
    await table.updateRowJson(rowIds.get(0), foreign('new Uint8Array([123,34,97,34,58,50,125])'))
    expect(await rowsOf(table)).toEqual([{ a: '2' }])
    const about = { fileName: 'a.csv', contentType: 'text/csv' }
    expect((await team.files.put(csv(), about)).bytes).toBe(4)
  })

  test('rows, dates, conditions, options and signals are what they are in their realm', async () => {
    const store = await open()
    const team = store.team('t')
    const made = foreign("({ name: 'T', rows: [{ at: new Date(0), l: ['x'], n: new Number(5) }] })")
    const table = team.table((await team.createTable(made)).tableId)

    expect(await table.count(foreign('({ $or: [{ at: { in: [new Date(0)] } }] })'))).toBe(1)
    await expect(table.addRows(foreign('[{ at: new Date(NaN) }]'))).rejects.toMatchObject({
      code: 'COLUMN_HAS_INVALID_VALUE',
      value: 'an invalid Date',
    })
    await expect(table.addRows(foreign('[new Map()]'))).rejects.toThrow(/not a Map$/)
    await expect(table.addRows(foreign('[{ n: Promise.resolve(1) }]'))).rejects.toThrow(
      /an await is missing/,
    )
    const { deleted } = await table.deleteRows(foreign('({ where: { n: 5 } })'))
    expect(deleted).toBe(1)
  })
})
