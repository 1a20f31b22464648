// The fuzzed targets. Each accepts any bytes, and throws if the code does what it must never do.
import { isDeepStrictEqual } from 'node:util'
import { isStoreError } from '../../../src/base/store-error.js'
import * as apiKeyRecords from '../../../src/format/api-key-records.js'
import * as changeRecords from '../../../src/format/change-records.js'
import * as continuations from '../../../src/format/continuation-token.js'
import * as dutyRecords from '../../../src/format/duty-records.js'
import * as extentPages from '../../../src/format/extent-page.js'
import * as fileIds from '../../../src/format/file-id.js'
import * as fileRecords from '../../../src/format/file-records.js'
import * as incarnationRecords from '../../../src/format/incarnation-records.js'
import * as jobRecords from '../../../src/format/job-records.js'
import * as logRecords from '../../../src/format/log-records.js'
import * as records from '../../../src/format/records.js'
import * as rowIds from '../../../src/format/row-id.js'
import * as schemaRecords from '../../../src/format/schema-record.js'
import * as tableIds from '../../../src/format/table-id.js'
import * as workRecords from '../../../src/format/work-records.js'
import { fetchHandler, openMemory, type Store, type Table } from '../../../src/index.js'
import * as csv from '../scan/csv-paths.js'
import * as json from '../scan/json-paths.js'

type Input = Uint8Array<ArrayBuffer>

export type Target = Readonly<{
  name: string
  /** The first inputs. */
  seeds: readonly (string | Uint8Array)[]
  /** Words that have a meaning in the code. */
  words: readonly string[]
  /**
   * @returns whether the input was accepted. Accepted inputs are changed more often, because most changes of a refused
   * one are refused too.
   * @throws {Error} the violation
   */
  run(input: Input): Promise<boolean>
  close?(): Promise<void>
}>

const decoder = new TextDecoder()

const VALUES = [
  ...['"2024-02-29"', '"2024-02-15T12:30:00Z"', '"12:30"', '"PT1H"', '"ann@example.com"'],
  ...[
    '"https://example.com/a"',
    '"\\u00e9"',
    '"\\ud83d\\ude00"',
    '12.50',
    '-1e-5',
    'true',
    'null',
    '[1,2]',
  ],
]

const JSON_WORDS = [...VALUES, '{"a":', '}', ']', ',', '"$rowID":', '"__proto__":', '\\"', '\\\\']

const CSV_WORDS = [
  ...[
    '"',
    '""',
    '\r\n',
    '\n',
    '\r',
    ';',
    ',',
    '\t',
    '\ufeff',
    '$rowID',
    "'",
    '|',
    '1.000',
    '1,5',
    '01/02/2024',
  ],
  ...[
    '2024-02-29',
    'true',
    'N/A',
    '€ 5',
    '1 234',
    '"a\nb"',
    'ann@example.com',
    'é',
    '日本',
    'sep=;\n',
  ],
]

const CSV_SEEDS = [
  'a,b,c\n1,2,3\n4,5,6\n',
  'id;price;day\n1;1.000,50;31.12.2024\n2;2,5;01.01.2025\n',
  'name\tn\r\n"two\nlines"\t1\r\n"say ""hi"""\t\r\n',
  '\ufeffsep=;\na;b\ntrue;x\nfalse;y\n',
  'Report of May\n\na,b\n1,2\n3,4\nTotal,6\n',
]

/** The JSON byte scanner gives the result of the exact path, or leaves the body to it. */
const jsonRows: Target = {
  name: 'JSON rows',
  seeds: [
    `[{"a":${VALUES.join('},{"a":')}}]`,
    '[{"a":1,"b":"x"},{"b":"y","a":2},{"$rowID":"x","a":null}]',
    '[{"a":12.5,"b":-3e2},{"a":0,"b":7},{"a":1.0,"b":0.25}]',
    '{"a":[1,"2"],"b":{"c":1}}\n{"a":[]}\n',
  ],
  words: JSON_WORDS,
  async run(input) {
    const expected = json.readExactly(input, 65_536)
    const made = await json.readQuickly(input, 65_536)
    if (made !== null && !isDeepStrictEqual(made, expected)) throw new Error('other rows')
    return made !== null
  },
}

