// Random tables, changes and conditions for the tests of find.
import type { ColumnType, Store, Table, TableSchema, Where } from '../../src/index.js'
import type { Seeded } from '../support/seeded.js'

/** The form of `orderBy`. */
export type Order = NonNullable<NonNullable<Parameters<Table['scan']>[0]>['orderBy']>

/** Column IDs. Some look like operators, need escapes, or begin with another ID. */
const IDS = ['a', 'ab', '$and', '$$x', 'with "quotes"', 'ä€😀', 'isEmpty', 'n', 'x,"n":1', 'tags']

const TEXTS = [
  '',
  'x',
  'xy',
  'Xy',
  'zebra',
  'a"b',
  'back\\slash',
  'é',
  'e\u0301',
  '\uffff',
  '😀',
  '😀x',
  '"n":5',
  'line\nbreak',
  ...'É ẞ SS ﬁx FI İx i̇X ı ſK ΑΣ ας Σ ᏸᏰꭰᎠ 𐐀 𐐨 각 가 e\u0323\u0301'.split(' '),
]
const NUMBERS = ['0', '1', '-1', '5', '34.5', '34.50', '3.45e1', '345E-1', '-34.5', '0.1', '1e-7']
const LONG_NUMBERS = [
  '9007199254740993',
  '9007199254740992',
  '12345678901234567890.5',
  '0.10000000000000000001',
  '9007199254740992.5',
  '-9007199254740993',
  '-9007199254740992.50',
  '0.1000000000000000000',
  '1e-400',
  '2e-400',
  '-1E-4000',
  '-0',
]
const DATES = ['2024-02-29', '2024-03-01', '1969-12-31', '0001-01-01']
const TIMES = [
  '10:00',
  '10:00:00',
  '10:00:00.000',
  '10:00:00.1',
  '12:00+02:00',
  '09:59:59.9999999999Z',
  '23:30-01:00',
]
const DATE_TIMES = [
  '2024-03-01',
  '2024-03-01T00:00Z',
  '2024-03-01 01:00+01:00',
  '2024-02-29T23:59:59.999',
  '2023-12-31T23:00:00-01:00',
]
const DURATIONS = ['"PT1H"', '"P1M"', '"01:00:00"', '3600000', '3.6e6']

const TOKENS: Readonly<Record<string, readonly string[]>> = {
  string: TEXTS.map((text) => JSON.stringify(text)),
  number: [...NUMBERS, ...LONG_NUMBERS],
  boolean: ['true', 'false'],
  date: DATES.map((text) => JSON.stringify(text)),
  time: TIMES.map((text) => JSON.stringify(text)),
  dateTime: DATE_TIMES.map((text) => JSON.stringify(text)),
  duration: DURATIONS,
}

const KINDS = Object.keys(TOKENS)

export function randomSchema(random: Seeded): TableSchema {
  const ids = IDS.filter(() => random.below(3) > 0)
  const columns = (ids.length > 0 ? ids : ['a']).map((id) => {
    const kind = random.pick(KINDS) as 'string'
    const type: ColumnType = random.once(4) ? { kind: 'array', items: { kind } } : { kind }
    return { id, type }
  })
  return { columns }
}

/** A row as JSON, with numbers and escapes in several forms. */
export function randomRow(random: Seeded, { columns }: TableSchema): string {
  const cells = columns.flatMap(({ id, type }) => {
    if (random.once(4)) return random.once(2) ? [] : [`${JSON.stringify(id)}:null`]
    return [`${JSON.stringify(id)}:${randomToken(random, type)}`]
  })
  if (random.once(8)) cells.reverse()
  return `{${cells.join(',')}}`
}

function randomToken(random: Seeded, type: ColumnType): string {
  if (type.kind !== 'array') return escaped(random, random.pick(TOKENS[type.kind] ?? []))
  const elements = Array.from({ length: random.below(4) }, () => {
    return escaped(random, random.pick(TOKENS[type.items.kind] ?? []))
  })
  return `[${elements.join(',')}]`
}

/** The same text, sometimes with one character escaped. */
function escaped(random: Seeded, token: string): string {
  const first = token.charCodeAt(1)
  const isPlain = token.startsWith('"') && first > 0x30 && (first < 0xd800 || first > 0xdfff)
  if (!isPlain || first === 0x5c || !random.once(6)) return token
  return `"\\u${first.toString(16).padStart(4, '0')}${token.slice(2)}`
}

export async function listed<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const row of rows) found.push(row)
  return found
}

