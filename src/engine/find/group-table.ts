// Finds the group of a row by the values of some of its cells. Cells that are written alike are of one group, so a table
// of hashes of their bytes answers most rows; of others the values are compared.
import { type Bytes, concatBytes } from '../../base/bytes.js'
import { sliceText } from '../../base/platform.js'
import type { RowCells } from '../../format/row-cells.js'
import { canonicalToken } from '../../format/row-values.js'
import { MomentReader } from '../../schema/moments.js'
import type { Comparison } from './condition.js'

/** Ways to write the values of groups that are remembered, at most, and their bytes. */
const WRITTEN_MAX = 16_384
const WRITTEN_BYTES_MAX = 1_048_576

/** Places of the table of hashes: a power of two, so that a quarter of them is taken at most. */
const PLACES = 4 * WRITTEN_MAX

/** Places that are looked at for one row, at most: hashes may have been chosen to be the same. */
const PROBES_MAX = 16

const FNV_START = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** Stands behind each cell: no JSON has this byte. */
const END = 0
const ENDING = Uint8Array.of(END)

export class GroupTable<Group> {
  readonly #comparisons: readonly Comparison[]
  readonly #columnCount: number
  readonly #create: (tokens: readonly (string | null)[]) => Group
  readonly #byValues = new Map<string, Group>()
  /** By place: the number of what was written, from 1 on; 0: none. */
  readonly #places = new Uint16Array(PLACES)
  readonly #written: Readonly<{ bytes: Bytes; group: Group }>[] = []
  #writtenBytes = 0
  readonly #moment = new MomentReader()

  /**
   * @param comparisons - By column, which are the first of the cells.
   * @param create - Makes a group of the tokens of its first row; null: the cell is empty.
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

  /** The group of the row that was read last. */
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

  /** Whether the cells are written so, each with `END` behind it. */
  #isWritten(written: Bytes, bytes: Bytes, { from, to }: RowCells): boolean {
    let length = 0
    for (let column = 0; column < this.#columnCount; column++) {
      const end = to[column] ?? 0
      for (let at = from[column] ?? 0; at < end; at++) {
        if (written[length++] !== bytes[at]) return false
      }
      length++ // Of as many bytes, `END` stands elsewhere only where a cell has another byte.
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

  /** A text that all tokens of a value have; of an empty cell it is empty. */
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

/** Of a text of ASCII, as times are. */
function asBytes(text: string): Bytes {
  return Uint8Array.from(text, (char) => char.charCodeAt(0))
}
