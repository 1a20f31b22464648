// CONTRACT.md, section 7.
import assert from 'node:assert/strict'
import { type Api, type ContractCase, CSV, STASH_NOT_FOUND, TSV, uniqueName } from './api.js'

const STASH_LIFETIME_MS = 48 * 3_600_000

/** The numbers `n` of a table created from a stash, in order. */
async function numbersOf(api: Api, stashId: string): Promise<readonly unknown[]> {
  const table = await api.createTable({ rows: { $stashID: stashId } })
  return (await api.cellsOf(table)).map(({ n }) => n)
}

const SERIAL_ORDERS: readonly [rule: string, sorted: readonly string[]][] = [
  ['all digits: numeric order', ['0', '1', '2', '9', '10', '11', '100']],
  [
    'all digits: any length, no float',
    ['0', '2', '10', '9007199254740992', '9007199254740993', '9007199254740994', '9'.repeat(100)],
  ],
  [
    'all digits: equal numbers are two chunks, ordered by code point',
    ['00', '000', '01', '1', '2'],
  ],
  [
    'one that is not all digits: code-point order',
    ['0', '1', '10', '2', 'A', 'a', 'a-', 'a_', 'b'],
  ],
  [
    '32 hex digits: code-point order',
    [
      '0a000000000000000000000000000000',
      '1b000000000000000000000000000000',
      'ff000000000000000000000000000000',
    ],
  ],
  ['dates: code-point order', ['2024-01-01', '2024-01-02', '2024-01-10']],
]

const orders: ContractCase[] = SERIAL_ORDERS.map(([rule, sorted]) => ({
  name: `Order of serials: ${rule}`,
  run: async (api) => {
    const stashId = uniqueName('s')
    const shuffled = [...sorted.keys()].sort((one, two) => ((one * 7) % 11) - ((two * 7) % 11))
    for (const n of shuffled) await api.putChunk(stashId, sorted[n] ?? '', [{ n }])
    assert.deepEqual(await numbersOf(api, stashId), [...sorted.keys()])
  },
}))

const names: ContractCase[] = [
  ['one character', 'a', '0'],
  ['digits', '0', 'z'],
  ['dashes and underscores within', 'a-_-b', 'A_b-c'],
  ['256 characters', 'x'.repeat(200), 'y'.repeat(256)],
  ['a UUID', '123e4567-e89b-12d3-a456-426614174000', '0'],
  ['named like prototype members', 'constructor', 'toString'],
].map(([what = '', prefix = '', serial = '']) => ({
  name: `Stash ID and serial of the rule are taken: ${what}`,
  run: async (api) => {
    const stashId = (prefix + uniqueName('-')).slice(0, 256)
    await api.putChunk(stashId, serial, [{ n: 1 }])
    assert.deepEqual(await numbersOf(api, stashId), [1])
    await api.ok('DELETE', `/stashes/${stashId}`)
  },
}))

