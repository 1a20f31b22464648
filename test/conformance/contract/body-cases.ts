// CONTRACT.md, section 4, and the body rows of section 2: types, encodings, CSV and TSV.
import assert from 'node:assert/strict'
import {
  type Api,
  type ContractCase,
  CSV,
  invalidValue,
  type Reply,
  type TableAt,
  TSV,
  tableAt,
  UNSUPPORTED,
  uniqueName,
  VALIDATION,
} from './api.js'

const JSON_TYPE = 'application/json'

type Operation = 'create' | 'overwrite' | 'add' | 'stash'

const OPERATIONS: readonly Operation[] = ['create', 'overwrite', 'add', 'stash']

/** A body sent to an operation; `rows` reads what it stored. */
type Sent = Readonly<{ reply: Reply; rows: () => Promise<readonly unknown[]> }>

type Body = Readonly<{ body?: unknown; type?: string | null; headers?: Record<string, string> }>

/** Sends a body of rows to an operation. Its table has the number column `a`. */
async function sendTo(api: Api, operation: Operation, body: Body): Promise<Sent> {
  if (operation === 'create') {
    const reply = await api.send('POST', `/tables?name=${uniqueName('t')}`, body)
    const { data } = reply.json as { data?: { tableID: string } }
    return { reply, rows: () => api.cellsOf(tableAt(data?.tableID ?? '')) }
  }
  if (operation === 'stash') {
    const stashId = uniqueName('s')
    const reply = await api.send('PUT', `/stashes/${stashId}/0`, body)
    const rows = async () => api.cellsOf(await api.createTable({ rows: { $stashID: stashId } }))
    return { reply, rows }
  }
  const table: TableAt = await api.createTyped({ a: 'number' })
  const [method, path] = operation === 'add' ? ['POST', table.rows] : ['PUT', table.path]
  const reply = await api.send(method ?? '', path ?? '', body)
  return { reply, rows: () => api.cellsOf(table) }
}

const TEXT_OF_TYPE: Readonly<Record<string, string>> = {
  [JSON_TYPE]: '[{"a":1},{"a":2}]',
  [CSV]: 'a\n1\n2',
  [TSV]: 'a\n1\n2\n',
  'application/csv': 'a\n1\n2',
  'text/tsv': 'a\n1\n2\n',
}

const CHARSETS = [
  '',
  '; charset=utf-8',
  ';charset=UTF-8',
  '; charset="utf-8"',
  '; charset=us-ascii',
  '; header=present; charset=utf-8',
  '\t;\tcharset=utf-8',
  ' ; charset = utf-8',
  '; charset\t=\t"UTF-8" ;',
  ';; charset=utf-8;',
  '; charset=utf-8; charset="UTF-8"',
  '; header=present; header=present',
]

const taken: ContractCase[] = OPERATIONS.flatMap((operation) =>
  Object.entries(TEXT_OF_TYPE).flatMap(([type, body]) =>
    CHARSETS.map((charset) => ({
      name: `${operation} takes ${JSON.stringify(type + charset)}`,
      run: async (api: Api) => {
        const { reply, rows } = await sendTo(api, operation, { body, type: type + charset })
        assert.ok(reply.status < 300, reply.text)
        assert.deepEqual(await rows(), [{ a: 1 }, { a: 2 }])
      },
    })),
  ),
)

const marked: ContractCase[] = [
  ...OPERATIONS.flatMap((operation) =>
    ['[{"a":1},{"a":2}]', ' [{"a":1},{"a":2}]'].map((rows) => ({
      name: `${operation} takes JSON that begins with a byte order mark: ${rows}`,
      run: async (api: Api) => {
        const { reply, rows: read } = await sendTo(api, operation, { body: `\ufeff${rows}` })
        assert.ok(reply.status < 300, reply.text)
        assert.deepEqual(await read(), [{ a: 1 }, { a: 2 }])
      },
    })),
  ),
  {
    name: 'objects may begin with a byte order mark: a create, a stash reference, the cells of a row',
    run: async (api) => {
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ a: 2 }])
      const send = (body: object) => ({ body: `\ufeff${JSON.stringify(body)}`, type: JSON_TYPE })
      const create = send({ name: uniqueName('t'), rows: [{ a: 1 }] })
      const { json } = await api.ok('POST', '/tables', create)
      const { tableID, rowIDs } = (json as { data: { tableID: string; rowIDs: string[] } }).data
      const table = tableAt(tableID)
      await api.ok('POST', table.rows, send({ $stashID: stashId }))
      await api.ok('PATCH', `${table.rows}/${rowIDs[0]}`, send({ a: 3 }))
      assert.deepEqual(await api.cellsOf(table), [{ a: 3 }, { a: 2 }])
    },
  },
  {
    name: 'a byte order mark within JSON, and a second one, are 400',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number' })
      for (const body of ['\ufeff\ufeff[]', ' \ufeff[]', '[\ufeff]', '[]\ufeff', '\ufeff']) {
        await api.refused('POST', table.rows, { body }, VALIDATION)
      }
    },
  },
]

