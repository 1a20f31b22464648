// Checks a condition of a caller against a schema, and turns it into tests of cells.
//
// Rules:
// - The logic has two values: a test of an empty cell is false, except `ne` (the opposite of `eq`) and `isEmpty`.
// - Text is ordered by code points, numbers by exact values, times by moments.
import { dataError } from '../../base/data-error.js'
import { type Fold, foldText } from '../../base/fold-case.js'
import { isRecord, shown } from '../../base/options.js'
import { plainValue, ValueFault } from '../../base/plain-value.js'
import { StoreError } from '../../base/store-error.js'
import { lackedColumn } from '../../base/unknown-column.js'
import { isWellFormed } from '../../base/well-formed.js'
import type { Column, ColumnKind } from '../../schema/column-kind.js'
import { isDate, isDateTime, isTime } from '../../schema/time-rules.js'
import { isFiniteToken, isNumberToken } from '../../schema/value-rules.js'
import type { FindBounds, Search } from '../types/find-types.js'
import type { Comparison, Condition } from './condition.js'

/** Maximum number of levels of nested conditions. */
export const WHERE_DEPTH_MAX = 16

/** Maximum number of tests of cells in a condition. Each value of `in` counts as a test. */
export const WHERE_TESTS_MAX = 2_000

/** Maximum number of values of one `in`. */
export const WHERE_LIST_MAX = 1_000

/** Maximum number of UTF-16 units of all texts in a condition. */
export const WHERE_CHARS_MAX = 65_536

type Columns = ReadonlyMap<string, Column>

const COMPARISONS = Object.freeze({
  string: 'text',
  markdown: 'text',
  uri: 'text',
  imageURI: 'text',
  audioURI: 'text',
  emailAddress: 'text',
  phoneNumber: 'text',
  emoji: 'text',
  date: 'date',
  time: 'time',
  dateTime: 'dateTime',
  duration: 'duration',
  number: 'number',
  boolean: 'boolean',
} as const satisfies Record<ColumnKind, Comparison>)

/** How values of a kind are compared. */
export function comparisonOf(kind: ColumnKind): Comparison {
  return COMPARISONS[kind]
}

const OPERATORS = Object.freeze([
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'has',
  'startsWith',
  'contains',
  'isEmpty',
] as const)

type Operator = (typeof OPERATORS)[number]

/** Members that may be given beside the operators. They say how texts are compared. */
const FLAGS: readonly string[] = Object.freeze(['ignoreCase', 'ignoreAccents'])

const FOLDING: readonly Operator[] = Object.freeze([
  'eq',
  'ne',
  'in',
  'startsWith',
  'contains',
  'isEmpty',
])

/**
 * Checks a condition.
 * @returns null: every row matches
 * @param search - A text that one of the text columns must contain, without case. An empty text is no condition.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR, with the column, the value and the rule if a value breaks a rule
 */
export function parseWhere(
  where: unknown,
  columns: Columns,
  search: FindBounds['search'] = '',
): Condition | null {
  const read = where === undefined ? ALL : new WhereReader(columns).read(where, 0)
  const wanted = typeof search === 'string' ? { text: search } : search
  const condition =
    wanted.text === ''
      ? read
      : ({ op: 'all', conditions: [read, searchOf(wanted, columns)] } as const)
  return condition.op === 'all' && condition.conditions.length === 0 ? null : condition
}

const ALL: Condition = Object.freeze({ op: 'all', conditions: Object.freeze([]) })

function searchOf({ text, ignoreAccents = false }: Search, columns: Columns): Condition {
  const fold = ignoreAccents ? 'noAccents' : 'noCase'
  const test = { test: 'contains', text: foldText(fold, text), fold } as const
  const texts = [...columns.values()].filter(isTextColumn)
  return { op: 'any', conditions: texts.map(({ id }) => ({ op: 'cell', column: id, ...test })) }
}

/** Reads one condition of a caller, within the limits of its size. */
class WhereReader {
  readonly #columns: Columns
  #tests = 0
  #chars = 0

  constructor(columns: Columns) {
    this.#columns = columns
  }

