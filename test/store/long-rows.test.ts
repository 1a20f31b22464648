// Rows and bodies that take long to check: other work of the process gets its turn meanwhile, and the facts recorded
// about their values are the same.
import fc from 'fast-check'
import { MemoryLevel } from 'memory-level'
import { describe, expect, onTestFinished, test } from 'vitest'
import { BufferPool } from '../../src/base/buffer-pool.js'
import { systemClock } from '../../src/base/clock.js'
import { runAtOnce, SliceTurns } from '../../src/base/time-slices.js'
import { ChunkBuilder } from '../../src/engine/import/chunk-builder.js'
import { readCsvBytes } from '../../src/engine/import/read-csv-bytes.js'
import { readJsonBytes } from '../../src/engine/import/read-json-bytes.js'
import type { RowsInput, SchemaInput, Store } from '../../src/index.js'
import { memoryObjects, openLevelKv, openStore } from '../../src/index.js'
import { openCsv } from '../../src/schema/scan-csv.js'
import { openCsvBytes } from '../../src/schema/scan-csv-bytes.js'
import { scanJsonRows } from '../../src/schema/scan-json.js'
import {
  fitsInSteps,
  newSummary,
  summarizeText,
  summarizeToken,
  textFieldFits,
  tokenFits,
} from '../../src/schema/summarize.js'
import { ALL_TYPES, csvField, jsonToken } from '../support/column-types.js'
import { runOptions } from '../support/fast-check-options.js'

const KIB = 1024

/** Work between two readings of the clock. */
const CHECKED_WORK = 8 * KIB

/** A store whose clock advances 5 ms at each reading. */
async function openSlow(): Promise<Store> {
  let ms = Date.now()
  const clock = { now: () => (ms += 5) }
  const database = new MemoryLevel<Uint8Array, Uint8Array>()
  const store = await openStore({
    maintenance: false,
    clock,
    kv: await openLevelKv(database),
    objects: memoryObjects(),
  })
  onTestFinished(() => store.close())
  return store
}

/** The turns of the event loop that others got during `work`. */
async function turnsOf(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await work().finally(() => {
    isDone = true
  })
  return turns
}

/** Different URIs of some 260 bytes, most of which are the host. */
function urisOf(bytes: number): string[] {
  return Array.from({ length: Math.floor(bytes / 260) }, (_, n) => {
    return `https://${'ü'.repeat(110)}.example/${n}`.padEnd(150, '-')
  })
}

const SCHEMA: SchemaInput = {
  columns: [
    { id: 'u', type: 'uri' },
    { id: 'l', type: { kind: 'array', items: { kind: 'uri' } } },
  ],
}
const BYTES = 512 * KIB
const URIS = urisOf(BYTES)
const ROWS = URIS.map((u) => ({ u }))
const LONG_ROW = [{ l: URIS }]
/** Rows whose last values do not fit a `uri` column. */
const MISFITS = [...ROWS, ...URIS.map((uri) => ({ u: uri.replace('https', 'no scheme') }))]
const LONG_MISFIT = [{ l: [...URIS, 'no uri'] }]
const csvOf = (rows: readonly Record<string, unknown>[], id: string): string =>
  [id, ...rows.map((row) => `"${cell(row[id]).replaceAll('"', '""')}"`)].join('\n')
const cell = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const BODIES: readonly (readonly [string, RowsInput])[] = [
  ['rows as objects', ROWS],
  ['rows as JSON', { json: Buffer.from(JSON.stringify(ROWS)) }],
  ['rows as JSON text', { json: JSON.stringify(ROWS) }],
  ['rows as CSV', { csv: csvOf(ROWS, 'u') }],
  ['a long row as an object', LONG_ROW],
  ['a long row as JSON', { json: Buffer.from(JSON.stringify(LONG_ROW)) }],
  ['a long row as CSV', { csv: csvOf(LONG_ROW, 'l') }],
  ['a body for the exact path of CSV', { csv: `${csvOf(ROWS, 'u')}\nx "quote" inside` }],
]

/** Fewest turns that these bytes of values leave to others, with a margin. */
const TURNS_MIN = BYTES / CHECKED_WORK / 4

describe('while values are judged others have their turn', () => {
  test.each(BODIES)('in a chunk: %s', async (_name, rows) => {
    const stash = (await openSlow()).team('acme').stash('s')
    const turns = await turnsOf(() => stash.put('0', rows).catch(() => undefined))
    expect(turns).toBeGreaterThan(TURNS_MIN)
  })

  test.each<[string, RowsInput, 'abort' | 'dropColumns']>([
    [
      'rows whose misfits are dropped',
      { json: Buffer.from(JSON.stringify(MISFITS)) },
      'dropColumns',
    ],
    ['a long row whose misfit is dropped', LONG_MISFIT, 'dropColumns'],
    ['rows of which one is a misfit', { json: Buffer.from(JSON.stringify(MISFITS)) }, 'abort'],
    ['a long row that is a misfit', LONG_MISFIT, 'abort'],
  ])('when a chunk is used: %s', async (_name, rows, onSchemaError) => {
    const team = (await openSlow()).team('acme')
    await team.stash('s').put('0', rows)
    const { tableId } = await team.createTable({ name: 'x', schema: SCHEMA, rows: [] })
    const table = team.table(tableId)
    const turns = await turnsOf(() =>
      table.addRows(team.stash('s'), { onSchemaError }).catch(() => undefined),
    )
    expect(turns).toBeGreaterThan(TURNS_MIN)
  })

  test.each(['abort', 'updateSchema'] as const)('when a row is updated: %s', async (mode) => {
    const team = (await openSlow()).team('acme')
    const { tableId, rowIds } = await team.createTable({ name: 'x', schema: SCHEMA, rows: [{}] })
    const table = team.table(tableId)
    const turns = await turnsOf(() =>
      table.updateRow(rowIds.at(0) ?? '', { l: URIS }, { onSchemaError: mode }),
    )
    expect(turns).toBeGreaterThan(TURNS_MIN)
    expect((await table.page()).rows[0]?.['l']).toEqual(URIS)
  })
})