/** The phrases that a message must contain for authors of clients. */
type Refused = readonly [what: string, method: string, sent: Body, wanted: object]

const MESSAGES: readonly Refused[] = [
  [
    'a type that is not taken: all that are',
    'POST',
    { type: 'text/plain', body: 'x' },
    {
      ...UNSUPPORTED,
      message: /: send application\/json, text\/csv or text\/tab-separated-values$/,
    },
  ],
  [
    'a type that an update does not take: the one that it takes',
    'PATCH',
    { type: CSV, body: 'a\n1' },
    { ...UNSUPPORTED, message: /^(?=.*application\/json)(?!.*tab-separated)/ },
  ],
  [
    'a charset that is not taken: UTF-8',
    'POST',
    { type: 'text/csv; charset=latin1', body: 'a\n1' },
    { ...UNSUPPORTED, message: /UTF-8/ },
  ],
  [
    'rows in an object: send an array',
    'POST',
    { body: { rows: [{ a: 1 }] } },
    { ...VALIDATION, message: /^Invalid request body: .*'rows'.*send an array/ },
  ],
  [
    'a row by itself: send an array',
    'POST',
    { body: { a: 1 } },
    { ...VALIDATION, message: /^Invalid request body: .*'a'.*send an array/ },
  ],
  [
    'an empty object: send an array',
    'POST',
    { body: {} },
    { ...VALIDATION, message: /^Invalid request body: .*send an array/ },
  ],
  ...['"rows"', '5', 'null'].map((body) => {
    const wanted = {
      ...VALIDATION,
      message: /neither an array nor an object; send an array of rows/,
    }
    return [`${body}: send an array`, 'POST', { body, type: JSON_TYPE }, wanted] as const
  }),
  [
    'a byte order mark alone: it is empty',
    'POST',
    { body: '\ufeff', type: JSON_TYPE },
    { ...VALIDATION, message: /^Invalid request body: it is empty; send an array of rows/ },
  ],
  [
    'an array as an update: send an object',
    'PATCH',
    { body: [{ a: 1 }] },
    {
      ...VALIDATION,
      message: /^Invalid request body: it is not an object; send an object of cells/,
    },
  ],
]

const messages: ContractCase[] = [
  ...MESSAGES.map(([what, method, sent, wanted]) => ({
    name: `the message says what to do: ${what}`,
    run: async (api: Api) => {
      const table = await api.createTyped({ a: 'number' }, [{ a: 1 }])
      const path = method === 'PATCH' ? `${table.rows}/${table.rowIds[0]}` : table.rows
      await api.refused(method, path, sent, wanted as typeof VALIDATION)
    },
  })),
  {
    name: 'the message says what to do: an object for a chunk: send an array',
    run: async (api) => {
      const message = /^Invalid request body: .*send an array/
      const path = `/stashes/${uniqueName('s')}/0`
      await api.refused('PUT', path, { body: { rows: [] } }, { ...VALIDATION, message })
    },
  },
  {
    name: 'the message says what to do: an overwrite without rows',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number' }, [{ a: 1 }])
      const message = /^Invalid request body: .*'rows' is missing; send .*"\$stashID"/
      const body = { schema: { columns: [] } }
      for (const path of [table.path, `${table.path}?stashID=s`]) {
        await api.refused('PUT', path, { body }, { ...VALIDATION, message })
      }
      assert.deepEqual(await api.cellsOf(table), [{ a: 1 }])
    },
  },
  {
    name: 'broken JSON is named by its character, counted from the beginning of the body',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number' })
      const refusedAt = async (method: string, path: string, body: string, at: number) => {
        const message = new RegExp(`^Invalid request body: .* character ${at} of the input\\b`)
        await api.refused(method, path, { body, type: JSON_TYPE }, { ...VALIDATION, message })
      }
      for (const rows of ['[{"a":1},{"a":!}]', '[{"a":1},{"a":1}!]', '[{"a":"é😀"} !]']) {
        const at = rows.indexOf('!')
        const create = `{ "name": "x", "rows": ${rows} }`
        const overwrite = `{"schema":{"columns":[]} ,"rows":${rows}}`
        await refusedAt('POST', table.rows, rows, at)
        await refusedAt('POST', '/tables', create, at + create.indexOf(rows))
        await refusedAt('PUT', table.path, overwrite, at + overwrite.indexOf(rows))
      }
      for (const column of ['!', '{"id":"a","type":!}', '{"id":"a","type":{"kind":"number"!}}']) {
        const body = `{"rows":[],"schema":{"columns":[{"id":"b","type":"date"}, ${column}]}}`
        await refusedAt('PUT', table.path, body, body.indexOf('!'))
      }
      const stash = '{"$stashID":"s",!}'
      const nested = `{"name":"x","rows":${stash}}`
      await refusedAt('POST', '/tables', nested, nested.indexOf('!'))
    },
  },
]

