// Parts of the page that need no browser.
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Api, Row, RowsRequest } from '../../adapters/page/browser/base/api.js'
import { shownText } from '../../adapters/page/browser/base/dom.js'
import {
  csvField,
  Digits,
  jsonText,
  parseJson,
} from '../../adapters/page/browser/base/json-text.js'
import { parseMetrics, quantile, total } from '../../adapters/page/browser/base/prometheus.js'
import { fileName, linesToArray } from '../../adapters/page/browser/base/saved-file.js'
import { textOfCells } from '../../adapters/page/browser/grid/cell-block.js'
import { makeWhere, searchQuery } from '../../adapters/page/browser/grid/filter-where.js'
import { FoundRows, PositionRows } from '../../adapters/page/browser/grid/row-sources.js'
import { ScrollMap } from '../../adapters/page/browser/grid/scroll-map.js'
import { nextSort } from '../../adapters/page/browser/grid/sort-order.js'
import { type Reading, readSample } from '../../adapters/page/browser/import/import-file.js'
import { RateClock } from '../../adapters/page/browser/import/import-rate.js'
import { Looks } from '../../adapters/page/browser/views/import-begun.js'
import { parseAddress, renderAddress } from '../../adapters/page/browser/views/table-address.js'
import { ClientError } from '../../src/client/client-error.js'
import { resolveMarks, splitRecordFields } from '../../src/intake/fields.js'
import { projectFiles, readText } from '../support/project.js'

const ROW = 30
const VIEW = 600

describe('the scrollbar', () => {
  function mapOf(rows: number): ScrollMap {
    const map = new ScrollMap(ROW)
    map.resize(rows, VIEW)
    return map
  }

  test.each([10, 1_000, 400_000, 1_000_000, 100_000_000])(
    'reaches both ends of %d rows',
    (rows) => {
      const map = mapOf(rows)
      expect(map.height).toBeLessThanOrEqual(15_000_000)
      map.scrolled(map.height - VIEW)
      expect(Math.round(map.top)).toBe(Math.max(0, rows * ROW - VIEW))
      map.scrolled(0)
      expect(map.top).toBe(0)
    },
  )

  test('shows the middle row in its middle, and goes by pixels from there', () => {
    const map = mapOf(10_000_000)
    const half = (map.height - VIEW) / 2
    map.scrolled(half)
    const middle = map.top
    expect(Math.abs(middle / ROW - 5_000_000)).toBeLessThan(50)
    map.scrolled(half + 90)
    expect(map.top - middle).toBe(90)
    expect(Math.abs(map.settle() - half)).toBeLessThan(10)
  })

  test('brings a row into view, and stays where a row is in view', () => {
    const map = mapOf(1_000_000)
    expect(map.show(999_999)).toBe(map.height - VIEW)
    expect(map.top).toBe(1_000_000 * ROW - VIEW)
    expect(map.show(999_990)).toBeUndefined()
    map.show(500_000)
    expect(map.top).toBe(500_000 * ROW)
  })
})

