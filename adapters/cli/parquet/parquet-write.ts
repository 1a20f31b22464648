// Writes rows as Parquet, with at most one row group in memory.
import type { Column } from '../../../src/index.js'
import { PACKAGE_VERSION } from '../../directory/directory-format.js'
import { ProgramFailure } from '../command/program-failure.js'
import { linesOf } from '../command/text-lines.js'
import { cellWriter, inexactNumber, SCHEMA_ENTRY, schemaElements } from './parquet-columns.js'
import { loadWriter } from './parquet-packages.js'

/** The maximum number of rows of a row group. */
const GROUP_ROWS_MAX = 65_536

/** The maximum number of characters of a row group's JSON. A single row may be longer. */
const GROUP_CHARS_MAX = 16 * 1024 * 1024

/**
 * The bytes of a file with the rows, a row group at a time.
 * @param rows - One JSON object per line.
 * @throws {ProgramFailure} for a number that is not a double, or if the package is not installed
 */
export async function* encodeParquet(
  rows: AsyncIterable<string | Uint8Array>,
  columns: readonly Column[],
): AsyncGenerator<Uint8Array, void> {
  if (columns.length === 0) {
    throw new ProgramFailure(
      'failed',
      'Parquet cannot store rows without columns; export another format',
    )
  }
  const { ByteWriter, ParquetWriter } = await loadWriter()
  const bytes = new ByteWriter()
  const writer = new ParquetWriter({
    writer: bytes,
    schema: schemaElements(columns),
    kvMetadata: [{ key: SCHEMA_ENTRY, value: JSON.stringify({ columns }) }],
    createdBy: `rowstash version ${PACKAGE_VERSION}`,
  })
  const taken = (): Uint8Array => {
    const piece = bytes.getBytes().slice()
    bytes.index = 0 // The next write begins at the start of the buffer.
    return piece
  }
  for await (const columnData of rowGroups(rows, columns)) {
    const pending = writer.write({ columnData, rowGroupSize: GROUP_ROWS_MAX })
    if (pending !== undefined) await pending
    yield taken()
  }
  const ended = writer.finish()
  if (ended !== undefined) await ended
  yield taken()
}

type GroupColumn = { name: string; data: unknown[] }

async function* rowGroups(
  rows: AsyncIterable<string | Uint8Array>,
  columns: readonly Column[],
): AsyncGenerator<GroupColumn[], void> {
  const writers = columns.map(cellWriter)
  const open = (): GroupColumn[] => columns.map(({ id }) => ({ name: id, data: [] }))
  let group = open()
  let [count, chars, number] = [0, 0, 0]
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
    if (count < GROUP_ROWS_MAX && chars < GROUP_CHARS_MAX) continue
    yield group
    group = open()
    count = chars = 0
  }
  if (count > 0) yield group
}

function inexactFailure(token: string, row: number): ProgramFailure {
  const problem = `The number ${token} in row ${row} (counted from 0) is not a double, the only type of number that Parquet has`
  return new ProgramFailure('failed', `${problem}; export csv or ndjson, which keep every digit`)
}