const REFUSED_TYPES: readonly [what: string, body: Body][] = [
  ['text/plain', { type: 'text/plain' }],
  ['application/xml', { type: 'application/xml' }],
  ['a form', { type: 'application/x-www-form-urlencoded' }],
  ['multipart', { type: 'multipart/form-data; boundary=x' }],
  ['application/json-seq', { type: 'application/json-seq' }],
  ['no media type', { type: 'json' }],
  ['no Content-Type', { type: null }],
  ['charset latin1', { type: 'application/json; charset=iso-8859-1' }],
  ['charset utf-16', { type: 'text/csv; charset=utf-16' }],
  ['two charsets', { type: 'application/json; charset=utf-8; charset=us-ascii' }],
  ['a parameter with two values', { type: 'application/json; header=a; header=b' }],
  ['a parameter without a value', { type: 'application/json; charset' }],
  ['text behind a value', { type: 'application/json; charset="utf-8"x' }],
  ['Content-Encoding gzip', { type: JSON_TYPE, headers: { 'content-encoding': 'gzip' } }],
  ['Content-Encoding br', { type: JSON_TYPE, headers: { 'content-encoding': 'br' } }],
  [
    'Content-Encoding identity and gzip',
    { type: JSON_TYPE, headers: { 'content-encoding': 'identity, gzip' } },
  ],
]

const refusedTypes: ContractCase[] = OPERATIONS.flatMap((operation) =>
  REFUSED_TYPES.map(([what, options]) => ({
    name: `415 unsupported_media_type: ${operation} with ${what}`,
    run: async (api: Api) => {
      const body = new TextEncoder().encode('[{"a":1}]')
      const { reply } = await sendTo(api, operation, { ...options, body })
      assert.deepEqual([reply.status, typeOf(reply)], [UNSUPPORTED.status, UNSUPPORTED.type])
    },
  })),
)

const patchTypes: ContractCase[] = [
  ...[CSV, TSV, 'text/plain', 'application/merge-patch+json'].map((type) => ({
    name: `415 unsupported_media_type: update row with ${type}`,
    run: async (api: Api) => {
      const table = await api.createTyped({ a: 'number' }, [{ a: 1 }])
      const row = `${table.rows}/${table.rowIds[0]}`
      await api.refused('PATCH', row, { body: 'a\n2', type }, UNSUPPORTED)
      assert.deepEqual(await api.cellsOf(table), [{ a: 1 }])
    },
  })),
  {
    name: 'Content-Encoding identity is taken',
    run: async (api) => {
      const headers = { 'content-encoding': 'identity' }
      const { reply } = await sendTo(api, 'add', { body: '[]', type: JSON_TYPE, headers })
      assert.equal(reply.status, 201)
    },
  },
]

function typeOf(reply: Reply): string | undefined {
  return (reply.json as { error?: { type: string } }).error?.type
}