describe('the first rows of a file', () => {
  const sampleOf = (content: string | Uint8Array<ArrayBuffer>, reading: Partial<Reading> = {}) =>
    readSample(
      new Blob([content]),
      { format: 'csv', dialect: {}, ...reading },
      async () => undefined,
    )

  test('have the lines of the file, and objects in them are what a person says', async () => {
    expect((await sampleOf('title\n\na,b\n1,"x\ny"\n\n2,z\n')).lines).toEqual([4, 7])
    const nested = await sampleOf('[{"a":{"b":1}}]', { format: 'json', nested: 'flatten' })
    expect(nested.columns).toEqual(['a.b'])
  })

  test.each<[string | Uint8Array<ArrayBuffer>, Partial<Reading>, readonly object[]]>([
    ['a,b\n"x, ""y""",\r\n', {}, [{ a: 'x, "y"', b: '' }]],
    ['a,b\n"x\ny",2\n', {}, [{ a: 'x\ny', b: '2' }]],
    ['name;preis\nWien;1.234,50 €\n', {}, [{ name: 'Wien', preis: '1234.50' }]],
    ['a,b\t"c\t""d"""\n1\t2\n', { format: 'tsv' }, [{ 'a,b': '1', 'c\t"d"': '2' }]],
    ['a;b\n1;2\n', { dialect: { delimiter: ',' } }, [{ 'a;b': '1;2' }]],
    ['1,2\n', { dialect: { header: 'absent' } }, [{ column1: '1', column2: '2' }]],
    ['{"data":[{"a":"x"}]}', { format: 'json' }, [{ a: 'x' }]],
    ['{"a":[{"n":"x"}],"b":[{"n":"y"}]}', { format: 'json', at: 'b' }, [{ n: 'y' }]],
    ['{"a":"x"}{"a":"y"}', { format: 'json' }, [{ a: 'x' }, { a: 'y' }]],
    [Uint8Array.from(gzipSync('a,b\n1,2\n')), {}, [{ a: '1', b: '2' }]],
    [Uint8Array.from(Buffer.from('\ufeffa;b\n1;ä\n', 'utf16le')), {}, [{ a: '1', b: 'ä' }]],
  ])('of %j read by %j', async (content, reading, rows) => {
    expect((await sampleOf(content, reading)).rows).toEqual(rows)
  })

  test.each([
    ['', 'the file is empty'],
    ['a,b\n1,"x\n', 'CSV at line 2: the file ends inside a quoted field of this record'],
    ['PK\x03\x04', 'the file is a zip archive'],
    ['<!doctype html><p>', 'the file is an HTML page'],
  ])('%j is refused with its place', async (content, message) => {
    await expect(sampleOf(content)).rejects.toThrow(message)
  })
})

test('numbers keep their digits through a copy, where the platform tells them', () => {
  const text = '{"a":34.50,"b":[9007199254740993,1],"c":"x","d":null,"e":true}'
  const knowsSource = parseJson('1.0') instanceof Digits
  expect(jsonText(parseJson(text))).toBe(knowsSource ? text : JSON.stringify(JSON.parse(text)))
  expect(jsonText({ a: new Digits('34.50'), b: [] }, 2)).toBe('{\n  "a": 34.50,\n  "b": []\n}')
})

test.each([
  ['plain', 'plain'],
  ['a b', 'a b'],
  ['a,"b"', '"a,""b"""'],
  ['two\nlines', '"two\nlines"'],
  [' before', '" before"'],
  ['behind\t', '"behind\t"'],
  ['\ufeffmark', '"\ufeffmark"'],
  [new Digits('34.50'), '34.50'],
  [['a', 1], '"[""a"",1]"'],
  [null, ''],
])('the field of CSV of %j', (value, field) => {
  expect(csvField(value)).toBe(field)
  expect(splitRecordFields(`${csvField(value)},2\r\n`, resolveMarks({}, ','))).toHaveLength(2)
})

test.each<readonly [pieces: readonly string[], array: readonly object[]]>([
  [[], []],
  [['{"a":"é"}\n'], [{ a: 'é' }]],
  [
    ['{"a":1}\n{"a"', ':2}', '\n', '{"a":3}\n'],
    [{ a: 1 }, { a: 2 }, { a: 3 }],
  ],
  [['{"a":"\\n"}\n{"a":2}\n'], [{ a: '\n' }, { a: 2 }]],
])('rows in the lines of %j are an array', async (pieces, array) => {
  const bytes = Buffer.from(pieces.join(''))
  for (const size of [1, 5, 1_000]) {
    const cut = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      Uint8Array.from(bytes.subarray(at * size, (at + 1) * size)),
    )
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of cut) controller.enqueue(piece)
        controller.close()
      },
    })
    const text = await new Response(stream.pipeThrough(linesToArray())).text()
    expect(JSON.parse(text)).toEqual(array)
  }
})

