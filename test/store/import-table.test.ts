// Goal: a file at a URL becomes the same table as its bytes in one body, however the bytes arrive and wherever they are
// cut. Errors name the row and the line of the file.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type ImportTableRequest,
  openMemory,
  type RowsFormat,
  type StoreOptions,
  type Table,
  type Team,
  type TextRows,
} from '../../src/index.js'
import type { IntakeReport } from '../../src/intake/intake.js'
import type { UrlFetcher } from '../../src/ports.js'
import { runOptions } from '../support/fast-check-options.js'

/** More rows than a chunk has. */
const RUN_ROWS = 65_536

async function open(
  pieces: () => Iterable<Uint8Array>,
  options: StoreOptions = {},
  contentType?: string,
): Promise<
  Readonly<{ team: Team; load: (given?: Partial<ImportTableRequest>) => Promise<Table> }>
> {
  const sources: UrlFetcher = {
    async fetch(url) {
      async function* body(): AsyncGenerator<Uint8Array, void> {
        for (const piece of pieces()) yield piece
      }
      return { contentType, fileName: undefined, url, body: body(), close() {} }
    },
  }
  const store = await openMemory({ compression: 'none', ...options, sources })
  onTestFinished(() => store.close())
  const team = store.team('t')
  const load = async (given: Partial<ImportTableRequest> = {}): Promise<Table> => {
    const made = await team.importTable({ fromUrl: 'http://source.test/rows.csv', ...given })
    return team.table(made.tableId)
  }
  return { team, load }
}

function* piecesOf(text: string, sizes: readonly number[]): Generator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length
    yield new Uint8Array(bytes.subarray(at, at + size))
    at += size
  }
}

async function cellsOf(table: Table): Promise<unknown[]> {
  const rows: unknown[] = []
  for await (const { $rowID: _, ...cells } of table.scan({ numbers: 'text' })) rows.push(cells)
  return rows
}

test.each(['text/html', 'Text/HTML; charset=utf-8'])(
  'a page is no file of rows: %s',
  async (type) => {
    const { load, team } = await open(() => piecesOf('<html>', WHOLE), {}, type)

    await expect(load()).rejects.toMatchObject({
      code: 'REQUEST_VALIDATION_ERROR',
      message: 'The file at fromUrl is an HTML page, and has no rows',
    })
    expect(await team.tables()).toEqual([])
  },
)

const WHOLE = [1 << 20]

const field = fc.oneof(
  fc.constantFrom(
    '',
    '1',
    '007',
    'true',
    '2024-02-29',
    '"a\nb"',
    '"\r\n"',
    '"x""y"',
    'é',
    '\u{1f600}',
  ),
  fc
    .string({ unit: 'binary', maxLength: 6 })
    .map((text) => JSON.stringify(text).replaceAll('\\"', '""')),
)

const RUNS = 60

test('an import has a receipt, with the digests of its parts in their order', async () => {
  const lines = Array.from({ length: RUN_ROWS + 3 }, (_, n) => `${n}`)
  const { team } = await open(() => piecesOf(`n\n${lines.join('\n')}\n`, WHOLE))
  const fromUrl = 'http://source.test/rows.csv'
  const { receipt, tableId, version } = await team.importTable({ fromUrl, receipt: true })

  expect(receipt).toMatchObject({ operation: 'create', version, versionBefore: 0 })
  expect(receipt?.chunks.map(({ rows }) => rows)).toEqual([RUN_ROWS, 3])
  const last = lines.slice(RUN_ROWS).map((n) => `{"n":${n}}\n`)
  const digest = createHash('sha256').update(last.join('')).digest('hex')
  expect(receipt?.chunks[1]?.sha256).toBe(digest)
  expect(await team.table(tableId).receipt(version)).toEqual(receipt)
  expect(await team.importTable({ fromUrl })).not.toHaveProperty('receipt')
})

