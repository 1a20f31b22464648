// CONTRACT.md, section 6.
import assert from 'node:assert/strict'
import {
  type Api,
  CONTINUATION,
  type ContractCase,
  CSV,
  etagOf,
  invalidValue,
  type Reply,
  ROW_NOT_FOUND,
  rowIdsOf,
  TABLE_NOT_FOUND,
  TSV,
  uniqueName,
  unknownColumn,
  VALIDATION,
} from './api.js'

const numbered = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => ({ n: from + at }))

const LIMITS_REFUSED = [
  '0',
  '-1',
  '1.5',
  'x',
  '',
  '1e3',
  '0x10',
  ' 1',
  '+1',
  '%31%20',
  '1&limit=1',
  'NaN',
  '%ZZ',
]

const paging: ContractCase[] = [
  {
    name: 'HEAD rows → 200, ETag = table version, no body',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const head = await api.ok('HEAD', table.rows)
      assert.equal(head.text, '')
      assert.equal(etagOf(head), (await api.pageOf(table)).etag)
    },
  },
  {
    name: 'only the non-empty cells, in insertion order',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number', b: 'number', c: 'number' })
      await api.ok('POST', table.rows, { body: '[{"c":1,"a":2},{"b":3},{}]' })
      const [one, two, three] = await api.rowsOf(table)
      assert.equal(JSON.stringify(one), `{"$rowID":"${one?.$rowID}","c":1,"a":2}`)
      assert.deepEqual(two, { $rowID: two?.$rowID, b: 3 })
      assert.deepEqual(three, { $rowID: three?.$rowID })
    },
  },
  ...LIMITS_REFUSED.map((limit) => ({
    name: `limit=${limit} is 400`,
    run: async (api: Api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const wanted = { ...VALIDATION, message: /^Invalid request query: / }
      await api.refused('GET', `${table.rows}?limit=${limit}`, {}, wanted)
    },
  })),
  {
    name: 'Above the cap of 10,000 rows fewer are returned; without limit up to the cap',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(10_001) })
      for (const query of ['', '?limit=10001', '?limit=99999999999999999999']) {
        const { json } = await api.ok('GET', table.rows + query)
        const page = json as { data: unknown[]; continuation?: string }
        assert.equal(page.data.length, 10_000)
        assert.ok(page.continuation)
      }
      assert.equal((await api.rowsOf(table)).length, 10_001)
    },
  },
  {
    name: 'Above 16 MiB of rows fewer are returned',
    run: async (api) => {
      const table = await api.createTyped({ s: 'string' })
      const body = numbered(10).map(({ n }) => ({ s: `${n}${'x'.repeat(1 << 20)}` }))
      await api.ok('POST', table.rows, { body })
      await api.ok('POST', table.rows, { body })
      const first = await api.pageOf(table)
      assert.ok(first.data.length < 20 && first.continuation !== undefined)
      assert.ok(JSON.stringify(first.data).length < 18 << 20)
      assert.equal((await api.rowsOf(table)).length, 20)
    },
  },
  ...[1, 2, 3, 7, 10, 100].map((limit) => ({
    name: `walking to the end with limit ${limit} yields every row exactly once, in order`,
    run: async (api: Api) => {
      const table = await api.createTable({ rows: numbered(10) })
      const rows = await api.rowsOf(table, limit)
      assert.deepEqual(
        rows.map(({ $rowID }) => $rowID),
        table.rowIds,
      )
    },
  })),
  {
    name: 'continuation is absent on the last page, never null or ""',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(4) })
      const one = await api.pageOf(table, { limit: 2 })
      const two = await api.pageOf(table, { limit: 2, continuation: one.continuation })
      assert.equal(typeof one.continuation, 'string')
      assert.ok(!('continuation' in two))
      assert.ok(!('continuation' in (await api.pageOf(await api.createTable()))))
    },
  },
  {
    name: 'an empty continuation is as absent',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(3) })
      const first = await api.ok('GET', `${table.rows}?limit=2`)
      for (const query of ['limit=2&continuation=', 'continuation&limit=2']) {
        assert.equal((await api.ok('GET', `${table.rows}?${query}`)).text, first.text)
      }
    },
  },
  {
    name: 'continuation is absent when the rows after it were all deleted',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(4) })
      for (const rowId of table.rowIds.slice(2)) await api.ok('DELETE', `${table.rows}/${rowId}`)
      const page = await api.pageOf(table, { limit: 2 })
      assert.deepEqual([page.data.length, page.continuation], [2, undefined])
    },
  },
  {
    name: 'a continuation survives a different limit on the next call',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(10) })
      const seen: unknown[] = []
      let continuation: string | undefined
      for (const limit of [3, 1, 4, 5]) {
        const page = await api.pageOf(table, { limit, continuation })
        seen.push(...page.data.map(({ n }) => n))
        continuation = page.continuation
      }
      assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
      assert.equal(continuation, undefined)
    },
  },
  {
    name: 'a continuation can be used again and again',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(4) })
      const { continuation } = await api.pageOf(table, { limit: 1 })
      const one = await api.pageOf(table, { limit: 2, continuation })
      const two = await api.pageOf(table, { limit: 2, continuation })
      assert.deepEqual(one, two)
    },
  },
  {
    name: 'a walk yields every row that existed through all of it once, whatever is added, changed or deleted meanwhile',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(40) })
      const seen: unknown[] = []
      let continuation: string | undefined
      let round = 0
      do {
        const page = await api.pageOf(table, { limit: 5, continuation })
        seen.push(...page.data.map(({ $rowID }) => $rowID))
        continuation = page.continuation
        await api.ok('POST', table.rows, { body: numbered(2, 100 * ++round) })
        await api.ok('PATCH', `${table.rows}/${table.rowIds[round]}`, { body: { n: -1 } })
        await api.ok('DELETE', `${table.rows}/${table.rowIds[40 - round]}`)
      } while (continuation !== undefined && round < 30)
      assert.equal(new Set(seen).size, seen.length)
      const surviving = table.rowIds.slice(0, 40 - round)
      assert.deepEqual(
        seen.filter((rowId) => surviving.includes(String(rowId))),
        surviving,
      )
      const order = (await api.rowsOf(table)).map(({ $rowID }) => $rowID as unknown)
      const listed = seen.filter((rowId) => order.includes(rowId))
      assert.deepEqual(
        listed,
        order.filter((rowId) => listed.includes(rowId)),
      )
    },
  },
  {
    name: 'After an overwrite the walk goes on over the rows it began with, with the last version of those rows as ETag',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(4) })
      const before = await api.versionOf(table)
      const first = await api.pageOf(table, { limit: 1 })
      await api.ok('PUT', table.path, { body: numbered(2, 100) })
      const second = await api.pageOf(table, { limit: 1, continuation: first.continuation })
      await api.ok('PUT', table.path, { body: numbered(2, 200) })
      const third = await api.pageOf(table, { continuation: second.continuation })
      const numbers = [...first.data, ...second.data, ...third.data].map(({ n }) => n)
      assert.deepEqual(numbers, [0, 1, 2, 3])
      assert.deepEqual([second.etag, third.etag], [`"${before}"`, `"${before}"`])
    },
  },
  {
    name: 'After more than two overwrites a walk over older rows ends: 400 continuation_invalid',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(4) })
      const { continuation = '' } = await api.pageOf(table, { limit: 1 })
      for (const n of [100, 200, 300]) await api.ok('PUT', table.path, { body: numbered(2, n) })
      const query = new URLSearchParams({ continuation })
      await api.refused('GET', `${table.rows}?${query}`, {}, CONTINUATION)
    },
  },
]