const rules: ContractCase[] = [
  {
    name: 'PUT chunk creates the stash, or replaces that chunk',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }])
      await api.putChunk(stashId, '1', [{ n: 2 }])
      assert.deepEqual(await numbersOf(api, stashId), [1, 2])
      await api.putChunk(stashId, '0', [{ n: 10 }, { n: 11 }])
      assert.deepEqual(await numbersOf(api, stashId), [10, 11, 2])
      await api.putChunk(stashId, '0', [])
      assert.deepEqual(await numbersOf(api, stashId), [2])
    },
  },
  {
    name: 'Parallel PUTs to one stash are normal',
    run: async (api) => {
      const stashId = uniqueName('s')
      const serials = Array.from({ length: 40 }, (_, n) => n)
      await Promise.all(serials.map((n) => api.putChunk(stashId, String(n), [{ n }])))
      assert.deepEqual(await numbersOf(api, stashId), serials)
    },
  },
  {
    name: 'parallel PUTs of one chunk leave one of them as a whole',
    run: async (api) => {
      const stashId = uniqueName('s')
      const chunk = (n: number) => Array.from({ length: 20 }, () => ({ n }))
      await Promise.all([1, 2, 3, 4, 5].map((n) => api.putChunk(stashId, '0', chunk(n))))
      const numbers = await numbersOf(api, stashId)
      assert.equal(numbers.length, 20)
      assert.equal(new Set(numbers).size, 1)
    },
  },
  {
    name: 'a chunk PUT racing with a table operation is in or out as a whole',
    run: async (api) => {
      const stashId = uniqueName('s')
      const chunk = (n: number) => Array.from({ length: 50 }, () => ({ n }))
      await api.putChunk(stashId, '0', chunk(0))
      const [numbers] = await Promise.all([
        numbersOf(api, stashId),
        api.putChunk(stashId, '1', chunk(1)),
        api.putChunk(stashId, '2', chunk(2)),
      ])
      assert.ok(numbers.length % 50 === 0 && numbers.length >= 50)
      for (const n of [0, 1, 2])
        assert.ok([0, 50].includes(numbers.filter((found) => found === n).length))
    },
  },
  {
    name: 'Chunks of JSON, CSV and TSV mix in one stash',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }])
      await api.ok('PUT', `/stashes/${stashId}/1`, { body: 'n\n2', type: CSV })
      await api.ok('PUT', `/stashes/${stashId}/2`, { body: 'n\n3', type: TSV })
      assert.deepEqual(await numbersOf(api, stashId), [1, 2, 3])
    },
  },
  {
    name: 'chunks may have different columns in different orders',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ a: 1, b: 'x' }])
      await api.putChunk(stashId, '1', [{ b: 'y', c: true }])
      const table = await api.createTable({ rows: { $stashID: stashId } })
      assert.deepEqual(await api.cellsOf(table), [
        { a: 1, b: 'x' },
        { b: 'y', c: true },
      ])
    },
  },
  {
    name: 'Not consumed by use: a stash can serve several operations',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }])
      const stash = { $stashID: stashId }
      const table = await api.createTable({ rows: stash })
      await api.ok('POST', table.rows, { body: stash })
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }, { n: 1 }])
      await api.ok('PUT', table.path, { body: stash })
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
    },
  },
  {
    name: 'rows of one stash in two tables have different IDs',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }])
      const one = await api.createTable({ rows: { $stashID: stashId } })
      const two = await api.createTable({ rows: { $stashID: stashId } })
      assert.notEqual(one.rowIds[0], two.rowIds[0])
      await api.ok('PATCH', `${one.rows}/${one.rowIds[0]}`, { body: { n: 5 } })
      assert.deepEqual(await api.cellsOf(two), [{ n: 1 }])
    },
  },
  {
    name: 'A failed operation leaves the stash untouched',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }])
      const table = await api.createTyped({ other: 'string' })
      assert.equal(
        (await api.send('POST', table.rows, { body: { $stashID: stashId } })).status,
        422,
      )
      assert.deepEqual(await numbersOf(api, stashId), [1])
    },
  },
  {
    name: 'An empty chunk [] makes the stash exist',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [])
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.ok('POST', table.rows, { body: { $stashID: stashId } })
      await api.ok('PUT', table.path, { body: { $stashID: stashId } })
      assert.deepEqual(await api.rowsOf(table), [])
    },
  },
  {
    name: 'DELETE stash → 200 {}, also when there is none',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.ok('DELETE', `/stashes/${stashId}`)
      await api.putChunk(stashId, '0', [{ n: 1 }])
      await api.ok('DELETE', `/stashes/${stashId}`)
      await api.ok('DELETE', `/stashes/${stashId}`)
      const body = { name: uniqueName('t'), rows: { $stashID: stashId } }
      await api.refused('POST', '/tables', { body }, STASH_NOT_FOUND)
    },
  },
  {
    name: 'GET stash lists the chunks in their order (ours); a stash without chunks is 400',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.refused('GET', `/stashes/${stashId}`, {}, STASH_NOT_FOUND)
      await api.putChunk(stashId, '10', [{ n: 1 }, { n: 2 }])
      await api.putChunk(stashId, '9', [])
      await api.putChunk(stashId, '10', [{ n: 3 }])
      const listed = await api.ok('GET', `/stashes/${stashId}`)
      const chunks = [
        { serial: '9', rows: 0 },
        { serial: '10', rows: 1 },
      ]
      assert.deepEqual(listed.json, { data: { chunks } })
      await api.ok('DELETE', `/stashes/${stashId}`)
      await api.refused('GET', `/stashes/${stashId}`, {}, STASH_NOT_FOUND)
    },
  },
  {
    name: 'a stash made again after DELETE holds none of the old chunks',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }])
      await api.putChunk(stashId, '1', [{ n: 2 }])
      await api.ok('DELETE', `/stashes/${stashId}`)
      await api.putChunk(stashId, '1', [{ n: 3 }])
      assert.deepEqual(await numbersOf(api, stashId), [3])
    },
  },
  {
    name: 'Deleting a stash never touches tables made from it',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }])
      const table = await api.createTable({ rows: { $stashID: stashId } })
      await api.ok('DELETE', `/stashes/${stashId}`)
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
      await api.ok('GET', `${table.rows}/${table.rowIds[0]}`)
    },
  },
  {
    name: 'replacing a chunk never touches tables made from it before',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }])
      const table = await api.createTable({ rows: { $stashID: stashId } })
      await api.putChunk(stashId, '0', [{ n: 2 }])
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
    },
  },
  {
    name: 'stash IDs and serials differ by letter case',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, 'A', [{ n: 1 }])
      await api.putChunk(stashId, 'a', [{ n: 2 }])
      assert.deepEqual(await numbersOf(api, stashId), [1, 2])
      const body = { name: 'x', rows: { $stashID: stashId.toUpperCase() } }
      await api.refused('POST', '/tables', { body }, STASH_NOT_FOUND)
    },
  },
  {
    name: 'a stash whose chunks expired is not found, by PUT or by use, until it is deleted',
    run: async (api) => {
      const { later } = api.server
      if (later === undefined) return
      const stashId = uniqueName('s')
      const table = await api.createTable({ rows: [{ n: 'before' }] })
      for (const n of [0, 1, 2, 3, 4]) await api.putChunk(stashId, String(n), [{ n }])
      await later(STASH_LIFETIME_MS)

      const expired = {
        ...STASH_NOT_FOUND,
        message: new RegExp(`'${stashId}' has expired: it must be deleted`),
      }
      const chunk = `/stashes/${stashId}/5`
      const uses = [
        ['PUT', chunk, { body: [{ n: 5 }] }],
        ['POST', '/tables', { body: { name: 'x', rows: { $stashID: stashId } } }],
        ['PUT', table.path, { body: { rows: { $stashID: stashId } } }],
        ['POST', table.rows, { body: { $stashID: stashId } }],
      ] as const
      for (const [method, path, options] of uses) await api.refused(method, path, options, expired)
      assert.deepEqual(await api.cellsOf(table), [{ n: 'before' }])

      await api.ok('DELETE', `/stashes/${stashId}`)
      await api.refused(...uses[1], STASH_NOT_FOUND)
      await api.putChunk(stashId, '5', [{ n: 5 }])
      assert.deepEqual(await numbersOf(api, stashId), [5])
    },
  },
  {
    name: 'the first misfit is that of the lowest chunk',
    run: async (api) => {
      const stashId = uniqueName('s')
      const table = await api.createTyped({ n: 'number', m: 'number' })
      await api.putChunk(stashId, '10', [{ n: 'x' }])
      await api.putChunk(stashId, '2', [{ n: 1 }, { m: 'x' }])
      const reply = await api.send('POST', table.rows, { body: { $stashID: stashId } })
      assert.match(reply.text, /Invalid value for column 'm'/)
    },
  },
]

export const stashCases: readonly ContractCase[] = [...orders, ...names, ...rules]
