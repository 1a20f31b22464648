// The meaning of a condition in its simplest form: on parsed rows, with numbers as texts.
import { foldCase } from '../../src/base/fold-case.js'
import type { ColumnType, RowWithId, Table, TableSchema, Where } from '../../src/index.js'
import { readCaseFolding } from '../unit/base/case-folding.js'
import type { Order } from './find-cases.js'

type GroupsRequest = Parameters<Table['groups']>[0]
type Group = Awaited<ReturnType<Table['groups']>>[number]

type Row = Readonly<Record<string, unknown>>

/** Whether a row, read with `numbers: 'text'`, matches. */
export function matches(schema: TableSchema, row: RowWithId, where: Where): boolean {
  const types = new Map(schema.columns.map(({ id, type }) => [id, type]))
  return all(types, row, where)
}

/** A column may have the ID of a member that every object inherits. */
export function cellOf(row: Row, id: string): unknown {
  return Object.hasOwn(row, id) ? row[id] : undefined
}

function all(types: ReadonlyMap<string, ColumnType>, row: Row, where: Where): boolean {
  return Object.entries(where).every(([name, given]) => {
    if (name === '$and') return (given as Where[]).every((part) => all(types, row, part))
    if (name === '$or') return (given as Where[]).some((part) => all(types, row, part))
    if (name === '$not') return !all(types, row, given as Where)
    const id = name.startsWith('$$') ? name.slice(1) : name
    const type = types.get(id)
    if (type === undefined) throw new Error(`No column ${id}`)
    const isTest = typeof given === 'object' && given !== null
    const { ignoreCase, ignoreAccents, ...tests } = isTest ? (given as Row) : { eq: given }
    const fold = ignoreCase ? (value: unknown) => foldAll(value, ignoreAccents === true) : same
    return Object.entries(tests).every(([operator, value]) => {
      return test(type, fold(cellOf(row, id)), operator, fold(value))
    })
  })
}

/** Whether a column of strings contains a text, without case. */
export function contains(schema: TableSchema, row: RowWithId, search: string): boolean {
  return schema.columns.some(({ id, type }) => {
    const cell = type.kind === 'string' ? foldAll(cellOf(row, id), false) : undefined
    return typeof cell === 'string' && cell.includes(String(foldAll(search, false)))
  })
}

const FOLDING = readCaseFolding()

function foldAll(value: unknown, dropsAccents: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => foldAll(one, dropsAccents))
  if (typeof value !== 'string') return value
  const folded = [...value].map((char) => FOLDING.get(char) ?? char).join('')
  return dropsAccents ? folded.normalize('NFD').replace(/\p{M}/gu, '').normalize('NFC') : folded
}

function same(value: unknown): unknown {
  return value
}

function test(type: ColumnType, cell: unknown, operator: string, value: unknown): boolean {
  const kind = type.kind === 'array' ? type.items.kind : type.kind
  switch (operator) {
    case 'isEmpty':
      return (cell === undefined) === value
    case 'eq':
      return value === null ? cell === undefined : order(kind, cell, value) === 0
    case 'ne':
      return !test(type, cell, 'eq', value)
    case 'in':
      return (value as unknown[]).some((one) => order(kind, cell, one) === 0)
    case 'has':
      return cell !== undefined && (cell as unknown[]).some((one) => order(kind, one, value) === 0)
    case 'startsWith':
      return typeof cell === 'string' && cell.startsWith(String(value))
    case 'contains':
      return typeof cell === 'string' && cell.includes(String(value))
    case 'gt':
      return order(kind, cell, value) > 0
    case 'gte':
      return order(kind, cell, value) >= 0
    case 'lt':
      return order(kind, cell, value) < 0
    default:
      return order(kind, cell, value) <= 0
  }
}

/** The rows, read with `numbers: 'text'`, in an order. The sort is stable. */
export function sorted(
  schema: TableSchema,
  rows: readonly RowWithId[],
  orderBy: Order,
): readonly RowWithId[] {
  const kinds = new Map(schema.columns.map(({ id, type }) => [id, type.kind]))
  return [...rows].sort((left, right) => {
    for (const { column, descending = false, ignoreCase = false, locale } of orderBy) {
      const [one, other] = [cellOf(left, column), cellOf(right, column)]
      if (one === undefined && other === undefined) continue
      if (one === undefined || other === undefined) return one === undefined ? 1 : -1
      const kind = kinds.get(column) ?? ''
      const options = { sensitivity: ignoreCase ? 'accent' : 'variant' } as const
      const fold = (value: unknown) => (ignoreCase ? foldCase(String(value)) : String(value))
      const difference =
        locale === undefined
          ? placed(kind, fold(one), fold(other))
          : new Intl.Collator(locale, options).compare(String(one), String(other))
      if (difference !== 0) return descending ? -difference : difference
    }
    return 0
  })
}

function placed(kind: string, one: unknown, other: unknown): number {
  return kind === 'boolean'
    ? Number(one === 'true') - Number(other === 'true')
    : order(kind, one, other)
}