const conditions: ContractCase[] = [
  {
    name: 'If-None-Match with the version of a page is 304 without a body, whatever is asked for',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(5) })
      const where = encodeURIComponent('{"n":{"gt":1}}')
      const { continuation } = await api.pageOf(table, { limit: 2 })
      const queries = [
        '',
        '?limit=2',
        '?columns=n&from=1',
        `?where=${where}`,
        '?sort=-n&total=true',
      ]
      for (const query of [...queries, `?limit=2&continuation=${continuation}`]) {
        const path = table.rows + query
        const etag = etagOf(await api.ok('GET', path))
        for (const value of [etag, `W/${etag}`, `"x", W/${etag}`, '*']) {
          for (const method of ['GET', 'HEAD']) {
            const headers = { 'if-none-match': value }
            const { status, text, ...reply } = await api.send(method, path, { headers })
            assert.deepEqual([status, text, reply.headers.get('etag')], [304, '', etag])
            assert.equal(reply.headers.get('cache-control'), 'no-cache')
          }
        }
        for (const value of ['"0"', etag.slice(1, -1), '', `x, ${etag}`]) {
          const { status } = await api.send('GET', path, { headers: { 'if-none-match': value } })
          assert.equal(status, 200)
        }
      }
    },
  },
  {
    name: 'If-None-Match ends to match with each change of the table, also of its columns',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number', b: 'number' }, [{ a: 1, b: 2 }])
      const row = `${table.rows}/${table.rowIds[0]}`
      const changes: (() => Promise<Reply>)[] = [
        () => api.ok('PATCH', row, { body: { a: 3 } }),
        () => api.ok('PUT', table.path, { body: { rows: [{ $rowID: table.rowIds[0], a: 4 }] } }),
        () => api.ok('PATCH', `${row}?onSchemaError=updateSchema`, { body: { a: 'text' } }),
      ]
      for (const change of changes) {
        const before = await Promise.all([table.rows, row].map((path) => api.ok('GET', path)))
        await change()
        for (const [at, path] of [table.rows, row].entries()) {
          const headers = { 'if-none-match': etagOf(before[at] as Reply) }
          const { status, text } = await api.send('GET', path, { headers })
          assert.deepEqual([status, text === before[at]?.text], [200, false])
        }
      }
    },
  },
  {
    name: 'If-None-Match with the version of a row is 304, until the row changes',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(2) })
      const [row, other] = table.rowIds.map((rowId) => `${table.rows}/${rowId}`)
      const path = row ?? ''
      const headers = { 'if-none-match': etagOf(await api.ok('GET', path)) }
      await api.ok('PATCH', other ?? '', { body: { n: 7 } })
      for (const method of ['GET', 'HEAD']) {
        assert.equal((await api.send(method, path, { headers })).status, 304)
      }
      await api.ok('PATCH', path, { body: { n: 7 } })
      for (const method of ['GET', 'HEAD']) {
        assert.equal((await api.send(method, path, { headers })).status, 200)
      }
    },
  },
  {
    name: 'If-None-Match changes no refusal, and no answer that it is not for',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(3) })
      const headers = { 'if-none-match': '*' }
      const query = { ...VALIDATION, message: /^Invalid request query: / }
      const where = encodeURIComponent('{"x":1}')
      for (const wrong of [
        'limit=0',
        'from=x',
        'columns=x',
        'sort=x',
        `where=${where}`,
        'where={',
      ]) {
        await api.refused('GET', `${table.rows}?${wrong}`, { headers }, query)
      }
      const token = `${table.rows}?continuation=x`
      await api.refused('GET', token, { headers }, CONTINUATION)
      const missing = `/tables/${uniqueName('x')}/rows`
      await api.refused('GET', missing, { headers }, TABLE_NOT_FOUND)
      assert.equal((await api.send('HEAD', missing, { headers })).status, 404)
      await api.refused('GET', `${table.rows}/x`, { headers }, ROW_NOT_FOUND)
      for (const path of [table.path, '/tables', '/stashes']) {
        await api.ok('GET', path, { headers })
      }
      await api.ok('POST', table.rows, { body: [{ n: 9 }], headers })
    },
  },
]