const CSV_LIMITS = {
  columnsMax: 30,
  rowBytesMax: 4_000,
  segmentRowsMax: 65_536,
  segmentBytesMax: 1e9,
}

/** So does the byte scanner of CSV and TSV. */
const csvRows: Target = {
  name: 'CSV rows',
  seeds: CSV_SEEDS,
  words: CSV_WORDS,
  async run(bytes) {
    const delimiter = bytes.includes(9) ? '\t' : ','
    const expected = csv.readExactly({ bytes, delimiter }, CSV_LIMITS)
    const made = await csv.readQuickly({ bytes, delimiter }, CSV_LIMITS)
    if (made !== null && !isDeepStrictEqual(made, expected)) throw new Error('other rows')
    return made !== null
  },
}

/** A StoreError about the caller's input; undefined: none. @throws {Error} any other failure */
async function refusalOf(work: () => unknown): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (failure) {
    if (isStoreError(failure)) return `${failure.code}: ${failure.message}`
    throw failure
  }
}

/** The rows of a detected import as JSON, or its refusal. */
async function importedAs(store: Store, rows: object): Promise<unknown> {
  const team = store.team('fuzz')
  let report: unknown
  let made: Awaited<ReturnType<typeof team.createTable>> | undefined
  const onReport = (read: unknown): void => {
    report = read
  }
  const refused = await refusalOf(async () => {
    made = await team.createTable({
      name: 'T',
      rows: { ...rows, dialect: 'detect', onReport } as never,
    })
  })
  if (made === undefined) return refused
  const table = team.table(made.tableId)
  const lines = await textOf(table.toNDJSON())
  const { columns } = await table.schema()
  await checkRoundTrip(table, lines, columns.length > 0)
  await table.delete()
  return { columns, lines, report }
}

/** The CSV and the NDJSON that a table writes give the same rows again; CSV needs columns, and has no empty texts. */
async function checkRoundTrip(table: Table, lines: string, hasColumns: boolean): Promise<void> {
  const csv = await textOf(table.toCSV())
  await table.overwrite({ rows: { ndjson: lines, allowEmpty: true } })
  const again = await textOf(table.toNDJSON())
  if (again !== lines) throw new Error(`as NDJSON ${again} instead of ${lines}`)
  if (!hasColumns) return
  await table.overwrite({ rows: { csv, allowEmpty: true } })
  const ofCsv = await textOf(table.toNDJSON())
  if (!isDeepStrictEqual(withoutEmpty(ofCsv), withoutEmpty(lines))) {
    throw new Error(`as CSV ${ofCsv} instead of ${lines}; ${JSON.stringify(csv)}`)
  }
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  for await (const piece of pieces) parts.push(Uint8Array.from(piece))
  return Buffer.concat(parts).toString()
}

/** The rows by value, after the text of numbers was compared. */
function withoutEmpty(lines: string): readonly unknown[] {
  const rows = lines.split('\n').filter((line) => line !== '')
  return rows.map((line) => JSON.parse(line, (_, value) => (value === '' ? undefined : value)))
}

/**
 * A file gives the same rows in whatever pieces it arrives; otherwise a StoreError refuses it, or the report says so.
 */
async function intake(
  name: 'csv' | 'json',
  seeds: readonly string[],
  words: readonly string[],
): Promise<Target> {
  const store = await openMemory({ maintenance: false })
  return {
    name: `intake of ${name.toUpperCase()}`,
    seeds,
    words,
    async run(input) {
      const whole = await importedAs(store, { [name]: input })
      const size = 1 + ((input[0] ?? 0) % 97)
      async function* pieces(): AsyncGenerator<Uint8Array> {
        for (let at = 0; at < input.length; at += size) yield input.slice(at, at + size)
      }
      const parts = await importedAs(store, { [name]: pieces() })
      if (!isDeepStrictEqual(parts, whole)) {
        throw new Error(
          `in pieces of ${size}: ${JSON.stringify(parts)} instead of ${JSON.stringify(whole)}`,
        )
      }
      return typeof whole === 'object'
    },
    close: () => store.close(),
  }
}