test.each([
  ['Orders', 'Orders.csv'],
  ['../a/b:c?', '_a_b_c_.csv'],
  ['\u202egpj\u0000', '_gpj_.csv'],
  ['', 'table.csv'],
  ['. .', 'table.csv'],
])('the table %j is saved as %j', (name, file) => {
  expect(fileName(name, 'csv')).toBe(file)
})

test('cells that are copied stay cells, whatever is in them', () => {
  const rows = [
    { $rowID: 'r', a: 'x\ty', b: 'say "hi"', c: 'one\ntwo' },
    { $rowID: 's', a: new Digits('34.50'), b: null, c: ['p', 1] },
  ] as unknown as Row[]
  expect(textOfCells(rows, ['a', 'b', 'c'])).toBe(
    '"x\ty"\t"say ""hi"""\t"one\ntwo"\r\n34.50\t\t"[""p"",1]"\r\n',
  )
  // A single cell can be copied to the clipboard as text too.
  expect(textOfCells(rows.slice(0, 1), ['c'])).toBe('one\ntwo')
  expect(textOfCells([], ['c'])).toBe('')
})

describe('the rows that match a condition', () => {
  const WHERE = { n: 1 }

  /** A table with matches. Its pages are short, and some have no rows. */
  function matches(count: number, versionAt: (first: number) => number = () => 1) {
    const asked: RowsRequest[] = []
    const rows = async (_: string, request: RowsRequest) => {
      asked.push(request)
      const [first = 0, isEmpty = 0] = (request.continuation ?? '0.1').split('.').map(Number)
      const end = isEmpty > 0 ? first : Math.min(count, first + Math.min(request.limit, 180))
      const page = Array.from({ length: end - first }, (_, at) => ({ $rowID: `${first + at}` }))
      const continuation =
        end < count ? `${end}.${end % 900 === 0 && isEmpty === 0 ? 1 : 0}` : undefined
      return { rows: page as unknown as Row[], continuation, version: versionAt(first) }
    }
    return { api: { rows } as unknown as Api, asked }
  }

  function open(api: Api, countMax?: number) {
    const said: string[] = []
    const isShown = (found: number): boolean => found === 1
    const reading = { api, tableId: 'T', isShown, query: { where: WHERE } }
    const events = {
      onRows: () => undefined,
      onVersion: (version: number) => said.push(`version ${version}`),
      onFailure: (failure: unknown) => said.push(String(failure)),
    }
    return { rows: new FoundRows(reading, events, { ...(countMax && { countMax }) }), said }
  }

  const idAt = (rows: FoundRows, position: number) => rows.rowAt(position)?.$rowID

  async function readAll(rows: FoundRows): Promise<void> {
    for (let last = -1; rows.isOpen && rows.count > last; ) {
      last = rows.count
      rows.want(last, last + 20)
      await expect.poll(() => rows.count > last || !rows.isOpen, { interval: 1 }).toBe(true)
    }
  }

  test('are all there, in bounded memory, and say where they are cut', async () => {
    const { api } = matches(40_000)
    const { rows, said } = open(api, 30_000)
    await readAll(rows)
    expect([rows.count, rows.isOpen, rows.isCut]).toEqual([30_000, false, true])
    const kept = Array.from({ length: rows.count }, (_, at) => idAt(rows, at)).filter(Boolean)
    expect(kept.length).toBeLessThanOrEqual(20_000)
    expect(idAt(rows, 29_999)).toBe('29999')
    expect(idAt(rows, 10)).toBeUndefined()

    for (const position of [10, 12_345, 29_000, 499, 500]) {
      rows.want(position, position + 1)
      await expect.poll(() => idAt(rows, position), { interval: 1 }).toBe(String(position))
    }
    expect(said).toEqual([])
    const whole = open(matches(1_000).api)
    await readAll(whole.rows)
    expect([whole.rows.count, whole.rows.isOpen, whole.rows.isCut]).toEqual([1_000, false, false])
  })

  test('are asked for from where they are', async () => {
    const { api, asked } = matches(3_000)
    const { rows } = open(api)
    await readAll(rows)
    const request = await rows.requestFrom(1_234)
    const { rows: page } = await api.rows('T', { limit: 3, ...request })
    expect(page.map(({ $rowID }) => $rowID)).toEqual(['1234', '1235', '1236'])
    expect(asked.every(({ where }) => where === WHERE)).toBe(true)
  })

  test('end where the table has another version', async () => {
    const { api, asked } = matches(3_000, (first) => (first < 1_000 ? 1 : 2))
    const { rows, said } = open(api)
    await readAll(rows)
    expect([rows.count, rows.isOpen, rows.isCut, said]).toEqual([1_000, false, true, ['version 2']])
    const requests = asked.length
    rows.want(2_000, 2_020)
    await expect(rows.requestFrom(900)).rejects.toThrow('Show the new version')
    expect(asked.length).toBe(requests)
  })
})