const found: ContractCase[] = [
  {
    name: 'searchIgnoreAccents: wherever there is search, it ignores accents',
    run: async (api) => {
      const table = await api.createTyped({ s: 'string' }, [{ s: 'Søren' }, { s: 'Łukasz' }])
      const query = 'search=soren&searchIgnoreAccents=true'
      const answers = [
        [`${table.rows}?columns=s&${query}`, { data: [{ $rowID: table.rowIds[0], s: 'Søren' }] }],
        [`${table.path}/count?${query}`, { data: { count: 1 } }],
        [`${table.path}/count?${query.replace('true', 'false')}`, { data: { count: 0 } }],
        [`${table.path}/groups?${query}`, { data: [{ values: {}, count: 1 }] }],
      ] as const
      for (const [path, json] of answers) {
        assert.deepEqual((await api.ok('GET', path)).json, json)
        await api.ok('HEAD', path)
      }
      assert.equal((await api.ok('GET', `${table.path}/export?${query}`)).text, '{"s":"Søren"}\n')
      await api.ok('HEAD', `${table.path}/export?${query}`)
      const wrong = `${table.path}/count?search=x&searchIgnoreAccents=1`
      await api.refused('GET', wrong, {}, VALIDATION)
    },
  },
  {
    name: 'search: rows in which a column of text contains a text, without case',
    run: async (api) => {
      const rows = [
        { a: 'Straße', n: 1 },
        { b: 'die STRASSE', n: 2 },
        { a: 'x', n: 3 },
      ]
      const table = await api.createTyped({ a: 'string', b: 'string', n: 'number' }, rows)
      const where = encodeURIComponent('{"n":{"gt":1}}')
      const found = async (query: string) => {
        const { data } = (await api.ok('GET', `${table.rows}?${query}`)).json as {
          data: { n: number }[]
        }
        return data.map(({ n }) => n)
      }
      assert.deepEqual(await found('search=strass'), [1, 2])
      assert.deepEqual(await found(`search=strass&where=${where}`), [2])
      assert.deepEqual(await found('search='), [1, 2, 3])
      const { json } = await api.ok('GET', `${table.path}/count?search=strass&where=${where}`)
      assert.deepEqual(json, { data: { count: 1 } })
      for (const wrong of ['search=a&search=b', `search=${'x'.repeat(257)}`]) {
        await api.refused('GET', `${table.rows}?${wrong}`, {}, VALIDATION)
      }
    },
  },
  {
    name: 'count: of all rows, and of those that match',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, numbered(5))
      const count = async (query: string) =>
        (await api.ok('GET', `${table.path}/count${query}`)).json
      assert.deepEqual(await count(''), { data: { count: 5 } })
      const where = encodeURIComponent(JSON.stringify({ n: { gte: 2 } }))
      assert.deepEqual(await count(`?where=${where}`), { data: { count: 3 } })
      assert.deepEqual(await count('?search=2'), { data: { count: 0 } })
      for (const refused of ['x', '{"m":1}', '{"n":"x"}']) {
        const path = `${table.path}/count?where=${encodeURIComponent(refused)}`
        await api.refused('GET', path, {}, VALIDATION)
      }
      await api.refused('GET', '/tables/none/count', {}, TABLE_NOT_FOUND)
    },
  },
  {
    name: 'groups: counts, exact sums, least and greatest values, largest groups first',
    run: async (api) => {
      const kinds = { s: 'string', n: 'number', d: 'date' } as const
      const table = await api.createTyped(kinds, [
        { s: 'b', n: 0.1, d: '2024-02-01' },
        { s: 'a', n: 1 },
        { n: 0.2 },
        { s: 'b', n: 0.2, d: '2024-01-01' },
      ])
      const groups = async (query: string) =>
        (await api.ok('GET', `${table.path}/groups?${query}`)).json
      const b = { values: { s: 'b' }, count: 2, sum: { n: '0.3' }, least: { d: '2024-01-01' } }
      const a = { values: { s: 'a' }, count: 1, sum: { n: '1' }, least: { d: null } }
      const none = { values: { s: null }, count: 1, sum: { n: '0.2' }, least: { d: null } }
      assert.deepEqual(await groups('by=s&sum=n&least=d'), { data: [b, a, none] })
      assert.deepEqual(await groups('by=s&sum=n&least=d&limit=1'), { data: [b] })
      const where = encodeURIComponent('{"n":{"gte":1}}')
      assert.deepEqual(await groups(`greatest=n&where=${where}`), {
        data: [{ values: {}, count: 1, greatest: { n: 1 } }],
      })
      assert.deepEqual(await groups('by=s&search=B'), { data: [{ values: { s: 'b' }, count: 2 }] })
      for (const wrong of ['by=x', 'by=s,s', 'by=[', 'sum=s', 'least=s', 'limit=0', 'where=x']) {
        await api.refused('GET', `${table.path}/groups?${wrong}`, {}, VALIDATION)
      }
      await api.refused('GET', '/tables/none/groups', {}, TABLE_NOT_FOUND)
    },
  },
  {
    name: 'by-key: the row with the values of all key columns, as its route answers it',
    run: async (api) => {
      const kinds = { s: 'string', n: 'number', b: 'boolean' } as const
      const rows = [
        { s: 'a&b=ü', n: 34.5, b: true },
        { s: 'a&b=ü', n: 34.5, b: false },
      ]
      const table = await api.createTyped(kinds, rows)
      const path = `${table.path}/by-key`
      await api.refused('GET', `${path}?s=x`, {}, VALIDATION) // It has no key.
      await api.ok('PATCH', table.path, { body: { key: ['s', 'n', 'b'] } })
      const s = `s=${encodeURIComponent('a&b=ü')}`
      const row = await api.ok('GET', `${path}?b=false&n=34.50&${s}`)
      const same = await api.ok('GET', `${table.rows}/${table.rowIds[1]}`)
      assert.deepEqual([row.json, etagOf(row)], [same.json, etagOf(same)])
      const headers = { 'if-none-match': etagOf(row) ?? '' }
      const known = await api.send('GET', `${path}?b=false&n=3450e-2&${s}`, { headers })
      assert.equal(known.status, 304)
      await api.refused('GET', `${path}?b=false&n=34&${s}`, {}, ROW_NOT_FOUND)
      const refused = ['', '?b=false', `?b=0&n=1&${s}`, `?b=true&n=x&${s}`, `?b=true&n=1&n=1&${s}`]
      for (const query of [...refused, `?b=true&n=1&${s}&more=1`, '?b=true&n=1&s=%ZZ']) {
        await api.refused('GET', `${path}${query}`, {}, VALIDATION)
      }
      await api.refused('GET', '/tables/none/by-key?s=1', {}, TABLE_NOT_FOUND)
    },
  },
]

