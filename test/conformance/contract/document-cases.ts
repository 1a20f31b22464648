// CONTRACT.md, section 14: the OpenAPI document.
import assert from 'node:assert/strict'
import type { ContractCase } from './api.js'
import { etagOf } from './api.js'

const DOCUMENT = '/openapi.json'

type OpenApi = Readonly<{
  openapi: string
  paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}>

export const documentCases: readonly ContractCase[] = [
  {
    name: 'GET /openapi.json is a document of OpenAPI 3.1, with or without a key',
    run: async (api) => {
      for (const key of [null, 'nobody-has-this-key', api.server.key]) {
        const { json } = await api.ok('GET', DOCUMENT, { key })
        const { openapi, paths } = json as OpenApi
        assert.match(openapi, /^3\.1\./)
        assert.ok(paths['/tables']?.['post'])
        assert.ok(paths[DOCUMENT]?.['get'])
      }
    },
  },
  {
    name: 'GET /openapi.json can be asked for again by its ETag',
    run: async (api) => {
      const first = await api.ok('GET', DOCUMENT, { key: null })
      const etag = etagOf(first)
      const again = { key: null, headers: { 'if-none-match': etag } }
      const head = await api.ok('HEAD', `${DOCUMENT}/`, { key: null })
      assert.equal(etagOf(head), etag)
      for (const method of ['GET', 'HEAD']) {
        const { status, text } = await api.send(method, DOCUMENT, again)
        assert.deepEqual([status, text], [304, ''])
        const other = { key: null, headers: { 'if-match': '"another"' } }
        assert.equal((await api.send(method, DOCUMENT, other)).status, 412)
        const same = { key: null, headers: { 'if-match': etag } }
        assert.equal((await api.send(method, DOCUMENT, same)).status, 200)
      }
    },
  },
  {
    name: 'a page of any origin may read /openapi.json; nobody may write it',
    run: async (api) => {
      await api.ok('OPTIONS', DOCUMENT, { key: null })
      const { status, headers } = await api.send('PUT', DOCUMENT, { key: null, body: {} })
      assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
    },
  },
  {
    name: 'the paths below and beside /openapi.json are unknown',
    run: async (api) => {
      for (const path of [`${DOCUMENT}/x`, `${DOCUMENT}x`, '/openapi', '/OpenAPI.json']) {
        assert.equal((await api.send('GET', path)).status, 404)
      }
    },
  },
]