describe('the rows of an order', () => {
  /** A server that sorts at most this many rows, besides the first 10,000. */
  function sorted(
    count: number,
    rowsMax = Number.POSITIVE_INFINITY,
    refusal = 'the table has more rows, too many to be sorted by n',
  ) {
    const asked: RowsRequest[] = []
    const api = {
      rows: async (_: string, request: RowsRequest) => {
        asked.push(request)
        const { from = 0, limit } = request
        if (from + limit > 10_000 && count > rowsMax) throw new ClientError(refusal, 400, 'x')
        const end = Math.min(count, from + limit)
        const rows = Array.from({ length: end - from }, (_, at) => ({ $rowID: `${from + at}` }))
        return { rows, version: 1, total: request.total && count }
      },
    } as unknown as Api
    const said: unknown[] = []
    const events = {
      onRows: () => undefined,
      onVersion: () => undefined,
      onFailure: (failure: unknown) => said.push(failure),
    }
    const query = { sort: [{ column: 'n', descending: true }] }
    const open = (known?: number) =>
      new PositionRows(
        { api, tableId: 'T', isShown: (found: number) => found === 1, query },
        known,
        events,
      )
    const there = (rows: PositionRows, at: number) =>
      expect.poll(() => rows.rowAt(at)?.$rowID, { interval: 1 }).toBe(String(at))
    return { asked, said, open, there }
  }

  test('are counted by their first page, and sorted once for all that are far', async () => {
    const { asked, said, open, there } = sorted(40_000)
    const rows = open()
    expect([rows.count, rows.isOpen]).toEqual([0, true])
    await there(rows, 100)
    expect([rows.count, rows.isOpen, rows.isCut]).toEqual([40_000, false, false])
    const isSorted = () => asked.some(({ limit }) => limit === 1)
    await expect.poll(isSorted, { interval: 1 }).toBe(true) // before anybody goes there
    for (const at of [20_000, 25_000, 30_000]) rows.want(at, at + 20)
    await there(rows, 30_000)
    expect(asked.filter(({ limit }) => limit === 1)).toEqual([
      expect.objectContaining({ from: 39_999, limit: 1 }),
    ])
    expect(asked.every(({ sort }) => sort?.[0]?.column === 'n')).toBe(true)
    expect(asked.filter(({ total }) => total === true)).toHaveLength(1)
    expect(said).toEqual([])
  })

  test('are the first 10,000 where a server does not sort as many', async () => {
    const { said, open, there } = sorted(40_000, 30_000)
    const rows = open(40_000)
    rows.want(20_000, 20_020)
    await expect.poll(() => rows.isCut, { interval: 1 }).toBe(true)
    expect(rows.count).toBe(10_000)
    rows.want(9_980, 10_000)
    await there(rows, 9_999)
    expect(said).toEqual([])
  })

  test('are not cut where a server refuses something else', async () => {
    const { said, open } = sorted(40_000, 30_000, 'where names an unknown column')
    const rows = open(40_000)
    rows.want(20_000, 20_020)
    await expect.poll(() => said.length, { interval: 1 }).toBe(1)
    expect([rows.count, rows.isCut]).toEqual([40_000, false])
  })
})

