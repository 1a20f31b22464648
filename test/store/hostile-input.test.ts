// Conditions, values and keys chosen to take long: the work of a call stays linear in its input and in the data that it
// reads. So the small limits here bound large calls, and no call blocks the event loop for long.
//
// A new operator or kind does not compile until there is hostile input for it here, and nonlinear work fails.
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  type ColumnKind,
  type ColumnType,
  openMemory,
  type Store,
  type Table,
  type Team,
  type Where,
  type WhereCell,
} from '../../src/index.js'
import { WorkCounter } from './work-counter.js'

/** Characters of a long value, and tests of a condition. Their product is far more than allowed. */
const CHARS = 64 * 1024
const TESTS = 300

/**
 * Blocks that may be entered per character read, per character of many elements, per character of a condition, and per
 * test.
 */
const WORK_OF_CHAR = 10
const WORK_OF_ELEMENTS_CHAR = 16
const WORK_OF_CONDITION_CHAR = 50
const WORK_OF_TEST = 400

/** The work of each call, whatever its input. */
const WORK_OF_CALL = 50_000

let counter: WorkCounter
let store: Store
let team: Team

beforeAll(async () => {
  counter = new WorkCounter()
  store = await openMemory({
    maintenance: { garbageCollectionIntervalMs: 0, compactionIntervalMs: 0 },
  })
  team = store.team('t')
})

afterAll(async () => {
  await store.close()
  counter.close()
})

/** JSON tokens of long cells, by kind. Most fit; others are refused, which may take no longer. */
const TOKENS: Readonly<Record<ColumnKind, readonly string[]>> = {
  string: [
    quoted('a'.repeat(CHARS)),
    `"\\u0061${'a'.repeat(CHARS)}"`,
    `"${'\\u0061'.repeat(CHARS / 6)}"`,
    quoted('Σ\u0301\u0316ı'.repeat(CHARS / 4)),
  ],
  markdown: [quoted('['.repeat(CHARS)), quoted('*'.repeat(CHARS))],
  uri: [
    quoted(`http://${'a@'.repeat(CHARS / 2)}h/`),
    quoted(`http://h/${'a/'.repeat(CHARS / 4)}${'../'.repeat(CHARS / 6)}`),
    quoted(`foo:${'é'.repeat(CHARS / 2)}`),
  ],
  imageURI: [quoted(`https:${'/'.repeat(CHARS)}`)],
  audioURI: [quoted(`http://${':'.repeat(CHARS)}@h/`)],
  emailAddress: [quoted(`${'a.'.repeat(CHARS / 4)}@${'a.'.repeat(CHARS / 4)}a`)],
  phoneNumber: [quoted('+'.repeat(CHARS)), quoted('1 '.repeat(CHARS / 2))],
  emoji: [quoted('👩‍'.repeat(CHARS / 3)), quoted(`🏴${'\u{e0067}'.repeat(CHARS / 2)}`)],
  date: [quoted('1'.repeat(CHARS))],
  time: [quoted(`00:00:00.${'1'.repeat(CHARS)}`)],
  dateTime: [quoted(`2024-01-01T00:00:00.${'1'.repeat(CHARS)}`)],
  duration: [quoted(`PT0.${'1'.repeat(CHARS)}S`), `1.${'1'.repeat(CHARS)}`],
  number: [`1.${'1'.repeat(CHARS)}`, `1e-${'9'.repeat(CHARS)}`, `0.${'0'.repeat(CHARS)}1`],
  boolean: ['true'],
}

/** Short elements of arrays, of which many are read. */
const ELEMENTS: Readonly<Record<ColumnKind, string>> = {
  string: '"\\u0061"',
  markdown: '"a"',
  uri: '"a:b"',
  imageURI: '"a:b"',
  audioURI: '"a:b"',
  emailAddress: '"a@b"',
  phoneNumber: '"123"',
  emoji: '"😀"',
  date: '"2024-01-01"',
  time: '"00:00"',
  dateTime: '"2024-01-01"',
  duration: '1',
  number: '1e0',
  boolean: 'true',
}