/** The groups of rows, read with `numbers: 'text'`, as `groups` returns them. */
export function groupsOf(
  schema: TableSchema,
  rows: readonly RowWithId[],
  { by = [], sum = [], least = [], greatest = [] }: GroupsRequest,
): Group[] {
  const kindOf = (id: string): string =>
    schema.columns.find((one) => one.id === id)?.type.kind ?? ''
  const isSame = (id: string, left: Row, right: Row): boolean => {
    const [one, other] = [cellOf(left, id), cellOf(right, id)]
    return one === undefined || other === undefined
      ? one === other
      : order(kindOf(id), one, other) === 0
  }
  const groups: RowWithId[][] = by.length === 0 && rows.length === 0 ? [[]] : []
  for (const row of rows) {
    const group = groups.find(([first]) => first && by.every((id) => isSame(id, first, row)))
    if (group === undefined) groups.push([row])
    else group.push(row)
  }
  const members = (ids: readonly string[], cellIn: (id: string) => unknown) =>
    Object.fromEntries(ids.map((id) => [id, cellIn(id) ?? null]))
  const best = (id: string, group: Row[], isBetter: (order: number) => boolean): unknown => {
    return group
      .map((row) => cellOf(row, id))
      .filter((cell) => cell !== undefined)
      .reduce<unknown>((kept, cell) => {
        return kept === undefined || isBetter(order(kindOf(id), cell, kept)) ? cell : kept
      }, undefined)
  }
  return groups
    .map((group) => ({
      values: members(by, (id) => cellOf(group[0] ?? {}, id)),
      count: group.length,
      ...(sum.length > 0 && { sum: members(sum, (id) => sumOf(group, id)) as Group['sum'] & {} }),
      ...(least.length > 0 && { least: members(least, (id) => best(id, group, (one) => one < 0)) }),
      ...(greatest.length > 0 && {
        greatest: members(greatest, (id) => best(id, group, (one) => one > 0)),
      }),
    }))
    .sort((left, right) => {
      const differing = by.find((id) => compareCells(kindOf(id), left, right, id) !== 0)
      const tie =
        differing === undefined ? 0 : compareCells(kindOf(differing), left, right, differing)
      return right.count - left.count || tie
    })
}

/** Empty cells come last. */
function compareCells(kind: string, left: Group, right: Group, id: string): number {
  const [one, other] = [left.values[id], right.values[id]]
  if (one === null || other === null) return Number(one === null) - Number(other === null)
  return kind === 'boolean' || kind === 'duration'
    ? Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)))
    : order(kind, one, other)
}

/** The sum in units of 10 ** -500, with as many decimals as the number that has most. */
function sumOf(rows: readonly Row[], id: string): string | null {
  const cells = rows.map((row) => cellOf(row, id)).filter((cell) => cell !== undefined)
  if (cells.length === 0) return null
  const scale = '1e-500'
  const sum = cells.reduce<bigint>((total, cell) => {
    const [units, one] = scaled(String(cell), scale)
    return total + units / one
  }, 0n)
  const digits = String(sum < 0n ? -sum : sum).padStart(501, '0')
  const decimals = cells.map((cell) => {
    const [number = '', exponent = '0'] = String(cell).toLowerCase().split('e')
    return (number.split('.')[1] ?? '').length - Number(exponent)
  })
  const places = Math.min(Math.max(0, ...decimals), 400)
  const fraction = digits.slice(-500).slice(0, places)
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -500)}${places === 0 ? '' : `.${fraction}`}`
}

/** NaN: an empty cell has no order. */
function order(kind: string, cell: unknown, value: unknown): number {
  if (cell === undefined) return Number.NaN
  switch (kind) {
    case 'number':
      return compare(...scaled(String(cell), String(value)))
    case 'boolean':
      return cell === value ? 0 : 1
    case 'time':
    case 'dateTime':
      return compare(momentOf(String(cell)), momentOf(String(value)))
    case 'duration':
      return durationOf(cell) === durationOf(value) ? 0 : 1
    default:
      return Buffer.compare(Buffer.from(String(cell)), Buffer.from(String(value)))
  }
}

function compare(left: bigint, right: bigint): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}

const TOKEN = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/

/** Two numbers as integers of one scale. */
function scaled(...tokens: readonly [string, string]): [bigint, bigint] {
  const parts = tokens.map((token) => {
    const [, sign = '', whole = '', fraction = '', power = '0'] = TOKEN.exec(token) ?? []
    return { digits: BigInt(`${sign}${whole}${fraction}`), power: Number(power) - fraction.length }
  })
  const least = Math.min(...parts.map(({ power }) => power))
  const [left = 0n, right = 0n] = parts.map(
    ({ digits, power }) => digits * 10n ** BigInt(power - least),
  )
  return [left, right]
}

/** A duration as text: numbers in one form, texts unchanged. */
function durationOf(value: unknown): string {
  return typeof value === 'string' && !TOKEN.test(value) ? `text ${value}` : String(Number(value))
}

const MOMENT =
  /^(?:(\d{4})-(\d\d)-(\d\d))?[T ]?(?:(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:\d\d)?)?$/

/** Femtoseconds since 1970, or since midnight. */
function momentOf(text: string): bigint {
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset = 'Z'] =
    MOMENT.exec(text) ?? []
  const date = new Date(0)
  if (year !== undefined) date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  date.setUTCHours(Number(hour), Number(minute), Number(second))
  const [hours = '0', minutes = '0'] = offset === 'Z' ? [] : offset.slice(1).split(':')
  const minutesAhead = (offset.startsWith('-') ? -1 : 1) * (60 * Number(hours) + Number(minutes))
  const ms = date.getTime() - 60_000 * minutesAhead
  return BigInt(ms) * 10n ** 12n + BigInt(fraction.padEnd(15, '0').slice(0, 15))
}