describe('what is shown of a table', () => {
  const COLUMNS = ['a', '-b', 'c,d', 'l'].map((id) => ({
    id,
    type: id === 'l' ? { kind: 'array', items: { kind: 'string' } } : { kind: 'string' },
  }))
  const IDS = COLUMNS.map(({ id }) => id)
  const NEW = parseAddress('', COLUMNS)

  test('is nothing in the address at first', () => {
    expect(renderAddress(NEW, COLUMNS)).toBe('')
    expect(NEW.columns).toEqual(IDS)
  })

  test('comes back from the address', () => {
    const state = {
      conditions: [
        { column: 'c,d', operator: 'eq', value: 'x&y=#?"z' },
        { column: 'a', operator: 'contains', value: 'x', isExact: true },
      ],
      search: 'ä +',
      sort: [
        { column: '-b', descending: false },
        { column: '-b', descending: true },
        { column: 'c,d', descending: false },
      ],
      columns: ['-b', 'c,d'],
      top: 120,
      active: { row: -1, column: 1 },
      row: 'r/1',
      isSchema: true,
    }
    expect(parseAddress(renderAddress(state, COLUMNS), COLUMNS)).toEqual(state)
  })

  test.each([
    'filter=x&filter=["gone","eq","1"]&filter=[1]&filter={"a":1}&filter=["a","gt","1"]',
    'sort=gone&sort=-l',
    'column=gone&at=-5&cell=x.-1',
    'at=1e400&cell=a.1e400',
  ])('is as at first where the address is wrong: %s', (text) => {
    expect(parseAddress(text, COLUMNS)).toEqual(NEW)
  })
})

test('a column is sorted one way, then the other, then not', () => {
  const up = (column: string) => ({ column, descending: false })
  const down = (column: string) => ({ column, descending: true })
  expect(nextSort([], 'a', false)).toEqual([up('a')])
  expect(nextSort([up('a')], 'a', false)).toEqual([down('a')])
  expect(nextSort([down('a')], 'a', false)).toEqual([])
  expect(nextSort([down('a')], 'b', false)).toEqual([up('b')])
  expect(nextSort([down('a')], 'b', true)).toEqual([down('a'), up('b')])
  expect(nextSort([up('a'), up('b')], 'a', true)).toEqual([down('a'), up('b')])
  expect(nextSort([down('a'), up('b')], 'a', true)).toEqual([up('b')])
  expect(nextSort([down('a'), up('b')], 'a', false)).toEqual([up('a')])
  const eight = Array.from({ length: 8 }, (_, at) => up(`${at}`))
  expect(nextSort(eight, 'a', true)).toEqual([...eight.slice(0, 7), up('a')])
})

test('what was staged before makes an import no faster', () => {
  let now = 0
  const clock = new RateClock(() => now)
  const skipped = { rows: 900, bytes: 9_000 }
  now = 2_000 // It took this long to find out.
  expect(clock.rateOf({ rows: 900, bytes: 9_000, chunks: 9, skipped }, 0.9).rows).toBe(0)
  now = 4_000
  const { rows, bytes, secondsLeft } = clock.rateOf(
    { rows: 950, bytes: 9_500, chunks: 9, skipped },
    0.95,
  )
  expect([rows, bytes, Math.round(secondsLeft)]).toEqual([25, 250, 2])
})

test('the last of several looks is the one that counts', () => {
  const looks = new Looks()
  const first = looks.next()
  expect(first()).toBe(true)
  const second = looks.next()
  expect([first(), second()]).toEqual([false, true])
  expect(new Looks().next()()).toBe(true)
})

