// Column values of a segment: least and greatest value, whether cells are empty, and a filter of hashes. FORMAT.md,
// section 6, sections 7 and 8 of a footer. Computed row by row while the segment is built.
import { type Bytes, NO_BYTES, utf8 } from '../base/bytes.js'
import { byteText } from '../base/platform.js'
import { FORM } from '../schema/json-byte-values.js'
import { CELL, type JsonByteScanner } from '../schema/scan-json-bytes.js'
import { ByteWriter } from './byte-writer.js'
import { CellReader } from './cell-reader.js'
import { NotedColumn } from './noted-column.js'
import { renderKey } from './row-text.js'
import { SECTION } from './segment-layout.js'
import { ValueFilterBuilder } from './value-filter.js'

/**
 * The maximum number of columns of a segment with column values. If a segment has more columns, no values are
 * recorded.
 */
const COLUMNS_MAX = 1_000

/** The maximum number of columns with a filter per segment: the first ones. */
export const FILTERED_COLUMNS_MAX = 32

/** The maximum number of bytes of all filters of a segment; the largest filters are left out first. */
const FILTER_BYTES_MAX = 256 * 1024

export class ColumnValuesBuilder {
  /** The keys of the columns to record; null: all. For other columns, only whether cells are empty is recorded. */
  readonly #wanted: ReadonlySet<string> | null
  readonly #columns: NotedColumn[] = []
  readonly #reader = new CellReader((key) => this.#columnOf(key))
  readonly #columnOfKey = new Map<string, NotedColumn>()
  #rowCount = 0
  #bytes: Bytes = NO_BYTES
  #view: DataView = new DataView(new ArrayBuffer(0))
  /** The scanner whose column numbers are the indexes of `#scanned`. */
  #scanner: JsonByteScanner | undefined
  #scanned: NotedColumn[] = []

  /** @param ids - The columns to record, at most `FILTERED_COLUMNS_MAX`; null: all. */
  constructor(ids: readonly string[] | null = null) {
    this.#wanted = ids && new Set(ids.map((id) => byteText(utf8(`${renderKey(id)}:`))))
  }

  /**
   * Records rows.
   * @param ends - The ends of the rows' texts, counted from the beginning of the first text.
   * @param areNoted - Per row, whether `noteScanned` has already recorded it.
   */
  note(texts: Bytes, ends: Uint32Array, rowCount: number, areNoted?: Uint8Array): void {
    const reader = this.#reader
    const view = this.#viewOf(texts)
    let at = 0
    for (let row = 0; row < rowCount; row++) {
      const end = ends[row] ?? 0
      if (this.#columns.length > COLUMNS_MAX) return
      if (areNoted?.[row] !== 1) {
        this.#rowCount++
        reader.begin()
        while (at < end) {
          const column = reader.read(texts, at, end)
          column.note(texts, view, reader.from, reader.to, reader.isEscaped)
          at = reader.to + 1
        }
      }
      at = end
    }
  }

  /** Records the scanner's current row, without reading it again. */
  noteScanned(row: JsonByteScanner): void {
    if (this.#columns.length > COLUMNS_MAX) return
    const { bytes, cells } = row
    const view = this.#viewOf(bytes)
    if (this.#scanner !== row) this.#scanned = []
    this.#scanner = row
    this.#rowCount++
    const end = CELL.size * row.cellCount
    for (let place = 0; place < end; place += CELL.size) {
      const what = cells[place + CELL.what] ?? 0
      const form = what & 0xff
      if (form === FORM.null) continue
      const column = this.#scanned[what >> 16] ?? this.#scannedColumn(row, what >> 16)
      if (column.isOnlyCounted) {
        column.count++
        continue
      }
      const isEscaped = form === FORM.escapedText || form === FORM.unicodeText
      column.note(
        bytes,
        view,
        cells[place + CELL.from] ?? 0,
        cells[place + CELL.to] ?? 0,
        isEscaped,
      )
    }
  }

  #scannedColumn({ bytes, keyFrom, keyTo }: JsonByteScanner, number: number): NotedColumn {
    const key = byteText(bytes.subarray(keyFrom[number], keyTo[number]))
    const column = this.#columnOf(`${key}:`)
    this.#scanned[number] = column
    return column
  }

  #viewOf(bytes: Bytes): DataView {
    if (this.#bytes !== bytes) {
      this.#bytes = bytes
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    }
    return this.#view
  }

  /** The sections of the footer. */
  finish(): readonly (readonly [number: number, bytes: Bytes])[] {
    const columns = this.#columns
    if (columns.length > COLUMNS_MAX) return []
    const values = new ByteWriter(64 * columns.length + 2).u16(columns.length)
    for (const column of columns) column.write(values, this.#rowCount)
    const filters = filtersOf(columns)
    if (filters.size === 0) return [[SECTION.columnValues, values.finish()]]
    const writer = new ByteWriter(1_024).u16(filters.size)
    for (const [index, filter] of filters) writer.u16(index).u32(filter.length).bytes(filter)
    return [
      [SECTION.columnValues, values.finish()],
      [SECTION.valueFilters, writer.finish()],
    ]
  }

  #columnOf(key: string): NotedColumn {
    const known = this.#columnOfKey.get(key)
    if (known !== undefined) return known
    const isWanted = this.#wanted?.has(key) ?? true
    const hasFilter =
      isWanted && (this.#wanted !== null || this.#columns.length < FILTERED_COLUMNS_MAX)
    const column = new NotedColumn(key, hasFilter ? new ValueFilterBuilder() : null, isWanted)
    this.#columns.push(column)
    this.#columnOfKey.set(key, column)
    return column
  }
}

/** The filters by column index, as many as fit. */
function filtersOf(columns: readonly NotedColumn[]): Map<number, Bytes> {
  const filters = columns.flatMap(({ filter }, index) => {
    const bytes = filter === null || filter.isEmpty ? null : filter.finish()
    return bytes === null ? [] : [{ index, bytes }]
  })
  let total = 0
  const fitting = [...filters]
    .sort((left, right) => left.bytes.length - right.bytes.length)
    .filter(({ bytes }) => {
      total += bytes.length
      return total <= FILTER_BYTES_MAX
    })
  fitting.sort((left, right) => left.index - right.index)
  return new Map(fitting.map(({ index, bytes }) => [index, bytes]))
}
