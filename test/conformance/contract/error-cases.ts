// CONTRACT.md, section 2: every row of the table of errors that HTTP can cause, with its message.
import assert from 'node:assert/strict'
import {
  type Api,
  CONTINUATION,
  type ContractCase,
  invalidValue,
  METHOD,
  PRECONDITION,
  REQUEST_ERROR,
  ROW_NOT_FOUND,
  STASH_NOT_FOUND,
  TABLE_NOT_FOUND,
  uniqueName,
  VALIDATION,
} from './api.js'

const NO_ID = '00000000-0000-4000-8000-000000000000'
const NO_ROW = 'AAAAAAAAAAAAAAAAAAAAAA'

const unknownPaths: ContractCase[] = [
  '/nowhere',
  '/tables/x/columns',
  '/tables/x/rows/y/z',
  '/stashes/a/0/0',
  '/Tables',
  '/TABLES/x/rows',
  '/%74ables',
  '/jobs/x/y',
].map((path) => ({
  name: `404 request_error: an unknown path ${path}`,
  run: async (api) => void (await api.refused('GET', path, {}, REQUEST_ERROR)),
}))

const NAMED_PARTS: readonly [part: string, run: (api: Api) => Promise<unknown>][] = [
  [
    'params',
    (api) =>
      api.refused(
        'DELETE',
        '/stashes/_x',
        {},
        { ...VALIDATION, message: /^Invalid request params: / },
      ),
  ],
  [
    'body',
    (api) =>
      api.refused(
        'POST',
        '/tables',
        { body: '{' },
        { ...VALIDATION, message: /^Invalid request body: / },
      ),
  ],
  [
    'query',
    (api) =>
      api.refused(
        'GET',
        `/tables/${NO_ID}/rows?limit=x`,
        {},
        { ...VALIDATION, message: /^Invalid request query: / },
      ),
  ],
  [
    'headers',
    (api) =>
      api.refused(
        'PUT',
        `/tables/${NO_ID}`,
        { body: [], headers: { 'if-match': '*' } },
        { ...VALIDATION, message: /^Invalid request headers: / },
      ),
  ],
]

const parts: ContractCase[] = NAMED_PARTS.map(([part, run]) => ({
  name: `400 request_validation_error names the part: Invalid request ${part}: …`,
  run: async (api) => void (await run(api)),
}))

const NAME_RULE =
  'must be 256 characters max, alphanumeric with dashes and underscores, no leading dash or underscore'

const STASH_NAMES = [
  '-a',
  '_a',
  'a.b',
  'a%20b',
  'a%2Fb',
  'ä',
  '%C3%A4',
  `a${'x'.repeat(256)}`,
  'a%00',
  'a%0A',
  '%F0%9F%98%80',
  'a:b',
]

const stashNames: ContractCase[] = STASH_NAMES.flatMap((name) => {
  const shown = name.length > 20 ? 'of 257 characters' : name
  return [
    {
      name: `the stash ID ${shown} is refused with the message of the contract`,
      run: async (api: Api) => {
        const message = `Invalid request params: Stash ID ${NAME_RULE}`
        await api.refused('PUT', `/stashes/${name}/0`, { body: [] }, { ...VALIDATION, message })
        for (const method of ['GET', 'DELETE']) {
          await api.refused(method, `/stashes/${name}`, {}, { ...VALIDATION, message })
        }
      },
    },
    {
      name: `the serial ${shown} is refused with the message of the contract`,
      run: async (api: Api) => {
        const message = `Invalid request params: Serial ${NAME_RULE}`
        await api.refused('PUT', `/stashes/a/${name}`, { body: [] }, { ...VALIDATION, message })
      },
    },
  ]
})

const NOT_FOUND: readonly (readonly [method: string, rest: string, body?: unknown])[] = [
  ['PUT', '', []],
  ['GET', '/rows'],
  ['POST', '/rows', []],
  ['GET', `/rows/${NO_ROW}`],
  ['PATCH', `/rows/${NO_ROW}`, {}],
  ['DELETE', `/rows/${NO_ROW}`],
]

