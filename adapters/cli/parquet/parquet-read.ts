// Reads the rows of a Parquet file as runs of JSON, one row group at a time.
//
// Invariant: the same file always yields the same runs; their offsets are row numbers.

import * as zlib from 'node:zlib'
import type { AsyncBuffer, FileMetaData, ParquetParsers, SchemaTree } from 'hyparquet'
import type { Column, TableSchema } from '../../../src/index.js'
import type { CutRun } from '../../base/records.js'
import { SCHEMA_ENTRY } from '../../parquet/parquet-columns.js'
import { loadReader } from '../../parquet/parquet-packages.js'
import { ProgramFailure } from '../command/program-failure.js'
import { mapKeyOf, type Render } from './parquet-texts.js'
import { isUnannotated, isUnsigned32, takeRawValues, typeOfColumn } from './parquet-values.js'

/** The maximum size of a row group before compression, in bytes: all its values are in memory at once. */
const GROUP_BYTES_MAX = 1024 ** 3

/** Conversions by hyparquet in columns that are not raw: INT96 stays a number of nanoseconds. */
const PARSERS: Partial<ParquetParsers> = {
  timestampFromNanoseconds: (ticks) => ticks,
  geometryFromBytes: (bytes) => bytes,
  geographyFromBytes: (bytes) => bytes,
}

/** Conversions while rows are read. In columns that are not raw, the only strings are keys of maps. */
const READ_PARSERS: Partial<ParquetParsers> = {
  ...PARSERS,
  stringFromBytes: (bytes) => bytes && mapKeyOf(bytes),
}

const { zstdDecompressSync: unpackZstd } = zlib as {
  zstdDecompressSync?: (bytes: Uint8Array) => Uint8Array
}

/** hyparquet itself contains Snappy. */
const COMPRESSORS = {
  GZIP: (bytes: Uint8Array) => zlib.gunzipSync(bytes),
  BROTLI: (bytes: Uint8Array) => zlib.brotliDecompressSync(bytes),
  ...(unpackZstd !== undefined && { ZSTD: unpackZstd }),
}

type Opened = Readonly<{ file: AsyncBuffer; metadata: FileMetaData }>

async function openParquet(path: string, onRead?: (bytes: number) => void): Promise<Opened> {
  const { asyncBufferFromFile, parquetMetadataAsync } = await loadReader()
  const whole = await asyncBufferFromFile(path)
  const file: AsyncBuffer = {
    byteLength: whole.byteLength,
    async slice(start, end) {
      const bytes = await whole.slice(start, end)
      onRead?.(bytes.byteLength)
      return bytes
    },
  }
  try {
    return {
      file,
      metadata: await parquetMetadataAsync(file, { parsers: PARSERS as ParquetParsers }),
    }
  } catch (failure) {
    throw new Error(`its metadata cannot be read: ${reasonOf(failure)}`, { cause: failure })
  }
}

/**
 * The schema of the table that was exported. undefined: another program wrote the file, or a column may have values of
 * several kinds.
 * @param isNew - Whether the table is new: then the schema of another program's file is derived from its own types.
 * @throws {ProgramFailure}
 */
export async function readParquetSchema(
  path: string,
  isNew: boolean,
): Promise<TableSchema | undefined> {
  try {
    const { metadata } = await openParquet(path)
    return schemaOf(metadata) ?? (isNew ? await schemaByTypes(metadata) : undefined)
  } catch (failure) {
    if (failure instanceof ProgramFailure) throw failure
    const reason = failure instanceof Error ? failure.message : String(failure)
    throw new ProgramFailure('failed', `${path} cannot be read: ${reason}`, { cause: failure })
  }
}

function schemaOf({ key_value_metadata }: FileMetaData): TableSchema | undefined {
  const entry = key_value_metadata?.find(({ key }) => key === SCHEMA_ENTRY)
  return entry?.value === undefined ? undefined : JSON.parse(entry.value)
}

