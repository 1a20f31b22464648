// Goal: whatever is wrong with a row, the import names its file and line.
// Method: files are imported into a real server, which refuses a row in the middle of them.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FileImport, importFiles } from '../../../adapters/cli/import/import-files.js'
import { formatOfPath } from '../../../adapters/cli/import/import-source.js'
import { createTestServer, type TestServer } from '../../conformance/testing.js'
import { fakeServer } from '../../support/fake-server.js'
import { runOptions } from '../../support/fast-check-options.js'

let folder: string
let server: TestServer
let tableId: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowstash-places-'))
  server = await createTestServer({ store: { maintenance: { garbageCollectionIntervalMs: 0 } } })
  const columns = [
    { id: 'id', type: { kind: 'number' } },
    { id: 'name', type: { kind: 'string' } },
  ] as const
  const team = server.store.team('test')
  const created = await team.createTable({ name: 'T', schema: { columns }, rows: [] })
  tableId = created.tableId
})

afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

async function importOf(
  sources: Readonly<Record<string, string>>,
  given: Partial<FileImport> = {},
): Promise<FileImport> {
  const files = Object.entries(sources).map(async ([name, text]) => {
    const path = join(folder, name)
    await writeFile(path, text)
    return { path, format: formatOfPath(name) }
  })
  return {
    files: await Promise.all(files),
    url: server.url,
    key: server.key,
    target: { tableId, mode: 'add' },
    chunkRowsMax: 3,
    parallel: 2,
    signal: new AbortController().signal,
    ...given,
  }
}

/** The failure of an import of files, without the name of the folder. */
async function failureOf(...given: Parameters<typeof importOf>): Promise<string> {
  const failure = await importFiles(await importOf(...given)).then(
    () => 'none',
    (reason: Error) => reason.message,
  )
  return failure.replaceAll(folder, '').replaceAll('/', '')
}

const goodRows = (count: number) => Array.from({ length: count }, (_, n) => `${n},x\n`).join('')

describe('a value that does not fit its column', () => {
  const line = "Invalid value for column 'id' in"

  test('is named with its file and line in CSV', async () => {
    const sources = { 'a.csv': `id,name\n${goodRows(5)}n/a,y\n${goodRows(9)}` }

    expect(await failureOf(sources)).toMatch(
      /^Invalid value for column 'id' in a\.csv, line 7: must be .*"n\/?a"; --check lists all such values, --on-error drop leaves them empty$/,
    )
  })

  test('is named with its own file where there are several', async () => {
    const sources = {
      'b.csv': `id,name\n${goodRows(7)}`,
      'c.csv': `name,id\nx,1\nx,2\nx,3\nx,4\nx,five\n`,
      'd.csv': `id,name\n${goodRows(7)}`,
    }

    expect(await failureOf(sources)).toContain(`${line} c.csv, line 6: `)
  })

  test.each([
    ['NDJSON', 'e.ndjson', '{"id":1}\n\n{"id":2}\n{"id":3}\n\n{"id":"x"}\n', 6],
    ['a JSON array', 'f.json', '[{"id":1},\n{"id":2},{"id":3},\n{"id":4},\n\n{"id":\n"x"}]', 5],
    ['TSV', 'g.tsv', 'id\tname\n1\tx\n2\tx\n3\tx\n4\tx\nfive\tx\n', 6],
    ['CSV with semicolons', 'h.csv', 'id;name\n1;"a,\n\n"\n2;b,c\n3;x\n4;x\nfive;x\n', 8],
    ['CSV with line breaks in quotes', 'i.csv', 'id,name\n1,"a\r\nb\rc\nd"\n2,x\n3,x\nx,x\n', 8],
    ['CSV with CRLF', 'j.csv', 'id,name\r\n1,x\r\n2,x\r\n3,x\r\n4,x\r\nx,x\r\n', 6],
    ['CSV with CR', 'k.csv', 'id,name\r1,x\r2,x\r3,x\r4,x\rx,x\r', 6],
    ['CSV with empty lines', 'l.csv', 'id,name\n\n1,x\n\n\n2,x\n\n\n\nx,x\n', 10],
    ['CSV with a byte order mark', 'm.csv', '\ufeffid,name\n1,x\nx,x\n', 3],
    ['JSON with a byte order mark', 'n.json', '\ufeff\n[{"id":1},\n{"id":"x"}]', 3],
  ])('is named in %s', async (_, name, text, expected) => {
    expect(await failureOf({ [name]: text })).toContain(`${line} ${name}, line ${expected}: `)
  })

  test('is named wherever it is, in CSV of any form', async () => {
    const cell = fc.constantFrom('x', '"a,b"', '"a\nb"', '"a\r\n\r\nb"', '"""\n"', '', 'é')
    const record = fc.record({
      blanks: fc.constantFrom(0, 0, 0, 1, 2),
      cell,
      end: fc.constantFrom('\n', '\r\n', '\r'),
    })
    let run = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { maxLength: 12 }),
        fc.array(record, { maxLength: 4 }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom('', '\ufeff'),
        async (before, after, chunkRowsMax, mark) => {
          const render = (records: typeof before) =>
            records
              .map(({ blanks, cell, end }, n) => `${end.repeat(blanks)}${n},${cell}${end}`)
              .join('')
          const head = `id,name\n${render(before)}`
          const name = `any-${run++}.csv`
          const text = `${mark}${head}bad,x\n${render(after)}`
          const expected = head.split(/\r\n|\r|\n/).length

          expect(await failureOf({ [name]: text }, { chunkRowsMax })).toContain(
            `${line} ${name}, line ${expected}: `,
          )
        },
      ),
      runOptions(60),
    )
  })

  test('is named in a chunk that the server took in halves', async () => {
    const text = `[${Array.from({ length: 40 }, (_, n) => `\n{"n":${n}}`).join()}]`
    const serials: number[] = []
    const server = await fakeServer(({ method, path, body }) => {
      if (method === 'PUT') {
        if (JSON.parse(body).length > 3) return { status: 413 }
        const holds = body.includes('"n":17}')
        if (holds)
          serials.push(
            Number(path.split('/')[3]),
            body.slice(0, body.indexOf('"n":17}')).split('{').length - 2,
          )
      }
      if (method !== 'POST') return { status: 200 }
      const message = `Unknown column ID 'n' in row ${serials[1]} (counted from 0) of chunk '${serials[0]}'`
      return { status: 422, body: { error: { type: 'column_id_not_found', message } } }
    })

    const message = await failureOf({ 'halves.json': text }, { url: server.url, chunkRowsMax: 20 })

    expect(message).toBe("Unknown column ID 'n' in halves.json, line 19")
  })
})

