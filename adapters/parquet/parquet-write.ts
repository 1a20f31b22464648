// Writes rows as Parquet, with at most one row group in memory.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ParquetWriter } from 'hyparquet-writer'
import type { Column } from '../../src/index.js'
import { invalidArgument } from '../base/arguments.js'
import { linesOf } from '../base/text-lines.js'
import { PACKAGE_VERSION } from '../directory/directory-format.js'
import { cellWriter, inexactNumber, SCHEMA_ENTRY, schemaElements } from './parquet-columns.js'
import { ParquetFooter } from './parquet-footer.js'
import { loadWriter } from './parquet-packages.js'

/** Bounds of a file. */
type FileBounds = Readonly<{
  /** The maximum number of rows of a row group. */
  groupRowsMax: number
  /** The maximum number of characters of a row group's JSON. A single row may be longer. */
  groupCharsMax: number
  /** The maximum size of the metadata of row groups, which is at the end of the file, and held until then. */
  footerBytesMax: number
}>

/** The file of a process that does nothing else. */
const OWN_FILE: FileBounds = {
  groupRowsMax: 65_536,
  groupCharsMax: 16 * 1024 * 1024,
  footerBytesMax: Number.POSITIVE_INFINITY,
}

/** The file of a server. A column chunk has about 150 bytes of metadata. */
export const SERVED_FILE: FileBounds = {
  groupRowsMax: 16_384,
  groupCharsMax: 2 * 1024 * 1024,
  footerBytesMax: 8 * 1024 * 1024,
}

/** The maximum number of characters of rows that are parsed before other work has a turn. */
const TURN_CHARS_MAX = 64 * 1024

/** The maximum number of turns in which a row group is written. In each, the writer looks at all columns. */
const TURNS_MAX = 32

/**
 * The bytes of a file with the rows, a row group at a time.
 * @param rows - One JSON object per line.
 * @throws {StoreError} REQUEST_VALIDATION_ERROR for rows that no such file can hold; OPTION_NOT_ALLOWED: the package is
 *   not installed
 */
export async function* encodeParquet(
  rows: AsyncIterable<string | Uint8Array>,
  columns: readonly Column[],
  bounds: FileBounds = OWN_FILE,
): AsyncGenerator<Uint8Array, void> {
  if (columns.length === 0) {
    throw invalidArgument('Parquet cannot store rows without columns; export another format')
  }
  const packaged = await loadWriter()
  const schema = schemaElements(columns)
  const bytes = new packaged.ByteWriter()
  const writer = new packaged.ParquetWriter({ writer: bytes, schema })
  const taken = (): Uint8Array => {
    const piece = bytes.getBytes().slice()
    bytes.index = 0 // The next write begins at the start of the buffer.
    return piece
  }
  const footer = new ParquetFooter(packaged)
  for await (const group of rowGroups(rows, columns, bounds)) {
    await writeGroup(writer, footer, columns, group)
    const { footerBytesMax } = bounds
    if (footer.bytes > footerBytesMax) {
      const remedy = 'export fewer rows or columns, or use the command "rowstash export"'
      throw invalidArgument(
        `Parquet with more metadata than ${footerBytesMax} bytes is refused; ${remedy}`,
      )
    }
    yield taken()
  }
  if (bytes.index > 0) yield taken() // A file without rows has a beginning, too.
  yield* footer.end({
    schema,
    key_value_metadata: [{ key: SCHEMA_ENTRY, value: JSON.stringify({ columns }) }],
    created_by: `rowstash version ${PACKAGE_VERSION}`,
  })
}

type GroupColumn = { name: string; data: unknown[] }

/** Writes a row group in several turns. */
async function writeGroup(
  writer: ParquetWriter,
  footer: ParquetFooter,
  columns: readonly Column[],
  group: readonly GroupColumn[],
): Promise<void> {
  const chunks: Uint8Array[] = []
  const sizes = { total_byte_size: 0n, total_compressed_size: 0n, num_rows: 0n }
  const step = Math.ceil(columns.length / TURNS_MAX)
  for (let at = 0; at < columns.length; at += step) {
    const columnData = group.slice(at, at + step).map((data) => ({ ...data, offsetIndex: false }))
    const pending = writer.write({ columnData, rowGroupSize: Number.MAX_SAFE_INTEGER })
    if (pending !== undefined) await pending
    writer.pendingIndexes.length = 0 // There are none.
    for (const part of writer.row_groups.splice(0)) {
      chunks.push(footer.encodeChunks(schemaElements(columns.slice(at, at + step)), part))
      sizes.total_byte_size += part.total_byte_size
      sizes.total_compressed_size += part.total_compressed_size ?? 0n
      sizes.num_rows = part.num_rows
    }
    await nextTurn()
  }
  footer.add(columns.length, chunks, { columns: [], ...sizes })
}

async function* rowGroups(
  rows: AsyncIterable<string | Uint8Array>,
  columns: readonly Column[],
  { groupRowsMax, groupCharsMax }: FileBounds,
): AsyncGenerator<GroupColumn[], void> {
  const writers = columns.map(cellWriter)
  const open = (): GroupColumn[] => columns.map(({ id }) => ({ name: id, data: [] }))
  let group = open()
  let [count, chars, number, turnAt] = [0, 0, 0, TURN_CHARS_MAX]
  for await (const line of linesOf(rows)) {
    const inexact = inexactNumber(line)
    if (inexact !== undefined) throw inexactFailure(inexact, number)
    const row = JSON.parse(line) as Record<string, unknown>
    for (const [place, { name, data }] of group.entries()) {
      data.push(Object.hasOwn(row, name) ? writers[place]?.(row[name]) : null)
    }
    number++
    count++
    chars += line.length
    if (chars >= turnAt) {
      turnAt = chars + TURN_CHARS_MAX
      await nextTurn()
    }
    if (count < groupRowsMax && chars < groupCharsMax) continue
    yield group
    group = open()
    count = chars = 0
    turnAt = TURN_CHARS_MAX
  }
  if (count > 0) yield group
}

function inexactFailure(token: string, row: number): Error {
  const problem = `Parquet stores doubles, and the number ${token} in row ${row} (counted from 0) is not a double`
  return invalidArgument(`${problem}; export csv or ndjson, which keep every digit`)
}