/** Values to compare with cells: close to them, and each different. */
const VALUES: Readonly<Record<ColumnKind, (n: number) => string | number | boolean>> = {
  string: (n) => `${'a'.repeat(20)}${n}`,
  markdown: (n) => `${'*'.repeat(20)}${n}`,
  uri: (n) => `foo:${'é'.repeat(20)}${n}`,
  imageURI: (n) => `https:////${n}`,
  audioURI: (n) => `http://::${n}`,
  emailAddress: (n) => `a.a.${n}`,
  phoneNumber: (n) => `+++${n}`,
  emoji: (n) => `👩‍${n}`,
  date: (n) => `1${String(n).padStart(3, '0')}-01-01`,
  time: (n) => `00:00:00.${'1'.repeat(20)}${n}`,
  dateTime: (n) => `2024-01-01T00:00:00.${'1'.repeat(20)}${n}`,
  duration: (n) => (n % 2 === 0 ? `PT0.1111${n}S` : n),
  number: (n) => `1e-${'9'.repeat(20)}${n}`,
  boolean: (n) => n % 2 === 0,
}

type TestOf = (value: string | number | boolean, n: number) => WhereCell

/** Tests that most cells fail, so that the next test runs too. */
const OPERATORS: Readonly<Record<keyof WhereCell, TestOf>> = {
  eq: (eq) => ({ eq }),
  ne: (ne) => ({ ne }),
  gt: (gt) => ({ gt }),
  gte: (gte) => ({ gte }),
  lt: (lt) => ({ lt }),
  lte: (lte) => ({ lte }),
  in: (value) => ({ in: [value] }),
  has: (has) => ({ has }),
  startsWith: (value, n) => ({ startsWith: `${value}${n}` }),
  contains: (value, n) => ({ contains: n % 2 === 0 ? `${value}${n}` : `${n}${value}` }),
  isEmpty: () => ({ isEmpty: true }),
  ignoreCase: (value, n) => ({ contains: `${value}${n}`, ignoreCase: true }),
  ignoreAccents: (value, n) => ({
    startsWith: `${value}${n}`,
    ignoreCase: true,
    ignoreAccents: true,
  }),
}

const KINDS = Object.keys(TOKENS) as ColumnKind[]
const NAMES = Object.keys(OPERATORS) as (keyof WhereCell)[]

/** Kinds whose cells are compared like those of `string`. */
const AS_STRING: ReadonlySet<ColumnKind> = new Set<ColumnKind>([
  'markdown',
  'uri',
  'imageURI',
  'audioURI',
  'emailAddress',
  'phoneNumber',
  'emoji',
])

