// Reads the rows of a Parquet file as runs of JSON, one row group at a time.
//
// Invariant: the runs are always the same for the same file, and their offsets are the numbers of their rows.

import * as zlib from 'node:zlib'
import type { AsyncBuffer, FileMetaData, ParquetParsers } from 'hyparquet'
import type { TableSchema } from '../../src/index.js'
import type { CutRun } from '../base/records.js'
import { dayText, momentText, SCHEMA_ENTRY } from './parquet-columns.js'
import { loadReader } from './parquet-packages.js'
import { ProgramFailure } from './program-failure.js'

/** Bytes of a row group before compression, at most: its values are in memory at once. */
const GROUP_BYTES_MAX = 1024 ** 3

const utf8Decoder = new TextDecoder()

/** Values as texts that a table takes, with all their digits. */
const PARSERS: ParquetParsers = {
  timestampFromMilliseconds: (ticks) => momentText(ticks, 3),
  timestampFromMicroseconds: (ticks) => momentText(ticks, 6),
  timestampFromNanoseconds: (ticks) => momentText(ticks, 9),
  dateFromDays: dayText,
  stringFromBytes: (bytes) => bytes && utf8Decoder.decode(bytes),
  jsonFromBytes: (bytes) => bytes && JSON.parse(utf8Decoder.decode(bytes)),
  geometryFromBytes: (bytes) => bytes,
  geographyFromBytes: (bytes) => bytes,
  uuidFromBytes: uuidText,
}

function uuidText(bytes: Uint8Array | undefined): string | undefined {
  const hex = bytes && Buffer.from(bytes).toString('hex')
  return hex?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const { zstdDecompressSync: unpackZstd } = zlib as {
  zstdDecompressSync?: (bytes: Uint8Array) => Uint8Array
}

/** Snappy is in the package. */
const COMPRESSORS = {
  GZIP: (bytes: Uint8Array) => zlib.gunzipSync(bytes),
  BROTLI: (bytes: Uint8Array) => zlib.brotliDecompressSync(bytes),
  ...(unpackZstd !== undefined && { ZSTD: unpackZstd }),
}

type Opened = Readonly<{ file: AsyncBuffer; metadata: FileMetaData }>

async function open(path: string, onRead?: (bytes: number) => void): Promise<Opened> {
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
  return { file, metadata: await parquetMetadataAsync(file, { parsers: PARSERS }) }
}

/**
 * The schema of the table that a file was exported of; undefined: it is of another program.
 * @throws {ProgramFailure}
 */
export async function readParquetSchema(path: string): Promise<TableSchema | undefined> {
  try {
    const { metadata } = await open(path)
    const entry = metadata.key_value_metadata?.find(({ key }) => key === SCHEMA_ENTRY)
    return entry?.value === undefined ? undefined : JSON.parse(entry.value)
  } catch (failure) {
    if (failure instanceof ProgramFailure) throw failure
    const reason = failure instanceof Error ? failure.message : String(failure)
    throw new ProgramFailure('failed', `${path} cannot be read: ${reason}`, { cause: failure })
  }
}

/** Where runs are cut. */
type Limits = Readonly<{ rowsMax: number; bytesMax: number }>

/** The rows of a file. A file without rows makes one run without rows. */
export async function* readParquetRuns(
  path: string,
  limits: Limits,
  onRead?: (bytes: number) => void,
): AsyncGenerator<CutRun> {
  const { parquetRead, parquetSchema } = await loadReader()
  const { file, metadata } = await open(path, onRead)
  const columns = parquetSchema(metadata).children.map(({ element }) => element.name)
  const cutter = new RunCutter(columns, limits)
  let first = 0
  for (const { num_rows, total_byte_size } of metadata.row_groups) {
    if (Number(total_byte_size) > GROUP_BYTES_MAX) {
      throw new Error(`a row group of ${total_byte_size} bytes is larger than ${GROUP_BYTES_MAX}`)
    }
    const end = first + Number(num_rows)
    let rows: unknown[][] = []
    await parquetRead({
      file,
      metadata,
      rowStart: first,
      rowEnd: end,
      rowFormat: 'array',
      compressors: COMPRESSORS,
      parsers: PARSERS,
      onComplete: (found) => {
        rows = found as unknown as unknown[][]
      },
    })
    for (const row of rows) yield* cutter.add(row)
    first = end
  }
  yield* cutter.end()
}

/** Makes runs of JSON of rows. */
class RunCutter {
  readonly #keys: readonly string[]
  readonly #limits: Limits
  readonly #unseen: Set<number>
  #rows: string[] = []
  #bytes = 0
  #naming: number[] = []
  /** Rows of the runs before. */
  #offset = 0

  constructor(columns: readonly string[], limits: Limits) {
    this.#keys = columns.map((name) => `${JSON.stringify(name)}:`)
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
      cells.push(key + jsonOf(value, key, number))
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

/** @param key - The column as JSON, with a colon. @param row - Its number, for messages. */
function jsonOf(value: unknown, key: string, row: number): string {
  switch (typeof value) {
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'number':
      if (Number.isFinite(value)) return Object.is(value, -0) ? '0' : String(value)
      throw new Error(
        `row ${row + 1}: ${value} in column ${key.slice(0, -1)} is not a number that a table can hold`,
      )
    case 'string':
      return JSON.stringify(value)
    default:
      if (value instanceof Uint8Array) {
        throw new Error(
          `row ${row + 1}: column ${key.slice(0, -1)} has bytes, which no column can hold`,
        )
      }
      if (Array.isArray(value)) {
        return `[${value.map((item) => (item == null ? 'null' : jsonOf(item, key, row))).join(',')}]`
      }
      return JSON.stringify(value, (_, cell) => (typeof cell === 'bigint' ? Number(cell) : cell))
  }
}
