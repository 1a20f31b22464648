// The contract on the wire: paths that libraries would normalize; duplicate headers; bodies that are too large, cut
// short or chunked; connections.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  expectRefusal,
  REQUEST_ERROR,
  TOO_LARGE,
  uniqueName,
  VALIDATION,
} from './api.js'
import { announce, basePath, head, RawConnection, sendRaw } from './raw-http.js'

const MIB = 1 << 20

const PATHS: readonly [path: string, wanted: Readonly<{ status: number; type: string }>][] = [
  ['//tables', REQUEST_ERROR],
  ['/tables//', REQUEST_ERROR],
  ['/tables//rows', REQUEST_ERROR],
  ['/tables/x//rows', REQUEST_ERROR],
  ['/./tables', REQUEST_ERROR],
  ['/tables/../tables', REQUEST_ERROR],
  ['/tables/%2e%2e/tables', REQUEST_ERROR],
  ['/tables/..', REQUEST_ERROR],
  ['/tables/%2E', REQUEST_ERROR],
  ['/%74ables', REQUEST_ERROR],
  ['/tables%2F', REQUEST_ERROR],
  ['/tables/x/%72ows', REQUEST_ERROR],
  ['/tables;x=1', REQUEST_ERROR],
  ['\\tables', VALIDATION],
  ['/tables/%ZZ/rows', VALIDATION],
  ['/tables/%/rows', VALIDATION],
  ['/tables/%c3%28/rows', VALIDATION],
  ['/tables/x/rows/%ff', VALIDATION],
  ['/tables/%00/rows', { status: 404, type: 'table_not_found' }],
  ['/tables/a%2Fb/rows', { status: 404, type: 'table_not_found' }],
]

const paths: ContractCase[] = PATHS.map(([path, wanted]) => ({
  name: `the path ${path} is ${wanted.status} ${wanted.type}`,
  run: async (api) => {
    const target = path.startsWith('/') ? basePath(api) + path : path
    const reply = await sendRaw(api, head(api, `GET ${target}`))
    if (path.startsWith('/')) expectRefusal({ status: reply.status, text: reply.body }, wanted)
    else assert.equal(reply.status, 400)
  },
}))

const REFUSED_HEADS: readonly [
  what: string,
  lines: (api: Api, path: string) => readonly string[],
][] = [
  ['a target of another host', (api, path) => head(api, `GET http://other.example${path}`)],
  [
    'a target of this host and a user',
    (api) => head(api, `GET ${api.server.url.replace('//', '//user@')}/tables`),
  ],
  ['two Host headers', (api, path) => head(api, `GET ${path}`, 'Host: other')],
  [
    'a GET with a body',
    (api, path) => [...head(api, `GET ${path}`, 'Content-Length: 2'), '', '{}'],
  ],
  [
    'a GET with a chunked body',
    (api, path) => [...head(api, `GET ${path}`, 'Transfer-Encoding: chunked'), '', '0', '', ''],
  ],
  [
    'Content-Length and Transfer-Encoding',
    (api, path) => head(api, `POST ${path}`, 'Content-Length: 2', 'Transfer-Encoding: chunked'),
  ],
  [
    'two Content-Lengths',
    (api, path) => head(api, `POST ${path}`, 'Content-Length: 2', 'Content-Length: 3'),
  ],
  [
    '300 headers',
    (api, path) =>
      head(api, `GET ${path}`, ...Array.from({ length: 300 }, (_, at) => `x-${at}: 1`)),
  ],
  ['a request target of an asterisk', (api) => head(api, 'OPTIONS *')],
  ['a method that nobody knows', (api, path) => head(api, `FETCH ${path}`)],
  ['a header whose name has a space', (api, path) => head(api, `GET ${path}`, 'a b: c')],
  [
    'a chunk without a size',
    (api, path) => [...head(api, `POST ${path}`, 'Transfer-Encoding: chunked'), '', 'x', '', ''],
  ],
]

const heads: ContractCase[] = REFUSED_HEADS.map(([what, linesOf]) => ({
  name: `${what}: 400`,
  run: async (api) => {
    const { status, body } = await sendRaw(api, linesOf(api, `${basePath(api)}/tables`))
    expectRefusal({ status, text: body }, VALIDATION)
  },
}))