  read(where: unknown, depth: number): Condition {
    if (depth > WHERE_DEPTH_MAX)
      throw whereTooLarge(`is nested more than ${WHERE_DEPTH_MAX} levels deep`)
    if (!isRecord(where)) throw invalidWhere(`must be an object of conditions, not ${shown(where)}`)
    const conditions: Condition[] = []
    for (const [name, given] of checkedConditions(where)) {
      if (name === '$and' || name === '$or') {
        const op = name === '$and' ? 'all' : 'any'
        conditions.push({ op, conditions: this.#readList(name, given, depth) })
      } else if (name === '$not') {
        conditions.push({ op: 'not', condition: this.read(given, depth + 1) })
      } else {
        conditions.push(...this.#readColumn(name, given))
      }
    }
    const [first] = conditions
    return first !== undefined && conditions.length === 1 ? first : { op: 'all', conditions }
  }

  #readList(name: string, given: unknown, depth: number): Condition[] {
    if (!Array.isArray(given))
      throw invalidWhere(`${name} takes an array of conditions, not ${shown(given)}`)
    this.#count(given.length)
    return Array.from(given, (part: unknown) => this.read(part, depth + 1)) // Array.from also visits holes.
  }

  #readColumn(name: string, given: unknown): Condition[] {
    if (name.startsWith('$') && !name.startsWith('$$')) {
      const remedy = 'a column ID that begins with $ needs a second $ in front'
      throw invalidWhere(
        `has the unknown operator ${shown(name)}; the operators are $and, $or and $not; ${remedy}`,
      )
    }
    const id = name.startsWith('$') ? name.slice(1) : name
    const column = this.#columns.get(id)
    if (column === undefined) {
      const phrase = `where: ${lackedColumn(this.#columns, id)}`
      throw dataError('REQUEST_VALIDATION_ERROR', phrase, { column: id })
    }
    const plain = checkPlainOperand(column, 'eq', given)
    if (!isRecord(plain)) return [this.#readTest(column, 'eq', plain)]
    const fold = foldOf(column, plain)
    const tests = checkedConditions(plain).filter(([name]) => !FLAGS.includes(name))
    return tests.map(([operator, value]) => {
      if (!isOperator(operator)) {
        const known = [...OPERATORS, ...FLAGS].join(', ')
        throw invalidWhere(
          `has the unknown operator ${shown(operator)} for column ${shown(id)}; the operators are ${known}`,
        )
      }
      return this.#readTest(column, operator, checkPlainOperand(column, operator, value), fold)
    })
  }

  #readTest(column: Column, operator: Operator, given: unknown, fold?: Fold): Condition {
    this.#count(1)
    const { id } = column
    if (fold !== undefined && !FOLDING.includes(operator)) {
      throw wrongOperator(column, operator, `ignoreCase is for ${FOLDING.join(', ')}`)
    }
    if (operator === 'isEmpty') {
      if (typeof given !== 'boolean') throw wrongValue(column, operator, given, 'true or false')
      return given ? emptyCell(id) : not(emptyCell(id))
    }
    if (operator === 'ne') return not(this.#readTest(column, 'eq', given, fold))
    if (operator === 'eq' && given === null) return emptyCell(id)
    const isArray = column.type.kind === 'array'
    if (isArray !== (operator === 'has')) {
      const why = isArray
        ? 'an array column supports only has and isEmpty'
        : 'it is not an array column'
      throw wrongOperator(column, operator, why)
    }
    const kind = column.type.kind === 'array' ? column.type.items.kind : column.type.kind
    const comparison = COMPARISONS[kind]
    const folding = fold === undefined ? {} : { fold }
    const folded = (text: string): string => (fold === undefined ? text : foldText(fold, text))
    switch (operator) {
      case 'eq':
      case 'in':
      case 'has': {
        const all = operator === 'in' ? this.#listOf(column, given) : [given]
        const values = all.map((one) => folded(this.#valueOf(column, operator, comparison, one)))
        const test = operator === 'has' ? operator : 'in'
        return {
          op: 'cell',
          column: id,
          test,
          comparison,
          values: [...new Set(values)],
          ...folding,
        }
      }
      case 'startsWith':
      case 'contains': {
        const text = folded(this.#textOf(column, operator, given))
        return { op: 'cell', column: id, test: operator, text, ...folding }
      }
      default: {
        if (comparison === 'boolean' || comparison === 'duration') {
          throw wrongOperator(column, operator, UNORDERED[comparison])
        }
        const value = this.#valueOf(column, operator, comparison, given)
        return { op: 'cell', column: id, test: operator, comparison, value }
      }
    }
  }

  #listOf(column: Column, given: unknown): readonly unknown[] {
    if (!Array.isArray(given)) throw wrongValue(column, 'in', given, 'an array of values')
    if (given.length > WHERE_LIST_MAX) {
      throw whereTooLarge(
        `has ${given.length} values in one list of in; at most ${WHERE_LIST_MAX} are allowed`,
      )
    }
    this.#count(given.length)
    return Array.from(given, (value: unknown) => checkPlainOperand(column, 'in', value)) // Array.from also visits holes.
  }

  #textOf(column: Column, operator: 'startsWith' | 'contains', given: unknown): string {
    const { kind } = column.type
    if (kind === 'number' || kind === 'boolean' || kind === 'duration') {
      throw wrongOperator(column, operator, 'its cells are not text')
    }
    return this.#wellFormed(column, operator, given)
  }

  #valueOf(column: Column, operator: Operator, comparison: Comparison, given: unknown): string {
    switch (comparison) {
      case 'number':
        return this.#numberOf(column, operator, given)
      case 'boolean':
        if (typeof given !== 'boolean') throw wrongValue(column, operator, given, 'true or false')
        return String(given)
      case 'duration':
        return typeof given === 'string'
          ? JSON.stringify(this.#wellFormed(column, operator, given))
          : this.#numberOf(column, operator, given)
      default: {
        const text = this.#wellFormed(column, operator, given)
        const rule = comparison === 'text' ? undefined : TIME_RULES[comparison]
        if (rule === undefined || rule.fits(text)) return text
        throw wrongValue(column, operator, given, rule.words)
      }
    }
  }

  /** A number, a BigInt, or the text of a number, which may have more digits than either. */
  #numberOf(column: Column, operator: Operator, given: unknown): string {
    const isNumeric = typeof given === 'number' || typeof given === 'bigint'
    const text = isNumeric ? String(given) : given
    if (typeof text === 'string') this.#countChars(text)
    if (typeof text !== 'string' || !isNumberToken(text) || !isFiniteToken(text)) {
      throw wrongValue(column, operator, given, 'a finite number, or the text of one')
    }
    return text
  }

  #wellFormed(column: Column, operator: Operator, given: unknown): string {
    if (typeof given !== 'string') throw wrongValue(column, operator, given, 'text')
    this.#countChars(given)
    if (isWellFormed(given)) return given
    throw wrongValue(column, operator, given, 'text without a lone surrogate')
  }

  #count(tests: number): void {
    this.#tests += tests
    if (this.#tests > WHERE_TESTS_MAX) throw tooManyTests()
  }

  #countChars({ length }: string): void {
    this.#chars += length
    if (this.#chars > WHERE_CHARS_MAX) {
      throw whereTooLarge(`has more than ${WHERE_CHARS_MAX} characters of values`)
    }
  }
}