const exporting: ContractCase[] = [
  {
    name: 'export: on request it has a byte order mark, and formulas are escaped, but no others',
    run: async (api) => {
      const cells = ['=1+2', '+43 1', '@x', 'a,=b', '-5']
      const table = await api.createTyped({ '=s': 'string', n: 'number' }, [
        ...cells.map((s) => ({ '=s': s, n: -1 })),
      ])
      const path = `${table.path}/export?format=csv`
      const escaped = `'=s,n\n'=1+2,-1\n'+43 1,-1\n'@x,-1\n"a,=b",-1\n-5,-1\n`
      assert.equal((await api.ok('GET', `${path}&formulas=escape`)).text, escaped)
      const kept = escaped.replaceAll("'", '')
      assert.equal((await api.ok('GET', `${path}&formulas=keep`)).text, kept)
      for (const method of ['GET', 'HEAD']) await api.ok(method, `${path}&bom=true&formulas=escape`)
      const headers = { authorization: `Bearer ${api.server.key}` }
      const marked = await fetch(`${api.server.url}${path}&bom=true`, { headers })
      const text = Buffer.from(await marked.arrayBuffer()).toString()
      assert.equal(text, `\ufeff${kept}`)
    },
  },
  {
    name: 'export: the rows of a version as a file, with its name, version and number of rows',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number', s: 'string' }, [
        { n: 1, s: 'a"b,ü' },
        { s: 'x' },
      ])
      const path = `${table.path}/export`
      const etag = (await api.pageOf(table)).etag
      const forms = [
        ['', 'application/x-ndjson', '{"n":1,"s":"a\\"b,ü"}\n{"s":"x"}\n', '2'],
        ['?format=csv', 'text/csv; charset=utf-8; header=present', 'n,s\n1,"a""b,ü"\n,x\n', '2'],
        [
          '?format=tsv&columns=s',
          'text/tab-separated-values; charset=utf-8',
          's\n"a""b,ü"\nx\n',
          '2',
        ],
        ['?where={"n":1}&columns=s', 'application/x-ndjson', '{"s":"a\\"b,ü"}\n', null],
        [
          '?format=csv&columns=$rowID,n',
          'text/csv; charset=utf-8; header=present',
          `$rowID,n\n${table.rowIds[0]},1\n${table.rowIds[1]},\n`,
          '2',
        ],
        ['?sort=-s&columns=s', 'application/x-ndjson', '{"s":"x"}\n{"s":"a\\"b,ü"}\n', '2'],
        [
          '?search=Ü&columns=n&format=csv',
          'text/csv; charset=utf-8; header=present',
          'n\n1\n',
          null,
        ],
        ['?where={"n":9}&format=csv', 'text/csv; charset=utf-8; header=present', 'n,s\n', null],
      ] as const
      for (const [query, type, text, count] of forms) {
        const reply = await api.ok('GET', path + encodeURI(query))
        assert.equal(reply.text, text)
        const head = await api.ok('HEAD', path + encodeURI(query))
        assert.equal(head.text, '')
        for (const { headers } of [reply, head]) {
          assert.equal(headers.get('content-type'), type)
          assert.equal(headers.get('row-count'), count)
          assert.equal(headers.get('etag'), etag)
          assert.match(headers.get('content-disposition') ?? '', /^attachment; filename=".+\.\w+"/)
        }
      }
      const headers = { 'if-none-match': etag ?? '' }
      assert.equal((await api.send('GET', path, { headers })).status, 304)
      for (const query of [
        'format=x',
        'bom=true',
        'formulas=escape',
        'format=csv&formulas=x',
        'format=csv&bom=1',
        'sort=m',
        'sort=n&at=1',
        'format=',
        'where=x',
        'where={"m":1}',
        'columns=m',
        'at=x',
      ]) {
        await api.refused('GET', `${path}?${encodeURI(query)}`, {}, VALIDATION)
      }
      await api.refused('GET', '/tables/none/export', {}, TABLE_NOT_FOUND)
    },
  },
  {
    name: 'export: as Parquet, or a refusal if the server does not write it',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number', s: 'string' }, [{ n: 1 }, { s: 'x' }])
      const path = `${table.path}/export?format=parquet`
      const { status } = await api.send('HEAD', path)
      if (status === 400) {
        await api.refused('GET', path, {}, { ...VALIDATION, message: /does not write parquet/ })
        return
      }
      for (const [query, count] of [
        ['', '2'],
        ['&columns=s&sort=-s', '2'],
        ['&where={"n":1}', null],
      ] as const) {
        const reply = await api.ok('GET', path + encodeURI(query))
        assert.match(reply.text, /^PAR1.*PAR1$/s)
        for (const { headers } of [reply, await api.ok('HEAD', path + encodeURI(query))]) {
          assert.equal(headers.get('content-type'), 'application/vnd.apache.parquet')
          assert.equal(headers.get('row-count'), count)
          assert.equal(headers.get('etag'), (await api.pageOf(table)).etag)
          assert.match(headers.get('content-disposition') ?? '', /filename=".+\.parquet"/)
        }
      }
      const etag = (await api.pageOf(table)).etag ?? ''
      assert.equal(
        (await api.send('GET', path, { headers: { 'if-none-match': etag } })).status,
        304,
      )
      for (const query of [
        'bom=true',
        'formulas=escape',
        'columns=$rowID,n',
        'columns=m',
        'at=x',
      ]) {
        await api.refused('GET', `${path}&${encodeURI(query)}`, {}, VALIDATION)
      }
      const exact = await api.createTyped({ n: 'number' })
      await api.ok('POST', exact.rows, {
        body: '[{"n":9007199254740993}]',
        type: 'application/json',
      })
      const message = /query: Parquet stores doubles, and the number 9007199254740993 in row 0/
      await api.refused(
        'GET',
        `${exact.path}/export?format=parquet`,
        {},
        { ...VALIDATION, message },
      )
    },
  },
]

