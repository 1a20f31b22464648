// Goal: the claimed schema of a body is counted before anything is built from it.
import { describe, expect, onTestFinished, test } from 'vitest'
import { runAtOnce } from '../../../src/base/time-slices.js'
import { parseAppIds, parseSchema } from '../../../src/contract/bodies/body-members.js'
import { parseCreateBody } from '../../../src/contract/bodies/body-shapes.js'
import { inSteps } from '../../../src/contract/bodies/body-steps.js'
import { DialectBody } from '../../../src/contract/bodies/dialect-body.js'
import { createContract, openMemory } from '../../../src/index.js'
import { JSON_PARSED_CHARS_MAX } from '../../../src/schema/scan-json.js'

function schemaOf(text: string) {
  return runAtOnce(parseSchema({ text, offset: 0 }))
}

function appIdsOf(text: string): readonly string[] {
  return runAtOnce(parseAppIds({ text, offset: 0 }))
}

const COLUMN = '{"id":"a","type":"string"}'

function columns(count: number, column: string): string {
  return `{"columns":[${Array.from({ length: count }, () => column).join(',')}]}`
}

describe('a schema', () => {
  test('is read as it was sent', () => {
    const text =
      ' { "columns" : [ {"id":"a","type":{"kind":"array","items":{"kind":"date"}}} , {"id":"__proto__","displayName":"B","type":"x"} ] } '
    expect(schemaOf(text.trim())).toEqual({
      columns: [
        { id: 'a', type: { kind: 'array', items: { kind: 'date' } } },
        { id: '__proto__', displayName: 'B', type: 'x' },
      ],
    })
    expect(schemaOf('{"columns":[1],"columns":[]}')).toEqual({ columns: [] })
  })

  test('of 10,000 columns is read', () => {
    expect(schemaOf(columns(10_000, COLUMN)).columns).toHaveLength(10_000)
  })

  test.each([
    ['wrong ones', '{}'],
    ['long ones', `{"x":"${'x'.repeat(1_000)}"}`],
    ['what is no JSON', '{x}'],
  ])('of more than 10,000 columns is refused before a column is read: %s', (_, column) => {
    expect(() => schemaOf(columns(10_001, column))).toThrow(
      "Invalid request body: 'schema.columns' has more than 10000 columns",
    )
  })

  test('of more than 10,000 columns is refused over HTTP, too', async () => {
    const store = await openMemory()
    onTestFinished(() => store.close())
    const key = 'a-key-of-a-team-for-tests'
    const text = `{"name":"x","rows":[],"schema":${columns(10_001, '{}')}}`
    const answer = await createContract(store, { keys: [{ key, teamId: 'team' }] }).handle({
      method: 'POST',
      path: '/tables',
      query: '',
      headers: [
        ['authorization', `Bearer ${key}`],
        ['content-type', 'application/json'],
      ],
      body: (async function* () {
        yield new TextEncoder().encode(text)
      })(),
    })

    expect(answer.status).toBe(400)
    expect(answer.body).toContain('has more than 10000 columns')
  })

  test.each([
    ['[]', "'schema' must be an object"],
    ['null', "'schema' must be an object"],
    ['{}', "'schema.columns' must be an array"],
    [
      '{"columns":{}}',
      `'schema.columns' must be an array of columns such as { "id": "total", "type": "number" }`,
    ],
    ['{"columns":[],"x":1}', "'schema' has an unexpected property 'x'"],
    ['{"columns":[[]]}', "'schema.columns[0]' must be an object"],
    ['{"columns":[{"id":1}]}', "'schema.columns[0]' must have an 'id' that is a string"],
    ['{"columns":[{"id":"a"}]}', "'schema.columns[0]' must have a 'type'"],
    [`{"columns":[${COLUMN},{"x":1}]}`, "'schema.columns[1]' has an unexpected property 'x'"],
    ['{"columns":[{]}', 'at character'],
  ])('%s is refused', (text, problem) => {
    expect(() => schemaOf(text)).toThrow(problem)
  })

  test('has no column that is longer than any could be', () => {
    const members = Array.from({ length: JSON_PARSED_CHARS_MAX / 8 }, (_, n) => `"${n}":${n}`)
    expect(() => schemaOf(`{"columns":[{${members.join(',')}}]}`)).toThrow('more than 65536')
  })
})

describe('appsToLink', () => {
  const apps = (count: number, app: string) =>
    `[${Array.from({ length: count }, () => app).join(',')}]`

  test('has 1,000 strings at most, counted before they are made', () => {
    expect(appIdsOf(apps(1_000, '"a"'))).toHaveLength(1_000)
    expect(appIdsOf('[]')).toEqual([])
    for (const text of [apps(1_001, '"a"'), apps(1_001, '{x}'), '{}', '"a"', '[1]', '["a",null]']) {
      expect(() => appIdsOf(text)).toThrow("'appsToLink' must be an array of at most 1000 strings")
    }
  })

  test('is split and parsed in steps', () => {
    const text = apps(500, `"${'x'.repeat(4_000)}"`)
    const steps = parseAppIds({ text, offset: 0 })
    const works: number[] = []
    for (let step = steps.next(); !step.done; step = steps.next()) works.push(step.value)
    expect(works).toHaveLength(2 * 500)
    expect(works.reduce((sum, work) => sum + work)).toBeGreaterThan(3 * text.length)
  })
})

test.each([
  ['rows', `{"name":"x","rows":[${'{},'.repeat(500_000)}{}]}`],
  ['characters of two bytes', `{"name":"x","rows":[${'"é",'.repeat(300_000)}{}]}`],
  [
    'columns',
    `{"name":"x","rows":[],"schema":${columns(9_000, `{"id":"a","type":[${'1,'.repeat(50)}1]}`)}}`,
  ],
])('an object with many %s is read in slices: others have turns meanwhile', async (_what, text) => {
  const store = await openMemory()
  onTestFinished(() => store.close())
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  const parsing = inSteps(
    parseCreateBody(
      { format: 'json', typed: {}, bytes: Buffer.from(text) },
      store.team('team'),
      new DialectBody(undefined),
    ),
  )
  setImmediate(count)
  await parsing
  isDone = true
  expect(turns).toBeGreaterThanOrEqual(Math.floor(text.length / (256 * 1024)))
})