async function schemaByTypes(metadata: FileMetaData): Promise<TableSchema | undefined> {
  const { parquetSchema } = await loadReader()
  const columns: Column[] = []
  for (const column of parquetSchema(metadata).children) {
    const type = typeOfColumn(column)
    const { name: id } = column.element
    if (type === undefined) return undefined
    columns.push({ id, type })
  }
  return { columns }
}

/** The column IDs of a file. hyparquet drops a leading U+FEFF from names; the schema of an export still has it. */
function resolveColumnIds(names: readonly string[], metadata: FileMetaData): readonly string[] {
  const ids = schemaOf(metadata)?.columns.map(({ id }) => id) ?? []
  const isOfExport = names.every((name, place) => ids[place]?.replace(/^\ufeff/, '') === name)
  return isOfExport ? ids : names
}

const READ_CODECS: readonly string[] = ['UNCOMPRESSED', 'SNAPPY', ...Object.keys(COMPRESSORS)]

function checkColumnCodecs({ row_groups }: FileMetaData): void {
  for (const { meta_data } of row_groups.flatMap(({ columns }) => columns)) {
    const codec = meta_data?.codec ?? 'UNCOMPRESSED'
    if (READ_CODECS.includes(codec)) continue
    if (codec === 'ZSTD') throw new Error('it is compressed with ZSTD, which needs Node 22.15')
    throw new Error(`it is compressed with ${codec}: write it with SNAPPY, GZIP, BROTLI or ZSTD`)
  }
}

/**
 * Declares delta-packed unsigned 32-bit columns as 64-bit ones, which are packed in the same way. Programs write 33
 * bits for their first number, of which hyparquet would read only 32.
 */
function widenUnsigned({ element, path, children }: SchemaTree, metadata: FileMetaData): void {
  for (const child of children) widenUnsigned(child, metadata)
  if (!isUnsigned32(element)) return
  for (const { meta_data: chunk } of metadata.row_groups.flatMap(({ columns }) => columns)) {
    const isPacked = chunk?.encodings.every((name) =>
      /^(?:DELTA_BINARY_PACKED|RLE|BIT_PACKED)$/.test(name),
    )
    if (isPacked && chunk?.path_in_schema.join('.') === path.join('.')) chunk.type = 'INT64'
  }
}

/** The limits of a run. */
type Limits = Readonly<{ rowsMax: number; bytesMax: number }>

type ReadOptions = Readonly<{
  /** The type of bytes not marked as text. Default: text, except fixed-length bytes. */
  binary?: 'text' | undefined
  onRead?: ((bytes: number) => void) | undefined
  /** Called with the columns of unmarked bytes, if no option concerns them. */
  onUnannotated?: (columns: readonly string[]) => void
}>

/** The rows of a file. A file without rows yields one empty run. */
export async function* readParquetRuns(
  path: string,
  limits: Limits,
  { binary, onRead, onUnannotated }: ReadOptions = {},
): AsyncGenerator<CutRun> {
  const { parquetSchema } = await loadReader()
  const { file, metadata } = await openParquet(path, onRead)
  const columns = parquetSchema(metadata).children
  const names = columns.map(({ element }) => element.name)
  checkColumnCodecs(metadata)
  columns.forEach((column) => {
    widenUnsigned(column, metadata)
  })
  const unannotated = names.filter((_, i) => columns[i] !== undefined && isUnannotated(columns[i]))
  if (binary === undefined && unannotated.length > 0) onUnannotated?.(unannotated)
  const cutter = new RunCutter(
    resolveColumnIds(names, metadata),
    columns.map((column) => takeRawValues(column, binary)),
    limits,
  )
  let first = 0
  for (const { num_rows, total_byte_size } of metadata.row_groups) {
    if (Number(total_byte_size) > GROUP_BYTES_MAX) {
      throw new Error(`a row group of ${total_byte_size} bytes is larger than ${GROUP_BYTES_MAX}`)
    }
    const end = first + Number(num_rows)
    const rows = await readRowGroup({ file, metadata }, first, end)
    for (const row of rows) yield* cutter.add(row)
    first = end
  }
  yield* cutter.end()
}

