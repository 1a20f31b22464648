// Goal: the OpenAPI document is consistent, and agrees with the routes and with CONTRACT.md.
import { describe, expect, test } from 'vitest'
import { KEY_COLUMNS_MAX, NAME_CHARS_MAX } from '../../../src/base/limits.js'
import { createContract } from '../../../src/contract/contract.js'
import { ADMIN_ROUTES, OPEN_ROUTES } from '../../../src/contract/http/router.js'
import DOCUMENT from '../../../src/contract/openapi/openapi.json' with { type: 'json' }
import { ROUTES, type TeamRoute } from '../../../src/contract/routes.js'
import {
  IDEMPOTENCY_KEY_PATTERN,
  STASH_NAME_PATTERN,
} from '../../../src/engine/arguments/arguments.js'
import { KEY_SCOPES, KEY_TABLES_MAX } from '../../../src/engine/types/key-types.js'
import { openMemory } from '../../../src/index.js'
import { COLUMN_KINDS } from '../../../src/schema/column-kind.js'
import { COLUMN_ID_CHARS_MAX } from '../../../src/schema/table-schema.js'
import { record, type Schema, unknownKeywords } from '../../support/json-schema.js'
import { OpenApi } from '../../support/openapi.js'
import { readText } from '../../support/project.js'

const document = record(DOCUMENT)
const openApi = new OpenApi(document)
const components = record(document['components'])

/** Every object within a value, with the path to it. */
function objectsIn(value: unknown, path = '#'): readonly (readonly [path: string, Schema])[] {
  if (typeof value !== 'object' || value === null) return []
  const own = Array.isArray(value) ? [] : [[path, record(value)] as const]
  return [
    ...own,
    ...Object.entries(value).flatMap(([name, part]) => objectsIn(part, `${path}/${name}`)),
  ]
}

const objects = objectsIn(document)