const tableNotFound: ContractCase[] = NOT_FOUND.map(([method, rest, body]) => ({
  name: `404 table_not_found with its exact message: ${method} /tables/{tableID}${rest}`,
  run: async (api) => {
    for (const id of [NO_ID, 'x', 'import', '__proto__']) {
      const message = `Table with ID '${id}' not found`
      await api.refused(method, `/tables/${id}${rest}`, { body }, { ...TABLE_NOT_FOUND, message })
    }
  },
}))

/** IDs without a row: unknown, not canonical base64url, too short, too long, odd. */
const UNKNOWN_ROWS = [
  NO_ROW,
  'AAAAAAAAAAAAAAAAAAAAAB',
  'x',
  'A'.repeat(23),
  '__proto__',
  'a%2Fb',
  '%20',
]

const rowNotFound: ContractCase[] = [
  {
    name: '404 row_not_found with its exact message: get',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      for (const id of UNKNOWN_ROWS) {
        const message = `Row with ID '${decodeURIComponent(id)}' not found`
        await api.refused('GET', `${table.rows}/${id}`, {}, { ...ROW_NOT_FOUND, message })
      }
    },
  },
  {
    name: '404 row_not_found with its exact message: update',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      for (const id of UNKNOWN_ROWS) {
        const message = `Row with ID '${decodeURIComponent(id)}' not found`
        await api.refused(
          'PATCH',
          `${table.rows}/${id}`,
          { body: { n: 2 } },
          { ...ROW_NOT_FOUND, message },
        )
        await api.refused(
          'PATCH',
          `${table.rows}/${id}`,
          { body: {} },
          { ...ROW_NOT_FOUND, message },
        )
      }
    },
  },
  {
    name: 'DELETE of a missing row is never row_not_found',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      for (const id of UNKNOWN_ROWS) await api.ok('DELETE', `${table.rows}/${id}`)
    },
  },
  {
    name: "a row's ID in another table is row_not_found",
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const other = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.refused('GET', `${table.rows}/${other.rowIds[0]}`, {}, ROW_NOT_FOUND)
      await api.ok('DELETE', `${table.rows}/${other.rowIds[0]}`)
      assert.equal((await api.rowsOf(other)).length, 1)
    },
  },
]

const ALLOWED: readonly [path: string, allow: string, refused: readonly string[]][] = [
  ['/tables', 'GET, POST, HEAD', ['PUT', 'PATCH', 'DELETE', 'OPTIONS']],
  [`/tables/${NO_ID}`, 'PUT, GET, PATCH, DELETE, HEAD', ['POST', 'OPTIONS']],
  [`/tables/${NO_ID}/rows`, 'GET, HEAD, POST, PATCH, DELETE', ['PUT', 'OPTIONS']],
  [`/tables/${NO_ID}/rows/${NO_ROW}`, 'GET, PATCH, DELETE, HEAD', ['PUT', 'POST']],
  ['/stashes', 'GET, HEAD', ['PUT', 'POST', 'PATCH', 'DELETE']],
  ['/jobs', 'GET, HEAD', ['PUT', 'POST', 'PATCH', 'DELETE']],
  ['/uploads', 'GET, HEAD', ['PUT', 'POST', 'PATCH', 'DELETE']],
  ['/files', 'GET, HEAD', ['PUT', 'POST', 'PATCH', 'DELETE']],
  ['/stashes/s', 'GET, HEAD, DELETE', ['PUT', 'POST', 'PATCH']],
  ['/stashes/s/0', 'PUT', ['GET', 'POST', 'PATCH', 'DELETE']],
]

const methods: ContractCase[] = ALLOWED.map(([path, allow, refused]) => ({
  name: `405 method_not_allowed: known path, other method; with Allow: ${path}`,
  run: async (api) => {
    for (const method of refused) {
      const reply = await api.send(method, path)
      assert.equal(reply.status, METHOD.status, method)
      const given = (reply.headers.get('allow') ?? '').split(', ')
      assert.deepEqual(given.toSorted(), allow.split(', ').toSorted())
    }
  },
}))