/** @throws {Error} with the unreadable column and its place */
async function readRowGroup(opened: Opened, first: number, end: number): Promise<unknown[][]> {
  try {
    return await readRows(opened, first, end)
  } catch (failure) {
    for (const { element } of (await loadReader()).parquetSchema(opened.metadata).children) {
      await readRows(opened, first, end, [element.name]).catch((cause: unknown) => {
        const place = `rows ${first + 1} to ${end}: column ${JSON.stringify(element.name)}`
        throw new Error(`${place} cannot be read: ${reasonOf(cause)}`, { cause })
      })
    }
    throw failure
  }
}

/** hyparquet's message about a file. Unexpected content causes plain JavaScript errors. */
function reasonOf(failure: unknown): string {
  const isSaid = failure instanceof Error && failure.constructor === Error
  return isSaid ? failure.message.replace(/^parquet /, '') : 'its bytes are damaged'
}

async function readRows(
  { file, metadata }: Opened,
  rowStart: number,
  rowEnd: number,
  columns?: string[],
): Promise<unknown[][]> {
  const { parquetRead } = await loadReader()
  let rows: unknown[][] = []
  await parquetRead({
    file,
    metadata,
    rowStart,
    rowEnd,
    ...(columns && { columns }),
    rowFormat: 'array',
    compressors: COMPRESSORS,
    parsers: READ_PARSERS as ParquetParsers,
    utf8: false,
    onComplete: (found) => {
      rows = found as unknown as unknown[][]
    },
  })
  return rows
}

/** Makes runs of JSON from rows. */
class RunCutter {
  readonly #keys: readonly string[]
  readonly #renders: readonly Render[]
  readonly #limits: Limits
  readonly #unseen: Set<number>
  #rows: string[] = []
  #bytes = 0
  #naming: number[] = []
  /** The number of rows in earlier runs. */
  #offset = 0

  constructor(columns: readonly string[], renders: readonly Render[], limits: Limits) {
    this.#keys = columns.map((name) => `${JSON.stringify(name)}:`)
    this.#renders = renders
    this.#limits = limits
    this.#unseen = new Set(columns.keys())
  }

  *add(row: readonly unknown[]): Generator<CutRun> {
    const { rowsMax, bytesMax } = this.#limits
    const number = this.#offset + this.#rows.length
    const cells: string[] = []
    let isNaming = false
    for (const [place, key] of this.#keys.entries()) {
      const value = row[place]
      if (value === null || value === undefined) continue
      cells.push(key + this.#render(value, place, number))
      if (this.#unseen.delete(place)) isNaming = true
    }
    const text = `{${cells.join(',')}}`
    const bytes = Buffer.byteLength(text) + 1
    if (bytes > bytesMax) throw new Error(`row ${number + 1} is larger than ${bytesMax} bytes`)
    if (this.#bytes + bytes > bytesMax) yield this.#cut()
    if (isNaming) this.#naming.push(this.#rows.length)
    this.#rows.push(text)
    this.#bytes += bytes
    if (this.#rows.length === rowsMax) yield this.#cut()
  }

  #render(value: unknown, place: number, row: number): string {
    try {
      return this.#renders[place]?.(value) ?? 'null'
    } catch (failure) {
      const column = this.#keys[place]?.slice(0, -1)
      throw new Error(`row ${row + 1}: column ${column} has ${(failure as Error).message}`)
    }
  }

  *end(): Generator<CutRun> {
    if (this.#rows.length > 0 || this.#offset === 0) yield this.#cut()
  }

  #cut(): CutRun {
    const starts: number[] = []
    const ends: number[] = []
    let at = 0
    for (const text of this.#rows) {
      starts.push(at)
      at += Buffer.byteLength(text)
      ends.push(at++)
    }
    const run: CutRun = {
      header: new Uint8Array(),
      bytes: Buffer.from(this.#rows.join(',')),
      offset: this.#offset,
      starts,
      ends,
      namingRecords: this.#naming,
    }
    this.#offset += this.#rows.length
    this.#rows = []
    this.#bytes = 0
    this.#naming = []
    return run
  }
}