/** Changes rows, deletes some, compacts, adds, and widens columns to text. */
export async function changeRandomly(
  random: Seeded,
  store: Store,
  table: Table,
  schema: TableSchema,
): Promise<TableSchema> {
  for (let step = random.below(5); step > 0; step--) {
    const ids = (await listed(table.scan())).map(({ $rowID }) => $rowID)
    for (const id of ids) {
      if (random.once(8)) await table.deleteRow(id)
      else if (random.once(6)) {
        const cells = randomRow(random, schema)
        await table.updateRowJson(id, cells, { onSchemaError: 'dropColumns' })
      }
    }
    if (random.once(3)) {
      const count = random.below(40)
      const rows = Array.from({ length: count }, () => randomRow(random, schema))
      await table.addRows(
        { json: Buffer.from(`[${rows.join(',')}]`) },
        { onSchemaError: 'dropColumns' },
      )
    }
    if (random.once(4)) {
      const [column] = schema.columns
      const value = column?.type.kind === 'array' ? ['widened'] : 'widened'
      if (column) await table.addRows([{ [column.id]: value }], { onSchemaError: 'updateSchema' })
    }
    if (random.once(2)) await store.maintain()
  }
  return table.schema()
}

/** Sortable columns in random order; undefined: there is none. */
export function randomOrder(random: Seeded, { columns }: TableSchema): Order | undefined {
  const sorted = columns.filter(({ type }) => type.kind !== 'array' && type.kind !== 'duration')
  const chosen = sorted
    .map((column) => ({ column, at: random.below(1_000) }))
    .sort((one, other) => one.at - other.at)
    .slice(0, 1 + random.below(3))
  const order = chosen.map(({ column: { id, type } }) => ({
    column: id,
    ...(random.once(2) && { descending: random.once(2) }),
    ...(type.kind === 'string' && random.once(3) && { ignoreCase: true }),
    ...(type.kind === 'string' && random.once(4) && { locale: random.pick(['de', 'sv-SE']) }),
  }))
  return order.length === 0 ? undefined : order
}

export function randomWhere(random: Seeded, schema: TableSchema, depth = 0): Where {
  if (depth < 3 && random.once(3)) {
    const parts = Array.from({ length: random.below(3) + 1 }, () => {
      return randomWhere(random, schema, depth + 1)
    })
    return random.pick<Where>([{ $and: parts }, { $or: parts }, { $not: parts[0] ?? {} }])
  }
  const { id, type } = random.pick(schema.columns)
  const name = id.startsWith('$') ? `$${id}` : id
  const { operators, values } = operatorsOf(type)
  const kind = type.kind === 'array' ? 'array' : type.kind
  const operator = random.pick(operators)
  const value = random.pick(values)
  if (operator === 'isEmpty') return { [name]: { isEmpty: random.once(2) } }
  if (operator === 'in') {
    const flags = kind === 'string' ? randomFlags(random) : {}
    const many = Array.from({ length: random.below(7) }, () => random.pick(values))
    return { [name]: { in: many, ...flags } }
  }
  if (operator === 'eq')
    return random.pick<Where>([{ [name]: value }, { [name]: { eq: value } }, { [name]: null }])
  if (operator === 'startsWith' || operator === 'contains') {
    const text = String(value)
    const from = operator === 'contains' ? random.below(text.length + 1) : 0
    const part = [...text.slice(from)].slice(0, random.below(4)).join('')
    const flags = kind === 'string' ? randomFlags(random) : {}
    return { [name]: { [operator]: part.replace(/\p{Surrogate}/gu, ''), ...flags } }
  }
  if (kind === 'string' && random.once(4)) {
    return { [name]: { [random.pick(['eq', 'ne'])]: value, ...randomFlags(random) } }
  }
  const second = random.once(4) && operator === 'gt' ? { lte: random.pick(values) } : {}
  return { [name]: { [operator]: value, ...second } }
}

function randomFlags(random: Seeded): object {
  const noCase = { ignoreCase: true, ignoreAccents: random.once(2) }
  return random.pick([{}, { ignoreCase: false }, noCase, noCase])
}

/** A text to search for in all columns. */
export function randomSearch(random: Seeded): string {
  const chars = [...random.pick(TEXTS)]
  const from = random.below(chars.length + 1)
  return chars.slice(from, from + random.below(4)).join('')
}

function operatorsOf(type: ColumnType): {
  operators: readonly string[]
  values: readonly (string | number | boolean)[]
} {
  const kind = type.kind === 'array' ? type.items.kind : type.kind
  const values = (TOKENS[kind] ?? []).map((token): string | number | boolean => {
    return kind === 'number' ? token : (JSON.parse(token) as string | number | boolean)
  })
  if (type.kind === 'array') return { operators: ['has', 'isEmpty'], values }
  const equal = ['eq', 'ne', 'in', 'isEmpty']
  if (kind === 'boolean' || kind === 'duration') return { operators: equal, values }
  const ordered = [...equal, 'gt', 'gte', 'lt', 'lte']
  if (kind === 'number') return { operators: ordered, values }
  return { operators: [...ordered, 'startsWith', 'contains'], values }
}
