// Bodies of requests: mostly rows that fit the fixture's tables, mixed with values that break parsers.
import type { Seeded } from '../../support/seeded.js'

/** The schema of every table of the fixture: one column of each family of kinds. */
export const SCHEMA = {
  columns: [
    { id: 's', type: 'string' },
    { id: 'n', type: 'number' },
    { id: 'b', type: 'boolean' },
    { id: 'd', type: 'date' },
    { id: 't', type: { kind: 'dateTime' } },
    { id: 'e', type: 'emailAddress' },
    { id: 'u', type: 'uri' },
    { id: 'a', type: { kind: 'array', items: { kind: 'string' } } },
  ],
} as const

/** JSON texts that fit a column. */
const FITTING: Readonly<Record<string, readonly string[]>> = {
  s: ['""', '"x"', '"Zürich"', '"\\u0000"', '"a\\"b"', '"\\ud83d\\ude80"', '"=1+1"'],
  n: ['0', '-0', '34.50', '1e3', '9007199254740993', '0.1', '1E-7'],
  b: ['true', 'false'],
  d: ['"2024-02-29"', '"1999-12-31"'],
  t: ['"2024-02-29T10:00:00Z"', '"2024-02-29 10:00"', '"2024-02-29"'],
  e: ['"a@example.com"', '"a.b+c@example.org"'],
  u: ['"https://example.com/a?b=c"', '"mailto:a@example.com"'],
  a: ['[]', '["a"]', '["a","b","c"]'],
}

/** JSON texts that few columns accept, and texts that are not JSON. */
const ODD = [
  'null',
  '1e400',
  '-1e400',
  '123456789012345678901234567890',
  '"\\ud800"',
  '"2024-02-30"',
  '"@"',
  '{}',
  '{"a":1}',
  '[[]]',
  '[null]',
  '[1,"a"]',
  '"\ufeff"',
  '01',
  '0x10',
  'NaN',
  'undefined',
  '"\u0001"',
  '"\\x"',
  '',
] as const

const ODD_COLUMNS = ['$rowID', '$stashID', '__proto__', 'constructor', '0', '', 'new', 'S', '😀']

const STRAY_DEPTH_MAX = 3_000
const ROWS_MAX = 20
const MANY_ROWS = 400
const ONE_IN_VALUES = 300
const ONE_IN_COLUMNS = 300
const ONE_IN_SHAPES = 60

/** The JSON text of a row, or of a row's changed cells. */
export function rowText(random: Seeded, rowIds: readonly string[] = []): string {
  const cells = Object.entries(FITTING)
    .filter(() => !random.once(3))
    .map(([column, texts]) => {
      const name = random.once(ONE_IN_COLUMNS) ? random.pick(ODD_COLUMNS) : column
      const value = random.pick(random.once(ONE_IN_VALUES) ? ODD : texts)
      return `${JSON.stringify(name)}:${value}`
    })
  if (rowIds.length > 0 && random.once(6)) cells.push(`"$rowID":"${random.pick(rowIds)}"`)
  if (random.once(ONE_IN_COLUMNS)) cells.push(...cells.slice(0, 1))
  return `{${cells.join(',')}}`
}

/** The JSON text of an array of rows. */
export function rowsText(random: Seeded, rowIds: readonly string[] = []): string {
  if (random.once(ONE_IN_SHAPES)) return strayText(random)
  const count = random.once(50) ? MANY_ROWS : random.below(ROWS_MAX)
  return `[${Array.from({ length: count }, () => rowText(random, rowIds)).join(',')}]`
}

/** JSON of another shape, deep JSON, or invalid JSON. */
export function strayText(random: Seeded): string {
  const depth = 1 + random.below(STRAY_DEPTH_MAX)
  return random.pick([
    '',
    'null',
    '1',
    '"x"',
    '{}',
    '[1]',
    '[[]]',
    '[{}',
    '[{}]x',
    '{"rows":[]}',
    '\ufeff[]',
    ' \n[ ]\t',
    '['.repeat(depth),
    `${'['.repeat(depth)}${']'.repeat(depth)}`,
    `[{"s":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}]`,
    `[{${Array.from({ length: depth }, (_, at) => `"c${at}":1`).join(',')}}]`,
  ])
}

/** Rows as CSV or TSV. */
export function delimitedText(random: Seeded, separator: ',' | '\t'): string {
  const names = ['s', 'n', 'b', 'd'].filter(() => !random.once(5))
  if (random.once(30)) names.push(random.pick(ODD_COLUMNS), random.pick(names.concat('s')))
  const fields: Readonly<Record<string, readonly string[]>> = {
    s: ['x', '"a""b"', `"a${separator}b"`, '"a\nb"', '=1', ''],
    n: ['1', '34.50', ' 2 ', ''],
    b: ['true', 'FALSE', ''],
    d: ['2024-02-29', ''],
  }
  const lines = Array.from({ length: random.below(ROWS_MAX) }, () =>
    names
      .map((name) =>
        random.once(ONE_IN_VALUES)
          ? random.pick(['"', 'a"b', '007', '1,5', '0x10', '\r', '\0', '"x"y'])
          : random.pick(Object.hasOwn(fields, name) ? (fields[name] ?? ['x']) : ['x']),
      )
      .join(separator),
  )
  return [names.join(separator), ...lines].join(random.once(4) ? '\r\n' : '\n')
}

/** The body of a create or an overwrite: an object with rows or a stash, or bare rows. */
export function tableText(
  random: Seeded,
  { stashes, rowIds, isNew }: TableBody,
): Readonly<{ text: string; isNamed: boolean }> {
  const stash = JSON.stringify({ $stashID: random.pick(stashes) })
  const rows = random.once(4) ? stash : rowsText(random, rowIds)
  if (random.once(4)) return { text: rows, isNamed: false }
  const members = [`"rows":${rows}`]
  if (isNew !== random.once(40)) members.push(`"name":"table ${random.below(10)}"`)
  if (random.once(3)) members.push(`"schema":${schemaText(random)}`)
  if (isNew && random.once(10)) members.push('"appsToLink":["an-app"]')
  if (random.once(60)) members.push('"more":1')
  return { text: `{${members.join(',')}}`, isNamed: true }
}

type TableBody = Readonly<{
  stashes: readonly string[]
  rowIds: readonly string[]
  isNew: boolean
}>

function schemaText(random: Seeded): string {
  if (!random.once(10)) return JSON.stringify(SCHEMA)
  return random.pick([
    '{}',
    '{"columns":[]}',
    '{"columns":[{"id":"s","type":"json"}]}',
    '{"columns":[{"id":"s","type":"array"}]}',
    '{"columns":[{"id":"s","type":"string"},{"id":"s","type":"string"}]}',
    '{"columns":[{"id":"$rowID","type":"string"}]}',
    '{"columns":[{"id":"","type":"string"}]}',
    '{"columns":[{"id":"s","type":{"kind":"array","items":{"kind":"array"}}}]}',
    'null',
  ])
}
