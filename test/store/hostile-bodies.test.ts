// Goal: no body blocks the event loop, whatever it contains: every scanner, and every path to an error, yields in
// proportion to the bytes read.
// Method: bodies of all formats that cost much per byte, valid or with a fault at the end, go through every operation
// that takes rows. The clock advances at each reading, so that each 8 KiB of counted work end a turn: the turns that
// others got tell how much was counted. No time is measured.
import { MemoryLevel } from 'memory-level'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { SourceFormat } from '../../src/base/source-format.js'
import { SliceTurns } from '../../src/base/time-slices.js'
import { appendEntries } from '../../src/engine/caches/extents.js'
import { ColumnsOfChunk } from '../../src/engine/import/columns-of-chunk.js'
import { ExactRows } from '../../src/engine/import/exact-rows.js'
import { ChunkProblems } from '../../src/engine/import/find-problems.js'
import { IncomingRows } from '../../src/engine/merge/incoming-rows.js'
import {
  memoryObjects,
  openLevelKv,
  openStore,
  type RowsInput,
  type StoreError,
  type StoreOptions,
  type Table,
  type Team,
} from '../../src/index.js'
import { scanBatches } from '../../src/kv/scan-batches.js'
import { openCsv } from '../../src/schema/scan-csv.js'
import { newSummary } from '../../src/schema/summarize.js'

const KIB = 1024

/** Work between two readings of the clock, and the least work that a row counts. */
const CHECKED_WORK = 8 * KIB
const ROW_WORK = 16

/** Approximate work of a body in a test. */
const WORK = 128 * KIB

/** Fewest turns that must have come, as a share of those that the work is worth. */
const SHARE = 0.7

async function openTeam(options: StoreOptions = {}): Promise<Team> {
  let ms = Date.now()
  const store = await openStore({
    maintenance: false,
    compression: 'none',
    inlineBytesMax: 0, // No body is short enough to go straight to the exact path.
    clock: { now: () => (ms += 5) },
    kv: await openLevelKv(new MemoryLevel<Uint8Array, Uint8Array>()),
    objects: memoryObjects(),
    ...options,
  })
  closing.push(() => store.close())
  return store.team('t')
}

const closing: (() => Promise<void>)[] = []
let team: Team

beforeAll(async () => {
  team = await openTeam()
})

afterAll(async () => {
  for (const close of closing) await close()
})

type Outcome = Readonly<{ turns: number; code: string | undefined }>

/** The turns of the event loop that others got during `work`, and the code of its failure. */
async function outcomeOf(work: () => Promise<unknown>): Promise<Outcome> {
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const code = await work().then(
    () => undefined,
    (failure: unknown) => (failure as StoreError).code,
  )
  isDone = true
  return { turns, code }
}

type Body = Readonly<{ rows: RowsInput; work: number }>

/** How rows of a format become a body, which rows cost much, and which faults show only when they are read. */
type Format = Readonly<{
  body: (rows: readonly string[]) => RowsInput
  rows: Readonly<Record<string, string>>
  faults: Readonly<Record<string, string>>
  /** Whether the exact path reads the whole body again after a fault, instead of only the faulty record. */
  isReadAgain: boolean
}>

const JSON_ROWS = {
  empty: '{}',
  'of nulls': '{"a":null,"b":null}',
  'between spaces': `{}${' '.repeat(200)}`,
  'with spaces': `{${' '.repeat(200)}}`,
  'of one key': `{${'"a":1,'.repeat(50)}"a":1}`,
  'of one key with nulls': `{${'"a":null,'.repeat(50)}"a":1}`,
  'with escapes in keys': '{"\\u0061":1}',
  'of minus zeros': '{"a":-0}',
  'of arrays with spaces': `{"a":[1${' '.repeat(200)}]}`,
  'of texts': '{"a":"x y z","b":"\\n"}',
}
const JSON_FAULTS = { 'a value that is none': '{"a":tru}', 'a tab in a text': '{"a":"\t"}' }

