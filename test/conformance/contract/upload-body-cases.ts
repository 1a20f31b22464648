// CONTRACT.md, section 9: the body of POST /apps/{appID}/uploads is exactly one of two closed shapes; and uploads by URL.
import assert from 'node:assert/strict'
import { SOURCE_URLS } from '../fake-sources.js'
import { type Api, type ContractCase, VALIDATION } from './api.js'
import { FILE_TOO_LARGE, fileOf, readFile, storeFile } from './upload-api.js'

const PATH = '/apps/app-1/uploads'
const DIRECT = { contentType: 'image/png', fileName: 'a.png' }
const BY_URL = { sourceURL: SOURCE_URLS.plain }

const WRONG_BODIES: readonly (readonly [what: string, body: unknown])[] = [
  ['an empty object', {}],
  ['an array', [DIRECT]],
  ['an empty array', []],
  ['a text', '"x"'],
  ['null', 'null'],
  ['a number', '1'],
  ['broken JSON', '{"contentType":'],
  ['two objects', '{}{}'],
  ['no contentType', { fileName: 'a.png' }],
  ['no fileName', { contentType: 'image/png' }],
  ['an unknown property', { ...DIRECT, size: 1 }],
  ['a property in another case', { ...DIRECT, ContentLength: 1 }],
  ['a property __proto__', '{"contentType":"image/png","fileName":"a","__proto__":{}}'],
  ['uploadID', { ...DIRECT, uploadID: 'x' }],
  ['a contentType that is null', { ...DIRECT, contentType: null }],
  ['a contentType that is a number', { ...DIRECT, contentType: 1 }],
  ['a contentType that is empty', { ...DIRECT, contentType: '' }],
  ['a contentType that is no media type', { ...DIRECT, contentType: 'png' }],
  ['a contentType with a wildcard', { ...DIRECT, contentType: 'image/*' }],
  ['a contentType with a line break', { ...DIRECT, contentType: 'image/png\r\nx: y' }],
  ['a contentType with a tab', { ...DIRECT, contentType: 'image/png\t' }],
  ['a contentType of 10 KB', { ...DIRECT, contentType: `image/${'x'.repeat(10_240)}` }],
  ['a fileName that is null', { ...DIRECT, fileName: null }],
  ['a fileName that is a number', { ...DIRECT, fileName: 1 }],
  ['a fileName that is empty', { ...DIRECT, fileName: '' }],
  ['a fileName of 256 characters', { ...DIRECT, fileName: 'a'.repeat(256) }],
  ['a fileName of 10 KB', { ...DIRECT, fileName: 'a'.repeat(10_240) }],
  ['a contentLength that is null', { ...DIRECT, contentLength: null }],
  ['a contentLength that is a string', { ...DIRECT, contentLength: '1' }],
  ['a contentLength that is negative', { ...DIRECT, contentLength: -1 }],
  ['a contentLength that is a fraction', { ...DIRECT, contentLength: 1.5 }],
  [
    'a contentLength beyond all numbers',
    '{"contentType":"a/b","fileName":"a","contentLength":1e400}',
  ],
  ['a contentLength of 2^53', { ...DIRECT, contentLength: 2 ** 53 }],
  ['a contentLength that is true', { ...DIRECT, contentLength: true }],
  ['both shapes', { ...DIRECT, ...BY_URL, contentLength: 1 }],
  ['a sourceURL with a contentLength', { ...BY_URL, contentLength: 5 }],
  ['a sourceURL with an unknown property', { ...BY_URL, headers: {} }],
  ['a sourceURL in another spelling', { sourceUrl: SOURCE_URLS.plain }],
  ['a sourceURL that is null', { sourceURL: null }],
  ['a sourceURL that is a number', { sourceURL: 1 }],
  ['a sourceURL that is an array', { sourceURL: [SOURCE_URLS.plain] }],
  ['a sourceURL with a fileName that is empty', { ...BY_URL, fileName: '' }],
  ['a sourceURL with a fileName of 256 characters', { ...BY_URL, fileName: 'a'.repeat(256) }],
  ['a sourceURL with a fileName that is null', { ...BY_URL, fileName: null }],
  ['a sourceURL with a contentType that is none', { ...BY_URL, contentType: 'x' }],
  ['a sourceURL with a contentType that is null', { ...BY_URL, contentType: null }],
]

