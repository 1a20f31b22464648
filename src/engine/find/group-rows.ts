// Groups rows with the same values in some columns: counts the rows of each group, and computes the sums, the least and
// the greatest values of other columns. All this is done in one scan over one generation. The limits of groups bound
// the memory.
import { type Bytes, utf8 } from '../../base/bytes.js'
import { dataError } from '../../base/data-error.js'
import { shown } from '../../base/options.js'
import { invalidArgument, type StoreError } from '../../base/store-error.js'
import { lackedColumn } from '../../base/unknown-column.js'
import { RowCells } from '../../format/row-cells.js'
import { GROUPS_MAX, type GroupsBounds } from '../arguments/groups-arguments.js'
import type { IndexedSchema } from '../caches/schema-cache.js'
import type { Run } from '../read/page-reader.js'
import type { FrameRows } from '../segments/frame-runs.js'
import { type Aggregate, extremesOf, Sums } from './aggregates.js'
import type { Comparison } from './condition.js'
import type { FoundRows } from './find-walk.js'
import { GroupTable } from './group-table.js'
import { ValueRanks } from './value-ranks.js'
import { comparisonOf } from './where.js'

/** Maximum number of bytes of all values of the groups. */
const GROUPS_BYTES_MAX = 4 * 1024 * 1024

/** The work on a cell, in units of the work on a byte. The other work on a row is counted as one more cell. */
const WORK_OF_CELL = 32

type Columns = IndexedSchema['columns']

type Group = { readonly number: number; readonly tokens: readonly (string | null)[]; count: number }

/** An aggregated column of the groups. */
type Shown = Readonly<{ name: 'sum' | 'least' | 'greatest'; id: string; cell: number }> &
  Readonly<{ aggregate: Aggregate }>

export class RowGroups implements FoundRows {
  readonly isFull = false
  /** The work on a row, in units of the work on a byte; see `Wanted`. */
  readonly rowWork: number
  readonly #bounds: GroupsBounds
  readonly #ids: readonly string[]
  readonly #comparisons: readonly (Comparison | 'array')[]
  readonly #shown: readonly Shown[]
  readonly #cells: RowCells
  readonly #table: GroupTable<Group>
  #count = 0
  #bytes = 0

