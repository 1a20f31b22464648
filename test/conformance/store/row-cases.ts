// Rows: adding, reading by ID, changing, deleting; their IDs and versions.
import assert from 'node:assert/strict'
import {
  cellsOf,
  columnOf,
  fails,
  failsWithoutEffect,
  numbered,
  type StoreCase,
} from './fixture.js'

const NO_ROW_IDS = ['', 'x', 'AAAAAAAAAAAAAAAAAAAAAA', '$rowID', 'é'.repeat(22)]

export const rowCases: readonly StoreCase[] = [
  {
    name: 'added rows come after those that are there, and make one version',
    async run(fixture) {
      const table = await fixture.createTable(numbered(2))

      const { version, rowIds } = await table.addRows([{ n: 2 }, { n: 3 }])

      assert.deepEqual([version, rowIds.length], [2, 2])
      assert.deepEqual(await columnOf(table, 'n'), [0, 1, 2, 3])
    },
  },
  {
    name: 'rows that are many and rows that are few keep their common order',
    options: { inlineRowsMax: 3, segmentRowsMax: 4 },
    async run(fixture) {
      const table = await fixture.createTable([], { n: 'number' })
      let n = 0
      for (const count of [1, 9, 3, 4, 0, 2, 5, 1]) {
        await table.addRows(Array.from({ length: count }, () => ({ n: n++ })))
      }

      assert.deepEqual(await columnOf(table, 'n'), [...numbered(n).keys()])
    },
  },
  {
    name: 'adding nothing makes no version',
    async run(fixture) {
      const table = await fixture.createTable(numbered(1))
      for (const rows of [[], { json: '[]' }, { csv: 'n\n' }]) {
        const { version, rowIds } = await table.addRows(rows)
        assert.deepEqual([version, [...rowIds]], [1, []])
      }
    },
  },
  {
    name: 'rows that are refused are refused all, and nothing changes',
    async run(fixture) {
      const table = await fixture.createTable(numbered(1), { n: 'number' })
      for (const [rows, code] of [
        [[{ n: 1 }, { x: 1 }], 'COLUMN_ID_NOT_FOUND'],
        [[{ n: 1 }, { n: true }], 'COLUMN_HAS_INVALID_VALUE'],
        [[{ n: 1 }, { $stashID: 's' }], 'COLUMN_ID_RESERVED'],
        [[{ n: 1 }, 7], 'REQUEST_VALIDATION_ERROR'],
        [[{ n: 1 }, [1]], 'REQUEST_VALIDATION_ERROR'],
        [[{ n: 1 }, null], 'REQUEST_VALIDATION_ERROR'],
      ] as const) {
        await failsWithoutEffect(table, () => table.addRows(rows as never), code, { row: 1 })
      }
    },
  },
  {
    name: 'rows must be iterable or a text',
    async run(fixture) {
      const table = await fixture.createTable([])
      for (const rows of [7, null, undefined, 'a', {}, { rows: [] }]) {
        await fails(table.addRows(rows as never), 'REQUEST_VALIDATION_ERROR')
        const forms = [
          'iterable of objects',
          'stash',
          '{ json }',
          '{ ndjson }',
          '{ csv }',
          '{ tsv }',
        ]
        await assert.rejects(table.addRows(rows as never), ({ message }: Error) => {
          return forms.every((form) => message.includes(form))
        })
      }
    },
  },
  {
    name: 'a text or bytes for rows are refused with what to do',
    async run(fixture) {
      const { team } = fixture
      const table = await fixture.createTable([])
      for (const rows of ['n\n1', Uint8Array.of(0x6e)] as never[]) {
        for (const action of [
          () => table.addRows(rows),
          () => team.stash('s').put('0', rows),
          () => team.createTable({ name: 'x', rows }),
        ]) {
          await assert.rejects(action, /use \{ json \}, \{ ndjson \}, \{ csv \} or \{ tsv \}/)
        }
      }
      const pieces = [Buffer.from('n\n1')] as never
      await fails(table.addRows(pieces), 'REQUEST_VALIDATION_ERROR', { row: 0 })
    },
  },
  {
    name: 'two texts for rows, or a text with an option that there is not, are refused by name',
    async run(fixture) {
      const table = await fixture.createTable([], { n: 'number' })
      for (const [rows, other] of [
        [{ csv: 'n\n1', json: '[]' }, 'csv'],
        [{ csv: 'n\n1', tsv: 'n\n1' }, 'tsv'],
        [{ csv: 'n;m\n1;2', separator: ';' }, 'separator'],
      ] as const) {
        await assert.rejects(() => table.addRows(rows as never), new RegExp(`accept no "${other}"`))
      }
      await table.addRows({ json: '[{"n":1}]', offset: 0 })
      assert.deepEqual(await cellsOf(table), ['{"n":1}'])
    },
  },
  {
    name: 'a text in another dialect is read by what is said of it, or by what is detected',
    async run(fixture) {
      const table = await fixture.createTable([], { n: 'number', m: 'string' })
      const reports: number[] = []
      const onReport = ({ rows }: Readonly<{ rows: number }>) => reports.push(rows)
      await table.addRows({ csv: 'n;m\n1,5;2,5\n', delimiter: ';', decimal: ',' })
      await table.addRows({
        csv: new TextEncoder().encode('n;m\n2,5;3,5\n'),
        dialect: 'detect',
        onReport,
      })
      await table.addRows({ json: '{"data":[{"n":4}]}', dialect: 'detect' })
      await table.addRows({ tsv: 'n\tm\n5\tx,y\n', dialect: 'detect' })
      await table.addRows({ ndjson: '{"n":6}\n', dialect: 'detect' })
      await assert.rejects(() => table.addRows({ csv: 'n\n1', quote: 'xx' }), /"quote" must be/)
      await assert.rejects(
        () => table.addRows({ json: '[]', delimiter: ';' }),
        /only for csv and tsv/,
      )

      const first = ['{"n":1.5,"m":"2,5"}', '{"n":2.5,"m":"3,5"}', '{"n":4}']
      const cells = [...first, '{"n":5,"m":"x,y"}', '{"n":6}']
      assert.deepEqual(await cellsOf(table), cells)
      assert.deepEqual(reports, [1])
    },
  },
  {
    name: 'a text for a row is quoted by the message',
    async run(fixture) {
      const table = await fixture.createTable([])
      const message = /^Invalid row in row 0 \(counted from 0\): must be an object .*, not "a b"$/
      await assert.rejects(() => table.addRows(['a b'] as never), { message })
    },
  },
  {
    name: 'row IDs are 22 characters, unique, and those that are read back',
    options: { inlineRowsMax: 2, segmentRowsMax: 3 },
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(10))
      const more = await table.addRows(numbered(2))

      const given = [...rowIds, ...more.rowIds]
      const { rows } = await table.page()
      assert.deepEqual(
        rows.map(({ $rowID }) => $rowID),
        given,
      )
      assert.equal(new Set(given).size, 12)
      for (const id of given) assert.match(id, /^[\w-]{22}$/)
    },
  },
  {
    name: 'row IDs are a sequence: length, at from both ends, and iteration again and again',
    options: { inlineRowsMax: 0, segmentRowsMax: 3 },
    async run(fixture) {
      const { rowIds } = await fixture.create(numbered(10))
      const all = [...rowIds]

      assert.equal(rowIds.length, 10)
      assert.deepEqual([...rowIds], all)
      for (let i = -10; i < 10; i++) assert.equal(rowIds.at(i), all.at(i))
      for (const i of [10, -11, 1.5, Number.NaN, 2 ** 40]) assert.equal(rowIds.at(i), undefined)
      const [first, second] = rowIds
      assert.deepEqual([first, second], all.slice(0, 2))
    },
  },
  {
    name: 'the row IDs of no rows are an empty sequence',
    async run(fixture) {
      const { rowIds } = await fixture.create([])

      assert.deepEqual(
        [rowIds.length, rowIds.at(0), rowIds.at(-1), [...rowIds]],
        [0, undefined, undefined, []],
      )
    },
  },
  {
    name: 'a $rowID in an added row is ignored',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(1))
      const added = await table.addRows([{ $rowID: rowIds.at(0), n: 1 }])

      assert.notEqual(added.rowIds.at(0), rowIds.at(0))
      assert.deepEqual(await cellsOf(table), ['{"n":0}', '{"n":1}'])
    },
  },
  {
    name: 'a row is read by its ID, with the version in which it last changed',
    async run(fixture) {
      const { table, rowIds } = await fixture.create([{ a: 'x', n: 1 }, { a: 'y' }])
      const [first = '', second = ''] = rowIds
      await table.updateRow(second, { n: 2 })

      assert.deepEqual(await table.get(first), { row: { $rowID: first, a: 'x', n: 1 }, version: 1 })
      assert.deepEqual(await table.get(second), {
        row: { $rowID: second, a: 'y', n: 2 },
        version: 2,
      })
      assert.deepEqual(await table.getJson(first), {
        json: `{"$rowID":"${first}","a":"x","n":1}`,
        version: 1,
      })
    },
  },
  {
    name: 'a row that is not there is read as null: never made, deleted, of another table, overwritten',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(3))
      const foreign = await fixture.create(numbered(3))
      await table.deleteRow(rowIds.at(1) ?? '')
      const gone = [...NO_ROW_IDS, rowIds.at(1) ?? '', foreign.rowIds.at(0) ?? '']
      for (const rowId of gone) {
        assert.equal(await table.get(rowId), null)
        assert.equal(await table.getJson(rowId), null)
        await fails(table.updateRow(rowId, { n: 1 }), 'ROW_NOT_FOUND')
      }

      await table.overwrite({ rows: numbered(3) })
      for (const rowId of rowIds) assert.equal(await table.get(rowId), null)
    },
  },
  {
    name: 'an update changes the given cells: null clears, absent ones stay, new ones go last',
    async run(fixture) {
      const { table, rowIds } = await fixture.create([{ a: 'x', b: 'y', c: 'z' }], {
        a: 'string',
        b: 'string',
        c: 'string',
        d: 'string',
      })
      const rowId = rowIds.at(0) ?? ''

      assert.deepEqual(await table.updateRow(rowId, { d: 'new', b: 'Y', a: null }), { version: 2 })
      assert.deepEqual(await cellsOf(table), ['{"b":"Y","c":"z","d":"new"}'])

      await table.updateRow(rowId, { a: 'again', b: undefined })
      assert.deepEqual(await cellsOf(table), ['{"b":"Y","c":"z","d":"new","a":"again"}'])
    },
  },
  {
    name: 'an update from text keeps its tokens, and of duplicate keys the last',
    async run(fixture) {
      const { table, rowIds } = await fixture.create([{}], {
        n: 'number',
        l: { kind: 'array', items: { kind: 'number' } },
      })
      const rowId = rowIds.at(0) ?? ''
      await table.updateRowJson(rowId, '{ "n": 1.50, "l": [ 1, 2.0 ], "n": 34.50 }')

      assert.deepEqual(await cellsOf(table), ['{"n":34.50,"l":[1,2.0]}'])

      await table.updateRowJson(rowId, new TextEncoder().encode('{"n":-0,"l":null}'))
      assert.deepEqual(await cellsOf(table), ['{"n":0}'])
    },
  },
  {
    name: 'an update of nothing makes no version, one to an equal value does',
    async run(fixture) {
      const { table, rowIds } = await fixture.create([{ a: 'x' }])
      const rowId = rowIds.at(0) ?? ''

      assert.deepEqual(await table.updateRow(rowId, {}), { version: 1 })
      assert.deepEqual(await table.updateRow(rowId, { $rowID: 'ignored' }), { version: 1 })
      assert.deepEqual(await table.updateRow(rowId, { a: 'x' }), { version: 2 })
      assert.equal((await table.get(rowId))?.version, 2)
    },
  },
  {
    name: 'an update that is refused changes nothing, and says which cell and rule',
    async run(fixture) {
      const { table, rowIds } = await fixture.create([{ n: 1 }], { n: 'number', d: 'date' })
      const rowId = rowIds.at(0) ?? ''
      for (const [cells, code, column, value] of [
        [{ d: '2024-01-01', n: 'x' }, 'COLUMN_HAS_INVALID_VALUE', 'n', '"x"'],
        [{ d: '2024-02-30' }, 'COLUMN_HAS_INVALID_VALUE', 'd', '"2024-02-30"'],
        [{ n: 1, x: 1 }, 'COLUMN_ID_NOT_FOUND', 'x', undefined],
        [{ x: null }, 'COLUMN_ID_NOT_FOUND', 'x', undefined],
        [{ $stashID: 1 }, 'COLUMN_ID_RESERVED', '$stashID', undefined],
      ] as const) {
        await failsWithoutEffect(table, () => table.updateRow(rowId, cells), code, {
          column,
          value,
        })
      }
      for (const cells of [7, null, [], 'x']) {
        await fails(table.updateRow(rowId, cells as never), 'REQUEST_VALIDATION_ERROR')
      }
      await fails(table.updateRowJson(rowId, '{"n":1'), 'REQUEST_VALIDATION_ERROR')
    },
  },
  {
    name: 'an update is refused in order: the cells, the row, its version, the columns',
    async run(fixture) {
      const { table, rowIds } = await fixture.create([{ a: 'x' }])
      const rowId = rowIds.at(0) ?? ''
      await table.updateRow(rowId, { a: 'y' })

      await fails(table.updateRow('none', 7 as never, { ifMatch: 1 }), 'REQUEST_VALIDATION_ERROR')
      for (const cells of [{ x: 1 }, { a: 7 }, { $stashID: 1 }, { a: Number.NaN }]) {
        await fails(table.updateRow('none', cells, { ifMatch: 1 }), 'ROW_NOT_FOUND')
        await fails(table.updateRow(rowId, cells, { ifMatch: 1 }), 'PRECONDITION_FAILED')
      }
    },
  },
  {
    name: 'an update holds its ifMatch against the row and not the table',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(2))
      const [first = '', second = ''] = rowIds
      await table.updateRow(first, { n: 7 })

      await table.updateRow(second, { n: 8 }, { ifMatch: 1 })
      await failsWithoutEffect(
        table,
        () => table.updateRow(first, { n: 9 }, { ifMatch: 1 }),
        'PRECONDITION_FAILED',
      )
      await table.updateRow(first, { n: 9 }, { ifMatch: 10n ** 30n })
      assert.deepEqual(await columnOf(table, 'n'), [9, 8])
    },
  },
  {
    name: 'of many updates that name the same version one wins',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(1))
      const outcomes = await Promise.allSettled(
        numbered(20).map((cells) => table.updateRow(rowIds.at(0) ?? '', cells, { ifMatch: 1 })),
      )

      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
      assert.equal(await table.version(), 2)
    },
  },
  {
    name: 'changes at once all happen, each in a version of its own',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(20))
      const done = await Promise.all([
        ...[...rowIds].map((rowId) => table.updateRow(rowId, { n: 7 })),
        ...numbered(20).map((row) => table.addRows([row])),
      ])

      const versions = done.map(({ version }) => version).sort((left, right) => left - right)
      assert.deepEqual(
        versions,
        Array.from({ length: 40 }, (_, i) => i + 2),
      )
      assert.equal((await table.page()).rows.length, 40)
    },
  },
  {
    name: 'deleting a row makes a version once, and the others stay where they are',
    async run(fixture) {
      const { table, rowIds } = await fixture.create(numbered(4))
      const rowId = rowIds.at(1) ?? ''

      assert.deepEqual(await table.deleteRow(rowId), { version: 2, deleted: true })
      for (const none of [rowId, ...NO_ROW_IDS]) {
        assert.deepEqual(await table.deleteRow(none), { version: 2, deleted: false })
      }
      assert.deepEqual(await columnOf(table, 'n'), [0, 2, 3])
    },
  },
  {
    name: 'a row of a segment may be changed, deleted and read like any other',
    options: { inlineRowsMax: 0, segmentRowsMax: 4, cacheBytesMax: 0 },
    async run(fixture) {
      const { table, rowIds } = await fixture.create({ json: '[{"n":1.0},{"n":2.0},{"n":3.0}]' })
      await table.updateRow(rowIds.at(0) ?? '', { n: 7 })
      await table.deleteRow(rowIds.at(1) ?? '')

      assert.deepEqual(await cellsOf(table), ['{"n":7}', '{"n":3.0}'])
      assert.equal((await table.get(rowIds.at(2) ?? ''))?.version, 1)
      assert.equal(await table.get(rowIds.at(1) ?? ''), null)
    },
  },
  {
    name: 'a row may not grow beyond its limit, by no change',
    options: { rowBytesMax: 1_024 },
    async run(fixture) {
      const kinds = { a: 'string', b: 'string' }
      const { table, rowIds } = await fixture.create([{ a: 'x'.repeat(900) }], kinds)

      const b = 'é'.repeat(60) // 2 bytes each
      await failsWithoutEffect(
        table,
        () => table.updateRow(rowIds.at(0) ?? '', { b }),
        'REQUEST_VALIDATION_ERROR',
      )
      for (const rows of [
        [{ a: 'x'.repeat(2_000) }],
        { json: JSON.stringify([{}, { a: 'x'.repeat(2_000) }]) },
        { csv: `a\n${'x'.repeat(2_000)}` },
      ]) {
        await failsWithoutEffect(table, () => table.addRows(rows), 'REQUEST_VALIDATION_ERROR')
        await assert.rejects(() => table.addRows(rows), /^[\w: ]*The row is longer than 1024 /)
      }
    },
  },
  {
    name: 'an async iterable is read to the first row that is none, and then ended',
    async run(fixture) {
      const table = await fixture.createTable([], { n: 'number' })
      let pulled = 0
      let ended = false
      async function* rows(): AsyncGenerator<never> {
        try {
          for (; pulled < 1_000; ) yield (pulled++ === 3 ? 'none' : { n: pulled }) as never
        } finally {
          ended = true
        }
      }

      await failsWithoutEffect(table, () => table.addRows(rows()), 'REQUEST_VALIDATION_ERROR', {
        row: 3,
      })
      assert.deepEqual([pulled, ended], [4, true])
    },
  },
  {
    name: 'an iterable that throws ends the operation with what it threw, and nothing changes',
    options: { inlineRowsMax: 2, segmentRowsMax: 10 },
    async run(fixture) {
      const table = await fixture.createTable(numbered(1), { n: 'number' })
      const version = await table.version()
      async function* rows(): AsyncGenerator<{ n: number }> {
        yield* numbered(55)
        throw new RangeError('the source broke')
      }

      await assert.rejects(table.addRows(rows()), RangeError)
      assert.equal(await table.version(), version)
      assert.deepEqual(await columnOf(table, 'n'), [0])
    },
  },
  {
    name: 'an async iterable of any length is read while other operations are answered',
    options: { segmentRowsMax: 100, segmentBytesMax: 4_096 },
    async run(fixture) {
      const table = await fixture.createTable([], { n: 'number', t: 'string' })
      const other = await fixture.createTable(numbered(1))
      let answered = 0
      async function* rows(): AsyncGenerator<{ n: number; t: string }> {
        for (let n = 0; n < 3_000; n++) {
          if (n % 500 === 0) await other.version().then(() => answered++)
          yield { n, t: `row ${n}` }
        }
      }

      const { rowIds } = await table.addRows(rows())
      assert.deepEqual([rowIds.length, answered], [3_000, 6])
      assert.deepEqual(
        await columnOf(table, 'n'),
        numbered(3_000).map(({ n }) => n),
      )
    },
  },
]
