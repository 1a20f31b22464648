// Aggregates of a column per group of rows: the sum, the least or the greatest cell. Groups are numbered from 0.
import { type Bytes, NO_BYTES, utf8 } from '../../base/bytes.js'
import { dataError } from '../../base/data-error.js'
import { sliceText } from '../../base/platform.js'
import { DecimalReader } from '../../schema/decimal.js'
import { MomentReader } from '../../schema/moments.js'
import type { Comparison } from './condition.js'
import { ExactSum, SUM_PLACES_MAX } from './exact-sum.js'

export interface Aggregate {
  /** Adds the cell of a row to a group. @returns the number of bytes that are held in addition. @throws {StoreError} */
  add(group: number, bytes: Bytes, from: number, to: number): number
  /** The result of a group, as a JSON token. */
  render(group: number): string
}

export class Sums implements Aggregate {
  readonly #column: string
  readonly #sums: ExactSum[] = []

  constructor(column: string) {
    this.#column = column
  }

  add(group: number, bytes: Bytes, from: number, to: number): number {
    const known = this.#sums[group]
    const sum = known ?? new ExactSum()
    if (known === undefined) this.#sums[group] = sum
    if (sum.add(bytes, from, to)) return 0
    const problem = `the sum of column '${this.#column}' has more than ${SUM_PLACES_MAX} digits`
    throw dataError('REQUEST_VALIDATION_ERROR', problem, { column: this.#column })
  }

  render(group: number): string {
    const sum = this.#sums[group]
    return sum === undefined ? 'null' : `"${sum.text()}"`
  }
}

/** A value that was read from a token, and can be compared with another one. */
type Ordered<Reader> = { orderTo(other: Reader): number }

/** The least or greatest cell of each group; of equal cells, the first. */
class Extremes<Reader extends Ordered<Reader>> implements Aggregate {
  readonly #create: () => Reader
  readonly #read: (reader: Reader, bytes: Bytes, from: number, to: number) => boolean
  readonly #sign: number
  readonly #best: Readonly<{ reader: Reader; token: Bytes }>[] = []
  #next: Reader

  constructor(
    create: () => Reader,
    read: (reader: Reader, bytes: Bytes, from: number, to: number) => boolean,
    isGreatest: boolean,
  ) {
    this.#create = create
    this.#read = read
    this.#sign = isGreatest ? -1 : 1
    this.#next = create()
  }

  add(group: number, bytes: Bytes, from: number, to: number): number {
    const next = this.#next
    if (!this.#read(next, bytes, from, to)) return 0
    const best = this.#best[group]
    if (best !== undefined && this.#sign * next.orderTo(best.reader) >= 0) return 0
    const token = bytes.slice(from, to) // This is a copy, because the frame is not kept.
    this.#read(next, token, 0, token.length)
    this.#best[group] = { reader: next, token }
    this.#next = best?.reader ?? this.#create()
    return token.length - (best?.token.length ?? 0)
  }

  render(group: number): string {
    const { token = NO_BYTES } = this.#best[group] ?? {}
    return token.length === 0 ? 'null' : sliceText(token, 0, token.length)
  }
}

/** undefined: the least and greatest values are not offered for this comparison. */
export function extremesOf(comparison: Comparison, isGreatest: boolean): Aggregate | undefined {
  switch (comparison) {
    case 'number':
      return new Extremes(() => new DecimalReader(), readNumber, isGreatest)
    case 'time':
      return new Extremes(() => new MomentReader(), readTime, isGreatest)
    case 'date':
    case 'dateTime':
      return new Extremes(() => new MomentReader(), readDateTime, isGreatest)
    default:
      return undefined
  }
}

function readNumber(reader: DecimalReader, bytes: Bytes, from: number, to: number): boolean {
  reader.read(bytes, from, to)
  return true
}

function readTime(reader: MomentReader, bytes: Bytes, from: number, to: number): boolean {
  if (reader.readTime(bytes, from + 1, to - 1)) return true
  const text = unescaped(bytes, from, to)
  return reader.readTime(text, 0, text.length)
}

/** Reads the token of a date, with or without a time. */
function readDateTime(reader: MomentReader, bytes: Bytes, from: number, to: number): boolean {
  if (reader.readDateTime(bytes, from + 1, to - 1)) return true
  const text = unescaped(bytes, from, to)
  return reader.readDateTime(text, 0, text.length)
}

function unescaped(bytes: Bytes, from: number, to: number): Bytes {
  return utf8(String(JSON.parse(sliceText(bytes, from, to))))
}