const text = fc.oneof(
  fc.constantFrom('https://münchen.example', '2024-01-01', 'x', '', '\ud800', '12', 'a@b.de'),
  fc.string(),
)
const element = fc.oneof(text, fc.integer(), fc.boolean(), fc.constantFrom(null, [], 1e300))
/** An array that contains all `elements`, and is long enough to be checked in steps. */
const longArray = fc
  .tuple(fc.array(text, { minLength: 1, maxLength: 4 }), fc.array(element, { maxLength: 2 }))
  .map(([usual, some]) => [
    ...Array.from({ length: 3_000 }, (_, n) => usual[n % usual.length]),
    ...some,
  ])

const LIMITS = { columnsMax: 6, rowBytesMax: 1e6, segmentRowsMax: 65_536, segmentBytesMax: 1e9 }
const NOTHING = { add: () => undefined, addRow: () => undefined, end: async () => undefined }

test('a long array fits a type in steps exactly if it does without', () => {
  const property = fc.property(longArray, fc.boolean(), fc.boolean(), (array, checks, isField) => {
    const token = JSON.stringify(array)
    const fits = isField ? textFieldFits : tokenFits
    for (const type of ALL_TYPES) {
      const inSteps = runAtOnce(fitsInSteps(type, token, checks, isField))
      if (inSteps !== fits(type, token, checks)) expect.fail(`${JSON.stringify(type)}: ${inSteps}`)
    }
  })
  fc.assert(property, runOptions(20))
})

test('whatever fits a type at once does in steps', () => {
  const property = fc.property(jsonToken, csvField, fc.boolean(), (token, field, checks) => {
    for (const type of ALL_TYPES) {
      const ofToken = runAtOnce(fitsInSteps(type, token, checks, false))
      if (ofToken !== tokenFits(type, token, checks)) expect.fail(`${type.kind} of ${token}`)
      const ofField = runAtOnce(fitsInSteps(type, field, checks, true))
      if (ofField !== textFieldFits(type, field, checks)) expect.fail(`${type.kind} of ${field}`)
    }
  })
  fc.assert(property, runOptions(1_000))
})

describe('a long row is judged as its values are', () => {
  const rows = fc.array(fc.record({ a: longArray, b: text, c: longArray }), { maxLength: 2 })

  test('of JSON', async () => {
    const property = fc.asyncProperty(rows, async (values) => {
      const json = JSON.stringify(values)
      const expected = ['a', 'b', 'c'].map((id) => {
        const summary = newSummary(id)
        for (const row of values) summarizeToken(summary, JSON.stringify(row[id as 'a']))
        return summary
      })
      const exact = new ChunkBuilder(LIMITS, null)
      for (const row of scanJsonRows(json, { columnsMax: 6, rowCharsMax: 1e6 })) exact.add(row)
      const quick = new ChunkBuilder(LIMITS, null)
      const slices = new SliceTurns(systemClock).begin()
      if (await readJsonBytes(Buffer.from(json), LIMITS, quick, NOTHING, slices)) {
        expect(quick.take().columns).toEqual(values.length > 0 ? expected : [])
      }
      expect(exact.take().columns).toEqual(values.length > 0 ? expected : [])
    })
    await fc.assert(property, runOptions(100))
  })

  test('of CSV', async () => {
    const property = fc.asyncProperty(rows, async (values) => {
      const fields = values.map((row) => [row.a, row.b, row.c].map(cell))
      const lines = fields.map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`))
      const csv = Buffer.from(['a,b,c', ...lines.map((line) => line.join())].join('\n'))
      const expected = ['a', 'b', 'c'].map((id, place) => {
        const summary = newSummary(id)
        for (const row of fields) {
          const field = Buffer.from(row[place] ?? '').toString() // A lone surrogate does not survive.
          if (field !== '') summarizeText(summary, field)
        }
        return summary
      })
      const scanner = openCsvBytes(csv, ',', LIMITS, new BufferPool(0))
      const quick = new ChunkBuilder(LIMITS, ['a', 'b', 'c'])
      const slices = new SliceTurns(systemClock).begin()
      const isRead = scanner && (await readCsvBytes(scanner, quick, NOTHING, slices))
      const exact = new ChunkBuilder(LIMITS, ['a', 'b', 'c'])
      const { rows: scanned } = openCsv(
        csv,
        { delimiter: ',' },
        { columnsMax: 6, rowCharsMax: 1e6 },
      )
      for (const row of scanned) exact.add(row)
      const masks = (builder: ChunkBuilder) =>
        builder
          .take()
          .columns.map(({ id, scalarMask, elementMask }) => [id, scalarMask, elementMask])
      const wanted = expected.map(({ id, scalarMask, elementMask }) => [
        id,
        scalarMask,
        elementMask,
      ])
      expect(masks(exact)).toEqual(wanted)
      if (isRead) expect(masks(quick)).toEqual(wanted)
    })
    await fc.assert(property, runOptions(100))
  })
})
