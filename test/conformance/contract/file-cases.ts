// CONTRACT.md, section 9: files are public, never change, and cannot act as a page of their server.
import assert from 'node:assert/strict'
import { type Api, type ContractCase, expectRefusal, METHOD, REQUEST_ERROR } from './api.js'
import { basePath, head, RawConnection } from './raw-http.js'
import { FILE_NOT_FOUND, readFile, someBytes, storeFile, textOf } from './upload-api.js'

const DIGITS = '0123456789'

async function digitsFile(api: Api): Promise<string> {
  return storeFile(api, DIGITS, { contentType: 'text/plain', fileName: 'digits.txt' })
}

const reading: ContractCase[] = [
  {
    name: 'HEAD of a file answers as GET does, without the bytes',
    run: async (api) => {
      const path = await digitsFile(api)
      const got = await readFile(api, path)
      const asked = await readFile(api, path, { method: 'HEAD' })
      const headersOf = ({ headers }: typeof got) =>
        [...headers].filter(([name]) => !/^(?:date|connection|keep-alive)$/.test(name))
      assert.deepEqual(headersOf(asked), headersOf(got))
      assert.equal(asked.headers.get('content-length'), '10')
      const ranged = await readFile(api, path, { method: 'HEAD', headers: { range: 'bytes=0-1' } })
      assert.equal(ranged.headers.get('content-length'), '10')
    },
  },
  {
    name: 'a file is found by its ID, whatever name follows, without a key or with any',
    run: async (api) => {
      const path = await digitsFile(api)
      const [, , id = ''] = path.split('/')
      for (const tail of [
        '',
        '/',
        '/digits.txt/',
        '/other.exe',
        '/%2e%2e%2f',
        '/%ZZ',
        '?x=1',
        '/a?b',
      ]) {
        const response = await fetch(`${api.server.url}/files/${id}${tail}`)
        assert.equal(await response.text(), DIGITS, tail)
      }
      for (const key of [api.server.key, api.server.otherKey, 'nobody-has-this-key', '']) {
        const { status, bytes } = await readFile(api, path, {
          headers: { authorization: `Bearer ${key}`, cookie: 'a=b' },
        })
        assert.deepEqual([status, bytes.toString()], [200, DIGITS])
      }
    },
  },
  {
    name: 'a file that is not there is 404 file_not_found, however near its ID is',
    run: async (api) => {
      const path = await digitsFile(api)
      const [, , id = ''] = path.split('/')
      const near = [
        `rsf-${'A'.repeat(32)}`,
        id.slice(0, -1),
        `${id}A`,
        id.slice(0, -1) + (id.endsWith('A') ? 'B' : 'A'),
        id.replace('rsf-', 'rsu-'),
        id.replace('rsf-', 'RSF-'),
        id.replace('-', '%2D'),
        '%00',
        '..%2f..%2fetc%2fpasswd',
        '__proto__',
        'x'.repeat(5_000),
      ]
      for (const other of near.filter((text) => text !== id)) {
        await api.refused('GET', `/files/${other}`, { key: null }, FILE_NOT_FOUND)
        await api.refused('GET', `/files/${other}/digits.txt`, { key: null }, FILE_NOT_FOUND)
      }
      const missing = await readFile(api, '/files/x', { method: 'HEAD' })
      assert.equal(missing.status, 404)
    },
  },
  {
    name: 'other paths and methods are refused',
    run: async (api) => {
      const path = await digitsFile(api)
      for (const other of [`${path}/more`, `${path}//`]) {
        await api.refused('GET', other, {}, REQUEST_ERROR)
      }
      for (const method of ['PUT', 'POST', 'PATCH', 'DELETE']) {
        const reply = await api.send(method, path, { key: null })
        expectRefusal(reply, METHOD)
        assert.equal(reply.headers.get('allow'), 'GET, HEAD, OPTIONS')
      }
      assert.equal((await api.send('OPTIONS', path, { key: null })).status, 204)
      assert.equal(await textOf(api, path), DIGITS)
    },
  },
]

const SERVED: readonly (readonly [given: string, served: string, isShown: boolean])[] = [
  ['image/png', 'image/png', true],
  ['Image/WebP; x=y', 'image/webp', true],
  ['video/mp4', 'video/mp4', true],
  ['audio/mpeg', 'audio/mpeg', true],
  ['text/plain; charset=utf-7', 'text/plain; charset=utf-8', true],
  ['text/html', 'text/html', false],
  ['text/html; charset=utf-8', 'text/html', false],
  ['image/svg+xml', 'image/svg+xml', false],
  ['image/svg+xml; charset=utf-8', 'image/svg+xml', false],
  ['application/xhtml+xml', 'application/xhtml+xml', false],
  ['text/xml', 'text/xml', false],
  ['application/mathml+xml', 'application/mathml+xml', false],
  ['application/rdf+xml; x=y', 'application/rdf+xml', false],
  ['application/pdf', 'application/pdf', false],
  ['text/javascript', 'text/javascript', false],
  ['application/octet-stream', 'application/octet-stream', false],
  ['multipart/x-mixed-replace; boundary=x', 'application/octet-stream', false],
]

const types: ContractCase[] = [
  {
    name: 'only types that cannot run are shown, all others are downloaded',
    run: async (api) => {
      for (const [contentType, served, isShown] of SERVED) {
        const path = await storeFile(api, '<script>alert(1)</script>', { contentType })
        const { headers } = await readFile(api, path)
        assert.equal(headers.get('content-type'), served)
        const [kind] = (headers.get('content-disposition') ?? '').split(';')
        assert.equal(kind, isShown ? 'inline' : 'attachment', contentType)
      }
    },
  },
]

