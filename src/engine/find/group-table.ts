// Finds the group of a row by the values of some cells. Cells with equal bytes belong to one group, so a hash table of
// these bytes tells the group of most rows. For the other rows the values are compared.
import { type Bytes, concatBytes } from '../../base/bytes.js'
import { sliceText } from '../../base/platform.js'
import type { RowCells } from '../../format/row-cells.js'
import { canonicalToken } from '../../format/row-values.js'
import { MomentReader } from '../../schema/moments.js'
import type { Comparison } from './condition.js'

/** At most this many spellings of groups' values are remembered, with at most this many bytes. */
const WRITTEN_MAX = 16_384
const WRITTEN_BYTES_MAX = 1_048_576

/** Number of places of the hash table, a power of two. At most a quarter of the places is occupied. */
const PLACES = 4 * WRITTEN_MAX

/** Maximum number of places examined for one row: a caller may have chosen values whose hashes collide. */
const PROBES_MAX = 16

const FNV_START = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** The terminator of each cell: JSON never has this byte. */
const END = 0
const ENDING = Uint8Array.of(END)

export class GroupTable<Group> {
  readonly #comparisons: readonly Comparison[]
  readonly #columnCount: number
  readonly #create: (tokens: readonly (string | null)[]) => Group
  readonly #byValues = new Map<string, Group>()
  /** By place: the number of a spelling, from 1 on; 0: the place is free. */
  readonly #places = new Uint16Array(PLACES)
  readonly #written: Readonly<{ bytes: Bytes; group: Group }>[] = []
  #writtenBytes = 0
  readonly #moment = new MomentReader()

  /**
   * @param comparisons - The comparisons of the grouping columns, which are the first cells.
   * @param create - Makes a group from the tokens of its first row; null: the cell is empty.
   */
  constructor(
    comparisons: readonly Comparison[],
    create: (tokens: readonly (string | null)[]) => Group,
  ) {
    this.#comparisons = comparisons
    this.#columnCount = comparisons.length
    this.#create = create
  }

  get groups(): readonly Group[] {
    return [...this.#byValues.values()]
  }

  /** The group of the last row read. */
  of(bytes: Bytes, cells: RowCells): Group {
    const start = this.#hash(bytes, cells)
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const place = (start + probe) & (PLACES - 1)
      const known = this.#written[(this.#places[place] ?? 0) - 1]
      if (known === undefined) return this.#write(place, bytes, cells)
      if (this.#isWritten(known.bytes, bytes, cells)) return known.group
    }
    return this.#groupOf(bytes, cells)
  }

  #hash(bytes: Bytes, { from, to }: RowCells): number {
    let hash = FNV_START
    for (let column = 0; column < this.#columnCount; column++) {
      const end = to[column] ?? 0
      for (let at = from[column] ?? 0; at < end; at++) {
        hash = Math.imul(hash ^ (bytes[at] ?? 0), FNV_PRIME)
      }
      hash = Math.imul(hash, FNV_PRIME)
    }
    return hash ^ (hash >>> 15)
  }

  /** Whether the cells have these bytes, each followed by `END`. */
  #isWritten(written: Bytes, bytes: Bytes, { from, to }: RowCells): boolean {
    let length = 0
    for (let column = 0; column < this.#columnCount; column++) {
      const end = to[column] ?? 0
      for (let at = from[column] ?? 0; at < end; at++) {
        if (written[length++] !== bytes[at]) return false
      }
      // The `END` is not compared: if all lengths together are equal, an `END` in another place makes a cell differ.
      length++
    }
    return length === written.length
  }

  #write(place: number, bytes: Bytes, cells: RowCells): Group {
    const group = this.#groupOf(bytes, cells)
    const { from, to } = cells
    const parts = this.#comparisons.map((_, column) => bytes.subarray(from[column], to[column]))
    const length = parts.reduce((sum, part) => sum + part.length + 1, 0)
    if (this.#written.length < WRITTEN_MAX && this.#writtenBytes + length <= WRITTEN_BYTES_MAX) {
      this.#writtenBytes += length
      const written = concatBytes(parts.flatMap((part) => [part, ENDING]))
      this.#places[place] = this.#written.push({ bytes: written, group })
    }
    return group
  }

  #groupOf(bytes: Bytes, { from, to }: RowCells): Group {
    const tokens = this.#comparisons.map((_, column) => {
      const end = to[column] ?? 0
      return end === 0 ? null : sliceText(bytes, from[column] ?? 0, end)
    })
    const values = tokens.map((token, column) => this.#valueOf(token, this.#comparisons[column]))
    const name = values.join('\0')
    const known = this.#byValues.get(name)
    if (known !== undefined) return known
    const group = this.#create(tokens)
    this.#byValues.set(name, group)
    return group
  }

  /** A text that is the same for all spellings of a value; empty for an empty cell. */
  #valueOf(token: string | null, comparison: Comparison | undefined): string {
    if (token === null) return ''
    if (comparison !== 'time' && comparison !== 'dateTime') return canonicalToken(token)
    const text = String(JSON.parse(token))
    const moment = this.#moment
    const isMoment =
      comparison === 'time'
        ? moment.readTime(asBytes(text), 0, text.length)
        : moment.readDateTime(asBytes(text), 0, text.length)
    return isMoment
      ? `${moment.seconds}.${text.slice(moment.fractionFrom, moment.fractionTo)}`
      : token
  }
}

/** The bytes of an ASCII text, such as a time. */
function asBytes(text: string): Bytes {
  return Uint8Array.from(text, (char) => char.charCodeAt(0))
}
