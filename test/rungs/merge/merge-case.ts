// Random pairs of row sets, and the results that their merges must have: rows are lists of cells, and each is compared
// with each.
import type { MergeCounts } from '../../../src/index.js'
import { mergeOf } from '../../support/merge-oracle.js'
import { type Seeded, seeded } from '../../support/seeded.js'

/** A cell: its token as JSON text, and its meaning. */
type Value = Readonly<{ token: string; means: string }>

export type Cells = ReadonlyMap<string, Value>

const COLUMNS = ['k', 'm', 'name', 'n', 'flag', 'tags'] as const

export const SCHEMA = {
  columns: [
    { id: 'k', type: 'string' },
    { id: 'm', type: 'number' },
    { id: 'name', type: 'string' },
    { id: 'n', type: 'number' },
    { id: 'flag', type: 'boolean' },
    { id: 'tags', type: { kind: 'array', items: { kind: 'string' } } },
  ],
} as const

export type MergeCase = Readonly<{
  missing: 'keep' | 'delete'
  unnamed: 'keep' | 'empty'
  key: readonly string[]
  before: readonly Cells[]
  input: readonly Cells[]
  /** The columns that the input names, in this order in each row. */
  inputColumns: readonly string[]
}>

/** Forms of numbers, some of them of the same number. */
const NUMBERS: readonly Value[] = [
  ['0', '0'],
  ['0.0', '0'],
  ['7', '7'],
  ['7.0', '7'],
  ['70e-1', '7'],
  ['34.5', '34.5'],
  ['34.50', '34.5'],
  ['3450E-2', '34.5'],
  ['-1', '-1'],
  ['-10e-1', '-1'],
  ['100', '100'],
  ['1e2', '100'],
  ['12345678901234567890', '12345678901234567890'],
  ['12345678901234567891', '12345678901234567891'],
].map(([token = '', means = '']) => ({ token, means: `number ${means}` }))

function text(means: string, random: Seeded): Value {
  const plain = JSON.stringify(means)
  if (means === '' || !random.once(4)) return { token: plain, means: `text ${means}` }
  const first = means.charCodeAt(0).toString(16).padStart(4, '0')
  const rest = JSON.stringify(means.slice(1)).slice(1)
  return { token: `"\\u${first}${rest}`, means: `text ${means}` }
}

function valueFor(column: string, random: Seeded, keys: number): Value {
  const number = (): Value => random.pick(NUMBERS)
  switch (column) {
    case 'k':
      return text(random.pick(['a', 'ä', 'key ', 'x"y', '']) + random.below(keys), random)
    case 'm':
    case 'n':
      return number()
    case 'name':
      return text(random.pick(['x', 'yy', 'ä "quoted"', '', '12', 'long '.repeat(20)]), random)
    case 'flag':
      return random.once(2) ? { token: 'true', means: 'true' } : { token: 'false', means: 'false' }
    default: {
      const elements = Array.from({ length: random.below(3) }, () =>
        text(random.pick(['p', 'q']), random),
      )
      return {
        token: `[${elements.map(({ token }) => token).join(',')}]`,
        means: `[${elements.map(({ means }) => means).join(',')}]`,
      }
    }
  }
}

export function makeCase(seed: number): MergeCase {
  const random = seeded(seed)
  const missing = random.once(2) ? 'delete' : 'keep'
  const unnamed = random.once(2) ? 'empty' : 'keep'
  const key = random.once(3) ? ['k', 'm'] : random.once(4) ? ['m'] : ['k']
  const size = (): number => random.pick([0, 1, 3, 8, 12, 30])
  const keys = random.pick([3, 20, 100])
  const makeRow = (columns: readonly string[], always: readonly string[]): Cells => {
    const cells = new Map<string, Value>()
    for (const id of columns) {
      if (always.includes(id) || !random.once(4)) cells.set(id, valueFor(id, random, keys))
    }
    return cells
  }
  const shuffled = [...COLUMNS].sort(() => random.below(3) - 1)
  const before = unique(
    Array.from({ length: size() }, () => makeRow(random.once(3) ? shuffled : COLUMNS, [])),
    key,
  )
  const optional = COLUMNS.filter((id) => !key.includes(id))
  const inputColumns = random.once(2)
    ? [...COLUMNS]
    : [...key, ...optional.filter(() => random.once(2))]
  const fresh = Array.from({ length: size() }, () => makeRow(inputColumns, key))
  const same = before
    .filter((row) => key.every((id) => row.has(id)) && random.below(3) > 0)
    .map((row) => {
      const cells = new Map<string, Value>()
      for (const id of inputColumns) {
        const value = row.get(id)
        const isChanged = !key.includes(id) && random.once(12)
        if (isChanged && !random.once(3)) cells.set(id, valueFor(id, random, keys))
        else if (value !== undefined && !isChanged) cells.set(id, value)
      }
      return cells
    })
  const input = [...same, ...fresh]
  if (random.once(2)) for (let i = input.length - 1; i > 0; i--) swap(input, i, random.below(i + 1))
  const made = { missing, unnamed, key, before, input: unique(input, key), inputColumns } as const
  return seed % 2 === 0 ? inOrder(made, seed) : made
}