function delimited(delimiter: string): Pick<Format, 'rows' | 'faults' | 'isReadAgain'> {
  const d = delimiter
  return {
    rows: {
      'empty lines': '',
      'without cells': d,
      'of empty quotes': `""${d}""`,
      'of quotes': `"${'""'.repeat(50)}"${d}`,
      'of line breaks': `"${'\r\n'.repeat(50)}"${d}`,
      'of differing lengths': `${d}\n\n1${d}2`,
      'of texts': `x y z${d}"1"`,
      'of numbers': `1${d}2e5`,
    },
    faults: {
      'a quote without an end': '"x',
      'a quote in an unquoted field': 'x"y"',
      'text after a quote': '"x"y',
      'too many fields': d.repeat(5),
    },
    isReadAgain: false,
  }
}

/** The compiler requires every format here, so that a new one is tested. */
const FORMATS: Readonly<Record<SourceFormat, Format>> = {
  json: {
    body: (rows) => ({ json: Buffer.from(`[${rows.join()}]`) }),
    rows: JSON_ROWS,
    faults: JSON_FAULTS,
    isReadAgain: true,
  },
  ndjson: {
    body: (rows) => ({ ndjson: Buffer.from(`${rows.join('\n')}\n`) }),
    rows: JSON_ROWS,
    faults: JSON_FAULTS,
    isReadAgain: true,
  },
  csv: { body: (rows) => ({ csv: Buffer.from(`a,b\n${rows.join('\n')}`) }), ...delimited(',') },
  tsv: { body: (rows) => ({ tsv: Buffer.from(`a\tb\n${rows.join('\n')}`) }), ...delimited('\t') },
}

function bodyOf({ body }: Format, row: string, last: readonly string[] = []): Body {
  const rowWork = Buffer.byteLength(row) + ROW_WORK
  const rows = Array<string>(Math.ceil(WORK / rowWork)).fill(row)
  return { rows: body([...rows, ...last]), work: rows.length * rowWork }
}

const create = (rows: RowsInput) => team.createTable({ name: 'T', rows })

/** Every other operation that takes rows, on a table with such rows. */
const OPERATIONS: Readonly<Record<string, (table: Table, rows: RowsInput) => Promise<unknown>>> = {
  preflight: (_, rows) => team.preflight({ name: 'T', rows }),
  put: (_, rows) => team.stash('s').put('0', rows),
  addRows: (table, rows) => table.addRows(rows),
  overwrite: (table, rows) => table.overwrite({ rows }),
  merge: (table, rows) => table.merge({ rows, key: ['a'] }),
}

function thrownBy(read: () => unknown): object {
  try {
    read()
  } catch (failure) {
    const { code, message, row, line } = failure as StoreError
    return { code, message, row, line }
  }
  return expect.unreachable('it throws')
}

function expectTurns({ turns }: Outcome, passes: number, { work }: Body): void {
  expect(turns).toBeGreaterThanOrEqual(Math.floor((SHARE * passes * work) / CHECKED_WORK))
}

/**
 * A body is counted once. With a fault at the end it may be counted twice, because the exact path then names the fault.
 */
async function expectCounted(format: Format, row: string, fault: string): Promise<void> {
  const whole = bodyOf(format, row)
  expectTurns(await outcomeOf(() => create(whole.rows)), 1, whole)
  const broken = bodyOf(format, row, [fault])
  const outcome = await outcomeOf(() => create(broken.rows))
  expect(outcome.code).toBe('REQUEST_VALIDATION_ERROR')
  expectTurns(outcome, format.isReadAgain ? 2 : 1, broken)
}

describe.each(Object.entries(FORMATS))('%s', (_name, format) => {
  const [[, firstFault] = ['', ''], ...otherFaults] = Object.entries(format.faults)
  const texts = format.rows['of texts'] ?? ''

  test.each(Object.entries(format.rows))('rows %s are counted where they are read', (_what, row) =>
    expectCounted(format, row, firstFault),
  )

  test.each(otherFaults)('%s is found by work that is counted', (_what, fault) =>
    expectCounted(format, texts, fault),
  )

  test.each(Object.entries(OPERATIONS))('%s counts the rows that it reads', async (_what, run) => {
    const { tableId } = await create(format.body([texts]))
    const body = bodyOf(format, texts)
    expectTurns(await outcomeOf(() => run(team.table(tableId), body.rows)), 1, body)
  })
})

