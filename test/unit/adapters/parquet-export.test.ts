// Goal: an export as Parquet over HTTP has the rows and columns that were asked for, with their types; it holds one row
// group, and ends as a valid file or not at all.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { ParquetWriter } from 'hyparquet-writer'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { loadParquet, nodeHandler } from '../../../adapters/node.js'
import { encodeParquet } from '../../../adapters/parquet/parquet-write.js'
import { createContract, openMemory, type Store, type TableSchema } from '../../../src/index.js'
import type { ParquetEncoder } from '../../../src/ports.js'
import { until } from '../../support/until.js'

const KEY = 'a-key-of-the-team'
const KEYS = [{ key: KEY, teamId: 'team' }]
const HEADERS = { authorization: `Bearer ${KEY}` }

/** More than a row group of JSON. */
const ROWS = 30_000
const GROUP_CHARS_MAX = 2 * 1024 * 1024

async function openTable(json: string, schema?: TableSchema) {
  const store = await openMemory({ segmentRowsMax: 1_024 })
  onTestFinished(() => store.close())
  const team = store.team('team')
  const given = { name: 'T', rows: { json }, ...(schema !== undefined && { schema }) }
  const { tableId } = await team.createTable(given)
  return { store, path: `/tables/${tableId}/export?format=parquet` }
}

const lineOf = (n: number) => ({ n, even: n % 2 === 0, s: `${n}`.repeat(20) })
const manyRows = (last = '') =>
  `[${Array.from({ length: ROWS }, (_, n) => JSON.stringify(lineOf(n))).join(',')}${last}]`