/**
 * The same case with other keys, integers and texts without escapes, and rows in key order. On each side a few rows may
 * be misplaced, or have a key outside this order.
 */
function inOrder(made: MergeCase, seed: number): MergeCase {
  const random = seeded(seed + 1)
  const escapes = random.once(4)
  const names = new Map<string, number>()
  const tokensOf = ({ token, means }: Value): Value => {
    const number = names.get(means) ?? (names.size * 7) % 101
    names.set(means, number)
    if (!token.startsWith('"')) return { token: `${number}`, means: `number ${number}` }
    const first = escapes && random.once(40) ? '\\u006b' : 'k'
    // Some texts extend others by a space, which sorts below a quote.
    const rest = number % 3 === 0 ? `${number + 1} x` : `${number}`
    return { token: `"${first}${rest}"`, means: `text k${rest}` }
  }
  const rekeyed = (rows: readonly Cells[]): Cells[] =>
    rows.map((row) => {
      const cells = new Map(row)
      for (const id of made.key) {
        const value = row.get(id)
        if (value !== undefined) cells.set(id, tokensOf(value))
      }
      return cells
    })
  const sorted = (rows: readonly Cells[]): Cells[] => {
    const list = rekeyed(rows).sort((a, b) => compareKeys(a, b, made.key))
    if (random.once(3)) swap(list, random.below(list.length), random.below(list.length))
    return list
  }
  const changed = made.input.map((row) => (random.once(4) ? sameLengthChanged(row, made.key) : row))
  return { ...made, before: sorted(made.before), input: sorted(changed) }
}

/** The row with other values of the same number of bytes, where possible. */
function sameLengthChanged(row: Cells, key: readonly string[]): Cells {
  const cells = new Map(row)
  for (const [id, { token }] of row) {
    if (key.includes(id)) continue
    if (token === '7') cells.set(id, { token: '0', means: 'number 0' })
    if (token === '0') cells.set(id, { token: '7', means: 'number 7' })
  }
  return cells
}

function compareKeys(left: Cells, right: Cells, key: readonly string[]): number {
  for (const id of key) {
    const [a = '', b = ''] = [left.get(id)?.means, right.get(id)?.means]
    const order = a.startsWith('text') ? 0 : a.length - b.length
    if (order !== 0) return order
    if (a !== b) return a < b ? -1 : 1
  }
  return 0
}

function swap(rows: Cells[], i: number, j: number): void {
  const [a, b] = [rows[i], rows[j]]
  if (a !== undefined && b !== undefined) [rows[i], rows[j]] = [b, a]
}

/** null: a key cell is empty. */
export function keyOf(row: Cells, key: readonly string[]): string | null {
  const parts = key.map((id) => row.get(id)?.means)
  return parts.includes(undefined) ? null : JSON.stringify(parts)
}

function unique(rows: readonly Cells[], key: readonly string[]): Cells[] {
  const seen = new Set<string>()
  return rows.filter((row) => {
    const name = keyOf(row, key)
    if (name === null) return true
    if (seen.has(name)) return false
    seen.add(name)
    return true
  })
}

export type Expected = Readonly<{
  /** The outcome of each row of the table. */
  rows: readonly Readonly<{ cells: Cells | null; isChanged: boolean }>[]
  /** Indexes of added rows of the input. */
  added: readonly number[]
  counts: MergeCounts
}>

export function expectedOf({ before, input, inputColumns, ...rules }: MergeCase): Expected {
  const isSame = (one: Value, other: Value): boolean => one.means === other.means
  const merged = mergeOf(before, input, { ...rules, named: inputColumns, isSame })
  if (merged === null) throw new Error('a key of the case is not unique')
  const rows = before.map((row, at) => {
    const fate = merged.fates[at]
    if (fate === 'removed') return { cells: null, isChanged: true }
    if (typeof fate !== 'object') return { cells: row, isChanged: false }
    const cells = new Map(row)
    for (const [id, value] of fate.changes) {
      if (value === null) cells.delete(id)
      else cells.set(id, value)
    }
    return {
      cells: rules.unnamed === 'empty' ? (input[fate.partner] ?? cells) : cells,
      isChanged: true,
    }
  })
  return { rows, added: merged.added, counts: merged.counts }
}

/** The values of a row, independent of the order of its cells and of the form of its tokens. */
export function meaningOf(row: Cells): string {
  const cells = [...row].map(([id, { means }]) => [id, means])
  return JSON.stringify(cells.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)))
}

/** Rows as a JSON body. Empty cells of the columns are null, so that the body names the columns. */
export function bodyOf(rows: readonly Cells[], columns: readonly string[]): string {
  const texts = rows.map((row) => {
    const ids = [...new Set([...row.keys(), ...columns])]
    return `{${ids.map((id) => `${JSON.stringify(id)}:${row.get(id)?.token ?? 'null'}`).join(',')}}`
  })
  return `[${texts.join(',')}]`
}