/** A StoreError refuses a condition, or it finds as many rows as it counts, and its negation finds the others. */
async function conditions(): Promise<Target> {
  const store = await openMemory({ maintenance: false })
  const team = store.team('fuzz')
  const rows = Array.from({ length: 40 }, (_, n) => ({
    ...(n % 3 === 0 ? {} : { n: n % 7 }),
    ...(n % 4 === 0 ? {} : { t: ['ä', 'Straße', 'x', 'İ'][n % 4] }),
    ...(n % 5 === 0 ? {} : { b: n % 2 === 0, d: `2024-02-${10 + (n % 9)}`, l: ['a', `${n % 3}`] }),
  }))
  const { tableId } = await team.createTable({ name: 'T', rows })
  const table: Table = team.table(tableId)
  return {
    name: 'conditions',
    seeds: [
      '{"n":{"gte":2,"lt":5}}',
      '{"$or":[{"t":{"contains":"s","ignoreCase":true}},{"b":true}]}',
      '{"$not":{"d":{"between":["2024-02-10","2024-02-12"]}}}',
      '{"l":{"has":"a"},"n":{"in":[1,2,3]},"t":{"empty":false}}',
      '{"t":{"startsWith":"S"},"n":{"ne":3}}',
    ],
    words: [
      ...[
        '"$and":[',
        '"$or":[',
        '"$not":{',
        '"eq":',
        '"ne":',
        '"gt":',
        '"lte":',
        '"in":[',
        '"empty":true',
      ],
      ...[
        '"contains":',
        '"startsWith":',
        '"ignoreCase":true',
        '"ignoreAccents":true',
        '"has":',
        '"t":',
        '"n":',
      ],
      ...VALUES,
    ],
    async run(input) {
      let where: never
      try {
        where = JSON.parse(decoder.decode(input)) as never
      } catch {
        return false
      }
      let counted = -1
      const refused = await refusalOf(async () => {
        counted = await table.count(where)
      })
      if (refused !== undefined) return false
      let found = 0
      for await (const _ of table.find(where)) found++
      const others = await table.count({ $not: where })
      if (found !== counted || found + others !== rows.length) {
        throw new Error(`${counted} counted, ${found} found, ${others} others of ${rows.length}`)
      }
      return true
    },
    close: () => store.close(),
  }
}

const FORMAT_MODULES = {
  apiKeyRecords,
  changeRecords,
  dutyRecords,
  extentPages,
  fileRecords,
  incarnationRecords,
  jobRecords,
  logRecords,
  records,
  schemaRecords,
  workRecords,
}

/** Readers of a record that need only its bytes. */
const READERS = Object.values(FORMAT_MODULES).flatMap((module) => {
  return Object.entries(module).flatMap(([name, value]) => {
    const isReader = name.startsWith('decode') && typeof value === 'function' && value.length === 1
    return isReader ? [value as (bytes: Uint8Array) => unknown] : []
  })
})

/** A StoreError refuses a record that no writer made. */
function decoders(seeds: readonly Uint8Array[]): Target {
  return {
    name: 'records',
    seeds,
    words: ['\u0000\u0000\u0000\u0001', '\u007f\u007f\u007f\u007f'],
    async run(input) {
      let taken = 0
      for (const read of READERS) if ((await refusalOf(() => read(input))) === undefined) taken++
      return taken > 0
    },
  }
}

/** Foreign IDs and continuations are refused or read. */
const tokens: Target = {
  name: 'tokens',
  seeds: [
    'AAAAAAAAAAAAAAAAAAAAAA',
    'rsf-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    '0123456789abcdef',
    'eyJhIjoxfQ==',
  ],
  words: ['-', '_', '=', '.', '/', '%2F', 'rsf-', '\u0000', 'é'],
  async run(input) {
    const text = decoder.decode(input)
    let taken = 0
    for (const module of [rowIds, fileIds, tableIds, continuations]) {
      for (const [name, read] of Object.entries(module)) {
        if (!/^(?:parse|decode|read)/.test(name) || typeof read !== 'function' || read.length !== 1)
          continue
        const refused = await refusalOf(() => (read as (given: string) => unknown)(text))
        if (refused === undefined) taken++
      }
    }
    return taken > 0
  },
}