const others: ContractCase[] = [
  {
    name: '412 precondition_failed names the version given and the current one',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.ok('POST', table.rows, { body: [{ n: 2 }] })
      const current = await api.versionOf(table)
      const headers = { 'if-match': `"${current - 1}"` }
      const message = await api.refused('PUT', table.path, { body: [], headers }, PRECONDITION)
      assert.match(message, new RegExp(`\\b${current - 1}\\b`))
      assert.match(message, new RegExp(`\\b${current}\\b`))
    },
  },
  {
    name: 'Values of a stash are judged when the stash is used, not on PUT',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' })
      const stashId = uniqueName('s')
      await api.putChunk(stashId, '0', [{ n: 'x' }, { m: 1 }])
      await api.refused('POST', table.rows, { body: { $stashID: stashId } }, invalidValue('n'))
    },
  },
  ...(['create', 'overwrite', 'add'] as const).map((operation) => ({
    name: `400 stash_not_found: ${operation} names a stash that holds no chunk`,
    run: async (api: Api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      const stash = { $stashID: uniqueName('nothing') }
      const name = uniqueName('t')
      if (operation === 'create') {
        await api.refused('POST', '/tables', { body: { name, rows: stash } }, STASH_NOT_FOUND)
        assert.equal(await api.tableCount(name), 0)
      } else if (operation === 'overwrite') {
        await api.refused('PUT', table.path, { body: stash }, STASH_NOT_FOUND)
        await api.refused('PUT', table.path, { body: { rows: stash } }, STASH_NOT_FOUND)
      } else {
        await api.refused('POST', table.rows, { body: stash }, STASH_NOT_FOUND)
      }
      assert.deepEqual(await api.cellsOf(table), [{ n: 1 }])
    },
  })),
  ...['x', '%20', 'AAAA', '%F0%9F%98%80', 'x'.repeat(4_000), '..'].map((token) => ({
    name: `400 continuation_invalid: not a token: '${token.slice(0, 20)}'`,
    run: async (api: Api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }])
      await api.refused('GET', `${table.rows}?continuation=${token}`, {}, CONTINUATION)
    },
  })),
  {
    name: '400 continuation_invalid: a token of another table',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }, { n: 2 }])
      const other = await api.createTyped({ n: 'number' }, [{ n: 1 }, { n: 2 }])
      const { continuation = '' } = await api.pageOf(other, { limit: 1 })
      const query = new URLSearchParams({ continuation })
      await api.refused('GET', `${table.rows}?${query}`, {}, CONTINUATION)
    },
  },
  {
    name: '400 continuation_invalid: a token with one character changed',
    run: async (api) => {
      const table = await api.createTyped({ n: 'number' }, [{ n: 1 }, { n: 2 }])
      const { continuation = '' } = await api.pageOf(table, { limit: 1 })
      for (let at = 0; at < continuation.length; at++) {
        const other = continuation[at] === 'A' ? 'B' : 'A'
        const changed = continuation.slice(0, at) + other + continuation.slice(at + 1)
        const query = new URLSearchParams({ continuation: changed })
        await api.refused('GET', `${table.rows}?${query}`, {}, CONTINUATION)
      }
    },
  },
  {
    name: 'ids in messages are cut and control characters in them are escaped',
    run: async (api) => {
      const long = await api.refused(
        'GET',
        `/tables/${'x'.repeat(5_000)}/rows`,
        {},
        TABLE_NOT_FOUND,
      )
      assert.ok(long.length < 200)
      const odd = await api.refused('GET', '/tables/a%1B%5B31m%0D%0Ab/rows', {}, TABLE_NOT_FOUND)
      assert.doesNotMatch(odd, /\p{Cc}/u)
    },
  },
]

export const errorCases: readonly ContractCase[] = [
  ...unknownPaths,
  ...parts,
  ...stashNames,
  ...tableNotFound,
  ...rowNotFound,
  ...methods,
  ...others,
]