describe('the document in itself', () => {
  const refs = objects.flatMap(([, part]) =>
    typeof part['$ref'] === 'string' ? [part['$ref']] : [],
  )

  test('has the members that OpenAPI 3.1 wants', () => {
    const { openapi, info, paths } = document
    expect(openapi).toMatch(/^3\.1\.\d$/)
    expect(record(info)).toMatchObject({ title: expect.any(String), version: expect.any(String) })
    expect(Object.keys(record(paths)).every((path) => path.startsWith('/'))).toBe(true)
  })

  test('every reference leads somewhere, and every component is referred to', () => {
    for (const ref of refs) openApi.resolve(ref)
    const known = ['parameters', 'headers', 'responses', 'schemas'].flatMap((kind) =>
      Object.keys(record(components[kind])).map((name) => `#/components/${kind}/${name}`),
    )

    expect(known.filter((name) => !refs.includes(name))).toEqual([])
  })

  test('every operation has an ID of its own, a summary, a tag and answers', () => {
    const tags = (document['tags'] as { name: string }[]).map(({ name }) => name)
    const ids = openApi.operations.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { method, path, responses } of openApi.operations) {
      const item = record(record(document['paths'])[path])
      const operation = record(item[method.toLowerCase()])
      expect(operation).toMatchObject({ summary: expect.any(String), tags: [expect.any(String)] })
      expect(tags).toEqual(expect.arrayContaining(operation['tags'] as string[]))
      for (const status of responses.keys()) expect(status).toMatch(/^[2-5]\d\d$|^default$/)
      expect(responses.has('default')).toBe(true)
    }
  })

  test('the parameters of a path are declared, once each', () => {
    for (const { path, parameters } of openApi.operations) {
      const inPath = parameters.filter((parameter) => parameter.in === 'path')
      const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(inPath.map(({ name }) => name)).toEqual(wanted)
      expect(inPath.every(({ isRequired }) => isRequired)).toBe(true)
      const names = parameters.map((parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`)
      expect(new Set(names).size).toBe(names.length)
    }
  })

  test('only schemas with keywords that the validator knows', () => {
    const schemas = [
      ...Object.values(record(components['schemas'])).map(record),
      ...objects.flatMap(([path, part]) =>
        path.endsWith('/properties') || part['schema'] === undefined
          ? []
          : [record(part['schema'])],
      ),
    ]

    expect(schemas.length).toBeGreaterThan(60)
    expect(schemas.flatMap(unknownKeywords)).toEqual([])
  })

  test('the errors of a response have its status', () => {
    const wrong = objects.filter(([path, { $ref }]) => {
      const [, status] = /\/responses\/(\d{3})\//.exec(path) ?? []
      const [, ofError] = /\/(?:Rows)?Error_(\d{3})_/.exec(String($ref)) ?? []
      return status !== undefined && ofError !== undefined && status !== ofError
    })

    expect(wrong).toEqual([])
  })

  test('HEAD and OPTIONS have no bodies', () => {
    const bodiless = openApi.operations.filter(({ method }) => /HEAD|OPTIONS/.test(method))
    const withBody = bodiless.flatMap(({ id, responses }) =>
      [...responses]
        .filter(([status, { content }]) => status !== 'default' && content.size > 0)
        .map(() => id),
    )

    expect(bodiless.length).toBeGreaterThan(5)
    expect(withBody).toEqual([])
  })
})

describe('the document and the server', () => {
  test.each([
    [
      'maxLength',
      /\/(?:properties\/(?:name|displayName)|parameters\/name\/schema)$/,
      NAME_CHARS_MAX,
    ],
    ['maxLength', /\/columns\/items\/properties\/id$/, COLUMN_ID_CHARS_MAX],
    ['maxItems', /\/properties\/key(?:\/anyOf\/0)?$/, KEY_COLUMNS_MAX],
    ['maxItems', /\/properties\/tables$/, KEY_TABLES_MAX],
    ['enum', /\/properties\/scopes\/items$/, KEY_SCOPES],
    ['enum', /\/schemas\/Kind$/, COLUMN_KINDS],
    ['pattern', /\/schemas\/StashName$/, STASH_NAME_PATTERN],
    ['pattern', /\/parameters\/idempotencyKey\/schema$/, IDEMPOTENCY_KEY_PATTERN],
  ])('%s at each %s is that of the code', (keyword, place, value) => {
    const found = objects.filter(([path, part]) => place.test(path) && keyword in part)

    expect(found.length).toBeGreaterThan(0)
    for (const [, part] of found) expect(part[keyword]).toEqual(value)
  })

  test('has the routes, and no others', () => {
    const gets = ROUTES.filter(([method]) => method === 'GET').map(([, path]) => `HEAD ${path}`)
    const open = Object.values(OPEN_ROUTES).flatMap(({ path, methods }) =>
      methods.map((method) => `${method} ${path}`),
    )
    const admin = ADMIN_ROUTES.flatMap(([method, path]) =>
      method === 'GET' ? [`GET ${path}`, `HEAD ${path}`] : [`${method} ${path}`],
    )
    const routes = ROUTES.map(([method, path]) => `${method} ${path}`)
    const described = openApi.operations.map(({ method, path }) => `${method} ${path}`)

    expect(described.toSorted()).toEqual(
      [...new Set([...routes, ...gets, ...open, ...admin])].toSorted(),
    )
  })

  test('has the parameters that routes of our own take, and refuse others', () => {
    const routes: readonly TeamRoute[] = ROUTES
    const own = openApi.operations.flatMap(({ method, path, parameters }) => {
      const route = routes.find((one) => one[0] === method && one[1] === path)
      const names = parameters.filter((one) => one.in === 'query').map(({ name }) => name)
      const described = record(record(record(document['paths'])[path])[method.toLowerCase()])
      const isOurs = 'x-rowstash' in described
      return route === undefined || path.endsWith('/by-key')
        ? []
        : [[`${method} ${path}`, isOurs ? names.toSorted() : undefined, route[4]?.toSorted()]]
    })
    expect(own.length).toBeGreaterThan(0)
    for (const [route, described, taken] of own) expect([route, taken]).toEqual([route, described])
  })

  test('is what the server answers', async () => {
    const store = await openMemory()
    const contract = createContract(store, { keys: [{ key: 'key', teamId: 'team' }] })
    const body = (async function* () {})()
    const request = { method: 'GET', path: '/openapi.json', query: '', headers: [], body }
    const { status, body: text } = await contract.handle(request)
    await store.close()

    expect([status, text]).toEqual([200, `${JSON.stringify(DOCUMENT)}\n`])
  })
})

describe('the document and CONTRACT.md', () => {
  const contract = readText('src/contract/CONTRACT.md')

  test('have the same errors, and mark the same ones as ours', () => {
    const listed = [...contract.matchAll(/^\| (\d{3}) \| (.+?) \|/gm)].flatMap(
      ([, status, types = '']) =>
        [...types.matchAll(/`(\w+)`( \*\(ours\)\*)?/g)].map(
          ([, type, ours]) => `${status} ${type}${ours ?? ''}`,
        ),
    )
    const described = Object.entries(record(components['schemas'])).flatMap(([name, schema]) => {
      const [, status, type] = /^Error_(\d+)_(\w+)$/.exec(name) ?? []
      const ours = record(schema)['x-rowstash'] === true ? ' *(ours)*' : ''
      return status === undefined ? [] : [`${status} ${type}${ours}`]
    })

    expect(described.toSorted()).toEqual(listed.toSorted())
  })
})