const BROKEN: readonly [what: string, type: string, body: string | Uint8Array][] = [
  ['invalid UTF-8 in JSON', JSON_TYPE, bytesOf('[{"a":"', 0xff, '"}]')],
  ['invalid UTF-8 in CSV', CSV, bytesOf('a\n', 0xff, '')],
  ['invalid UTF-8 in TSV', TSV, bytesOf('a\n', 0xc3, '')],
  ['an empty JSON body', JSON_TYPE, ''],
  ['an empty CSV body', CSV, ''],
  ['an empty TSV body', TSV, ''],
  ['white space for JSON', JSON_TYPE, ' \n\t'],
  ['a JSON string', JSON_TYPE, '"rows"'],
  ['a JSON number', JSON_TYPE, '5'],
  ['JSON null', JSON_TYPE, 'null'],
  ['a broken array', JSON_TYPE, '[{"a":1},'],
  ['a trailing comma', JSON_TYPE, '[{"a":1},]'],
  ['a row that is no object', JSON_TYPE, '[1]'],
  ['a row that is null', JSON_TYPE, '[null]'],
  ['a row that is an array', JSON_TYPE, '[["a"]]'],
  ['single quotes', JSON_TYPE, "[{'a':1}]"],
  ['a comment', JSON_TYPE, '[{"a":1}/**/]'],
  ['NaN', JSON_TYPE, '[{"a":NaN}]'],
  ['a number with a leading zero', JSON_TYPE, '[{"a":01}]'],
  ['a control character in a string', JSON_TYPE, '[{"a":"\u0001"}]'],
  ['arrays nested a million deep', JSON_TYPE, '['.repeat(1_000_000)],
  ['a cell nested too deeply', JSON_TYPE, `[{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}]`],
  ['a CSV record longer than its header', CSV, 'a\n1\n1,2'],
  ['a TSV record longer than its header', TSV, 'a\n1\t2'],
  ['an unclosed quote in CSV', CSV, 'a\n1\n"x'],
  ['an unclosed quote in TSV', TSV, 'a\n"x'],
]

function bytesOf(head: string, byte: number, tail: string): Uint8Array {
  return Buffer.concat([Buffer.from(head), Buffer.from([byte]), Buffer.from(tail)])
}

const broken: ContractCase[] = OPERATIONS.flatMap((operation) =>
  BROKEN.map(([what, type, body]) => ({
    name: `400 request_validation_error: ${operation} with ${what}`,
    run: async (api: Api) => {
      const { reply } = await sendTo(api, operation, { body, type })
      assert.deepEqual(
        [reply.status, typeOf(reply)],
        [VALIDATION.status, VALIDATION.type],
        reply.text,
      )
    },
  })),
)

const brokenPatch: ContractCase[] = [
  '',
  ' ',
  '[]',
  '5',
  'null',
  '"x"',
  '{"a":1',
  '{"a":1}}',
  '{"a"}',
  '{a:1}',
].map((body) => ({
  name: `400 request_validation_error: update row with the body '${body}'`,
  run: async (api) => {
    const table = await api.createTyped({ a: 'number' }, [{ a: 1 }])
    const row = `${table.rows}/${table.rowIds[0]}`
    await api.refused('PATCH', row, { body, type: JSON_TYPE }, VALIDATION)
    assert.deepEqual(await api.cellsOf(table), [{ a: 1 }])
  },
}))

type Tabular = readonly [rule: string, type: string, body: string, rows: readonly object[]]

const TABULAR: readonly Tabular[] = [
  [
    'CRLF',
    CSV,
    'a,b\r\n1,x\r\n2,y\r\n',
    [
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
    ],
  ],
  [
    'LF',
    CSV,
    'a,b\n1,x\n2,y\n',
    [
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
    ],
  ],
  ['no line break at the end', CSV, 'a,b\n1,x', [{ a: 1, b: 'x' }]],
  ['a blank last line is ignored', CSV, 'a,b\n1,x\n\n', [{ a: 1, b: 'x' }]],
  ['quotes', CSV, '"a","b"\n"1","x"', [{ a: 1, b: 'x' }]],
  ['doubled quotes', CSV, 'b\n"say ""hi"""', [{ b: 'say "hi"' }]],
  ['commas in quotes', CSV, 'b\n"x,y"', [{ b: 'x,y' }]],
  ['line breaks in quotes', CSV, 'b\n"x\ny"\n"x\r\ny"', [{ b: 'x\ny' }, { b: 'x\r\ny' }]],
  ['the BOM is dropped', CSV, '\ufeffa,b\n1,x', [{ a: 1, b: 'x' }]],
  ['a BOM before a quoted header is dropped', CSV, '\ufeff"a","b"\n1,x', [{ a: 1, b: 'x' }]],
  ['missing cells of a shorter record are empty', CSV, 'a,b\n1\n2,y', [{ a: 1 }, { a: 2, b: 'y' }]],
  ['empty fields are empty cells', CSV, 'a,b\n,x\n1,', [{ b: 'x' }, { a: 1 }]],
  ['a header only: zero rows', CSV, 'a,b\n', []],
  ['a header only without a line break: zero rows', CSV, 'a,b', []],
  ['tabs are text', CSV, 'b\nx\ty', [{ b: 'x\ty' }]],
  ['spaces around text are kept', CSV, 'b\n x ', [{ b: ' x ' }]],
  ['$rowID as a header is accepted, and never a column', CSV, '$rowID,a\nx,1', [{ a: 1 }]],
  ['TSV: tab-separated', TSV, 'a\tb\n1\tx\n', [{ a: 1, b: 'x' }]],
  ['TSV: CRLF', TSV, 'a\tb\r\n1\tx\r\n', [{ a: 1, b: 'x' }]],
  [
    'TSV: the same quoting',
    TSV,
    'b\n"x\ty"\n"say ""hi"""\n"x\ny"',
    [{ b: 'x\ty' }, { b: 'say "hi"' }, { b: 'x\ny' }],
  ],
  ['TSV: commas are text', TSV, 'b\nx,y', [{ b: 'x,y' }]],
  ['TSV: the BOM is dropped', TSV, '\ufeffa\n1', [{ a: 1 }]],
  ['TSV: a header only: zero rows', TSV, 'a\tb\n', []],
  ['TSV: $rowID as a header is accepted, and never a column', TSV, '$rowID\ta\nx\t1', [{ a: 1 }]],
]

