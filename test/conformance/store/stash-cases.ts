// Stashes: chunks in order, replaced, deleted, used, expired.
import assert from 'node:assert/strict'
import {
  cellsOf,
  columnOf,
  fails,
  failsWithoutEffect,
  kindsOf,
  numbered,
  type StoreCase,
} from './fixture.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const EXPIRED = {
  code: 'STASH_NOT_FOUND',
  message: /'stash' has expired: it must be deleted, and its chunks put again/,
} as const

/** Chunks that contain their serials. */
function serialChunks(serials: readonly string[]): Record<string, { s: string }[]> {
  return Object.fromEntries(serials.map((serial) => [serial, [{ s: serial }]]))
}

const NAMES_REFUSED = ['', '-a', '_a', 'a b', 'é', 'a/b', 'a.b', 'x'.repeat(257), 7, undefined]

export const stashCases: readonly StoreCase[] = [
  {
    name: 'serials that are all digits go by number, of any length, with no float',
    async run(fixture) {
      const ordered = [
        '0',
        '2',
        '10',
        '9007199254740992',
        '9007199254740993',
        `1${'0'.repeat(255)}`,
      ]
      const stash = await fixture.stash(serialChunks([...ordered].reverse()))

      assert.deepEqual(await columnOf(await fixture.createTable(stash), 's'), ordered)
    },
  },
  {
    name: 'serials of equal numbers are different chunks, in the order of code points',
    async run(fixture) {
      const stash = await fixture.stash(serialChunks(['1', '01', '001', '2', '0', '00']))

      const table = await fixture.createTable(stash)
      assert.deepEqual(await columnOf(table, 's'), ['0', '00', '001', '01', '1', '2'])
    },
  },
  {
    name: 'with one serial that is not a number all go by code point',
    async run(fixture) {
      const stash = await fixture.stash(serialChunks(['2', '10', 'a', 'B', '1_', '1-']))

      const table = await fixture.createTable(stash)
      assert.deepEqual(await columnOf(table, 's'), ['1-', '10', '1_', '2', 'B', 'a'])
    },
  },
  {
    name: 'stash IDs and serials are checked: letters, digits, dash and underscore, not first',
    async run({ team }) {
      for (const name of NAMES_REFUSED) {
        assert.throws(() => team.stash(name as string), { code: 'REQUEST_VALIDATION_ERROR' })
        if (name === 7) continue // A number is a serial, but not an ID.
        await fails(team.stash('ok').put(name as string, []), 'REQUEST_VALIDATION_ERROR')
      }
      await team.stash('ok').put(7, [])
      await team.stash(`A${'-'.repeat(255)}`).put(`9${'_'.repeat(255)}`, [])
    },
  },
  {
    name: 'a chunk that is put again replaces the one before',
    async run(fixture) {
      const stash = await fixture.stash({ 0: numbered(3), 1: [{ n: 10 }] })
      await stash.put('0', [{ n: 7 }])

      assert.deepEqual(await columnOf(await fixture.createTable(stash), 'n'), [7, 10])

      await stash.put('1', [])
      assert.deepEqual(await columnOf(await fixture.createTable(stash), 'n'), [7])
    },
  },
  {
    name: 'a table keeps the rows of a chunk that was replaced since',
    async run(fixture) {
      const stash = await fixture.stash({ 0: numbered(3) })
      const table = await fixture.createTable(stash)
      await stash.put('0', [{ n: 7 }])
      for (let runs = 0; runs < 3; runs++) {
        fixture.clock.pass(HOUR_MS)
        await fixture.store.maintain()
      }

      assert.deepEqual(await columnOf(table, 'n'), [0, 1, 2])
    },
  },
  {
    name: 'a stash serves several operations, and stays',
    async run(fixture) {
      const stash = await fixture.stash({ 0: numbered(2), 1: { json: '[{"n":2}]' } })
      const table = await fixture.createTable(stash)
      const { version, rowIds } = await table.addRows(stash)
      await table.overwrite({ rows: stash })
      await table.addRows(fixture.team.stash('stash'))

      assert.deepEqual([version, rowIds.length], [2, 3])
      assert.deepEqual(await columnOf(table, 'n'), [0, 1, 2, 0, 1, 2])
    },
  },
  {
    name: 'a stash that holds no chunk is STASH_NOT_FOUND, and clears no table',
    async run(fixture) {
      const table = await fixture.createTable(numbered(2))
      const stash = await fixture.stash({ 0: numbered(1) }, 'gone')
      await stash.delete()
      for (const none of [stash, fixture.team.stash('never')]) {
        await fails(fixture.create(none), 'STASH_NOT_FOUND')
        await failsWithoutEffect(table, () => table.overwrite({ rows: none }), 'STASH_NOT_FOUND')
        await failsWithoutEffect(table, () => table.addRows(none), 'STASH_NOT_FOUND')
      }
    },
  },
  {
    name: 'an empty chunk makes the stash exist',
    async run(fixture) {
      const stash = await fixture.stash({ 0: [] })
      const table = await fixture.createTable(stash)

      assert.deepEqual(await table.page(), { rows: [], version: 1 })
      assert.deepEqual((await table.schema()).columns, [])
      assert.equal((await table.overwrite({ rows: stash })).version, 2)
    },
  },
  {
    name: 'deleting a stash is never an error, and a stash of the same ID begins anew',
    async run(fixture) {
      const stash = await fixture.stash({ 0: numbered(1), 1: numbered(1) })
      assert.deepEqual([await stash.delete(), await stash.delete()], [true, false])
      await stash.put('1', [{ n: 7 }])

      assert.deepEqual(await columnOf(await fixture.createTable(stash), 'n'), [7])
    },
  },
  {
    name: 'chunks that are put at once are all there, and of one serial the last',
    async run(fixture) {
      const stash = fixture.team.stash('stash')
      await Promise.all(numbered(50).map(({ n }) => stash.put(`${n}`, [{ n }])))
      await Promise.all(numbered(20).map(({ n }) => stash.put('0', [{ n }, { n }])))

      const values = await columnOf(await fixture.createTable(stash), 'n')
      assert.equal(values.length, 51)
      assert.equal(values[0], values[1])
      assert.deepEqual(
        values.slice(2),
        numbered(50)
          .slice(1)
          .map(({ n }) => n),
      )
    },
  },
  {
    name: 'a chunk with broken rows is refused, and the stash stays as it was',
    async run(fixture) {
      const stash = await fixture.stash({ 0: [{ a: 'x' }] })
      for (const [rows, code] of [
        [{ json: '[{"a":1},' }, 'REQUEST_VALIDATION_ERROR'],
        [{ csv: 'a\n"x' }, 'REQUEST_VALIDATION_ERROR'],
        [{ csv: 'a,b\n1,2,3' }, 'REQUEST_VALIDATION_ERROR'],
        [{ csv: '' }, 'REQUEST_VALIDATION_ERROR'],
        [{ tsv: 'a\ta\n' }, 'COLUMN_ID_NOT_UNIQUE'],
        [[{ $stashID: 'x' }], 'COLUMN_ID_RESERVED'],
      ] as const) {
        await fails(stash.put('0', rows), code)
      }

      assert.deepEqual(await columnOf(await fixture.createTable(stash), 'a'), ['x'])
    },
  },
  {
    name: 'values are judged when the stash is used: the first misfit by chunk, row and column',
    options: { segmentRowsMax: 2 },
    async run(fixture) {
      const stash = await fixture.stash({
        10: [{ n: 'last' }],
        9: [{ n: 1 }, { n: 2 }, { n: 3 }, { t: 1, n: true }, { n: 'x' }],
        2: numbered(5),
      })
      const table = await fixture.createTable(numbered(1), { n: 'number', t: 'string' })
      const place = { chunk: '9', row: 3, column: 't', value: '1', line: undefined }
      for (const action of [
        () => table.addRows(stash),
        () => table.overwrite({ rows: stash }),
        () => fixture.create(stash, { n: 'number', t: 'string' }),
      ]) {
        await failsWithoutEffect(table, action, 'COLUMN_HAS_INVALID_VALUE', place)
      }
    },
  },
  {
    name: 'a column that the table lacks is named with the chunk and row in which it first comes',
    async run(fixture) {
      const table = await fixture.createTable([], { a: 'string' })
      const stash = await fixture.stash({ 0: [{ a: 'x' }], 1: [{ a: 'x' }, { b: null }, { b: 1 }] })

      const place = { chunk: '1', row: 1, column: 'b', line: undefined }
      await failsWithoutEffect(table, () => table.addRows(stash), 'COLUMN_ID_NOT_FOUND', place)
    },
  },
  {
    name: 'a misfit of CSV is named with its line too',
    async run(fixture) {
      const table = await fixture.createTable([], { a: 'string', n: 'number' })
      const csv = { csv: 'a,n\r\nx,1\r\ny,two\r\n' }
      const place = { row: 1, column: 'n', value: 'two', line: 3 }
      await fails(table.addRows(csv), 'COLUMN_HAS_INVALID_VALUE', { ...place, chunk: undefined })

      const stash = await fixture.stash({ 'part-1': csv })
      await fails(table.addRows(stash), 'COLUMN_HAS_INVALID_VALUE', { ...place, chunk: 'part-1' })
    },
  },
  {
    name: 'a value in an error is cut at 200 characters',
    async run(fixture) {
      const table = await fixture.createTable([], { n: 'number' })
      const value = `"${'x'.repeat(199)}…`
      await fails(table.addRows([{ n: 'x'.repeat(500) }]), 'COLUMN_HAS_INVALID_VALUE', { value })
    },
  },
  {
    name: 'a schema is inferred over all chunks, in the order of first appearance',
    async run(fixture) {
      const stash = await fixture.stash({
        0: [{ b: 1, m: 1, d: '2024-01-01' }],
        1: [{ a: true, m: 'x', d: '2024-01-02T10:00:00Z' }],
        2: [{ e: null, l: [1], s: [] }],
        3: [{ l: ['x'] }],
      })

      assert.deepEqual(Object.entries(await kindsOf(await fixture.createTable(stash))), [
        ['b', 'number'],
        ['m', 'string'],
        ['d', 'dateTime'],
        ['a', 'boolean'],
        ['e', 'string'],
        ['l', 'array of string'],
        ['s', 'array of string'],
      ])
    },
  },
  {
    name: 'a column that mixes types over chunks reads back as text, of JSON as its tokens',
    async run(fixture) {
      const stash = await fixture.stash({
        0: { json: '[{"m":1.50},{"m":true},{"m":[1, "x"]}]' },
        1: { csv: 'm\n007\n 12 \nTRUE' },
        2: [{ m: 'x' }],
      })

      const table = await fixture.createTable(stash)
      const expected = ['1.50', 'true', '[1,"x"]', '007', ' 12 ', 'TRUE', 'x']
      assert.deepEqual(await columnOf(table, 'm'), expected)
    },
  },
  {
    name: 'chunks of JSON and of CSV make one column, each stored as its type takes it',
    async run(fixture) {
      const stash = await fixture.stash({
        0: { json: '[{"n":1.50,"b":true,"d":"2024-01-01"}]' },
        1: { csv: 'n,b,d\n2.50,TRUE,2024-01-02' },
        2: { tsv: 'd\tb\tn\n2024-01-03\tfalse\t3e2' },
      })

      const table = await fixture.createTable(stash)
      assert.deepEqual(await kindsOf(table), { n: 'number', b: 'boolean', d: 'date' })
      assert.deepEqual(await cellsOf(table), [
        '{"n":1.50,"b":true,"d":"2024-01-01"}',
        '{"n":2.50,"b":true,"d":"2024-01-02"}',
        '{"d":"2024-01-03","b":false,"n":3e2}',
      ])
    },
  },
  {
    name: 'a stash has at most stashChunksMax chunks, and replacing a chunk adds none',
    options: { stashChunksMax: 3 },
    async run(fixture) {
      const stash = await fixture.stash({ 0: [], 1: [], 2: numbered(1) })

      await fails(stash.put('3', []), 'REQUEST_VALIDATION_ERROR')
      await stash.put('2', numbered(2))
      assert.equal((await fixture.create(stash)).rowIds.length, 2)
    },
  },
  {
    name: 'a stash is kept for its lifetime after its last chunk, and then collected',
    options: { stashTtlMs: 48 * HOUR_MS },
    async run(fixture) {
      const stash = await fixture.stash({ 0: numbered(1) })
      fixture.clock.pass(47 * HOUR_MS)
      await stash.put('1', [{ n: 1 }])
      fixture.clock.pass(47 * HOUR_MS)
      assert.equal((await fixture.store.maintain()).stashes, 0)
      assert.deepEqual(await columnOf(await fixture.createTable(stash), 'n'), [0, 1])

      fixture.clock.pass(HOUR_MS)
      assert.equal((await fixture.store.maintain()).stashes, 1)
      await fails(fixture.create(stash), 'STASH_NOT_FOUND')
    },
  },
  {
    name: 'a stash that has expired is neither added to nor used, until it is deleted',
    async run(fixture) {
      const table = await fixture.createTable(numbered(3))
      const chunks = numbered(5).map(({ n }) => [n, [{ n }]] as const)
      const stash = await fixture.stash(Object.fromEntries(chunks))
      fixture.clock.pass(2 * DAY_MS)
      assert.equal((await fixture.store.maintain()).stashes, 1)

      for (let tries = 0; tries < 2; tries++) {
        await assert.rejects(stash.put('5', [{ n: 5 }]), EXPIRED)
        await assert.rejects(stash.put('0', [{ n: 0 }]), EXPIRED)
        await assert.rejects(fixture.create(stash), EXPIRED)
        await failsWithoutEffect(table, () => table.overwrite({ rows: stash }), 'STASH_NOT_FOUND')
        await failsWithoutEffect(table, () => table.addRows(stash), 'STASH_NOT_FOUND')
        fixture.clock.pass(2 * DAY_MS)
        assert.equal((await fixture.store.maintain()).stashes, 0)
      }
      await stash.delete()
      await fails(fixture.create(stash), 'STASH_NOT_FOUND')
      await stash.put('5', [{ n: 5 }])
      assert.deepEqual(await columnOf(await fixture.createTable(stash), 'n'), [5])
    },
  },
  {
    name: 'a stash that is past its lifetime is whole until it is collected, and a chunk gives it another one',
    async run(fixture) {
      const stash = await fixture.stash({ 0: numbered(2) })
      fixture.clock.pass(100 * DAY_MS)
      assert.deepEqual(await columnOf(await fixture.createTable(stash), 'n'), [0, 1])
      await stash.put('1', [{ n: 2 }])
      fixture.clock.pass(2 * DAY_MS - 1)

      assert.equal((await fixture.store.maintain()).stashes, 0)
      assert.deepEqual(await columnOf(await fixture.createTable(stash), 'n'), [0, 1, 2])
    },
  },
  {
    name: 'that a stash has expired is remembered for 30 days',
    async run(fixture) {
      const stash = await fixture.stash({ 0: numbered(2) })
      fixture.clock.pass(2 * DAY_MS)
      await fixture.store.maintain()
      fixture.clock.pass(30 * DAY_MS - 1)
      await fixture.store.maintain()
      await assert.rejects(stash.put('1', []), EXPIRED)

      fixture.clock.pass(1)
      await fixture.store.maintain()
      await stash.put('1', [{ n: 7 }])
      assert.deepEqual(await columnOf(await fixture.createTable(stash), 'n'), [7])
    },
  },
  {
    name: 'a stash that is used while chunks come uses each of them whole',
    async run(fixture) {
      const stash = await fixture.stash({ 0: [{ n: 0 }, { n: 0 }] })
      const puts = Promise.all(numbered(30).map(({ n }) => stash.put(`${n}`, [{ n }, { n }])))
      const tables = await Promise.all(numbered(5).map(() => fixture.createTable(stash)))
      await puts
      for (const table of tables) {
        const values = await columnOf(table, 'n')
        assert.deepEqual([values[0], values[1]], [0, 0])
        for (let i = 0; i < values.length; i += 2) assert.equal(values[i], values[i + 1])
      }
    },
  },
]