describe('a row that cannot be read', () => {
  const many = goodRows(5)

  test.each([
    ['o.csv', `id,name\n${many}1,2,3\n`, '3 fields for 2 columns in o.csv, line 7'],
    ['p.csv', `id,name\n${many}1,a"b"\n`, 'unquoted field in p.csv, line 7'],
    ['q.csv', `id,id\n${many}`, "Column ID 'id' is not unique in q.csv, line 1"],
    ['r.json', '[{"id":1},\n{"id":2},\n{"id":3},\n{"id":4},\n{"id":5 6}]', ' in r.json, line 5'],
    ['s.ndjson', '{"id":1}\n{"id":2}\n[3]\n', 'Expected an object in s.ndjson, line 3'],
    ['ü.json', '[{"id":1},\n{"id":2},\n{"id":3},\n{"name":"\\ud800"}]', ' in ü.json, line 4'],
    ['t.ndjson', '{"id":1}\n{"id":2}\n{"$stashID":"x"}\n', ' in t.ndjson, line 3'],
  ])('is named in %s', async (name, text, expected) => {
    expect(await failureOf({ [name]: text })).toContain(expected)
  })

  test.each([
    [
      'u.csv',
      `id,name\n${many}1,"a\n${many}`,
      'u.csv, line 7: the file ends inside a quoted field',
    ],
    ['v.ndjson', '{"id":1}\n{"id":2}\n{"id":\n', 'v.ndjson, line 3: the file ends inside'],
    ['w.json', '[{"id":1},\n{"id":2}\n,]', 'w.json, line 3: not JSON: unexpected "]"'],
    ['x.json', '[{"id":1},\n{"id":2}\n', 'x.json, line 3: the file ends inside its JSON array'],
    ['y.csv', '', 'y.csv: the file is empty'],
  ])('is found before it is sent in %s', async (name, text, expected) => {
    expect(await failureOf({ [name]: text })).toContain(expected)
  })
})

test.each([
  "Invalid value for column 'x' in row 3 (counted from 0) of chunk '999999999999999'",
  "Invalid value for column 'x' in row 99 (counted from 0) of chunk '0'",
  "Invalid value for column 'x' in row 3 (counted from 0) of chunk 'a'",
  'Something else',
])('a message whose place is none of the files stays as it is: %s', async (message) => {
  const { url: fake } = await fakeServer(({ method }) =>
    method === 'POST' ? { status: 422, body: { error: { type: 'x', message } } } : { status: 200 },
  )

  expect(await failureOf({ 'z.csv': 'id\n1\n' }, { url: fake })).toBe(message)
})

test('a chunk that is refused as a whole is named by its first line', async () => {
  const path = join(folder, 'latin1.ndjson')
  await writeFile(path, Buffer.from('{"name":"a"}\n{"name":"b"}\n{"name":"\u00e9"}\n', 'latin1'))
  const given = await importOf({}, { files: [{ path, format: 'ndjson' }], chunkRowsMax: 2 })

  await expect(importFiles(given)).rejects.toThrow(
    /UTF-8 \(.*latin1\.ndjson, starting at line 3\)$/,
  )
})