const targets: ContractCase[] = [
  {
    name: 'a target that is a whole URL of this host means its path and query',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string' }, [{ a: 'x' }, { a: 'y' }])
      const url = `${api.server.url}${table.rows}?limit=1`
      for (const target of [url, url.replace('http:', 'HTTP:')]) {
        const { status, body } = await sendRaw(api, head(api, `GET ${target}`))
        assert.equal(status, 200)
        assert.equal(JSON.parse(body).data.length, 1)
      }
    },
  },
]

const emptyEncoding: ContractCase = {
  name: 'an empty Transfer-Encoding is refused, and what follows is taken for no request',
  run: async (api) => {
    const name = uniqueName('smuggled')
    const line = `POST ${basePath(api)}/tables?name=${name}`
    const json = 'Content-Type: application/json'
    const outer = head(api, line, json, 'Transfer-Encoding: ').join('\r\n')
    const inner = head(api, line, json, 'Content-Length: 2').join('\r\n')
    const connection = new RawConnection(api)
    connection.write(`${outer}\r\n\r\n${inner}\r\n\r\n[]`)
    const { status, body } = await connection.reply()
    // Newer versions of Node refuse it before they call a handler.
    if (body === '') assert.equal(status, 400)
    else expectRefusal({ status, text: body }, { status: 501, type: 'not_implemented' })
    await connection.ended()
    assert.equal(await api.tableCount(name), 0)
  },
}

const longHeaders: ContractCase = {
  name: 'headers of more than 80 KiB are 431, and the connection ends',
  run: async (api) => {
    const connection = new RawConnection(api)
    const lines = head(api, `GET ${basePath(api)}/tables`, `x: ${'y'.repeat(100_000)}`)
    connection.write(`${lines.join('\r\n')}\r\n\r\n`)
    const reply = await connection.reply()
    announce(api, lines, reply)
    const { status, body } = reply
    expectRefusal({ status, text: body }, { status: 431, type: 'request_validation_error' })
    await connection.ended()
  },
}

const longQuery: ContractCase = {
  name: 'a query has at most 65,536 characters, also beside long headers',
  run: async (api) => {
    const table = await api.createTyped({ a: 'string' }, [{ a: 'x' }, { a: 'y' }])
    const where = encodeURIComponent(JSON.stringify({ a: { in: ['x', 'z'.repeat(15_000)] } }))
    for (const [length, wanted] of [
      [65_536, 200],
      [65_537, 400],
    ] as const) {
      const query = `where=${where}&`.padEnd(length, 'x')
      const line = `GET ${basePath(api)}${table.rows}?${query}`
      const { status, body } = await sendRaw(api, head(api, line, `x: ${'y'.repeat(15_000)}`))
      assert.equal(status, wanted)
      if (status === 200) assert.equal(JSON.parse(body).data.length, 1)
      else assert.match(body, /query: it has more than 65536 characters/)
    }
  },
}

const encodings: ContractCase[] = [
  'gzip, chunked',
  'identity, chunked',
  ', chunked',
  'gzip',
  'identity',
  'chunked, gzip',
  'chunked, chunked',
  'chunked;a=b',
].map((encoding) => ({
  name: `Transfer-Encoding: ${encoding} is 501, and the connection ends`,
  run: async (api) => {
    const { rows } = await api.createTable()
    const connection = new RawConnection(api)
    const headers = ['Content-Type: application/json', `Transfer-Encoding: ${encoding}`]
    const lines = head(api, `POST ${basePath(api)}${rows}`, ...headers)
    connection.write(`${lines.join('\r\n')}\r\n\r\n2\r\n[]\r\n0\r\n\r\n`)
    const reply = await connection.reply()
    announce(api, lines, reply)
    const { status, body } = reply
    expectRefusal({ status, text: body }, { status: 501, type: 'not_implemented' })
    await connection.ended()
  },
}))