describe('a file that is not written as its format says', () => {
  const german = Buffer.from('n;Tag;Gr\xf6\xdfe\n1;31.12.2026;1.234,50 \x80\n', 'latin1')
  const cells = [{ n: '1', Tag: '2026-12-31', Größe: '1234.50' }]
  const said = {
    delimiter: ';',
    dates: 'dd.mm.yyyy',
    decimal: ',',
    thousands: '.',
    currency: '€',
  } as const

  test.each([
    ['what is said', 'text/csv', { ...said, encoding: 'windows-1252' }],
    ['what is said, and the charset of its type', 'text/csv; charset=latin1', said],
    ['what is detected', 'text/csv; charset=utf-8', { dialect: 'detect' }],
    ['what is detected, whatever its type says', undefined, { dialect: 'detect' }],
  ] as const)('is read by %s', async (_what, type, options) => {
    const { load, team } = await open(() => [german.subarray(0, 9), german.subarray(9)], {}, type)
    const reports: IntakeReport[] = []
    const table = await load({ ...options, onReport: (report) => reports.push(report) })

    expect(await cellsOf(table)).toEqual(cells)
    expect(reports).toMatchObject([{ encoding: 'windows-1252', delimiter: ';', rows: 1 }])
    const { csv, ...beside } = { csv: german, ...said, encoding: 'windows-1252' }
    const direct = await team.createTable({ name: 'direct', rows: { csv, ...beside } })
    expect(await team.table(direct.tableId).schema()).toEqual(await table.schema())
    expect(await cellsOf(team.table(direct.tableId))).toEqual(cells)
  })

  test('fails as a whole, and as a request that is none', async () => {
    const { load, team } = await open(
      () => piecesOf('n\n1\n', WHOLE),
      {},
      'text/csv; charset=x-none',
    )
    const invalid = { code: 'REQUEST_VALIDATION_ERROR' }
    await expect(load({ dialect: 'detect' })).rejects.toMatchObject(invalid)
    await expect(load({ at: 'data' })).rejects.toThrow('is only for json, not')
    const refused = { code: 'OPTION_NOT_ALLOWED' }
    await expect(load({ delimiter: 'ab' })).rejects.toMatchObject(refused)
    const job = { import: { fromUrl: 'http://source.test/', delimiter: 'ab' } }
    await expect(team.startJob(job)).rejects.toMatchObject(refused)
    expect(await team.tables()).toEqual([])
  })

  test('an idempotency key belongs to one dialect of a text', async () => {
    const { team } = await open(() => [])
    const create = (rows: TextRows) => team.createTable({ name: 'T', idempotencyKey: 'k', rows })
    const csv = 'a;b\n1;2\n'
    const { tableId } = await create({ csv, delimiter: ';' })
    expect(await create({ csv, delimiter: ';' })).toMatchObject({ tableId })
    await expect(create({ csv })).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })
})

describe('a file at a URL', () => {
  test('becomes the table that its text would become', async () => {
    const line = fc.array(field, { minLength: 3, maxLength: 3 })
    const lines = fc.array(line, { maxLength: 12 })
    const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 })
    const given = fc.tuple(lines, lineEnd, sizes, fc.constantFrom<RowsFormat>('csv', 'tsv'))
    await fc.assert(
      fc.asyncProperty(given, async ([records, end, pieces, format]) => {
        const delimiter = format === 'csv' ? ',' : '\t'
        const header = ['"q\n1"', 'b', 'c']
        const text = [header, ...records].map((fields) => fields.join(delimiter)).join(end)
        const { team, load } = await open(() => piecesOf(text, pieces))
        const rows = (format === 'csv' ? { csv: text } : { tsv: text }) as TextRows
        const direct = await team.createTable({ name: 'direct', rows }).catch(String)
        const loaded = await load({ format }).catch(String)
        if (typeof direct === 'string' || typeof loaded === 'string') {
          expect(typeof loaded).toBe(typeof direct) // Both refuse the same errors.
          return
        }
        const twin = team.table(direct.tableId)
        expect(await cellsOf(loaded)).toEqual(await cellsOf(twin))
        expect(await loaded.schema()).toEqual(await twin.schema())
      }),
      runOptions(RUNS),
    )
  })

  test('of more rows than a chunk has keeps their order, and one schema holds them all', async () => {
    const count = 2 * RUN_ROWS + 100
    const ids = Array.from({ length: count }, (_, n) => (n === count - 1 ? 'last' : String(n)))
    const { load } = await open(() => piecesOf(`id\n${ids.join('\n')}`, [10_007]))

    const table = await load({ name: 'many' })

    expect((await table.schema()).columns).toMatchObject([{ id: 'id', type: { kind: 'string' } }])
    expect(await cellsOf(table)).toEqual(ids.map((id) => ({ id })))
  })

  test.each(['json', 'ndjson'] as const)(
    'of %s may name a new column in any chunk',
    async (format) => {
      const rows = Array.from({ length: RUN_ROWS + 2 }, (_, n) =>
        n > RUN_ROWS ? { late: n } : { n },
      )
      const texts = rows.map((row) => JSON.stringify(row))
      const text = format === 'json' ? `[${texts.join(' , ')}]` : texts.join('\r\n')
      const { load } = await open(() => piecesOf(text, [4_099]))

      const table = await load({ format })

      expect((await table.schema()).columns.map(({ id }) => id)).toEqual(['n', 'late'])
      expect((await cellsOf(table)).at(-1)).toEqual({ late: String(RUN_ROWS + 1) })
    },
  )
})