  /** @throws {StoreError} REQUEST_VALIDATION_ERROR */
  constructor(bounds: GroupsBounds, columns: Columns) {
    const { by, sum, least, greatest } = bounds
    const ids = [...new Set([...by, ...sum, ...least, ...greatest])]
    this.#bounds = bounds
    this.#ids = ids
    this.#comparisons = ids.map((id) => columnComparison(columns, id))
    const names = ['sum', 'least', 'greatest'] as const
    this.#shown = names.flatMap((name) =>
      bounds[name].map((id) => {
        const aggregate = aggregateOf(name, id, columnComparison(columns, id))
        return { name, id, cell: ids.indexOf(id), aggregate }
      }),
    )
    this.#cells = new RowCells(ids)
    this.rowWork = WORK_OF_CELL * (1 + ids.length)
    const compared = by.map((id) => scalarOf('by', id, columnComparison(columns, id)))
    this.#table = new GroupTable(compared, (tokens) => this.#create(tokens))
  }

  /** Whether the values of the grouped columns are still compared as they were when the groups were begun. */
  isOf(columns: Columns): boolean {
    return this.#ids.every((id, at) => columnComparison(columns, id) === this.#comparisons[at])
  }

  /** @throws {StoreError} REQUEST_VALIDATION_ERROR, DATA_CORRUPT */
  take(_: Run['extent'], { frame, first, limit }: FrameRows): number {
    const { texts } = frame
    for (let row = first; row < limit; row++) {
      this.#cells.read(texts, frame.endOf(row - 1), frame.endOf(row))
      this.#add(texts)
    }
    return limit - first
  }

  #add(bytes: Bytes): void {
    const { from, to } = this.#cells
    const group = this.#table.of(bytes, this.#cells)
    group.count++
    for (const { cell, aggregate } of this.#shown) {
      const end = to[cell] ?? 0
      if (end > 0) this.#keep(aggregate.add(group.number, bytes, from[cell] ?? 0, end))
    }
  }

  #create(tokens: readonly (string | null)[]): Group {
    const number = this.#count++
    if (number === GROUPS_MAX) throw tooManyGroups(`${GROUPS_MAX} groups`)
    this.#keep(tokens.reduce((bytes, token) => bytes + (token?.length ?? 0), 0))
    return { number, tokens, count: 0 }
  }

  #keep(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > GROUPS_BYTES_MAX) throw tooManyGroups(`${GROUPS_BYTES_MAX} bytes of values`)
  }

  /** The groups as JSON, largest first. Without columns there is one group of all rows, even if there are no rows. */
  json(): string {
    const { by, limit } = this.#bounds
    const found = this.#table.groups
    const groups = found.length === 0 && by.length === 0 ? [this.#create([])] : found
    const ranks = by.map((_, at) => ranksOf(groups, at, this.#comparisons[at] ?? 'text'))
    const order = (left: Group, right: Group): number => {
      if (left.count !== right.count) return right.count - left.count
      for (const rank of ranks) {
        const difference = (rank[left.number] ?? 0) - (rank[right.number] ?? 0)
        if (difference !== 0) return difference
      }
      return 0
    }
    const sorted = [...groups].sort(order).slice(0, limit)
    return `[${sorted.map((group) => this.#render(group)).join(',')}]`
  }

  #render({ number, tokens, count }: Group): string {
    const { by, ...bounds } = this.#bounds
    const values = by.map((id, at) => `${JSON.stringify(id)}:${tokens[at] ?? 'null'}`)
    const members = (['sum', 'least', 'greatest'] as const).filter(
      (name) => bounds[name].length > 0,
    )
    const more = members.map((name) => {
      const shown = this.#shown.filter((one) => one.name === name)
      const cells = shown.map(({ id, aggregate }) => {
        return `${JSON.stringify(id)}:${aggregate.render(number)}`
      })
      return `,"${name}":{${cells.join(',')}}`
    })
    return `{"values":{${values.join(',')}},"count":${count}${more.join('')}}`
  }
}

/** By group: the rank of its value of a column among the values of all groups. An empty cell comes after all values. */
function ranksOf(
  groups: readonly Group[],
  column: number,
  comparison: Comparison | 'array',
): readonly number[] {
  const values = groups.map(({ tokens }) => comparedBytes(comparison, tokens[column] ?? null))
  const form = ranksForm(comparison)
  const ranks = new ValueRanks(
    form,
    values.filter((bytes) => bytes !== null),
  )
  return values.map((bytes) => {
    return bytes === null ? Number.MAX_SAFE_INTEGER : ranks.rankOf(bytes, 0, bytes.length)
  })
}

function ranksForm(comparison: Comparison | 'array'): 'text' | 'number' | 'time' | 'dateTime' {
  const isOwn = comparison === 'number' || comparison === 'time' || comparison === 'dateTime'
  return isOwn ? comparison : 'text'
}

/** A value in the form for `ValueRanks`: a text without quotes and escapes, or another token. */
function comparedBytes(comparison: Comparison | 'array', token: string | null): Bytes | null {
  if (token === null) return null
  return utf8(token.startsWith('"') && comparison !== 'number' ? String(JSON.parse(token)) : token)
}

/** @throws {StoreError} REQUEST_VALIDATION_ERROR */
function columnComparison(columns: Columns, id: string): Comparison | 'array' {
  const column = columns.get(id)
  if (column === undefined) {
    const problem = `groups: ${lackedColumn(columns, id)}`
    throw dataError('REQUEST_VALIDATION_ERROR', problem, { column: id })
  }
  return column.type.kind === 'array' ? 'array' : comparisonOf(column.type.kind)
}

function scalarOf(name: string, id: string, comparison: Comparison | 'array'): Comparison {
  if (comparison === 'array') throw wrongColumn(name, id, 'it is an array column')
  return comparison
}

function aggregateOf(name: Shown['name'], id: string, given: Comparison | 'array'): Aggregate {
  const comparison = scalarOf(name, id, given)
  if (name === 'sum') {
    if (comparison !== 'number') throw wrongColumn(name, id, 'its cells are not numbers')
    return new Sums(id)
  }
  const extremes = extremesOf(comparison, name === 'greatest')
  if (extremes !== undefined) return extremes
  throw wrongColumn(name, id, 'its cells are neither numbers nor dates nor times')
}

function wrongColumn(name: string, id: string, why: string): StoreError {
  const problem = `groups: ${name} does not take column ${shown(id)}: ${why}`
  return dataError('REQUEST_VALIDATION_ERROR', problem, { column: id })
}

function tooManyGroups(most: string): StoreError {
  return invalidArgument(
    `groups: there are more than ${most}; group by fewer columns, or select fewer rows with where`,
  )
}