/** Whether a column of a kind accepts an operator. */
function takes(kind: ColumnKind, operator: keyof WhereCell): boolean {
  if (operator === 'gt' || operator === 'gte' || operator === 'lt' || operator === 'lte') {
    return kind !== 'boolean' && kind !== 'duration'
  }
  if (operator === 'startsWith' || operator === 'contains') {
    return kind !== 'number' && kind !== 'boolean' && kind !== 'duration'
  }
  return !operator.startsWith('ignore') || kind === 'string'
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

/** The calls of one measurement, and the work that they may do together. */
type Calls = Readonly<{ calls: readonly (() => Promise<unknown>)[]; allowed: number }>

async function expectLinear({ calls, allowed }: Calls): Promise<void> {
  const { work, outcome } = await counter.of(async () => {
    for (const call of calls) await call()
  })
  expect(outcome).toBeUndefined()
  expect(work).toBeLessThan(calls.length * WORK_OF_CALL + allowed)
}

async function tableOf(type: ColumnType, token: string): Promise<Table> {
  const { tableId } = await team.createTable({
    name: 't',
    schema: { columns: [{ id: 'c', type }] },
    rows: { json: Buffer.from(`[{"c":${token}}]`) },
    onSchemaError: 'dropColumns',
  })
  return team.table(tableId)
}

/** A condition on one column whose tests all run, combined in one of the possible ways. */
function conditionOf(kind: ColumnKind, operator: keyof WhereCell): Where {
  const tests = Array.from({ length: TESTS }, (_, n): Where => {
    return { c: OPERATORS[operator](VALUES[kind](n), n) }
  })
  return operator === 'ne' ? { $and: tests } : { $or: tests }
}

function typeOf(kind: ColumnKind, operator: keyof WhereCell): ColumnType {
  return (operator === 'has' ? { kind: 'array', items: { kind } } : { kind }) as ColumnType
}

function tokensOf(kind: ColumnKind, operator: keyof WhereCell): readonly string[] {
  if (operator !== 'has') return TOKENS[kind]
  const count = Math.floor(CHARS / (ELEMENTS[kind].length + 1))
  return [`[${Array(count).fill(ELEMENTS[kind]).join(',')}]`]
}

test.each(NAMES)(
  'the tests of a cell by %s take its length and their number, added',
  async (operator) => {
    const calls: (() => Promise<number>)[] = []
    let allowed = 0
    for (const kind of KINDS.filter((one) => takes(one, operator) && !AS_STRING.has(one))) {
      const where = conditionOf(kind, operator)
      for (const token of tokensOf(kind, operator)) {
        const table = await tableOf(typeOf(kind, operator), token)
        calls.push(() => table.count(where))
        const workOfChar = operator === 'has' ? WORK_OF_ELEMENTS_CHAR : WORK_OF_CHAR
        allowed += workOfChar * token.length + WORK_OF_TEST * TESTS
        allowed += WORK_OF_CONDITION_CHAR * JSON.stringify(where).length
      }
    }
    await expectLinear({ calls, allowed })
  },
)

test('a value takes its length, of whatever kind', async () => {
  const calls: (() => Promise<unknown>)[] = []
  let allowed = 0
  for (const kind of KINDS) {
    const schema = { columns: [{ id: 'c', type: { kind } as ColumnType }] }
    for (const token of TOKENS[kind]) {
      const rows = { json: Buffer.from(`[{"c":${token}}]`) }
      calls.push(
        () => team.preflight({ name: 't', schema, rows }),
        () => team.preflight({ name: 't', rows }),
      )
      allowed += 2 * WORK_OF_CHAR * token.length
    }
  }
  await expectLinear({ calls, allowed })
})

describe('a key takes what its length is', () => {
  /** Two forms of one value. */
  const PAIRS: readonly (readonly [ColumnKind, string, string])[] = [
    ['number', `1e-${'9'.repeat(CHARS)}`, `10e-1${'0'.repeat(CHARS)}`],
    ['number', `1.${'1'.repeat(CHARS)}`, `1.${'1'.repeat(CHARS)}0`],
    ['string', quoted('a'.repeat(CHARS)), `"\\u0061${'a'.repeat(CHARS - 1)}"`],
    [
      'dateTime',
      `"2024-01-01T00:00:00.${'1'.repeat(CHARS)}"`,
      `"2024-01-01 00:00:00.${'1'.repeat(CHARS)}"`,
    ],
  ]

  test('of whatever kind', async () => {
    vi.stubGlobal('BigInt', () => expect.unreachable('BigInt')) // It takes time quadratic in the digits.
    onTestFinished(() => void vi.unstubAllGlobals())
    const calls: (() => Promise<unknown>)[] = []
    for (const [kind, stored, given] of PAIRS) {
      const table = await tableOf({ kind } as ColumnType, stored)
      const rows = { json: Buffer.from(`[{"c":${given}}]`) }
      calls.push(
        () => table.alter({ key: ['c'] }),
        () => table.merge({ rows, key: ['c'] }),
        () => expect(table.addRows(rows)).rejects.toMatchObject({ code: 'KEY_NOT_UNIQUE' }),
        () => table.alter({ key: null }),
        () => table.merge({ rows, key: ['c'], missing: 'delete' }),
      )
    }
    await expectLinear({ calls, allowed: calls.length * 4 * CHARS * WORK_OF_CHAR })
  })

  test('of many rows, also of those that have one key', async () => {
    const count = 5_000
    const calls: (() => Promise<unknown>)[] = []
    for (const value of [(n: number) => n, () => 1]) {
      const csv = `c\n${Array.from({ length: count }, (_, n) => value(n)).join('\n')}`
      const rows = { csv: Buffer.from(csv) }
      const table = team.table((await team.createTable({ name: 't', rows })).tableId)
      calls.push(() => table.alter({ key: ['c'] }).catch(() => undefined))
    }
    await expectLinear({ calls, allowed: 2 * WORK_OF_TEST * count })
  })
})

test('an unknown name takes little time, even beside many similar names', async () => {
  const id = (n: number): string => 'k'.repeat(59) + String(n).padStart(3, '0')
  const columns = Array.from({ length: 1_000 }, (_, n) => ({ id: id(n), type: 'string' as const }))
  const { tableId } = await team.createTable({ name: 't', rows: [], schema: { columns } })
  const table = team.table(tableId)
  const call = () => expect(table.page({ columns: ['k'.repeat(62)] })).rejects.toThrow(/no column/)
  // Of each name, about as many characters are compared as may be wrong.
  await expectLinear({ calls: [call], allowed: 5 * 62 * 10 * columns.length })
})
