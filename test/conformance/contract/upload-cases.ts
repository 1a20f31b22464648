// CONTRACT.md, section 9: direct uploads in three steps, and the refusals of each step.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  type Api,
  type ContractCase,
  expectRefusal,
  METHOD,
  REQUEST_ERROR,
  type SendOptions,
  UNSUPPORTED,
  uniqueName,
  VALIDATION,
} from './api.js'
import { announce, basePath, head, RawConnection, sendRaw } from './raw-http.js'
import {
  APP_NOT_ALLOWED,
  bytesOptions,
  CHECKSUM_MISMATCH,
  COMPLETED,
  complete,
  createUpload,
  INCOMPLETE,
  LENGTH_MISMATCH,
  putBytes,
  readFile,
  someBytes,
  storeFile,
  TYPE_MISMATCH,
  textOf,
  UPLOAD_NOT_FOUND,
  type Upload,
} from './upload-api.js'

const MIB = 1 << 20

const steps: ContractCase[] = [
  {
    name: 'create, PUT and complete make a file that reads back to the byte, by the same URL ever after',
    run: async (api) => {
      const bytes = someBytes(100_000)
      const upload = await createUpload(api, { contentLength: bytes.length })
      await putBytes(api, upload, bytes)
      const path = await complete(api, upload)

      const { headers, bytes: read } = await readFile(api, path)
      assert.ok(read.equals(bytes))
      assert.equal(headers.get('content-type'), 'image/png')
      assert.equal(headers.get('etag'), `"${createHash('sha256').update(bytes).digest('hex')}"`)
      for (let repeat = 0; repeat < 3; repeat++) assert.equal(await complete(api, upload), path)
    },
  },
  {
    name: 'a file may be larger than the body of any other request, and of no bytes at all',
    run: async (api) => {
      for (const bytes of [someBytes(20 * MIB), Buffer.alloc(0), someBytes(1)]) {
        const read = await readFile(api, await storeFile(api, bytes))
        assert.ok(read.bytes.equals(bytes))
      }
    },
  },
  {
    name: 'completions at the same time all answer with the one file',
    run: async (api) => {
      const upload = await createUpload(api)
      await putBytes(api, upload, 'x')
      const paths = await Promise.all(Array.from({ length: 8 }, () => complete(api, upload)))
      assert.equal(new Set(paths).size, 1)
    },
  },
  {
    name: 'the same bytes twice are two files',
    run: async (api) => {
      assert.notEqual(await storeFile(api, 'x'), await storeFile(api, 'x'))
    },
  },
  {
    name: 'complete before the bytes are there is 409, and the upload stays open',
    run: async (api) => {
      const upload = await createUpload(api)
      await api.refused('POST', upload.completion, {}, INCOMPLETE)
      await api.refused('POST', upload.completion, {}, INCOMPLETE)
      await putBytes(api, upload, 'late')
      assert.equal(await textOf(api, await complete(api, upload)), 'late')
    },
  },
  {
    name: 'a second PUT before completion replaces the first',
    run: async (api) => {
      const upload = await createUpload(api)
      await putBytes(api, upload, 'first')
      await putBytes(api, upload, 'second, and longer')
      await putBytes(api, upload, 'third')
      assert.equal(await textOf(api, await complete(api, upload)), 'third')
    },
  },
  {
    name: 'of PUTs at the same time one wins, whole; others may be ended by newer ones, with 409',
    run: async (api) => {
      const upload = await createUpload(api)
      const texts = Array.from({ length: 8 }, (_, at) => String(at).repeat(10_000 + at))
      const statuses = await Promise.all(
        texts.map(async (text) => {
          const options = bytesOptions(upload, text)
          return (await api.send('PUT', upload.location, options)).status
        }),
      )
      assert.deepEqual([...new Set([...statuses, 200, 409])].sort(), [200, 409])
      assert.ok(statuses.includes(200))
      assert.ok(texts.includes(await textOf(api, await complete(api, upload))))
    },
  },
  {
    name: 'a PUT that hangs is ended by a newer one: 409, and the connection closes',
    run: async (api) => {
      const upload = await createUpload(api)
      const hanging = new RawConnection(api)
      const headers = ['Content-Type: image/png', 'Content-Length: 100000', 'Expect: 100-continue']
      const lines = head(api, `PUT ${basePath(api)}${upload.location}`, ...headers)
      hanging.write(`${lines.join('\r\n')}\r\n\r\n`)
      assert.equal((await hanging.reply()).status, 100) // Its body is read from now on.
      hanging.write('only the beginning')
      await putBytes(api, upload, 'whole')
      const reply = await hanging.reply()
      announce(api, lines, reply)
      const refused = { status: reply.status, text: reply.body }
      expectRefusal(refused, { status: 409, type: 'upload_superseded' })
      await hanging.ended()
      assert.equal(await textOf(api, await complete(api, upload)), 'whole')
    },
  },
  {
    name: 'a PUT after completion is 409, and changes nothing',
    run: async (api) => {
      const upload = await createUpload(api)
      await putBytes(api, upload, 'right')
      const path = await complete(api, upload)
      await api.refused('PUT', upload.location, bytesOptions(upload, 'wrong'), COMPLETED)
      await api.refused('PUT', upload.location, bytesOptions(upload, 'right'), COMPLETED)
      assert.equal(await textOf(api, path), 'right')
      assert.equal(await complete(api, upload), path)
    },
  },
  {
    name: 'the PUT takes no key, and a wrong one does not matter',
    run: async (api) => {
      const upload = await createUpload(api)
      for (const key of [null, 'nobody-has-this-key', api.server.key, api.server.otherKey]) {
        await api.ok('PUT', upload.location, { body: `as ${key}`, type: 'image/png', key })
      }
      assert.equal(await textOf(api, await complete(api, upload)), `as ${api.server.otherKey}`)
    },
  },
  {
    name: 'a completion ignores a body',
    run: async (api) => {
      const upload = await createUpload(api)
      await putBytes(api, upload, 'x')
      const path = await complete(api, upload)
      for (const body of ['', '{}', '{', '[]']) await api.ok('POST', upload.completion, { body })
      assert.equal(await complete(api, upload), path)
    },
  },
  {
    name: 'a URL of a file stands in a row as any text does',
    run: async (api) => {
      const path = await storeFile(api, 'x')
      const url = api.server.url + path
      const table = await api.createTyped({ image: 'imageURI' }, [{ image: url }])
      assert.deepEqual(await api.cellsOf(table), [{ image: url }])
    },
  },
]