describe('an error of a file at a URL', () => {
  const before = RUN_ROWS + 10

  test.each([
    ['a record that is too long', '1,2,3', 'REQUEST_VALIDATION_ERROR', '3 fields for 2 columns'],
    ['text after a closing quote', '"x"y,1', 'REQUEST_VALIDATION_ERROR', 'closing quote'],
  ])('names the row and the line of the file: %s', async (_, bad, code, message) => {
    const good = Array.from({ length: before }, () => '"a\r\nb",1\r\n').join('')
    const { load, team } = await open(() => piecesOf(`"h\n1",n\n${good}${bad}\n1,2\n`, WHOLE))

    const failure = await load().catch((error: unknown) => error)

    const line = 3 + 2 * before
    expect(failure).toMatchObject({ code, row: before, line })
    expect(String(failure)).toContain(`${message} in row ${before} (counted from 0), line ${line}`)
    expect(await team.tables()).toEqual([])
  })

  test('that no type holds names its row, over all chunks', async () => {
    const good = Array.from({ length: before }, () => '{"n":1}').join(',')
    const { load } = await open(() => piecesOf(`[${good},{"n":{}}]`, WHOLE))

    const loading = load({ format: 'json' })

    await expect(loading).rejects.toMatchObject({ code: 'COLUMN_HAS_INVALID_VALUE', row: before })
  })

  test('a row that is longer than rowBytesMax is refused, whatever its length', async () => {
    const rowBytesMax = 1024
    for (const length of [rowBytesMax + 1, 20 * 1024 * 1024]) {
      const text = `a\n1\n"${'x'.repeat(length)}"\n`
      const { load } = await open(() => piecesOf(text, WHOLE), { rowBytesMax })
      await expect(load()).rejects.toMatchObject({ code: 'REQUEST_VALIDATION_ERROR' })
    }
  })

  test('arguments: a name, a format and a URL are checked before anything is fetched', async () => {
    const { load } = await open(() => [])
    const refused = { code: 'REQUEST_VALIDATION_ERROR' }
    await expect(load({ name: '' })).rejects.toMatchObject(refused)
    await expect(load({ format: 'xml' as 'csv' })).rejects.toMatchObject(refused)
    await expect(load({ fromUrl: 1 as never })).rejects.toMatchObject(refused)
    await expect(load({ rows: [] } as never)).rejects.toMatchObject(refused)
    await expect(load()).rejects.toMatchObject({ message: 'The file is empty' })
    await expect(load({ format: 'ndjson' })).rejects.toMatchObject({ message: 'The file is empty' })
  })

  test('a store that was given no sources fetches nothing', async () => {
    const store = await openMemory()
    onTestFinished(() => store.close())
    const importing = store.team('t').importTable({ fromUrl: 'https://example.com/x.csv' })
    await expect(importing).rejects.toMatchObject({ code: 'SOURCE_URL_NOT_ALLOWED' })
  })
})

describe('a close', () => {
  /** Fetches that never answer, and ignore the signal. */
  const deaf = (onFetch: () => void): UrlFetcher => ({
    fetch() {
      onFetch()
      return new Promise(() => undefined)
    },
  })
  /** Answers whose body stalls. */
  const stuck = (onFetch: () => void): UrlFetcher => ({
    fetch: async (url) => {
      const body = (async function* () {
        onFetch()
        yield new TextEncoder().encode('n\n1\n')
        await new Promise(() => undefined)
      })()
      return { contentType: 'text/csv', fileName: 'rows.csv', url, body, close() {} }
    },
  })
  const fromUrl = 'http://source.test/rows.csv'
  const operations: readonly (readonly [string, (team: Team) => Promise<unknown>])[] = [
    ['an import', (team) => team.importTable({ fromUrl })],
    ['a file', (team) => team.files.fromUrl(fromUrl)],
    ['a job', async (team) => (await team.startJob({ import: { fromUrl } })).wait()],
  ]
  const cases = operations.flatMap(([name, run]) =>
    [deaf, stuck].flatMap((source) =>
      ['in the same turn', 'when it fetches'].map((when) => [name, source.name, when, run, source]),
    ),
  ) as [string, string, string, (team: Team) => Promise<unknown>, typeof deaf][]

  test.each(cases)('ends %s from a %s source: %s', async (_, _source, when, run, source) => {
    let tell = (): void => undefined
    const fetching = new Promise<void>((resolve) => {
      tell = resolve
    })
    const store = await openMemory({ sources: source(() => tell()) })
    const ended = run(store.team('t')).catch(({ code }) => code)
    if (when === 'when it fetches') await fetching

    await store.close()

    expect(await ended).toBe('STORE_CLOSED')
  })

  test('ends an operation that waits for the next piece of its stream', async () => {
    const store = await openMemory()
    let tell = (): void => undefined
    const waiting = new Promise<void>((resolve) => {
      tell = resolve
    })
    const csv = (async function* () {
      yield new TextEncoder().encode('n\n1\n')
      tell()
      await new Promise(() => undefined)
    })()
    const ended = store.team('t').createTable({ name: 't', rows: { csv } })
    const code = ended.catch((failure) => failure.code)
    await waiting

    await store.close()

    expect(await code).toBe('STORE_CLOSED')
  })
})