const tabular: ContractCase[] = TABULAR.map(([rule, type, body, rows]) => ({
  name: `${type === CSV ? 'CSV: ' : ''}${rule}`,
  run: async (api) => {
    const table = await api.createTyped({ a: 'number', b: 'string' })
    await api.ok('POST', table.rows, { body, type })
    assert.deepEqual(await api.cellsOf(table), rows)
    const chunk = uniqueName('s')
    await api.ok('PUT', `/stashes/${chunk}/0`, { body, type })
    await api.ok('PUT', table.path, { body: { $stashID: chunk } })
    assert.deepEqual(await api.cellsOf(table), rows)
  },
}))

const others: ContractCase[] = [
  ...(
    [
      ['a record longer than the header', 'a\n1\n2\n3,4\n', 4],
      ['an unclosed quote', 'a\n1\n"2\n3', 3],
    ] as const
  ).map(([what, body, line]) => ({
    name: `${what}: 400 naming the line`,
    run: async (api: Api) => {
      const table = await api.createTyped({ a: 'number' })
      const wanted = { ...VALIDATION, message: new RegExp(`\\bline ${line}\\b`) }
      await api.refused('POST', table.rows, { body, type: CSV }, wanted)
    },
  })),
  {
    name: '$rowID as a key of a JSON row is accepted, and never a column',
    run: async (api) => {
      const table = await api.createTable({
        rows: [
          { $rowID: 'x', a: 1 },
          { $rowID: 5, a: 2 },
        ],
      })
      assert.deepEqual(await api.cellsOf(table), [{ a: 1 }, { a: 2 }])
    },
  },
  {
    name: 'white space between JSON tokens is taken and not stored',
    run: async (api) => {
      const table = await api.createTyped({ c: { kind: 'array', items: { kind: 'number' } } })
      await api.ok('POST', table.rows, { body: ' [ { "c" : [ 1 ,\n2 ] } , {} ] \r\n' })
      assert.match(await api.textOf(table), /"c":\[1,2\]\}/)
      assert.equal((await api.rowsOf(table)).length, 2)
    },
  },
  {
    name: 'a CSV body of many records is read to its end, in order',
    run: async (api) => {
      const count = 5_000
      const body = `a,b\n${Array.from({ length: count }, (_, at) => `${at},"x ${at}"`).join('\n')}`
      const table = await api.createTyped({ a: 'number', b: 'string' })
      await api.ok('POST', table.rows, { body, type: CSV })
      const cells = await api.cellsOf(table)
      assert.equal(cells.length, count)
      assert.deepEqual(cells.at(-1), { a: count - 1, b: `x ${count - 1}` })
      assert.ok(cells.every(({ a }, at) => a === at))
    },
  },
  {
    name: 'a misfit late in a large body still leaves nothing behind',
    run: async (api) => {
      const table = await api.createTyped({ a: 'number' }, [{ a: 0 }])
      const rows = Array.from({ length: 3_000 }, (_, a) => ({ a }))
      await api.refused('POST', table.rows, { body: [...rows, { a: 'x' }] }, invalidValue('a'))
      assert.deepEqual(await api.cellsOf(table), [{ a: 0 }])
    },
  },
]

export const bodyCases: readonly ContractCase[] = [
  ...taken,
  ...marked,
  ...messages,
  ...refusedTypes,
  ...patchTypes,
  ...broken,
  ...brokenPatch,
  ...tabular,
  ...others,
]