const LENGTHS: readonly (readonly [sent: number, isGood: boolean])[] = [
  [0, false],
  [9_999, false],
  [10_000, true],
  [10_001, false],
  [200_000, false],
]

/** Sends a chunked body. @returns the status and error type of the answer */
async function putChunked(
  api: Api,
  { location, contentType }: Upload,
  body: Uint8Array,
): Promise<readonly [status: number, type: string | undefined]> {
  const connection = new RawConnection(api)
  const line = `PUT ${basePath(api)}${location}`
  const headers = [`Content-Type: ${contentType}`, 'Transfer-Encoding: chunked']
  connection.write(`${head(api, line, ...headers).join('\r\n')}\r\n\r\n`)
  for (let at = 0; at < body.length; at += 10_000) {
    const piece = body.subarray(at, at + 10_000)
    connection.write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece]))
    connection.write('\r\n')
  }
  connection.write('0\r\n\r\n')
  const { status, body: text } = await connection.reply()
  connection.close()
  return [status, (JSON.parse(text) as { error?: { type: string } }).error?.type]
}

const lengths: ContractCase[] = [
  {
    name: 'a contentLength is enforced by what the PUT announces, and may then be sent rightly',
    run: async (api) => {
      const upload = await createUpload(api, { contentLength: 10_000 })
      for (const [sent, isGood] of LENGTHS) {
        const options = bytesOptions(upload, someBytes(sent))
        if (isGood) await api.ok('PUT', upload.location, options)
        else await api.refused('PUT', upload.location, options, LENGTH_MISMATCH)
      }
      const { bytes } = await readFile(api, await complete(api, upload))
      assert.equal(bytes.length, 10_000)
    },
  },
  {
    name: 'a contentLength is enforced by counting, when the PUT announces nothing',
    run: async (api) => {
      for (const [sent, isGood] of LENGTHS) {
        const upload = await createUpload(api, { contentLength: 10_000 })
        const [status, type] = await putChunked(api, upload, someBytes(sent))
        if (isGood) assert.equal(status, 200)
        else {
          assert.deepEqual([status, type], [400, 'content_length_mismatch'])
          await api.refused('POST', upload.completion, {}, INCOMPLETE)
          await putBytes(api, upload, someBytes(10_000))
        }
        await complete(api, upload)
      }
    },
  },
  {
    name: 'without a contentLength any length is taken, chunked or not',
    run: async (api) => {
      const upload = await createUpload(api)
      for (const length of [0, 1, 70_000]) {
        const bytes = someBytes(length)
        assert.deepEqual(await putChunked(api, upload, bytes), [200, undefined])
        await putBytes(api, upload, bytes)
      }
      assert.equal((await readFile(api, await complete(api, upload))).bytes.length, 70_000)
    },
  },
  {
    name: 'a contentLength over the limit of files is 413 file_too_large, before any upload is made',
    run: async (api) => {
      const body = { contentType: 'image/png', fileName: 'a', contentLength: 2 ** 50 }
      const tooLarge = { status: 413, type: 'file_too_large' }
      await api.refused('POST', '/apps/a/uploads', { body }, tooLarge)
    },
  },
  {
    name: 'a PUT that cannot be good is refused by its headers, before its body is sent',
    run: async (api) => {
      const upload = await createUpload(api, { contentLength: 10_000 })
      const wrong = [
        ['Content-Type: image/png', 'Content-Length: 10001'],
        ['Content-Type: image/gif', 'Content-Length: 10000'],
        ['Content-Length: 10000'],
        ['Content-Type: image/png', 'Content-Length: 10000', 'Content-Encoding: gzip'],
      ]
      for (const headers of wrong) {
        const line = `PUT ${basePath(api)}${upload.location}`
        const { status } = await sendRaw(api, head(api, line, ...headers))
        assert.ok(status === 400 || status === 415)
      }
    },
  },
  {
    name: 'a PUT that breaks off leaves nothing, and may be repeated',
    run: async (api) => {
      const upload = await createUpload(api, { contentLength: 100_000 })
      for (const sent of [0, 1, 65_536, 99_999]) {
        const connection = new RawConnection(api)
        const headers = ['Content-Type: image/png', 'Content-Length: 100000']
        const line = `PUT ${basePath(api)}${upload.location}`
        connection.write(`${head(api, line, ...headers).join('\r\n')}\r\n\r\n`)
        connection.write(someBytes(sent))
        await new Promise((resolve) => setTimeout(resolve, 20))
        connection.close()
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
      await api.refused('POST', upload.completion, {}, INCOMPLETE)
      const bytes = someBytes(100_000)
      await putBytes(api, upload, bytes)
      assert.ok((await readFile(api, await complete(api, upload))).bytes.equals(bytes))
    },
  },
  {
    name: 'a PUT that is refused unread is answered while the client still writes',
    run: async (api) => {
      const upload = await createUpload(api, { contentLength: 20 * MIB })
      const body = someBytes(20 * MIB)
      for (let round = 0; round < 3; round++) {
        const wrongType = { body, type: 'image/gif', key: null }
        await api.refused('PUT', upload.location, wrongType, TYPE_MISMATCH)
        const longer = { body: Buffer.concat([body, body.subarray(0, 1)]), type: 'image/png' }
        await api.refused('PUT', upload.location, longer, LENGTH_MISMATCH)
      }
      await putBytes(api, upload, body)
      await complete(api, upload)
    },
  },
]

const TYPES: readonly (readonly [given: string, sent: string | null, isGood: boolean])[] = [
  ['image/png', 'image/png', true],
  ['image/png', 'IMAGE/PNG', true],
  ['image/png', 'image/png; charset=utf-8', false],
  ['image/png', 'image/jpeg', false],
  ['image/png', 'text/html', false],
  ['image/png', 'image/png;', false],
  ['image/png', 'image/*', false],
  ['image/png', '', false],
  ['image/png', null, false],
  ['Text/Plain;charset=UTF-8', 'text/plain; charset=utf-8', true],
  ['Text/Plain;charset=UTF-8', 'text/plain;charset="utf-8"', true],
  ['Text/Plain;charset=UTF-8', 'text/plain', false],
  ['Text/Plain;charset=UTF-8', 'text/plain;charset=utf-16', false],
  ['text/html; a=1; b=2', 'text/html; b=2; a=1', true],
  ['text/html; a=1; b=2', 'text/html; a=1', false],
  ['text/html; a=X', 'text/html; a=x', false],
]

const types: ContractCase[] = [
  {
    name: 'the Content-Type of the PUT must mean the one that the upload was created for',
    run: async (api) => {
      for (const [contentType, type, isGood] of TYPES) {
        const upload = await createUpload(api, { contentType })
        const options: SendOptions = { body: someBytes(3), type, key: null }
        if (isGood) await api.ok('PUT', upload.location, options)
        else {
          await api.refused('PUT', upload.location, options, TYPE_MISMATCH)
          await api.refused('POST', upload.completion, {}, INCOMPLETE)
          await putBytes(api, upload, 'x')
        }
        await complete(api, upload)
      }
    },
  },
  {
    name: 'a Content-Type that is given twice is none',
    run: async (api) => {
      const upload = await createUpload(api)
      const connection = new RawConnection(api)
      const type = 'Content-Type: image/png'
      const line = `PUT ${basePath(api)}${upload.location}`
      connection.write(`${head(api, line, type, type, 'Content-Length: 1').join('\r\n')}\r\n\r\nx`)
      assert.equal((await connection.reply()).status, 400)
      connection.close()
      await api.refused('POST', upload.completion, {}, INCOMPLETE)
    },
  },
  {
    name: 'a body in a Content-Encoding is 415',
    run: async (api) => {
      const upload = await createUpload(api)
      for (const encoding of ['gzip', 'br', 'identity, gzip', 'x']) {
        const headers = { 'content-encoding': encoding }
        await api.refused(
          'PUT',
          upload.location,
          { ...bytesOptions(upload, 'x'), headers },
          UNSUPPORTED,
        )
      }
      const headers = { 'content-encoding': 'identity' }
      await api.ok('PUT', upload.location, { ...bytesOptions(upload, 'x'), headers })
      await complete(api, upload)
    },
  },
]

function digests(text: string): Readonly<Record<'md5' | 'sha256', string>> {
  const digestOf = (algorithm: string) => createHash(algorithm).update(text).digest('base64')
  return { md5: digestOf('md5'), sha256: digestOf('sha256') }
}

const checksums: ContractCase[] = [
  {
    name: 'Content-MD5 and Content-Digest are checked, and a broken one is 400',
    run: async (api) => {
      const upload = await createUpload(api)
      const { md5, sha256 } = digests('hello')
      const other = digests('hallo')
      const send = (headers: Readonly<Record<string, string>>) => ({
        ...bytesOptions(upload, 'hello'),
        headers,
      })
      const wrong = [
        { 'content-md5': other.md5 },
        { 'content-digest': `sha-256=:${other.sha256}:` },
        { 'content-md5': md5, 'content-digest': `sha-256=:${other.sha256}:` },
        { 'content-digest': `sha-256=:${sha256}:, sha-256=:${other.sha256}:` },
      ]
      for (const headers of wrong) {
        await api.refused('PUT', upload.location, send(headers), CHECKSUM_MISMATCH)
      }
      const broken = [
        { 'content-md5': 'x' },
        { 'content-md5': '' },
        { 'content-md5': sha256 },
        { 'content-md5': md5.replace('=', '') },
        { 'content-digest': `sha-256=${sha256}` },
        { 'content-digest': `sha-256=:${md5}:` },
        { 'content-digest': 'sha-256=::' },
        { 'content-digest': 'x' },
      ]
      for (const headers of broken) {
        await api.refused('PUT', upload.location, send(headers), VALIDATION)
      }
      await api.refused('POST', upload.completion, {}, INCOMPLETE)
      const right = [
        { 'content-md5': md5 },
        { 'content-digest': `sha-256=:${sha256}:` },
        { 'content-digest': `md5=:${other.md5}:,sha-256=:${sha256}:` },
        { 'content-digest': 'unixsum=:eHl6:' },
      ]
      for (const headers of right) await api.ok('PUT', upload.location, send(headers))
      await complete(api, upload)
    },
  },
]

const NO_UPLOAD = `rsu-${'A'.repeat(32)}`

const owners: ContractCase[] = [
  {
    name: 'an upload that is not there, or is of another team, is 404 upload_not_found',
    run: async (api) => {
      const mine = await createUpload(api)
      await putBytes(api, mine, 'x')
      const other = { key: api.server.otherKey }
      await api.refused('POST', mine.completion, other, UPLOAD_NOT_FOUND)
      for (const id of [NO_UPLOAD, 'x', '%00', '__proto__', mine.id.slice(0, -1), `${mine.id}A`]) {
        const path = `/apps/app-1/uploads/${id}/complete`
        await api.refused('POST', path, {}, UPLOAD_NOT_FOUND)
        await api.refused('POST', path, other, UPLOAD_NOT_FOUND)
      }
      await complete(api, mine)
      await api.refused('POST', mine.completion, other, UPLOAD_NOT_FOUND)
    },
  },
  {
    name: 'an upload of another app is 403 app_not_allowed, before and after it is completed',
    run: async (api) => {
      const upload = await createUpload(api, { appId: 'app-1' })
      await putBytes(api, upload, 'x')
      const elsewhere = `/apps/app-2/uploads/${upload.id}/complete`
      await api.refused('POST', elsewhere, {}, APP_NOT_ALLOWED)
      await complete(api, upload)
      await api.refused('POST', elsewhere, {}, APP_NOT_ALLOWED)
    },
  },
  {
    name: 'an app ID is any text of up to 256 characters',
    run: async (api) => {
      for (const appId of ['ä/b c', '__proto__', 'x'.repeat(256)]) {
        const upload = await createUpload(api, { appId })
        await putBytes(api, upload, 'x')
        await complete(api, upload)
      }
      const path = `/apps/${'x'.repeat(257)}/uploads`
      const body = { contentType: 'image/png', fileName: 'a' }
      await api.refused(
        'POST',
        path,
        { body },
        { ...VALIDATION, message: /^Invalid request params/ },
      )
      await api.refused('POST', '/apps/%ff/uploads', { body }, VALIDATION)
    },
  },
  {
    name: 'more open uploads of one key than 50 are 429, until some of them are completed',
    run: async (api) => {
      const options = { key: api.server.otherKey }
      const open: Upload[] = []
      for (let at = 0; at < 50; at++) open.push(await createUpload(api, {}, options))
      const body = { contentType: 'image/png', fileName: 'a' }
      const path = '/apps/app-1/uploads'
      const limited = { status: 429, type: 'rate_limited' }
      await api.refused('POST', path, { body, ...options }, limited)
      await api.ok('POST', path, { body })

      for (const upload of open) {
        await putBytes(api, upload, 'x')
        await api.ok('POST', upload.completion, options)
      }
      await api.ok('POST', path, { body, ...options })
    },
  },
]

const ORDER: readonly (readonly [
  rule: string,
  send: readonly [string, string, SendOptions?],
  Readonly<{ status: number; type: string }>,
])[] = [
  ['a wrong key wins', ['POST', '/apps/a/uploads', { key: 'wrong-key', body: '{' }], REQUEST_ERROR],
  [
    'a wrong key wins (completion)',
    ['POST', `/apps/a/uploads/${NO_UPLOAD}/complete`, { key: null }],
    REQUEST_ERROR,
  ],
  ['an unknown path wins over the method', ['GET', '/apps/a/upload'], REQUEST_ERROR],
  ['/apps is no path', ['GET', '/apps'], REQUEST_ERROR],
  ['an app is no path', ['GET', '/apps/a'], REQUEST_ERROR],
  ['an upload is no path', ['GET', `/apps/a/uploads/${NO_UPLOAD}`], REQUEST_ERROR],
  ['/uploads takes no bytes', ['PUT', '/uploads'], METHOD],
  ['/uploads/ takes no bytes', ['PUT', '/uploads/'], METHOD],
  ['the method wins over the body', ['PUT', '/apps/a/uploads', { body: '{' }], METHOD],
  ['the method wins over the upload', ['GET', `/apps/a/uploads/${NO_UPLOAD}/complete`], METHOD],
  ['a body type is 415', ['POST', '/apps/a/uploads', { body: 'a', type: 'text/csv' }], UNSUPPORTED],
  ['no body is 400', ['POST', '/apps/a/uploads'], VALIDATION],
]

const order: ContractCase[] = ORDER.map(([rule, [method, path, options = {}], refusal]) => ({
  name: `Order of refusals of uploads: ${rule}`,
  run: async (api) => void (await api.refused(method, path, options, refusal)),
}))

const paths: ContractCase[] = [
  {
    name: 'the paths of uploads take a slash at their end, and say which methods they know',
    run: async (api) => {
      const body = { contentType: 'image/png', fileName: uniqueName('a') }
      await api.ok('POST', '/apps/app-1/uploads/', { body })
      const upload = await createUpload(api)
      await putBytes(api, upload, 'x')
      await api.ok('POST', `${upload.completion}/`)
      const { headers } = await api.send('PATCH', upload.completion)
      assert.equal(headers.get('allow'), 'POST')
    },
  },
]

export const uploadCases: readonly ContractCase[] = [
  ...steps,
  ...lengths,
  ...types,
  ...checksums,
  ...owners,
  ...order,
  ...paths,
]