const duplicates: ContractCase[] = [
  {
    name: 'two Authorization headers: the same 404 request_error, also when the first is right',
    run: async (api) => {
      const lines = head(
        api,
        `GET ${basePath(api)}/tables`,
        `Authorization: Bearer ${api.server.key}`,
      )
      const { status, body } = await sendRaw(api, lines)
      const problem = 'the request has more than one Authorization header'
      const message = `API key not found, or duplicate ****: ${problem}; send Authorization: Bearer KEY`
      expectRefusal({ status, text: body }, { ...REQUEST_ERROR, message })
    },
  },
  {
    name: 'two If-Match headers: 400, also when they are equal',
    run: async (api) => {
      const { path } = await api.createTable()
      const line = `PUT ${basePath(api)}${path}`
      const headers = [
        'If-Match: "99"',
        'If-Match: "99"',
        'Content-Type: application/json',
        'Content-Length: 2',
      ]
      const { status, body } = await sendRaw(api, head(api, line, ...headers), '[]')
      expectRefusal({ status, text: body }, VALIDATION)
    },
  },
  {
    name: 'two Content-Type headers: 415',
    run: async (api) => {
      const { rows } = await api.createTable()
      const headers = [
        'Content-Type: text/csv',
        'Content-Type: application/json',
        'Content-Length: 2',
      ]
      const { status } = await sendRaw(
        api,
        head(api, `POST ${basePath(api)}${rows}`, ...headers),
        '[]',
      )
      assert.equal(status, 415)
    },
  },
  {
    name: 'two x-glide-asynchronous or Idempotency-Key headers: 400',
    run: async (api) => {
      for (const name of ['x-glide-asynchronous', 'Idempotency-Key']) {
        const headers = [
          `${name}: true`,
          `${name}: true`,
          'Content-Type: application/json',
          'Content-Length: 2',
        ]
        const line = `POST ${basePath(api)}/tables?name=x`
        const { status, body } = await sendRaw(api, head(api, line, ...headers), '[]')
        expectRefusal({ status, text: body }, VALIDATION)
      }
    },
  },
]

/** Operations that take a body, as request lines. */
async function bodyTargets(api: Api): Promise<readonly (readonly [what: string, line: string])[]> {
  const table = await api.createTyped({ a: 'string' }, [{ a: 'x' }])
  const base = basePath(api)
  return [
    ['create', `POST ${base}/tables?name=x`],
    ['overwrite', `PUT ${base}${table.path}`],
    ['add', `POST ${base}${table.rows}`],
    ['merge', `POST ${base}${table.path}/merge?key=a`],
    ['update', `PATCH ${base}${table.rows}/${table.rowIds[0]}`],
    ['stash', `PUT ${base}/stashes/${uniqueName('s')}/0`],
  ]
}

const tooLarge: ContractCase[] = [
  {
    name: '413 request_too_large by Content-Length at once, before the body is sent',
    run: async (api) => {
      for (const [what, line] of await bodyTargets(api)) {
        const headers = ['Content-Type: application/json', `Content-Length: ${16 * MIB + 1}`]
        const { status, body } = await sendRaw(api, head(api, line, ...headers))
        assert.equal(status, 413, what)
        expectRefusal({ status, text: body }, TOO_LARGE)
      }
    },
  },
  {
    name: '413 must be deliverable: a client that writes on receives it (Content-Length)',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string' })
      for (let round = 0; round < 3; round++) {
        const body = `[${' '.repeat(20 * MIB)}]`
        await api.refused('POST', table.rows, { body }, TOO_LARGE)
      }
    },
  },
  {
    name: '413 must be deliverable: a client that writes on receives it (chunked)',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string' })
      const connection = new RawConnection(api)
      const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
      connection.write(
        `${head(api, `POST ${basePath(api)}${table.rows}`, ...headers).join('\r\n')}\r\n\r\n`,
      )
      const piece = `${MIB.toString(16)}\r\n${' '.repeat(MIB)}\r\n`
      for (let sent = 0; sent < 24; sent++) {
        if (!connection.write(piece)) {
          await new Promise<void>((resolve) => connection.socket.once('drain', resolve))
        }
      }
      connection.write('0\r\n\r\n')
      const { status, body, headers: replied } = await connection.reply()
      expectRefusal({ status, text: body }, TOO_LARGE)
      assert.equal(replied.get('connection'), 'close')
      await connection.ended()
    },
  },
  {
    name: 'a body of exactly 16 MiB is read, a byte more is 413',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string' })
      const frame = '[]'
      const fits = `[${' '.repeat(16 * MIB - frame.length)}]`
      await api.ok('POST', table.rows, { body: fits })
      await api.refused('POST', table.rows, { body: `${fits} ` }, TOO_LARGE)
    },
  },
  {
    name: 'after a 413 the importer sends halves, and they go in',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string' })
      const rows = Array.from({ length: 18 }, (_, at) => ({ a: `${at}${'x'.repeat(MIB)}` }))
      await api.refused('POST', table.rows, { body: rows }, TOO_LARGE)
      await api.ok('POST', table.rows, { body: rows.slice(0, 9) })
      await api.ok('POST', table.rows, { body: rows.slice(9) })
      assert.equal((await api.rowsOf(table)).length, 18)
    },
  },
  {
    name: 'an error before a large body was read is delivered too',
    run: async (api) => {
      const body = 'x'.repeat(12 * MIB)
      for (let round = 0; round < 3; round++) {
        await api.refused('PUT', '/stashes/_x/0', { body }, VALIDATION)
        await api.refused('POST', '/tables', { body, key: 'nobody-has-this' }, REQUEST_ERROR)
        await api.refused(
          'POST',
          '/tables',
          { body, type: 'text/plain' },
          { status: 415, type: 'unsupported_media_type' },
        )
      }
    },
  },
]