describe('what is counted besides', () => {
  const NUMBERS = { columns: [{ id: 'a', type: 'number' as const }] }

  test('the search for the first value that does not fit, past empty rows', async () => {
    const { tableId } = await team.createTable({ name: 'T', schema: NUMBERS, rows: [] })
    const body = bodyOf(FORMATS.json, '{}', ['{"a":"x"}'])
    const outcome = await outcomeOf(() => team.table(tableId).addRows(body.rows))
    expect(outcome.code).toBe('COLUMN_HAS_INVALID_VALUE')
    expectTurns(outcome, 2, body)
  })

  test('a preflight that lists what does not fit', async () => {
    for (const last of ['{"a":1}', '{"a":"x"}']) {
      const body = bodyOf(FORMATS.json, last === '{"a":1}' ? '{"a":"x"}' : '{}', [last])
      const check = () => team.preflight({ name: 'T', schema: NUMBERS, rows: body.rows })
      expectTurns(await outcomeOf(check), 2, body)
    }
  })

  test('rows that are rewritten, which are read, converted, judged and written', async () => {
    const { tableId } = await team.createTable({ name: 'T', schema: NUMBERS, rows: [] })
    const body = bodyOf(FORMATS.json, '{}', ['{"a":"x"}'])
    const drop = () => team.table(tableId).addRows(body.rows, { onSchemaError: 'dropColumns' })
    expectTurns(await outcomeOf(drop), 4, body)
  })

  test('a merge that gathers the rows of the input in the order of those of the table', async () => {
    const count = 4_000
    const rowsOf = (v: string): Body => {
      const rows = Array.from({ length: count }, (_, n) => `{"id":${(n * 7) % count},"v":"${v}"}`)
      return { rows: { json: Buffer.from(`[${rows.join()}]`) }, work: rows.join().length }
    }
    const { tableId } = await create(rowsOf('x').rows)
    const body = rowsOf('y')
    const merge = () => team.table(tableId).merge({ rows: body.rows, key: ['id'] })
    const gathered: number[] = []
    const { textsAt } = IncomingRows.prototype
    const spy = vi.spyOn(IncomingRows.prototype, 'textsAt').mockImplementation(async function* (
      this: IncomingRows,
      rows,
    ) {
      for await (const texts of textsAt.call(this, rows)) {
        gathered.push(texts.length)
        yield texts
      }
    })
    onTestFinished(() => spy.mockRestore())
    const sorts = vi.spyOn(Uint32Array.prototype, 'sort')
    onTestFinished(() => sorts.mockRestore())
    expectTurns(await outcomeOf(merge), 8, body)
    expect(gathered.reduce((sum, length) => sum + length)).toBe(count)
    expect(Math.max(...gathered)).toBeLessThan(count / 2) // the texts of a frame
    expect(sorts).not.toHaveBeenCalled()
  })

  test('rows of CSV that only the exact path takes, which are read and rendered', async () => {
    const narrow = await openTeam({ rowBytesMax: KIB })
    const body = bodyOf(FORMATS.csv, `${'x'.repeat(400)},`)
    const createNarrow = () => narrow.createTable({ name: 'T', rows: body.rows })
    expectTurns(await outcomeOf(createNarrow), 2, body)
  })

  test.each(['csv', 'tsv'] as const)(
    'of %s, a record with a fault is read again alone',
    async (name) => {
      const rows = vi.spyOn(ExactRows.prototype, 'add')
      onTestFinished(() => rows.mockRestore())
      const { body, faults, rows: kinds } = FORMATS[name]
      const before = [...Object.values(kinds), '"\r\n"', '', 'x\r\ny\rz']
      for (const fault of Object.values(faults)) {
        const given = body([...before, fault])
        const bytes = Object.values(given)[0] as Buffer
        const limits = { columnsMax: 10, rowCharsMax: KIB }
        const delimiter = name === 'csv' ? ',' : '\t'
        const read = () => [...openCsv(bytes, { delimiter }, limits).rows]
        const problem = thrownBy(read)
        await expect(create(given)).rejects.toMatchObject(problem)
        expect(rows).not.toHaveBeenCalled()
      }
    },
  )

  /** Rows and their dialects, and how often their bytes are counted. */
  const DIALECTS: Readonly<Record<string, readonly [row: string, said: object, passes: number]>> = {
    'rows of another delimiter': ['x;1', { delimiter: ';' }, 3],
    'rows of quotes': [`"${'""'.repeat(50)}";`, { delimiter: ';', trim: true }, 3],
    'rows of backslashes': ['"\\\\\\\\"', { escape: 'backslash' }, 3],
    'rows of blanks': [`${' '.repeat(40)};`, { delimiter: ';', trim: true }, 2],
    'days and numbers': [
      '1.2.2026;"1,5"',
      { delimiter: ';', dates: 'dd.mm.yyyy', decimal: ',' },
      3,
    ],
    'comments, which are no rows': ['#', { comment: '#' }, 2],
    'blank lines, which are no rows': ['', { blankLines: 'skip' }, 1],
    'rows that are detected': ['x;1', { dialect: 'detect' }, 3],
  }

  test.each(Object.entries(DIALECTS))(
    '%s, in another dialect',
    async (_what, [row, said, passes]) => {
      const rowWork = Buffer.byteLength(row) + ROW_WORK
      const count = Math.ceil(WORK / rowWork)
      const work = count * (Buffer.byteLength(row) + 1)
      const csv = Buffer.from(`a;b\n${`${row}\n`.repeat(count)}`)
      const rows = { csv, ...said } as RowsInput
      expectTurns(await outcomeOf(() => create(rows)), passes, { rows, work })
      expectTurns(await outcomeOf(() => team.stash('d').put('0', rows)), passes, { rows, work })
      const file = { rows, work }
      expectTurns(await outcomeOf(() => team.preflight({ name: 'T', rows })), passes, file)
    },
  )

  test('a record that is not UTF-8, and the records before it', async () => {
    const { rows, work } = bodyOf(FORMATS.csv, 'é,')
    const broken = Buffer.concat([(rows as { csv: Buffer }).csv, Buffer.from([0x0a, 0xff])])
    const outcome = await outcomeOf(() => create({ csv: broken }))
    expect(outcome.code).toBe('REQUEST_VALIDATION_ERROR')
    expectTurns(outcome, 1, { rows, work })
  })

  test('blank lines of NDJSON, which are no rows', async () => {
    const rows = { ndjson: Buffer.alloc(1024 * KIB, '\n'), allowEmpty: true }
    expect((await outcomeOf(() => create(rows))).turns).toBeGreaterThanOrEqual(3)
  })

  describe('the columns of the chunks of a stash', () => {
    const COLUMNS = 1_000
    const CHUNKS = 10
    /** Others get a turn after the columns of each chunk. */
    const looks = (passes: number) => passes * CHUNKS

    async function stashOf(cellsOf: (chunk: number, i: number) => readonly [string, unknown]) {
      const stash = team.stash(`s${closing.push(async () => undefined)}`)
      for (let chunk = 0; chunk < CHUNKS; chunk++) {
        const cells = Array.from({ length: COLUMNS }, (_, i) => cellsOf(chunk, i))
        await stash.put(String(chunk), [Object.fromEntries(cells)])
      }
      return stash
    }

    test('that have other columns each, of which a check names some', async () => {
      const rows = await stashOf((chunk, i) => [`c${chunk}_${i}`, 1])
      const check = () => team.preflight({ name: 'T', schema: NUMBERS, rows })
      const readTurns = Math.floor((2 * COLUMNS * CHUNKS) / 4_096) // their IDs and their summaries
      expect((await outcomeOf(check)).turns).toBeGreaterThanOrEqual(looks(1) + readTurns)
    })

    test('that have values of other kinds each', async () => {
      const rows = await stashOf((chunk, i) => [`c${i}`, i % CHUNKS < chunk ? 1 : 'x'])
      const outcome = await outcomeOf(() => team.createTable({ name: 'T', rows }))
      expect(outcome.code).toBeUndefined()
      expect(outcome.turns).toBeGreaterThanOrEqual(looks(2))
    })

    test('of which there are many, and the records of the table that they become', async () => {
      const stash = team.stash('many')
      await Promise.all(Array.from({ length: 200 }, (_, n) => stash.put(n, [{ a: 1 }])))
      const create = () => team.createTable({ name: 'T', rows: stash, receipt: true })
      expectTurns(await outcomeOf(create), 2, { rows: [], work: 200 * 4 * KIB })

      const form = { convert: false, compacted: false, recompressed: false, namesFiles: false }
      const entry = { nonce: new Uint8Array(8), segment: null, rowCount: 1, version: 1, ...form }
      const append = () =>
        appendEntries(() => null, new Uint8Array(16), 0, Array(4 * 4_096).fill(entry))
      expect((await outcomeOf(append)).turns).toBeGreaterThanOrEqual(3)
    })

    test('that a schema lacks are put in their order without comparing each with each', () => {
      const columns = Array.from({ length: COLUMNS }, (_, i) => ({
        summary: newSummary(`c${i}`),
        firstRow: i < COLUMNS / 2 ? 1 : 0,
      }))
      const rules = { formatChecks: true, inferred: false, columnOf: () => undefined }
      const chunk = new ChunkProblems(rules, new SliceTurns({ now: () => 0 }).begin())
      const gets = vi.spyOn(Map.prototype, 'get')
      const { problems } = chunk.end({ columns, firstLine: 0 })
      const looks = gets.mock.calls.length
      gets.mockRestore()
      expect(problems.map(({ column }) => column)).toEqual(
        [...columns.slice(COLUMNS / 2), ...columns.slice(0, COLUMNS / 2)].map(
          ({ summary }) => summary.id,
        ),
      )
      expect(looks).toBeLessThan(50 * COLUMNS)
    })
  })

  test('arrays and objects that are in a cell are judged, and not built', async () => {
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    const cells = ['[1,[2]]', '["[",{}]', '{"b":[1]}', '["\\"{",{"b":1}]']
    for (const cell of cells) {
      const columns = [{ id: 'a', type: { kind: 'array', items: { kind: 'number' } } }] as const
      const rows = { json: Buffer.from('[{}]') }
      const { tableId, rowIds } = await team.createTable({ name: 'T', schema: { columns }, rows })
      const table = team.table(tableId)
      const misfits = [
        table.updateRowJson(rowIds.at(0) ?? '', `{"a":${cell}}`),
        table.addRows({ json: Buffer.from(`[{"a":${cell}}]`) }),
        table.addRows({ csv: Buffer.from(`a\n"${cell.replaceAll('"', '""')}"`) }),
      ]
      for (const misfit of misfits) await expect(misfit).rejects.toThrow('Invalid value')
    }
    expect(parse.mock.calls.filter(([text]) => cells.includes(text))).toEqual([])
  })

  test('records of a database in memory, which reads in the turn in which it is asked', async () => {
    const keys = Array.from({ length: 3_000 }, (_, n) => `k${10_000 + n}`)
    const level = new MemoryLevel<Uint8Array, Uint8Array>()
    const kv = await openLevelKv(level)
    closing.push(() => kv.close())
    const puts = keys.map((key) => [Buffer.from(key), Buffer.from('x')] as const)
    await kv.partition('t').commit({ puts })
    const range = { start: Buffer.from('k'), limit: Buffer.from('l') }
    const scan = () =>
      kv.partition('t').read(async (view) => {
        for await (const entries of scanBatches(view, range)) found += entries.length
      })
    let found = 0
    expect((await outcomeOf(scan)).turns).toBeGreaterThanOrEqual(3)
    expect(found).toBe(keys.length)
  })

  test('columns are not looked at more often than the rows are worth, however many there are', async () => {
    const looks = vi.spyOn(ColumnsOfChunk.prototype, 'ofSegment', 'get')
    onTestFinished(() => looks.mockRestore())
    const columns = Array.from({ length: 1_000 }, (_, i) => `c${i}`)
    async function* rows() {
      yield Object.fromEntries(columns.map((id) => [id, 1]))
      for (let i = 0; i < 4_000; i++) yield {}
    }
    await team.createTable({ name: 'T', rows: rows() })
    expect(looks.mock.calls.length).toBeLessThan(10)
  })
})