const shapes: ContractCase[] = WRONG_BODIES.map(([what, body]) => ({
  name: `POST uploads with ${what}: 400`,
  run: async (api) => {
    const wanted = { ...VALIDATION, message: /^Invalid request body: / }
    await api.refused('POST', PATH, { body }, wanted)
  },
}))

const NAMES: readonly (readonly [given: string, shown: string])[] = [
  ['../../etc/passwd', 'passwd'],
  ['C:\\temp\\a.png', 'a.png'],
  ['con', 'con_'],
  ['a\r\nSet-Cookie: x=1', 'aSet-Cookie_ x=1'],
  ['a\u0000b', 'ab'],
  ['photo\u202egpj.exe', 'photogpj.exe'],
  ['a\u0308.txt', 'ä.txt'],
  ['😀.png', '😀.png'],
  ['..', 'file'],
  ['a%2fb', 'a%2fb'],
  ['ä'.repeat(255), 'ä'.repeat(127)],
]

const names: ContractCase[] = [
  {
    name: 'a file name is a label: it is cleaned, and stands in the URL and in Content-Disposition',
    run: async (api) => {
      for (const [fileName, shown] of NAMES) {
        const path = await storeFile(api, 'x', { fileName })
        assert.equal(decodeURIComponent(path.split('/')[3] ?? ''), shown)
        const { headers } = await readFile(api, path, { method: 'HEAD' })
        const disposition = headers.get('content-disposition') ?? ''
        const [, extended] = /filename\*=UTF-8''(.*)$/.exec(disposition) ?? []
        const [, simple] = /filename="([^"]*)"/.exec(disposition) ?? []
        assert.equal(extended === undefined ? simple : decodeURIComponent(extended), shown)
      }
    },
  },
]

type Expected = Readonly<{ text: string; type: string; name: string }>

const SOURCES: readonly (readonly [body: Readonly<Record<string, string>>, Expected])[] = [
  [BY_URL, { text: 'hello', type: 'application/octet-stream', name: 'hello there.txt' }],
  [
    { sourceURL: SOURCE_URLS.root },
    { text: 'hello', type: 'application/octet-stream', name: 'file' },
  ],
  [{ sourceURL: SOURCE_URLS.named }, { text: '<html>', type: 'text/html', name: 'Seite ä.html' }],
  [
    { sourceURL: SOURCE_URLS.named, fileName: 'b/c.txt', contentType: 'Text/Plain' },
    { text: '<html>', type: 'text/plain; charset=utf-8', name: 'c.txt' },
  ],
  [
    { sourceURL: SOURCE_URLS.odd },
    { text: 'hello', type: 'application/octet-stream', name: 'file' },
  ],
  [{ sourceURL: SOURCE_URLS.empty }, { text: '', type: 'application/octet-stream', name: 'empty' }],
]

const FAILURES: readonly (readonly [url: string, Readonly<{ status: number; type: string }>])[] = [
  ['http://127.0.0.1/', { status: 400, type: 'source_url_not_allowed' }],
  ['file:///etc/passwd', { status: 400, type: 'source_url_not_allowed' }],
  ['', { status: 400, type: 'source_url_not_allowed' }],
  [SOURCE_URLS.broken, { status: 400, type: 'source_url_failed' }],
  [SOURCE_URLS.slow, { status: 408, type: 'source_url_timeout' }],
  [SOURCE_URLS.endless, FILE_TOO_LARGE],
]

async function fetched(api: Api, body: Readonly<Record<string, string>>): Promise<string> {
  return fileOf(api, await api.ok('POST', PATH, { body }))
}

const byUrl: ContractCase[] = [
  ...SOURCES.map(([body, { text, type, name }]) => ({
    name: `an upload by URL stores what the source has: ${JSON.stringify(body)}`,
    run: async (api: Api) => {
      const path = await fetched(api, body)
      const { headers, bytes } = await readFile(api, path)
      assert.deepEqual([bytes.toString(), headers.get('content-type')], [text, type])
      assert.equal(decodeURIComponent(path.split('/')[3] ?? ''), name)
    },
  })),
  ...FAILURES.map(([sourceURL, refusal]) => ({
    name: `an upload by the URL ${JSON.stringify(sourceURL)} is ${refusal.status} ${refusal.type}`,
    run: async (api: Api) =>
      void (await api.refused('POST', PATH, { body: { sourceURL } }, refusal)),
  })),
]

export const uploadBodyCases: readonly ContractCase[] = [...shapes, ...names, ...byUrl]