const bodies: ContractCase[] = [
  {
    name: 'a chunked body is taken, whatever its pieces',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string' })
      const connection = new RawConnection(api)
      const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
      connection.write(
        `${head(api, `POST ${basePath(api)}${table.rows}`, ...headers).join('\r\n')}\r\n\r\n`,
      )
      for (const byte of Buffer.from('[{"a":"ü😀"}]')) {
        connection.write(
          Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]),
        )
      }
      connection.write('0\r\n\r\n')
      assert.equal((await connection.reply()).status, 201)
      connection.close()
      assert.deepEqual(await api.cellsOf(table), [{ a: 'ü😀' }])
    },
  },
  {
    name: 'Expect: 100-continue is answered, then the body is taken',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string' })
      const connection = new RawConnection(api)
      const headers = [
        'Content-Type: application/json',
        'Content-Length: 2',
        'Expect: 100-continue',
      ]
      connection.write(
        `${head(api, `POST ${basePath(api)}${table.rows}`, ...headers).join('\r\n')}\r\n\r\n`,
      )
      assert.equal((await connection.reply()).status, 100)
      connection.write('[]')
      assert.equal((await connection.reply()).status, 201)
      connection.close()
    },
  },
  {
    name: 'another Expect is ignored',
    run: async (api) => {
      const lines = head(api, `GET ${basePath(api)}/tables`, 'Expect: the-best')
      assert.equal((await sendRaw(api, lines)).status, 200)
    },
  },
  {
    name: 'Expect: 100-continue: no body is asked for that its headers make wrong',
    run: async (api) => {
      const { rows } = await api.createTable()
      const path = `${basePath(api)}${rows}`
      const json = 'Content-Type: application/json'
      const refused: readonly (readonly [status: number, lines: readonly string[]])[] = [
        [404, head(api, `POST ${path}`, json).map((line) => line.replace(/Bearer .*/, 'Bearer x'))],
        [404, head(api, `POST ${basePath(api)}/nowhere`, json)],
        [404, head(api, `POST ${basePath(api)}/tables/x/rows`, json)],
        [415, head(api, `POST ${path}`, 'Content-Type: text/plain')],
        [415, head(api, `POST ${path}`)],
        [413, head(api, `POST ${path}`, json)],
      ]
      for (const [status, lines] of refused) {
        const length = status === 413 ? 16 * MIB + 1 : 12 * MIB
        const more = [`Content-Length: ${length}`, 'Expect: 100-continue']
        const reply = await sendRaw(api, [...lines, ...more])
        assert.equal(reply.status, status)
        assert.equal(reply.headers.get('connection'), 'close')
      }
    },
  },
  {
    name: 'large bodies that are announced and not sent keep nobody waiting',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string' })
      const headers = ['Content-Type: application/json', `Content-Length: ${16 * MIB}`]
      const lines = head(api, `POST ${basePath(api)}${table.rows}`, ...headers)
      const stalled = Array.from({ length: 12 }, () => new RawConnection(api))
      for (const connection of stalled) connection.write(`${lines.join('\r\n')}\r\n\r\n[`)
      await new Promise((resolve) => setTimeout(resolve, 50))
      const adding = api.ok('POST', table.rows, { body: [{ a: 'x' }] })
      const gaveUp = new Promise((_, fail) => {
        setTimeout(() => fail(new Error('It waits for those who send nothing')), 60_000).unref()
      })
      try {
        await Promise.race([adding, gaveUp])
      } finally {
        for (const connection of stalled) connection.close()
      }
      assert.deepEqual(await api.cellsOf(table), [{ a: 'x' }])
    },
  },
  {
    name: 'a client that goes away within a body changes nothing',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string' }, [{ a: 'x' }])
      for (const line of [
        `POST ${basePath(api)}${table.rows}`,
        `PUT ${basePath(api)}${table.path}`,
      ]) {
        const connection = new RawConnection(api)
        const headers = ['Content-Type: application/json', 'Content-Length: 100']
        connection.write(`${head(api, line, ...headers).join('\r\n')}\r\n\r\n[{"a":"y"}]`)
        await new Promise((resolve) => setTimeout(resolve, 50))
        connection.close()
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
      assert.deepEqual(await api.cellsOf(table), [{ a: 'x' }])
    },
  },
  {
    name: 'a client that goes away before it read its answer does no harm',
    run: async (api) => {
      const table = await api.createTable({
        rows: Array.from({ length: 10_000 }, (_, n) => ({ n })),
      })
      for (let round = 0; round < 5; round++) {
        const connection = new RawConnection(api)
        connection.write(`${head(api, `GET ${basePath(api)}${table.rows}`).join('\r\n')}\r\n\r\n`)
        await new Promise((resolve) => setTimeout(resolve, 5))
        connection.close()
      }
      assert.equal((await api.rowsOf(table)).length, 10_000)
    },
  },
  {
    name: 'requests that come in together are answered in order',
    run: async (api) => {
      const table = await api.createTyped({ a: 'string' })
      const connection = new RawConnection(api)
      const base = basePath(api)
      const add = head(
        api,
        `POST ${base}${table.rows}`,
        'Content-Type: application/json',
        'Content-Length: 11',
      )
      const list = head(api, `GET ${base}${table.rows}`)
      const lost = head(api, `GET ${base}/nowhere`)
      connection.write(
        `${add.join('\r\n')}\r\n\r\n[{"a":"x"}]${lost.join('\r\n')}\r\n\r\n${list.join('\r\n')}\r\n\r\n`,
      )
      assert.equal((await connection.reply()).status, 201)
      assert.equal((await connection.reply()).status, 404)
      const { status, body } = await connection.reply()
      assert.deepEqual([status, body.includes('"a":"x"')], [200, true])
      connection.close()
    },
  },
  {
    name: 'a connection stays open after a small body was refused unread',
    run: async (api) => {
      const connection = new RawConnection(api)
      const base = basePath(api)
      const wrong = head(
        api,
        `POST ${base}/nowhere`,
        'Content-Type: application/json',
        'Content-Length: 2',
      )
      const right = head(api, `GET ${base}/tables`)
      connection.write(`${wrong.join('\r\n')}\r\n\r\n[]`)
      const refused = await connection.reply()
      assert.deepEqual([refused.status, refused.headers.get('connection')], [404, 'keep-alive'])
      connection.write(`${right.join('\r\n')}\r\n\r\n`)
      assert.equal((await connection.reply()).status, 200)
      connection.close()
    },
  },
]

export const httpCases: readonly ContractCase[] = [
  ...paths,
  ...heads,
  ...targets,
  ...encodings,
  emptyEncoding,
  longHeaders,
  longQuery,
  ...duplicates,
  ...tooLarge,
  ...bodies,
]
