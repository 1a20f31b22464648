// Goal: a message names the place of bad data.
import { describe, expect, onTestFinished, test } from 'vitest'
import { dataError, deferred } from '../../../src/base/data-error.js'
import { type ErrorPlace, StoreError, type StoreErrorCode } from '../../../src/base/store-error.js'
import { defineSchema, openMemory } from '../../../src/index.js'

const PHRASE = "Invalid value for column 'n'"
const RULE = 'a finite number'

function messageOf(
  details: ErrorPlace & { isField?: boolean; advice?: string },
  phrase = PHRASE,
): string {
  return dataError('COLUMN_HAS_INVALID_VALUE', phrase, details).message
}

test('the message is the phrase, the place, the rule and the value, as far as each is known', () => {
  const value = { value: '"x"', rule: RULE }
  expect(messageOf({})).toBe(PHRASE)
  expect(messageOf(value)).toBe(`${PHRASE}: must be a finite number, not "x"`)
  expect(messageOf({ row: 0, ...value })).toBe(
    `${PHRASE} in row 0 (counted from 0): must be a finite number, not "x"`,
  )
  expect(messageOf({ row: 3, chunk: '7', line: 5, ...value })).toBe(
    `${PHRASE} in row 3 (counted from 0) of chunk '7', line 5: must be a finite number, not "x"`,
  )
  expect(messageOf({ line: 1 }, 'More than 2 columns')).toBe('More than 2 columns in line 1')
  expect(messageOf({ row: 2, rule: 'an object' }, 'Invalid row')).toBe(
    'Invalid row in row 2 (counted from 0): must be an object',
  )
  expect(messageOf({ row: 2, ...value, advice: '; did you mean 2?' })).toBe(
    `${PHRASE} in row 2 (counted from 0): must be a finite number, not "x"; did you mean 2?`,
  )
})

test('a field of CSV is quoted, a JSON token stands as it was sent', () => {
  expect(messageOf({ value: ' 1,5', rule: RULE, isField: true })).toMatch(/, not " 1,5"$/)
  expect(messageOf({ value: '[1, "x"]', rule: RULE })).toMatch(/, not \[1, "x"\]$/)
})

test('a long value is cut between characters: at 80 in the message, at 200 in `value`', () => {
  const value = `"${'x'.repeat(78)}${'😀'.repeat(100)}"`
  const failure = dataError('COLUMN_HAS_INVALID_VALUE', PHRASE, { value, rule: RULE })
  expect(failure.message).toBe(`${PHRASE}: must be ${RULE}, not "${'x'.repeat(78)}…`)
  expect(failure.value).toBe(`"${'x'.repeat(78)}${'😀'.repeat(60)}…`)
})

test('no part of a message can forge a line of a log', () => {
  const nasty = 'x\r\n\u0085\u2028\u202e\u001b[31my'
  for (const isField of [true, false]) {
    const details = { row: 1, column: nasty, value: nasty, rule: RULE, isField }
    const failure = dataError('COLUMN_HAS_INVALID_VALUE', `Invalid value for '${nasty}'`, details)
    expect(failure.message).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u)
    expect([failure.column, failure.value]).toEqual([nasty, nasty])
  }
})

describe('a deferred value', () => {
  const refuse = (code: StoreErrorCode) => () => {
    throw new StoreError(code, 'why')
  }

  test('is read once, at once', () => {
    let reads = 0
    const value = deferred(() => ++reads)
    expect(reads).toBe(1)
    expect([value(), value()]).toEqual([1, 1])
  })

  test.each([
    'COLUMN_ID_NOT_FOUND',
    'COLUMN_HAS_INVALID_VALUE',
    'COLUMN_ID_RESERVED',
    'COLUMN_ID_NOT_UNIQUE',
  ] as const)('throws %s where it is used', (code) => {
    const value = deferred(refuse(code))
    expect(value).toThrow(expect.objectContaining({ code }))
    expect(value).toThrow(expect.objectContaining({ code }))
  })

  test.each(['REQUEST_VALIDATION_ERROR', 'STASH_NOT_FOUND'] as const)(
    '%s is thrown by the reading',
    (code) => {
      expect(() => deferred(refuse(code))).toThrow(expect.objectContaining({ code }))
    },
  )
})

test('the JSON of an error has its message, and the parts that apply', () => {
  const cause = new Error('inner')
  const failure = new StoreError('COLUMN_HAS_INVALID_VALUE', 'Wrong', {
    row: 2,
    column: 'n',
    cause,
  })

  expect(JSON.parse(JSON.stringify({ failure }))).toEqual({
    failure: {
      name: 'StoreError',
      code: 'COLUMN_HAS_INVALID_VALUE',
      message: 'Wrong',
      row: 2,
      column: 'n',
    },
  })
})

test('no message of any StoreError has what acts on a terminal or hides from a reader', async () => {
  const hidden = '\u001b[2J\u009b\u202e\n\u200b'
  const shown = '\\u001b[2J\\u009b\\u202e\\u000a\\u200b'
  expect(new StoreError('SOURCE_URL_FAILED', `The server said ${hidden}`).message).toBe(
    `The server said ${shown}`,
  )
  const store = await openMemory()
  onTestFinished(() => store.close())
  const team = store.team('team')
  const id = `a${hidden}`
  const schema = { columns: [{ id, type: 'string' }] } as const
  const { tableId } = await team.createTable({ name: 't', schema, rows: [{ [id]: 'x' }] })
  const table = team.table(tableId)
  const attempts: readonly (() => unknown)[] = [
    () => team.table(hidden).info(),
    () => team.job(hidden).status(),
    () => table.updateRow(hidden, { [id]: 'y' }),
    () => table.alter({ schema: { columns: [{ id, type: 'number' }] } }),
    () => table.alter({ schema: { columns: [] } }),
    () => table.alter({ key: [hidden] }),
    () => table.count({ [hidden]: 1 }),
    () => table.addRows([{ [hidden]: 1 }]),
    () => table.merge({ rows: [{ [id]: 'x' }], key: [hidden] }),
    () => team.importTable({ fromUrl: `http://127.0.0.1/${hidden}` }),
    () => team.importTable({ fromUrl: hidden }),
    () => openMemory({ [hidden]: 1 } as never),
    () => defineSchema({ [id]: hidden } as never),
    () => table.addRows([], { idempotencyKey: hidden }),
  ]
  for (const attempt of attempts) {
    const failure = await Promise.resolve()
      .then(attempt)
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(StoreError)
    expect((failure as StoreError).message).not.toMatch(/[\p{Cc}\p{DI}\u202e]/u)
  }
})