const adding: ContractCase[] = [
  ...(
    [
      ['an array', () => [{ n: 1 }, { n: 2 }]],
      ['{ "$stashID" }', ($stashID) => ({ $stashID })],
      ['CSV', () => 'n\n1\n2', CSV],
      ['TSV', () => 'n\n1\n2', TSV],
    ] as [string, (stashId: string) => unknown, string?][]
  ).map(([what, bodyOf, type]) => ({
    name: `POST rows takes ${what} → 201 with row IDs in input order and an ETag`,
    run: async (api: Api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 1 }, { n: 2 }])
      const table = await api.createTyped({ n: 'number' }, [{ n: 0 }])
      const reply = await api.ok('POST', table.rows, {
        body: bodyOf(stashId),
        ...(type && { type }),
      })
      assert.equal(etagOf(reply), `"${await api.versionOf(table)}"`)
      const rows = await api.rowsOf(table)
      assert.deepEqual(
        rows.map(({ n }) => n),
        [0, 1, 2],
      )
      assert.deepEqual(
        rows.slice(1).map(({ $rowID }) => $rowID),
        rowIdsOf(reply),
      )
    },
  })),
  {
    name: 'POST rows with { rows: [...] } is 400',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      await api.refused('POST', table.rows, { body: { rows: [{ n: 1 }] } }, VALIDATION)
      assert.deepEqual(await api.rowsOf(table), [])
    },
  },
  {
    name: 'POST rows is all or nothing',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', numbered(10))
      await api.putChunk(stashId, '1', [{ n: 'x' }])
      await api.refused(
        'POST',
        table.rows,
        { body: [...numbered(10), { m: 1 }] },
        unknownColumn('m'),
      )
      await api.refused('POST', table.rows, { body: { $stashID: stashId } }, invalidValue('n'))
      assert.deepEqual(await api.rowsOf(table), [])
    },
  },
  {
    name: 'parallel adds all go in, each as a whole',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number', by: 'number' })
      const adds = numbered(8).map(({ n: by }) =>
        api.ok('POST', table.rows, { body: numbered(5).map(({ n }) => ({ n, by })) }),
      )
      const replies = await Promise.all(adds)
      const rows = await api.rowsOf(table)
      assert.equal(rows.length, 40)
      assert.equal(new Set(replies.map(etagOf)).size, 8)
      for (let at = 0; at < rows.length; at += 5) {
        assert.equal(new Set(rows.slice(at, at + 5).map(({ by }) => by)).size, 1)
      }
    },
  },
  {
    name: 'many row IDs come in one answer, in input order',
    run: async (api) => {
      const table = await api.createTable({ rows: numbered(20_000) })
      assert.equal(table.rowIds.length, 20_000)
      assert.deepEqual(
        (await api.rowsOf(table)).map(({ $rowID }) => $rowID),
        table.rowIds,
      )
    },
  },
  {
    name: 'Row IDs are 22 characters of base64url, canonical: no other spelling is known',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const [rowId = ''] = table.rowIds
      assert.match(rowId, /^[A-Za-z0-9_-]{21}[AQgw]$/)
      const last = { A: 'B', Q: 'R', g: 'h', w: 'x' }[rowId.slice(-1)] ?? ''
      await api.refused('GET', `${table.rows}/${rowId.slice(0, -1)}${last}`, {}, ROW_NOT_FOUND)
      await api.refused('GET', `${table.rows}/${rowId}%3D%3D`, {}, ROW_NOT_FOUND)
    },
  },
  ...(
    [
      ['65 characters', 'x'.repeat(65)],
      ['nothing', ''],
      ['a character outside of ASCII', 'schl\u00fcssel'],
      ['a tab', 'a\tb'],
    ] as const
  ).map(([what, key]) => ({
    name: `Idempotency-Key of ${what} is 400 on create and add`,
    run: async (api: Api) => {
      const table = await api.createTyped({ n: 'number' })
      const headers = { 'idempotency-key': key }
      await api.refused('POST', '/tables', { body: { name: 'x', rows: [] }, headers }, VALIDATION)
      await api.refused('POST', table.rows, { body: [], headers }, VALIDATION)
    },
  })),
  {
    name: 'Idempotency-Key of 1 to 64 printable ASCII characters is taken',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      for (const key of ['x', 'x'.repeat(64), 'a b~!"#$']) {
        const unique = (uniqueName('') + key).slice(-Math.max(1, key.length))
        await api.ok('POST', table.rows, { body: [], headers: { 'idempotency-key': unique } })
      }
    },
  },
]

export const rowCases: readonly ContractCase[] = [
  ...paging,
  ...conditions,
  ...found,
  ...exporting,
  ...adding,
]
