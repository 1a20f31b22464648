// Checks the files of a LevelDB database before it is opened. LevelDB does not verify the checksums of its tables on
// reads (LEVELDB.md, F1, F2): a flipped bit may hide a record or reveal an older one, which no checksum in the records
// detects. And some damage in other files makes LevelDB end the process (F16).
//
// Invariants:
// - Nothing is changed, so a damaged database is preserved.
// - Every byte of the tables in the manifest, and of the logs that will be replayed, is checked. Leftover files are not
//   checked.
import type { FileHandle } from 'node:fs/promises'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Cursor, crc32c, Malformed, maskCrc, unpackSnappy } from './leveldb-codec.js'
import { fileName, readDatabaseFile } from './leveldb-file.js'
import { readManifest, type TableFile } from './leveldb-manifest.js'
import { checkLogs, type Expected } from './leveldb-replay.js'

const FOOTER_BYTES = 48
const HANDLES_BYTES = 40
const MAGIC = Buffer.from('57fb808b247547db', 'hex')
const TRAILER_BYTES = 5
const WINDOW_BYTES = 256 * 1024

const COMPRESSION = { none: 0, snappy: 1 } as const

/** The place of a block, without its trailer. */
type Handle = Readonly<{ offset: number; bytes: number }>

/**
 * @param expected - The required commits. If a loss is accepted, damaged tables are accepted too. Damage that would end
 *   the process is never accepted.
 * @throws {StoreError} DATA_CORRUPT, with the file and its damage; DATA_LOSS
 */
export async function checkDatabaseFiles(folder: string, expected: Expected): Promise<void> {
  const manifest = await readManifest(folder)
  await checkLogs(folder, manifest, expected)
  for (const table of expected.atLeast === null ? [] : manifest.tables) {
    const path = await levelTablePath(folder, table)
    await readDatabaseFile(path, (handle) => new TableCheck(handle, table).run())
  }
}

/** The path of a table. Like LevelDB, falls back to the name that tables had in earlier versions. */
async function levelTablePath(folder: string, { number }: TableFile): Promise<string> {
  const path = join(folder, fileName(number, 'ldb'))
  const former = join(folder, fileName(number, 'sst'))
  const isThere = (one: string) => stat(one).then(Boolean, () => false)
  return !(await isThere(path)) && (await isThere(former)) ? former : path
}

class TableCheck {
  readonly #handle: FileHandle
  readonly #table: TableFile
  /** The last bytes read. Blocks are small and mostly consecutive. */
  #window: Readonly<{ start: number; bytes: Buffer }> = { start: 0, bytes: Buffer.alloc(0) }

  constructor(handle: FileHandle, table: TableFile) {
    this.#handle = handle
    this.#table = table
  }

  async run(): Promise<void> {
    const { size } = await this.#handle.stat()
    const { bytes, smallest, largest } = this.#table
    if (size !== bytes) throw new Malformed(`it has ${size} bytes instead of ${bytes}`)
    const { meta, index } = await this.#footer(size)
    const data = entriesOfBlock(await this.#block(index)).map(({ value }) =>
      handleOf(new Cursor(value)),
    )
    let first: Buffer | undefined
    let last: Buffer | undefined
    let end = 0
    for (const handle of data) {
      if (handle.offset !== end) throw new Malformed(`a gap is at byte ${end}`)
      const block = await this.#block(handle)
      end = endOfBlock(handle)
      if (first !== undefined && handle !== data[data.length - 1]) continue
      const entries = entriesOfBlock(block)
      first ??= entries[0]?.key
      last = entries[entries.length - 1]?.key
    }
    // Filters are checked too, because a flipped bit in a filter would hide existing keys.
    for (const { value } of entriesOfBlock(await this.#block(meta))) {
      const filter = handleOf(new Cursor(value))
      if (filter.offset !== end) throw new Malformed(`a gap is at byte ${end}`)
      await this.#block(filter)
      end = endOfBlock(filter)
    }
    const isWhole = meta.offset === end && index.offset === endOfBlock(meta)
    if (!isWhole || endOfBlock(index) !== size - FOOTER_BYTES)
      throw new Malformed('its blocks leave gaps')
    if (first?.equals(smallest) && last?.equals(largest)) return
    throw new Malformed('its keys are not those that the manifest lists')
  }

  async #footer(size: number): Promise<Readonly<{ meta: Handle; index: Handle }>> {
    if (size < FOOTER_BYTES) throw new Malformed('it is too short')
    const footer = await this.#read(size - FOOTER_BYTES, FOOTER_BYTES)
    if (!footer.subarray(HANDLES_BYTES).equals(MAGIC))
      throw new Malformed('its magic number is missing')
    const cursor = new Cursor(footer.subarray(0, HANDLES_BYTES))
    const handles = { meta: handleOf(cursor), index: handleOf(cursor) }
    if (cursor.run(cursor.left).some((byte) => byte !== 0))
      throw new Malformed('its footer is invalid')
    return handles
  }

  /** Reads a block, verifies its checksum and decompresses it. */
  async #block({ offset, bytes }: Handle): Promise<Buffer> {
    if (endOfBlock({ offset, bytes }) > this.#table.bytes)
      throw new Malformed('a block lies outside the file')
    const stored = await this.#read(offset, bytes + TRAILER_BYTES)
    const crc = maskCrc(crc32c(stored.subarray(0, bytes + 1)))
    if (stored.readUInt32LE(bytes + 1) !== crc) {
      throw new Malformed(`the block at byte ${offset} fails its checksum`)
    }
    const compression = stored[bytes] ?? 0
    const content = stored.subarray(0, bytes)
    if (compression === COMPRESSION.none) return content
    if (compression === COMPRESSION.snappy) return unpackSnappy(content)
    throw new Malformed(`the block at byte ${offset} has the unknown compression ${compression}`)
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    const ahead = offset - this.#window.start
    if (ahead >= 0 && ahead + length <= this.#window.bytes.length) {
      return this.#window.bytes.subarray(ahead, ahead + length)
    }
    const bytes = Buffer.allocUnsafe(Math.max(length, WINDOW_BYTES))
    const { bytesRead } = await this.#handle.read(bytes, 0, bytes.length, offset)
    if (bytesRead < length) throw new Malformed(`it ends at byte ${offset + bytesRead}`)
    this.#window = { start: offset, bytes: bytes.subarray(0, bytesRead) }
    return bytes.subarray(0, length)
  }
}

function handleOf(cursor: Cursor): Handle {
  return { offset: cursor.varint(), bytes: cursor.varint() }
}

function endOfBlock({ offset, bytes }: Handle): number {
  return offset + bytes + TRAILER_BYTES
}

type Entry = Readonly<{ key: Buffer; value: Buffer }>

/** The entries of a block. Keys share prefixes, and the block ends with a list of restart points. */
function entriesOfBlock(block: Buffer): Entry[] {
  if (block.length < 4) throw new Malformed('a block is too short')
  const restarts = block.readUInt32LE(block.length - 4)
  const limit = block.length - 4 - 4 * restarts
  if (limit < 0) throw new Malformed('a block has too many restarts')
  const cursor = new Cursor(block.subarray(0, limit))
  const entries: Entry[] = []
  let key = Buffer.alloc(0)
  while (cursor.left > 0) {
    const [shared, own, value] = [cursor.varint(), cursor.varint(), cursor.varint()]
    if (shared > key.length)
      throw new Malformed('a key shares more bytes than the key before it has')
    key = Buffer.concat([key.subarray(0, shared), cursor.run(own)])
    entries.push({ key, value: cursor.run(value) })
  }
  return entries
}