/**
 * Refuses too many members before they are read: each member is at least one condition, and to read millions would take
 * long.
 */
function checkedConditions(conditions: Readonly<Record<string, unknown>>): [string, unknown][] {
  if (Object.keys(conditions).length > WHERE_TESTS_MAX) throw tooManyTests()
  return Object.entries(conditions)
}

const UNORDERED = Object.freeze({
  boolean: 'true and false have no order',
  duration: 'durations have no order, because months differ in length',
})

const TIME_RULES = Object.freeze({
  date: { fits: isDate, words: 'a date, YYYY-MM-DD' },
  time: { fits: isTime, words: 'a time, HH:mm[:ss[.f…]], with or without an offset' },
  dateTime: { fits: isDateTime, words: 'a date, or a date with a time' },
})

/** How a column's texts are compared. @throws {StoreError} REQUEST_VALIDATION_ERROR */
function foldOf(column: Column, tests: Readonly<Record<string, unknown>>): Fold | undefined {
  for (const name of FLAGS) {
    const given = tests[name]
    if (given !== undefined && typeof given !== 'boolean') {
      throw wrongValue(column, name, given, 'true or false')
    }
  }
  const { ignoreCase = false, ignoreAccents = false } = tests
  if (!ignoreCase) {
    if (ignoreAccents) throw wrongOperator(column, 'ignoreAccents', 'it needs ignoreCase: true')
    return undefined
  }
  if (!isTextColumn(column)) throw wrongOperator(column, 'ignoreCase', 'its cells are not text')
  return ignoreAccents ? 'noAccents' : 'noCase'
}

function isTextColumn({ type }: Column): boolean {
  return type.kind !== 'array' && COMPARISONS[type.kind] === 'text'
}

/** The plain value of an operand. @throws {StoreError} REQUEST_VALIDATION_ERROR */
function checkPlainOperand(column: Column, operator: Operator, given: unknown): unknown {
  try {
    return plainValue(given)
  } catch (failure) {
    if (!(failure instanceof ValueFault)) throw failure
    throw wrongValue(column, operator, given, failure.rule, failure.value)
  }
}

function isOperator(name: string): name is Operator {
  return (OPERATORS as readonly string[]).includes(name)
}

function emptyCell(column: string): Condition {
  return { op: 'cell', column, test: 'isEmpty' }
}

function not(condition: Condition): Condition {
  return { op: 'not', condition }
}

function invalidWhere(problem: string): StoreError {
  return new StoreError('REQUEST_VALIDATION_ERROR', `where ${problem}`)
}

function tooManyTests(): StoreError {
  return whereTooLarge(`has more than ${WHERE_TESTS_MAX} conditions and values`)
}

function whereTooLarge(problem: string): StoreError {
  return invalidWhere(`${problem}; split it into several requests`)
}

function wrongOperator({ id }: Column, operator: string, why: string): StoreError {
  const phrase = `where: column ${shown(id)} does not support ${operator}: ${why}`
  return dataError('REQUEST_VALIDATION_ERROR', phrase, { column: id })
}

function wrongValue(
  { id }: Column,
  operator: string,
  given: unknown,
  rule: string,
  value = shown(given),
): StoreError {
  const phrase = `where: invalid value for ${operator} of column ${shown(id)}`
  return dataError('REQUEST_VALIDATION_ERROR', phrase, { column: id, value, rule })
}
