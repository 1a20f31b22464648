// Values: which fit, which types are inferred, and that all are returned as they were sent.
import assert from 'node:assert/strict'
import type { RowsInput } from '../../../src/index.js'
import { cellsOf, columnOf, type Fixture, fails, kindsOf, type StoreCase } from './fixture.js'

/** The forms of small input, and of input that becomes segments. */
const SMALL = { inlineRowsMax: 1_000 }
const LARGE = { inlineRowsMax: 0, segmentRowsMax: 2 }

function inBothSizes(name: string, run: StoreCase['run']): StoreCase[] {
  return [
    { name, options: SMALL, run },
    { name: `${name}, in segments`, options: LARGE, run },
  ]
}

/** Checks that rows are inferred as `kinds` and returned as `cells`. */
async function isInferred(
  fixture: Fixture,
  rows: RowsInput,
  kinds: Readonly<Record<string, string>>,
  cells: readonly string[],
): Promise<void> {
  const table = await fixture.createTable(rows)
  assert.deepEqual(await kindsOf(table), kinds)
  assert.deepEqual(await cellsOf(table), cells)
}

export const valueCases: readonly StoreCase[] = [
  ...inBothSizes('tokens of JSON read back as they were sent', async (fixture) => {
    const rows = '[{"n":34.50,"s":"\\u0041\\/é😀","l":[1.0,2e3]},{"n":1E400e}]'.replace(
      'E400e',
      'e3',
    )
    await isInferred(fixture, { json: rows }, { n: 'number', s: 'string', l: 'array of number' }, [
      '{"n":34.50,"s":"\\u0041\\/é😀","l":[1.0,2e3]}',
      '{"n":1e3}',
    ])
  }),
  ...inBothSizes('a column of CSV numbers keeps every token', async (fixture) => {
    const cells = ['{"n":1.50}', '{"n":12}', '{"n":-7e2}', '{"n":0}']
    await isInferred(fixture, { csv: 'n\n1.50\n12\n-7e2\n0' }, { n: 'number' }, cells)
  }),
  ...inBothSizes(
    'identifiers of CSV stay text: leading zeros, a plus, long digits',
    async (fixture) => {
      for (const id of ['007', '+1', '12345678901234567890', '1234567890123456', '0x10', '1e400']) {
        await isInferred(fixture, { csv: `n\n12\n${id}\n1.50` }, { n: 'string' }, [
          '{"n":"12"}',
          `{"n":"${id}"}`,
          '{"n":"1.50"}',
        ])
      }
    },
  ),
  ...inBothSizes(
    'decimals of CSV are numbers whatever their digits, and JSON adds more of them',
    async (fixture) => {
      const table = await fixture.createTable({ csv: 'n\n0.30000000000000004\n0.5\n-1e-7' })
      assert.deepEqual(await kindsOf(table), { n: 'number' })
      await table.addRows([{ n: 0.1 }])

      assert.deepEqual(await cellsOf(table), [
        '{"n":0.30000000000000004}',
        '{"n":0.5}',
        '{"n":-1e-7}',
        '{"n":0.1}',
      ])
    },
  ),
  ...inBothSizes(
    'numbers of CSV with spaces around are text, unless the column is a number',
    async (fixture) => {
      await isInferred(fixture, { csv: 'n\n 12 \n3' }, { n: 'string' }, [
        '{"n":" 12 "}',
        '{"n":"3"}',
      ])

      const table = await fixture.createTable({ csv: 'n\n 12 \n  -0.50' }, { n: 'number' })
      assert.deepEqual(await cellsOf(table), ['{"n":12}', '{"n":-0.50}'])
    },
  ),
  ...inBothSizes(
    'booleans of CSV come in any letter case, and as text stay as they were',
    async (fixture) => {
      const csv = 'b\nTRUE\nfalse\nTrue'
      await isInferred(fixture, { csv }, { b: 'boolean' }, [
        '{"b":true}',
        '{"b":false}',
        '{"b":true}',
      ])
      await isInferred(fixture, { csv: `${csv}\nno` }, { b: 'string' }, [
        '{"b":"TRUE"}',
        '{"b":"false"}',
        '{"b":"True"}',
        '{"b":"no"}',
      ])
    },
  ),
  ...inBothSizes('numbers are read in the form that is asked for', async (fixture) => {
    const big = 2n ** 64n
    const rows = [
      { n: big, l: [1, -big, 0.5] },
      { n: Number.MAX_SAFE_INTEGER },
      { n: -(2n ** 53n) },
    ]
    const table = await fixture.createTable(rows)
    const added = await table.addRows({ json: '[{"n":34.50,"l":[1e30]}]' })
    const cellsIn = async (numbers: 'number' | 'bigint' | 'text' | undefined) => {
      const form = numbers === undefined ? {} : { numbers }
      const { rows: page } = await table.page(form)
      const scanned: unknown[] = []
      for await (const row of table.scan(form)) scanned.push(row)
      assert.deepEqual(scanned, page)
      for (const row of page) assert.deepEqual((await table.get(row.$rowID, form))?.row, row)
      return page.map(({ $rowID: _, ...cells }) => cells)
    }
    const rounded = Number(big)
    const doubles = [{ n: rounded, l: [1, -rounded, 0.5] }, { n: 2 ** 53 - 1 }, { n: -(2 ** 53) }]
    assert.deepEqual(await cellsIn(undefined), [...doubles, { n: 34.5, l: [1e30] }])
    assert.deepEqual(await cellsIn('number'), [...doubles, { n: 34.5, l: [1e30] }])
    const exact = await cellsIn('bigint')
    assert.deepEqual(exact, [...rows, { n: 34.5, l: [1e30] }])
    assert.deepEqual(await cellsIn('text'), [
      { n: `${big}`, l: ['1', `-${big}`, '0.5'] },
      { n: '9007199254740991' },
      { n: '-9007199254740992' },
      { n: '34.50', l: ['1e30'] },
    ])

    const rowId = added.rowIds.at(0) ?? ''
    await table.updateRow(rowId, { n: big + 1n, l: [big] })
    const found = await table.get(rowId, { numbers: 'bigint' })
    assert.deepEqual(found?.row, { $rowID: rowId, n: big + 1n, l: [big] })
    const copy = await fixture.createTable(exact)
    assert.deepEqual((await copy.page({ numbers: 'bigint' })).rows.length, 4)
    assert.deepEqual((await cellsOf(copy)).slice(0, 3), (await cellsOf(table)).slice(0, 3))
  }),
  {
    name: 'a form of numbers that there is not is refused',
    run: async (fixture) => {
      const table = await fixture.createTable([{ n: 1 }])
      const { rows } = await table.page()
      const wrong = { numbers: 'string' } as never
      await fails(table.page(wrong), 'REQUEST_VALIDATION_ERROR')
      await fails(table.get(rows[0]?.$rowID ?? '', wrong), 'REQUEST_VALIDATION_ERROR')
      await fails(table.scan(wrong).next(), 'REQUEST_VALIDATION_ERROR')
      await fails(table.pageBytes({ numbers: 'text' } as never), 'REQUEST_VALIDATION_ERROR')
    },
  },
  ...inBothSizes('a column of text takes every field of CSV as it is', async (fixture) => {
    const csv = 'a\n1.50\nTRUE\n[1]\n" x "\n"say ""hi"", twice"\n"two\nlines"'
    const table = await fixture.createTable({ csv }, { a: 'string' })

    const values = ['1.50', 'TRUE', '[1]', ' x ', 'say "hi", twice', 'two\nlines']
    assert.deepEqual(await columnOf(table, 'a'), values)
  }),
  ...inBothSizes('an array column takes JSON texts of CSV', async (fixture) => {
    const kinds = { l: { kind: 'array', items: { kind: 'number' } } }
    const table = await fixture.createTable({ csv: 'l\n"[1, 2.50]"\n[]\n" [3]"' }, kinds)

    assert.deepEqual(await cellsOf(table), ['{"l":[1,2.50]}', '{"l":[]}', '{"l":[3]}'])
    for (const text of ['1', '["x"]', '[[1]]', '[1', '[null]']) {
      const value = text
      const csv = `l\n"${text.replaceAll('"', '""')}"`
      await fails(table.addRows({ csv }), 'COLUMN_HAS_INVALID_VALUE', { value })
    }
  }),
  ...inBothSizes(
    'empty cells are absent: null, undefined, an empty field, a missing one',
    async (fixture) => {
      const table = await fixture.createTable([{ a: null, b: undefined, n: 1 }, {}], {
        a: 'string',
        b: 'string',
        n: 'number',
      })
      await table.addRows({ json: '[{"a":null}]' })
      await table.addRows({ csv: 'a,b,n\n,"",\nx\n\ny,,' })

      const cells = ['{"n":1}', '{}', '{}', '{}', '{"a":"x"}', '{}', '{"a":"y"}']
      assert.deepEqual(await cellsOf(table), cells)
    },
  ),
  ...inBothSizes(
    '"" is kept in plain text, and is an empty cell in every other kind',
    async (fixture) => {
      const kinds = { a: 'string', m: 'markdown', n: 'number', d: 'date', u: 'uri', l: 'boolean' }
      const row = { a: '', m: '', n: '', d: '', u: '', l: '' }
      const { table, rowIds } = await fixture.create([row], kinds)
      assert.deepEqual(await cellsOf(table), ['{"a":"","m":""}'])

      await table.updateRow(rowIds.at(0) ?? '', { a: 'x', n: 1, d: '2024-01-01' })
      await table.updateRow(rowIds.at(0) ?? '', { a: '', n: '', d: '' })
      assert.deepEqual(await cellsOf(table), ['{"a":"","m":""}'])
    },
  ),
  ...inBothSizes(
    '"" does not decide the type of a column, unless it has nothing else',
    async (fixture) => {
      const rows = [
        { n: 1, e: '', t: 'x' },
        { n: '', e: '', t: '' },
      ]
      await isInferred(fixture, rows, { n: 'number', e: 'string', t: 'string' }, [
        '{"n":1,"e":"","t":"x"}',
        '{"e":"","t":""}',
      ])
    },
  ),
  ...inBothSizes('a minus zero loses its sign', async (fixture) => {
    const table = await fixture.createTable([{ n: -0 }], {
      n: 'number',
      l: { kind: 'array', items: { kind: 'number' } },
    })
    await table.addRows({ json: '[{"n":-0.0,"l":[-0,-0e5,-1]}]' })
    await table.addRows({ csv: 'n\n-0' })

    assert.deepEqual(await cellsOf(table), ['{"n":0}', '{"n":0.0,"l":[0,0e5,-1]}', '{"n":0}'])
  }),
  ...inBothSizes('numbers beyond a double do not fit anywhere', async (fixture) => {
    const table = await fixture.createTable([], { n: 'number', s: 'string' })
    for (const column of ['n', 's']) {
      const place = { row: 1, column, value: '1e400' }
      const rows = { json: `[{},{"${column}":1e400}]` }
      await fails(table.addRows(rows), 'COLUMN_HAS_INVALID_VALUE', place)
      await fails(fixture.create(rows), 'COLUMN_HAS_INVALID_VALUE', place)
    }
    for (const n of [Number.NaN, Number.POSITIVE_INFINITY, () => 1, Symbol.iterator]) {
      const place = { row: 1, column: 'n' }
      await fails(table.addRows([{}, { n }]), 'COLUMN_HAS_INVALID_VALUE', place)
    }
  }),
  ...inBothSizes(
    'a value that means nothing is refused, or dropped and counted',
    async (fixture) => {
      const kinds = {
        n: 'number',
        s: 'string',
        l: { kind: 'array', items: { kind: 'number' } },
      } as const
      const { table, rowIds } = await fixture.create([{ n: 1, s: 'x' }], kinds)
      const rowId = rowIds.get(0)
      const hole: unknown[] = [1]
      const within: unknown[] = []
      hole[2] = 1
      within.push(within)
      const thrower = {
        toJSON() {
          throw new Error('no')
        },
      }
      const none = [
        Number.NaN,
        Number.NEGATIVE_INFINITY,
        new Date('31.12.2026'),
        () => 1,
        Symbol('s'),
      ]
      const odd = [new Map([[1, 2]]), new Uint8Array(2), Promise.resolve(1), { toJSON: () => null }]
      for (const s of [...none, ...odd, hole, [undefined], [Number.NaN], within, thrower]) {
        const place = { row: 1, column: 's' }
        const code = 'COLUMN_HAS_INVALID_VALUE'
        await fails(table.addRows([{}, { s }]), code, place)
        await fails(table.updateRow(rowId, { s }), code, { column: 's' })
      }
      const s = new Date('31.12.2026')
      const rows = [{ n: 2 }, { n: 3, s }]
      const code = 'COLUMN_HAS_INVALID_VALUE'
      await fails(table.addRows(rows, { onSchemaError: 'updateSchema' }), code, { row: 1 })
      await fails(fixture.create(rows), code, { row: 1, column: 's', value: 'an invalid Date' })
      await fails(table.merge({ rows, key: ['n'] }), code, { row: 1, column: 's' })
      await fails(fixture.team.stash('s').put(0, rows), code, { row: 1, column: 's' })
      await fails(table.updateRows([{ rowId, cells: { s } }]), code, { row: 0, column: 's' })
      const onSchemaError = 'dropColumns'
      await table.updateRow(rowId, { s, n: 1 }, { onSchemaError })
      const added = await table.addRows(rows, { onSchemaError, receipt: true })
      assert.equal(added.receipt?.dropped.first[0]?.value, '{"no JSON":"an invalid Date"}')
      assert.equal(added.receipt.dropped.count, 1)
      assert.deepEqual(await cellsOf(table), ['{"n":1,"s":"x"}', '{"n":2}', '{"n":3}'])
      const getter = Object.defineProperty({}, 's', { enumerable: true, get: thrower.toJSON })
      await fails(table.addRows([getter]), 'COLUMN_HAS_INVALID_VALUE', { row: 0, column: 's' })
    },
  ),
  ...inBothSizes('dates, wrapped and converted values are what they mean', async (fixture) => {
    const day = { toJSON: () => '2026-12-31' } // like Temporal.PlainDate
    class Point {
      x = Object(1n)
      toJSON = undefined
    }
    const kinds = { at: 'dateTime', d: 'date', n: 'number', s: 'string', x: 'number' } as const
    const rows = [
      { at: new Date(0), d: day, n: new Number(5), s: new String('x'), [Symbol('k')]: Number.NaN },
      new Point(),
      { toJSON: () => ({ n: 10n ** 30n }) },
    ]
    const table = await fixture.createTable(rows, kinds)

    assert.deepEqual(await cellsOf(table), [
      '{"at":"1970-01-01T00:00:00.000Z","d":"2026-12-31","n":5,"s":"x"}',
      '{"x":1}',
      '{"n":1000000000000000000000000000000}',
    ])
    assert.equal(await table.count({ at: { lte: new Date(0) }, n: Object(5) }), 1)
    await assert.rejects(table.count({ at: { lt: new Date('x') } }), { column: 'at' })
    for (const row of [
      new Map(),
      new Date(0),
      new Uint8Array(1),
      null,
      undefined,
      [],
      1,
      'x',
      new Set([1]),
    ]) {
      await fails(table.addRows([row as never]), 'REQUEST_VALIDATION_ERROR', { row: 0 })
    }
  }),
  ...inBothSizes('a member that is undefined is absent', async (fixture) => {
    const schema = { id: 'number', title: 'string', done: 'boolean' } as const
    const { table, rowIds } = await fixture.create([{ id: 1, title: 'a', done: undefined }], schema)
    const rowId = rowIds.get(0)
    const before = '{"id":1,"title":"a"}'
    await table.updateRow(rowId, { title: undefined, unknown: undefined })
    await table.updateRows([{ rowId, cells: { title: undefined } }])
    assert.equal(await table.version(), 1)
    await table.merge({ key: ['id'], rows: [{ id: 1, title: undefined }] })
    assert.deepEqual(await cellsOf(table), [before])
    await table.updateRow(rowId, { title: undefined, done: true })
    assert.deepEqual(await cellsOf(table), ['{"id":1,"title":"a","done":true}'])

    // A merged row that lacks a column named in other rows gets an empty cell there.
    const rows = [
      { id: 2, title: 'b' },
      { id: 1, title: undefined },
    ]
    await table.merge({ key: ['id'], rows })
    assert.deepEqual(await cellsOf(table), ['{"id":1,"done":true}', '{"id":2,"title":"b"}'])
    await table.addRows([{ id: 3, unknown: undefined }])
    const made = await fixture.createTable([{ a: 1, b: undefined }])
    assert.deepEqual(await kindsOf(made), { a: 'number' })
  }),
  ...inBothSizes('integers of any size are kept to the digit', async (fixture) => {
    const table = await fixture.createTable([{ n: 9007199254740993n }], { n: 'number' })
    await table.addRows({ json: '[{"n":-123456789012345678901234567890}]' })

    const cells = ['{"n":9007199254740993}', '{"n":-123456789012345678901234567890}']
    assert.deepEqual(await cellsOf(table), cells)
  }),
  ...inBothSizes(
    'of duplicate keys in a row the last one wins, at the first one’s place',
    async (fixture) => {
      const json = '[{"a":1,"b":2,"a":3},{"a":1,"\\u0061":null}]'
      await isInferred(fixture, { json }, { a: 'number', b: 'number' }, ['{"a":3,"b":2}', '{}'])
    },
  ),
  ...inBothSizes('odd column IDs are columns like any other', async (fixture) => {
    const ids = ['__proto__', 'constructor', 'toString', '0', ' ', 'a.b', '🙂', '"', '\\', 'é\n']
    const row = Object.fromEntries(ids.map((id) => [id, id]))
    const table = await fixture.createTable([row, row])
    await table.addRows({ json: JSON.stringify([row]) })
    const quoted = ids.map((id) => `"${id.replaceAll('"', '""')}"`).join(',')
    await table.addRows({ csv: `${quoted}\n${quoted}` })

    const { rows } = await table.page()
    assert.equal(rows.length, 4)
    for (const { $rowID: _, ...cells } of rows) {
      assert.deepEqual(new Map(Object.entries(cells)), new Map(Object.entries(row)))
    }
    assert.equal(Object.getPrototypeOf({}), Object.prototype)
  }),
  ...inBothSizes('arrays keep their elements, and are inferred by them', async (fixture) => {
    const json = '[{"a":[1,2.0],"b":[true],"c":["2024-01-01"],"d":[1,"x",true],"e":[]}]'
    const kinds = {
      a: 'array of number',
      b: 'array of boolean',
      c: 'array of date',
      d: 'array of string',
      e: 'array of string',
    }
    await isInferred(fixture, { json }, kinds, [
      '{"a":[1,2.0],"b":[true],"c":["2024-01-01"],"d":["1","x","true"],"e":[]}',
    ])
  }),
  ...inBothSizes(
    'what nests does not fit: objects, arrays in arrays, null in arrays',
    async (fixture) => {
      const table = await fixture.createTable([], {
        a: 'string',
        l: { kind: 'array', items: { kind: 'string' } },
      })
      for (const value of [{ x: 1 }, {}, [[]], [null], [{}]]) {
        for (const column of ['a', 'l']) {
          const rows = [{}, { [column]: value }]
          const place = { row: 1, column, value: JSON.stringify(value) }
          await fails(table.addRows(rows), 'COLUMN_HAS_INVALID_VALUE', place)
          await fails(fixture.create(rows), 'COLUMN_HAS_INVALID_VALUE', place)
        }
      }
    },
  ),
  ...inBothSizes('nothing is taken for another JSON type', async (fixture) => {
    const kinds = { n: 'number', s: 'string', b: 'boolean', d: 'date' }
    const table = await fixture.createTable([], kinds)
    const wrong = {
      n: ['12', true, [1]],
      s: [12, false, ['x']],
      b: ['true', 1],
      d: [20240101, '1'],
    }
    for (const [column, values] of Object.entries(wrong)) {
      for (const value of values) {
        const place = { row: 0, column, value: JSON.stringify(value) }
        await fails(table.addRows([{ [column]: value }]), 'COLUMN_HAS_INVALID_VALUE', place)
      }
    }
  }),
  ...inBothSizes('a lone surrogate fits nothing', async (fixture) => {
    const table = await fixture.createTable([], { a: 'string' })
    for (const rows of [[{ a: '\ud800' }], { json: '[{"a":"\\ud800"}]' }]) {
      await fails(table.addRows(rows), 'COLUMN_HAS_INVALID_VALUE', { row: 0, column: 'a' })
    }
    await fails(fixture.create([{ '\ud800': 1 }]), 'REQUEST_VALIDATION_ERROR')
  }),
  {
    name: 'every kind takes its own values and refuses others',
    async run(fixture) {
      const values: Record<string, [unknown, unknown]> = {
        uri: ['https://example.com/é', 'no uri'],
        imageURI: ['data:image/png;base64,AA', ''.padEnd(3)],
        audioURI: ['ftp://x/y.mp3', '/relative'],
        emailAddress: ['a.b@example.com', 'a..b@example.com'],
        phoneNumber: ['+1 (213) 555-0199 x5', '12'],
        emoji: ['👩‍👩‍👧🙂', 'a'],
        date: ['2024-02-29', '2023-02-29'],
        time: ['23:59:59.5', '24:00'],
        dateTime: ['2024-01-01T10:00:00Z', '2024-01-01T25:00'],
        duration: ['PT1H30M', '1 hour'],
        markdown: ['**x**', 7],
      }
      const kinds = Object.fromEntries(Object.keys(values).map((kind) => [kind, kind]))
      const table = await fixture.createTable([], kinds)
      for (const [kind, [good, bad]] of Object.entries(values)) {
        await table.addRows([{ [kind]: good }])
        const place = { column: kind, value: JSON.stringify(bad) }
        await fails(table.addRows([{ [kind]: bad }]), 'COLUMN_HAS_INVALID_VALUE', place)
      }
    },
  },
  {
    name: 'formatChecks off lets any text into the kinds of a format',
    options: { formatChecks: 'off' },
    async run(fixture) {
      const kinds = { u: 'uri', e: 'emailAddress', p: 'phoneNumber', i: 'emoji', d: 'date' }
      const table = await fixture.createTable([{ u: 'x', e: 'x', p: 'x', i: 'x' }], kinds)

      await fails(table.addRows([{ d: 'x' }]), 'COLUMN_HAS_INVALID_VALUE', { column: 'd' })
      await fails(table.addRows([{ u: 1 }]), 'COLUMN_HAS_INVALID_VALUE', { column: 'u' })
    },
  },
  {
    name: 'a table may have so many columns, and so may a body',
    options: { columnsMax: 3 },
    async run(fixture) {
      const row = { a: 1, b: 2, c: 3, d: 4 }
      const kinds = { a: 'number', b: 'number', c: 'number', d: 'number' }
      await fails(fixture.create([], kinds), 'REQUEST_VALIDATION_ERROR')
      await fails(fixture.create([row]), 'REQUEST_VALIDATION_ERROR', { row: 0, column: 'd' })
      await fails(fixture.create({ json: JSON.stringify([row]) }), 'REQUEST_VALIDATION_ERROR')
      await fails(fixture.create({ csv: 'a,b,c,d\n' }), 'REQUEST_VALIDATION_ERROR')

      const stash = await fixture.stash({ 0: [{ a: 1, b: 1 }], 1: [{ c: 1, d: 1 }] })
      await fails(fixture.create(stash), 'REQUEST_VALIDATION_ERROR')
      await fixture.create([{ a: 1, b: 2, c: 3 }])
    },
  },
  {
    name: 'invalid UTF-8 is refused, and a byte order mark is dropped, of JSON and CSV',
    async run(fixture) {
      const { team } = fixture
      const table = await fixture.createTable([], { a: 'string' })
      const bad = Uint8Array.of(0x61, 0x0a, 0xc3)
      for (const rows of [{ json: bad }, { csv: bad }, { json: '\ufeff\ufeff[]' }]) {
        await fails(table.addRows(rows), 'REQUEST_VALIDATION_ERROR')
      }
      const [json, csv] = ['\ufeff[{"a":"x"}]', '\ufeffa\nx']
      for (const rows of [{ json }, { json: Buffer.from(json) }, { csv }]) {
        await table.addRows(rows)
        await team.stash('marked').put('0', rows)
        await table.addRows(team.stash('marked'))
      }
      assert.deepEqual(await columnOf(table, 'a'), Array(6).fill('x'))
    },
  },
]