const RANGES: readonly (readonly [range: string, status: number, text: string, of?: string])[] = [
  ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
  ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
  ['bytes=8-', 206, '89', 'bytes 8-9/10'],
  ['bytes=-3', 206, '789', 'bytes 7-9/10'],
  ['bytes=0-99', 206, DIGITS, 'bytes 0-9/10'],
  ['bytes=-99', 206, DIGITS, 'bytes 0-9/10'],
  ['bytes=10-', 416, '', 'bytes */10'],
  ['bytes=-0', 416, '', 'bytes */10'],
  ['bytes=4-2', 416, '', 'bytes */10'],
  ['bytes=x', 416, '', 'bytes */10'],
  ['bytes=0-1,4-5', 200, DIGITS],
  ['lines=0-1', 200, DIGITS],
  [`bytes=${Array.from({ length: 1_000 }, (_, at) => `${at}-`).join(',')}`, 200, DIGITS],
]

const ranges: ContractCase[] = [
  {
    name: 'one range is 206, none that is there is 416, several are the whole',
    run: async (api) => {
      const path = await digitsFile(api)
      for (const [range, status, text, of = null] of RANGES) {
        const reply = await readFile(api, path, { headers: { range } })
        assert.deepEqual([reply.status, reply.headers.get('content-range')], [status, of], range)
        if (status !== 416) assert.equal(reply.bytes.toString(), text)
        else {
          const refusal = { status: 416, type: 'range_not_satisfiable' }
          expectRefusal({ status, text: reply.bytes.toString() }, refusal)
        }
      }
    },
  },
  {
    name: 'ranges of a larger file are its slices, and together the file',
    run: async (api) => {
      const bytes = someBytes(300_000)
      const path = await storeFile(api, bytes)
      const cuts = [0, 1, 65_535, 65_536, 65_537, 200_000, 299_999, 300_000]
      for (const [at, start] of cuts.slice(0, -1).entries()) {
        const limit = cuts[at + 1] ?? 0
        const reply = await readFile(api, path, {
          headers: { range: `bytes=${start}-${limit - 1}` },
        })
        assert.ok(reply.bytes.equals(bytes.subarray(start, limit)))
      }
    },
  },
  {
    name: 'If-Range, If-None-Match and If-Match are judged by the ETag',
    run: async (api) => {
      const path = await digitsFile(api)
      const etag = (await readFile(api, path)).headers.get('etag') ?? ''
      const ask = async (headers: Readonly<Record<string, string>>, method = 'GET') =>
        (await readFile(api, path, { headers, method })).status
      const range = 'bytes=0-1'
      assert.equal(await ask({ range, 'if-range': etag }), 206)
      assert.equal(await ask({ range, 'if-range': `W/${etag}` }), 200)
      assert.equal(await ask({ range, 'if-range': '"other"' }), 200)
      assert.equal(await ask({ range, 'if-range': 'Thu, 01 Jan 2099 00:00:00 GMT' }), 200)
      for (const method of ['GET', 'HEAD']) {
        assert.equal(await ask({ 'if-none-match': etag }, method), 304)
        assert.equal(await ask({ 'if-none-match': `"x", W/${etag}` }, method), 304)
        assert.equal(await ask({ 'if-none-match': '*' }, method), 304)
        assert.equal(await ask({ 'if-none-match': '"other"' }, method), 200)
        assert.equal(await ask({ 'if-none-match': etag, range }, method), 304)
        assert.equal(await ask({ 'if-match': etag }, method), 200)
        assert.equal(await ask({ 'if-match': '"other"' }, method), 412)
        assert.equal(await ask({ 'if-match': '"other"', 'if-none-match': etag }, method), 412)
      }
    },
  },
]

const connections: ContractCase[] = [
  {
    name: 'answers of every kind to reads of files leave the connection in order',
    run: async (api) => {
      const path = await digitsFile(api)
      const etag = (await readFile(api, path)).headers.get('etag') ?? ''
      const connection = new RawConnection(api)
      const ask = (method: string, ...more: readonly string[]) =>
        connection.write(
          `${head(api, `${method} ${basePath(api)}${path}`, ...more).join('\r\n')}\r\n\r\n`,
        )
      ask('GET', `If-None-Match: ${etag}`)
      ask('GET', 'Range: bytes=3-4')
      ask('GET', 'Range: bytes=99-')
      ask('OPTIONS')
      ask('GET')
      const replies = []
      for (let at = 0; at < 5; at++) replies.push(await connection.reply())
      assert.deepEqual(
        replies.map(({ status }) => status),
        [304, 206, 416, 204, 200],
      )
      assert.deepEqual([replies[1]?.body, replies[4]?.body], ['34', DIGITS])
      assert.deepEqual([replies[0]?.headers.get('content-length')], [undefined])
      connection.close()
    },
  },
  {
    name: 'readers of a file that go away do no harm',
    run: async (api) => {
      const bytes = someBytes(5 << 20)
      const path = await storeFile(api, bytes)
      for (let round = 0; round < 5; round++) {
        const connection = new RawConnection(api)
        connection.write(`${head(api, `GET ${basePath(api)}${path}`).join('\r\n')}\r\n\r\n`)
        await new Promise((resolve) => setTimeout(resolve, 5))
        connection.close()
      }
      assert.ok((await readFile(api, path)).bytes.equals(bytes))
    },
  },
]

export const fileCases: readonly ContractCase[] = [...reading, ...types, ...ranges, ...connections]