const KEY = 'a-key-of-the-fuzzer'

/** A request of any form is answered as the contract says, never with 500. */
async function requests(): Promise<Target> {
  const store = await openMemory({ maintenance: false })
  const team = store.team('fuzz')
  const { tableId } = await team.createTable({ name: 'T', rows: [{ a: 1, b: 'x' }], key: ['b'] })
  const handle = fetchHandler(store, { keys: [{ key: KEY, teamId: 'fuzz' }] })
  const of = (rest: string) => `/tables/${tableId}${rest}`
  return {
    name: 'requests',
    seeds: [
      `GET ${of('/rows?limit=1&where={"a":1}&sort=-a')}\n\n`,
      `GET ${of('/export?format=csv&bom=true')}\nrange: bytes=0-5\n\n`,
      `GET ${of('/changes?since=0')}\naccept: text/event-stream\nlast-event-id: 1\n\n`,
      `PATCH ${of('/rows')}\ncontent-type: application/json\nif-match: "1"\n\n[{"id":"x"}]`,
      `POST ${of('/rows')}\ncontent-type: text/csv; header=absent; charset=windows-1252\n\n1,x\n`,
      `GET ${of('/groups?by=b&sum=a')}\naccept-encoding: gzip;q=0.5, br\n\n`,
      'POST /tables\ncontent-type: application/json\nidempotency-key: k\n\n{"name":"U","rows":[{"a":1}]}',
      'PUT /stashes/s/1\ncontent-type: application/x-ndjson\n\n{"a":1}\n',
      `GET ${of('/by-key?b=x')}\nif-none-match: W/"1", *\n\n`,
    ],
    words: [
      ...[
        'GET',
        'PUT',
        'POST',
        'DELETE',
        'content-type: ',
        'if-match: *',
        'charset=',
        '"',
        ';',
        ',',
        '%',
        '%00',
      ],
      ...[
        '&limit=',
        '&where=',
        '&sort=',
        'csv.delimiter=;',
        'bytes=-1',
        'application/json',
        '/rows',
        '/stashes/',
      ],
      of('/rows/'),
      ...JSON_WORDS,
    ],
    async run(input) {
      const request = requestOf(decoder.decode(input))
      if (request === null) return false
      const answer = await handle(request)
      // A stream of changes has no end.
      if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
        await answer.body?.cancel()
      } else await answer.text()
      if (answer.status >= 500) throw new Error(`${answer.status}`)
      return answer.ok
    },
    close: () => store.close(),
  }
}

/** A request from lines: method and path, headers, an empty line, the body. null: no program could send it. */
function requestOf(text: string): Request | null {
  const [head = '', body] = text.split('\n\n', 2)
  const [line = '', ...headers] = head.split('\n')
  const [method = '', path = ''] = line.split(' ')
  try {
    const pairs = headers.map((header): [string, string] => {
      const at = header.indexOf(':')
      return [header.slice(0, Math.max(0, at)), header.slice(at + 1).trim()]
    })
    const hasBody = method !== 'GET' && method !== 'HEAD'
    pairs.push(['authorization', `Bearer ${KEY}`])
    return new Request(`http://localhost${path}`, {
      method,
      headers: pairs,
      ...(hasBody && { body: body ?? '' }),
    })
  } catch {
    return null
  }
}

/** @param goldenRecords - Records in their form on disk. */
export async function openTargets(
  goldenRecords: readonly Uint8Array[],
): Promise<readonly Target[]> {
  return [
    jsonRows,
    csvRows,
    await intake('csv', CSV_SEEDS, CSV_WORDS),
    await intake(
      'json',
      ['[{"a":1},{"a":{"b":[1]}}]', '{"data":[{"x":"1"}]}', '{"a":1}\n{"a":"2"}\n'],
      JSON_WORDS,
    ),
    await conditions(),
    decoders(goldenRecords),
    tokens,
    await requests(),
  ]
}
