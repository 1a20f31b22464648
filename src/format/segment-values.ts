// Decodes the column values of a segment: sections 7 and 8 of its footer. FORMAT.md, section 6.
import { type Bytes, utf8 } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import { ByteReader } from './byte-reader.js'
import type { SegmentRef } from './extent-page.js'
import { COLUMN_VALUES } from './noted-column.js'
import { objectIdCrc } from './piece-crc.js'
import { renderKey } from './row-text.js'
import { corrupt, readDirectoryEntries, sectionAt } from './segment-footer.js'
import { SECTION } from './segment-layout.js'
import { isFilter, mayContain } from './value-filter.js'

/** The recorded values of a column. */
export type KnownColumn = Readonly<{
  hasEmpty: boolean
  hasFilled: boolean
  /** Bounds of the values, if all are numbers or all are texts: bytes of a token, or the first bytes of a text. */
  bounds: Readonly<{
    isNumber: boolean
    least: Bytes
    greatest: Bytes
    /** Whether greater texts may begin with `greatest`. */
    isCut: boolean
  }> | null
  filter: Bytes | null
}>

/** The key of a column in row texts, with its colon, one character per byte. */
export function columnKey(id: string): string {
  return byteText(utf8(`${renderKey(id)}:`))
}

/** The recorded column values of a segment. */
export class SegmentValues {
  /** Estimated memory of the values, in bytes. */
  readonly bytes: number
  readonly #columns: ReadonlyMap<string, KnownColumn>

  constructor(columns: ReadonlyMap<string, KnownColumn>, bytes: number) {
    this.#columns = columns
    this.bytes = bytes
  }

  /** The recorded values of a column; undefined: all cells of the column are empty. */
  column(id: string): KnownColumn | undefined {
    return this.columnOfKey(columnKey(id))
  }

  /** @param key - The result of `columnKey`. */
  columnOfKey(key: string): KnownColumn | undefined {
    return this.#columns.get(key)
  }

  /** Whether a cell of a column, or an array element, may have a value with this hash: see `hashOfToken`. */
  mayContain(id: string, hash: number): boolean {
    const column = this.column(id)
    if (column === undefined) return false
    return column.hasFilled && (column.filter === null || mayContain(column.filter, hash))
  }
}

/** Estimated memory of a column besides its stored bytes, in bytes. The values of a segment take as much once more. */
const COLUMN_BYTES = 400

/**
 * @param bytes - The bytes of `footerRange`. The result does not refer to them.
 * @returns null: no values were recorded.
 * @throws {StoreError} DATA_CORRUPT
 */
export function decodeSegmentValues(ref: SegmentRef, bytes: Bytes): SegmentValues | null {
  const idCrc = objectIdCrc(ref.object)
  const sections = new Map<number | undefined, Bytes>()
  for (const at of readDirectoryEntries(ref, idCrc, bytes)) {
    const number = bytes[at]
    if (number === SECTION.columnValues || number === SECTION.valueFilters) {
      sections.set(number, sectionAt(ref, idCrc, bytes, at).slice())
    }
  }
  const values = sections.get(SECTION.columnValues)
  if (values === undefined) return null
  const filters = decodeFilters(ref, sections.get(SECTION.valueFilters))
  const reader = new ByteReader(values, `column values of segment ${ref.object}`)
  const columns = new Map<string, KnownColumn>()
  for (let index = 0, count = reader.u16(); index < count; index++) {
    const key = byteText(reader.bytes(reader.u16()))
    columns.set(key, decodeColumn(reader, filters.get(index) ?? null))
  }
  const filterBytes = sections.get(SECTION.valueFilters)?.length ?? 0
  return new SegmentValues(columns, values.length + filterBytes + COLUMN_BYTES * (1 + columns.size))
}

function decodeColumn(reader: ByteReader, filter: Bytes | null): KnownColumn {
  const flags = reader.u8()
  const isNumber = (flags & COLUMN_VALUES.numbers) !== 0
  const hasBounds = isNumber || (flags & COLUMN_VALUES.texts) !== 0
  const least = hasBounds ? reader.bytes(reader.u8()) : null
  const greatest = hasBounds ? reader.bytes(reader.u8()) : null
  const isCut = (flags & COLUMN_VALUES.greatestIsCut) !== 0
  return {
    hasEmpty: (flags & COLUMN_VALUES.empty) !== 0,
    hasFilled: (flags & COLUMN_VALUES.filled) !== 0,
    bounds: least === null || greatest === null ? null : { isNumber, least, greatest, isCut },
    filter,
  }
}

function decodeFilters(ref: SegmentRef, bytes: Bytes | undefined): Map<number, Bytes> {
  const filters = new Map<number, Bytes>()
  if (bytes === undefined) return filters
  const reader = new ByteReader(bytes, `value filters of segment ${ref.object}`)
  for (let count = reader.u16(); count > 0; count--) {
    const index = reader.u16()
    const filter = reader.bytes(reader.u32())
    if (!isFilter(filter)) throw corrupt(ref, 'a filter of values has the wrong length')
    filters.set(index, filter)
  }
  return filters
}