test('a condition has values of the type of its column', () => {
  const columns = [
    { id: 'n', type: { kind: 'number' } },
    { id: '$b', type: { kind: 'boolean' } },
    { id: 's', type: { kind: 'string' } },
  ]
  const conditions = [
    { column: 'n', operator: 'in', value: '1, 12345678901234567890' },
    { column: '$b', operator: 'eq', value: 'true' },
    { column: 's', operator: 'eq', value: 'true' },
    { column: 's', operator: 'contains', value: 'a', isExact: true },
    { column: 's', operator: 'isEmpty', value: '' },
    { column: 'n', operator: 'isFilled', value: '' },
  ]
  expect(makeWhere(conditions, columns)).toEqual({
    $and: [
      { n: { in: [1, '12345678901234567890'] } },
      { $$b: { eq: true } },
      { s: { eq: 'true', ignoreCase: true, ignoreAccents: true } },
      { s: { contains: 'a' } },
      { s: { isEmpty: true } },
      { n: { isEmpty: false } },
    ],
  })
  expect(makeWhere([], columns)).toBeUndefined()
})

test('a search for a number finds equal values of numbers, and texts that contain it', () => {
  const columns = [
    { id: '$n', type: { kind: 'number' } },
    { id: 's', type: { kind: 'string' } },
    { id: 'd', type: { kind: 'date' } },
  ]
  const all = { s: { isEmpty: true } }
  const contains = { contains: ' 12.50', ignoreCase: true, ignoreAccents: true }
  expect(searchQuery(' 12.50', all, columns)).toEqual({
    where: { $and: [all, { $or: [{ $$n: { eq: '12.50' } }, { s: contains }] }] },
  })
  for (const text of ['a', '1e', '.5', '-'])
    expect(searchQuery(text, all, columns)).toEqual({
      where: all,
      search: text,
      searchIgnoreAccents: true,
    })
  expect(searchQuery('', undefined, columns)).toEqual({ where: undefined })
  const many = Array.from({ length: 2_000 }, (_, at) => ({ id: `${at}`, type: { kind: 'number' } }))
  expect(searchQuery('1', undefined, many).search).toBe('1') // More tests than a condition may have.
})

test('metrics are read, and a histogram tells between two readings', () => {
  const at = (fast: number, slow: number) =>
    parseMetrics(
      [
        '# TYPE rowstash_request_seconds histogram',
        `rowstash_request_seconds_bucket{operation="GET /a\\"b",le="0.005"} ${fast}`,
        `rowstash_request_seconds_bucket{operation="GET /a\\"b",le="0.1"} ${fast + slow}`,
        `rowstash_request_seconds_bucket{operation="GET /a\\"b",le="+Inf"} ${fast + slow}`,
        `rowstash_requests_total{operation="x",status="200"} ${fast}`,
        `rowstash_requests_total{operation="x",status="500"} ${slow}`,
      ].join('\n'),
    )
  expect(total(at(3, 4), 'requests_total')).toBe(7)
  expect(quantile(at(0, 0), at(9, 1), 'request_seconds', 0.5)).toBe(0.005)
  expect(quantile(at(0, 0), at(9, 1), 'request_seconds', 0.95)).toBe(0.1)
  expect(quantile(at(9, 1), at(9, 1), 'request_seconds', 0.5)).toBeUndefined()
})

test('a text shows what it would hide, and keeps its lines', () => {
  expect(shownText('a\tb\r\nc\n\u202egpj\u200b\rx')).toBe('a\tb\r\nc\n\\u202egpj\\u200b\\u000dx')
})

test('texts come into the page by one module alone', () => {
  const sources = projectFiles().filter((path) => /^adapters\/page\/browser\/.*\.ts$/.test(path))
  const puts =
    /\.(?:textContent|innerText|nodeValue|title) = |createTextNode|\b(?:append|prepend|before|after|replaceWith|replaceChildren)\((?:[^()]*, )?['"`]/
  const found = sources.flatMap((path) => {
    const lines = readText(path)
      .split('\n')
      .filter((line) => puts.test(line))
    return lines.map((line) => `${path}: ${line.trim()}`)
  })
  expect(found).toEqual([
    'adapters/page/browser/base/dom.ts: element.textContent = shownText(text)',
    'adapters/page/browser/views/shell.ts: document.title = shownText(TEXT.titleOf(view.title))',
  ])
})