async function serve(store: Store, parquet?: ParquetEncoder): Promise<string> {
  const server = createServer(nodeHandler(store, { keys: KEYS, page: true, parquet }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function fileAt(url: string): Promise<ArrayBuffer> {
  const answer = await fetch(url, { headers: HEADERS })
  expect(answer.status).toBe(200)
  return answer.arrayBuffer()
}

const COLUMNS = [
  { id: 'text', type: { kind: 'string' } },
  { id: 'day', type: { kind: 'date' } },
  { id: 'at', type: { kind: 'dateTime' } },
  { id: 'span', type: { kind: 'duration' } },
  { id: 'price', type: { kind: 'number' } },
  { id: 'yes', type: { kind: 'boolean' } },
  { id: 'days', type: { kind: 'array', items: { kind: 'date' } } },
] as const

describe('the file', () => {
  test('has the type of each column, and the schema of the table', async () => {
    const row =
      '{"text":"ü","day":"1969-12-31","at":"2024-02-15","span":"P1D","price":34.50,"yes":true,"days":["2024-02-29"]}'
    const { store, path } = await openTable(`[${row},{}]`, { columns: COLUMNS })
    const file = await fileAt((await serve(store, await loadParquet())) + path)

    const { schema, key_value_metadata, row_groups } = await parquetMetadataAsync(file)
    expect(
      schema.slice(1).map(({ name, type, converted_type }) => [name, type ?? converted_type]),
    ).toEqual([
      ['text', 'BYTE_ARRAY'],
      ['day', 'INT32'],
      ['at', 'BYTE_ARRAY'],
      ['span', 'BYTE_ARRAY'],
      ['price', 'DOUBLE'],
      ['yes', 'BOOLEAN'],
      ['days', 'LIST'],
      ['list', undefined],
      ['element', 'INT32'],
    ])
    expect(row_groups.map(({ columns, num_rows }) => [columns.length, num_rows])).toEqual([[7, 2n]])
    expect(JSON.parse(key_value_metadata?.[0]?.value ?? '')).toEqual({ columns: COLUMNS })
    expect(await parquetReadObjects({ file })).toEqual([
      {
        ...{ text: 'ü', day: new Date('1969-12-31'), at: '2024-02-15', span: 'P1D', price: 34.5 },
        ...{ yes: true, days: [new Date('2024-02-29')] },
      },
      {
        ...{ text: null, day: null, at: null, span: null, price: null, yes: null, days: undefined },
      },
    ])
  })

  test('has the rows of a condition, their order and their columns, in several row groups', async () => {
    const { store, path } = await openTable(manyRows())
    const url = (await serve(store, await loadParquet())) + path
    const asked = encodeURI('&where={"even":true}&sort=-n&columns=s,n')
    const rows = Array.from({ length: ROWS }, (_, n) => lineOf(n))

    const whole = await fileAt(url)
    const { row_groups, num_rows } = await parquetMetadataAsync(whole)
    expect(row_groups.map((group) => group.num_rows)).toEqual([16_384n, 13_616n])
    expect(num_rows).toBe(BigInt(ROWS))
    expect(await parquetReadObjects({ file: whole })).toEqual(rows)
    const some = rows.filter(({ even }) => even).map(({ s, n }) => ({ s, n }))
    expect(await parquetReadObjects({ file: await fileAt(url + asked) })).toEqual(some.reverse())
  })
})

describe('an encoder', () => {
  const wide = Array.from({ length: 100 }, (_, at) => ({
    id: `c${at}`,
    type: { kind: 'number' as const },
  }))
  const line = (n: number) =>
    new TextEncoder().encode(
      `${JSON.stringify(Object.fromEntries(wide.map(({ id }) => [id, n])))}\n`,
    )

  test('has read at most one row group more than it has passed on', async () => {
    let read = 0
    async function* rows() {
      for (let n = 0; n < 9_000; n++) {
        const piece = line(n)
        read += piece.length
        yield piece
      }
    }
    const pieces: Uint8Array[] = []
    let before = 0
    for await (const piece of (await loadParquet())(rows(), wide)) {
      expect(read - before).toBeLessThan(1.01 * GROUP_CHARS_MAX) // a row more, and line ends
      before = read
      pieces.push(piece)
    }
    const file = new Uint8Array(Buffer.concat(pieces)).buffer
    const { row_groups } = await parquetMetadataAsync(file)
    expect(row_groups.length).toBeGreaterThan(3)
    expect(row_groups.every(({ columns }) => columns.length === wide.length)).toBe(true)
    const [last] = await parquetReadObjects({ file, rowStart: 8_999, rowEnd: 9_000 })
    expect(last?.['c99']).toBe(8_999)
  })

  test('lets other work run while it parses and writes a row group', async () => {
    async function* rows() {
      for (let n = 0; n < 1_000; n++) yield line(n)
    }
    let turns = 0
    let isOver = false
    const count = (): void => {
      turns++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const pieces = (await loadParquet())(rows(), wide)[Symbol.asyncIterator]()
    turns = 0
    await pieces.next()
    isOver = true
    expect(turns).toBeGreaterThan(30) // 25 parts of the columns, and a turn for each 64 KiB of rows
  })

  test('holds of earlier row groups only their metadata as bytes, of which there is a maximum', async () => {
    const write = vi.spyOn(ParquetWriter.prototype, 'write')
    onTestFinished(() => write.mockRestore())
    const texts = ['b'.repeat(100_000), `bü${'x'.repeat(100_000)}`, 'ba', 'bz']
    async function* rows() {
      for (const s of texts) yield new TextEncoder().encode(`${JSON.stringify({ s })}\n`)
    }
    const columns = [{ id: 's', type: { kind: 'string' as const } }]
    const encoded = async (footerBytesMax: number) => {
      const pieces: Uint8Array[] = []
      const bounds = { groupRowsMax: 100, groupCharsMax: 150_000, footerBytesMax }
      for await (const piece of encodeParquet(rows(), columns, bounds)) {
        const [writer] = write.mock.contexts as unknown as [ParquetWriter]
        expect([writer.row_groups, writer.pendingIndexes]).toEqual([[], []])
        pieces.push(piece)
      }
      return new Uint8Array(Buffer.concat(pieces)).buffer
    }
    const file = await encoded(1_000)
    const { row_groups, num_rows } = await parquetMetadataAsync(file)
    expect([row_groups.length, num_rows]).toEqual([2, 4n])
    expect(row_groups[0]?.columns[0]?.meta_data?.statistics).toMatchObject({
      ...{ min_value: 'b'.repeat(16), max_value: `bü${'x'.repeat(12)}y` },
    })
    expect(await parquetReadObjects({ file })).toEqual(texts.map((s) => ({ s })))
    await expect(encoded(100)).rejects.toThrow('more metadata than 100 bytes is refused')
  })

  test('makes a file of no rows, and of a number of row groups that takes several bytes', async () => {
    const columns = [{ id: 'n', type: { kind: 'number' as const } }]
    for (const count of [0, 1, 14, 15, 200]) {
      const lines = Array.from({ length: count }, (_, n) => `{"n":${n}}\n`)
      const pieces: Uint8Array[] = []
      const bounds = { groupRowsMax: 1, groupCharsMax: 100, footerBytesMax: 100_000 }
      const rows = (async function* () {
        yield* lines
      })()
      for await (const piece of encodeParquet(rows, columns, bounds)) pieces.push(piece)
      const file = new Uint8Array(Buffer.concat(pieces)).buffer
      expect((await parquetMetadataAsync(file)).row_groups).toHaveLength(count)
      const read = await parquetReadObjects({ file })
      expect(read).toEqual(Array.from({ length: count }, (_, n) => ({ n })))
    }
  })
})

describe('a file that cannot be completed', () => {
  test('is refused before its first row group, and cut off after it', async () => {
    const { store, path } = await openTable(manyRows(',{"n":9007199254740993}'))
    const url = (await serve(store, await loadParquet())) + path

    const answer = await fetch(url, { headers: HEADERS })
    expect(answer.status).toBe(200)
    await expect(answer.arrayBuffer()).rejects.toThrow()
    const early = await fetch(`${url}&sort=-n`, { headers: HEADERS })
    expect([early.status, await early.json()]).toEqual([
      400,
      {
        error: {
          type: 'request_validation_error',
          message: expect.stringMatching(
            /^Invalid request query: .* the number 9007199254740993 in row 0 .* export csv or ndjson/,
          ),
        },
      },
    ])
  })

  test('ends the reading of its rows if the client leaves', async () => {
    const { store, path } = await openTable(manyRows())
    const encode = await loadParquet()
    let isEnded = false
    const url = await serve(store, (rows, columns) => {
      async function* watched() {
        try {
          yield* rows
        } finally {
          isEnded = true
        }
      }
      async function* slowly() {
        for await (const piece of encode(watched(), columns)) {
          for (let part = 0; part < 200; part++) yield piece // more than the system buffers
        }
      }
      return slowly()
    })
    const leaving = new AbortController()
    const answer = await fetch(url + path, { headers: HEADERS, signal: leaving.signal })
    await answer.body?.getReader().read()
    expect(isEnded).toBe(false)
    leaving.abort()
    await until(() => isEnded)
  })

  test('gives its memory back', async () => {
    const { store, path } = await openTable(manyRows())
    const contract = createContract(store, { keys: KEYS, parquet: await loadParquet() })
    const [target = '', query = ''] = path.split('?')
    const body = (async function* () {})()
    const headers = Object.entries(HEADERS)
    const held = () =>
      Number(/budget_bytes\{budget="answers"\} (\d+)/.exec(contract.metrics())?.[1])
    const answer = await contract.handle({ method: 'GET', path: target, query, headers, body })
    expect(held()).toBe(20 * 1024 * 1024)
    const pieces = (answer.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    await pieces.next()
    await pieces.return?.()
    expect(held()).toBe(0)
  })
})

test('a server without an encoder refuses Parquet, says what it needs, and its page does not offer it', async () => {
  const { store, path } = await openTable('[{"n":1}]')
  const [with_, without] = [await serve(store, await loadParquet()), await serve(store)]

  const answer = await fetch(without + path, { headers: HEADERS })
  expect(answer.status).toBe(400)
  expect(await answer.text()).toMatch(/does not write parquet: its option .* hyparquet-writer/)
  expect((await fetch(without + path, { headers: HEADERS, method: 'HEAD' })).status).toBe(400)
  for (const [url, parquet] of [
    [with_, true],
    [without, false],
  ] as const) {
    expect(await (await fetch(`${url}/page/session`)).json()).toEqual({ mode: 'key', parquet })
  }
  expect(() => nodeHandler(store, { keys: KEYS, parquet: true as never })).toThrow(
    'Option "parquet" must be a function',
  )
})
