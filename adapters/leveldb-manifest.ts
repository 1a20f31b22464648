// Which tables a LevelDB database consists of, as its manifest says.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Cursor, crc32c, Malformed, maskCrc } from './leveldb-codec.js'

/** A table as the manifest knows it. Keys are those of LevelDB: ours, then eight bytes of its own. */
export type TableFile = Readonly<{
  number: number
  bytes: number
  smallest: Buffer
  largest: Buffer
}>

const BLOCK_BYTES = 32_768
const HEADER_BYTES = 7

/** Parts of a record in the log format. */
const PART = { full: 1, first: 2, middle: 3, last: 4 } as const

/** Tags of the fields of a version edit. */
const TAG = {
  comparator: 1,
  logNumber: 2,
  nextFile: 3,
  lastSequence: 4,
  compactPointer: 5,
  deletedFile: 6,
  newFile: 7,
  prevLogNumber: 9,
} as const

/**
 * Reads the manifest that CURRENT names.
 * @returns null: it cannot be read as LevelDB writes it, which LevelDB itself will tell.
 */
export async function readTables(folder: string): Promise<TableFile[] | null> {
  const current = await readFile(join(folder, 'CURRENT'), 'latin1')
  const [, name] = /^(MANIFEST-\d{1,15})\n$/.exec(current) ?? []
  if (name === undefined) return null
  try {
    const tables = new Map<number, TableFile>()
    for (const edit of readLog(await readFile(join(folder, name)))) applyEdit(edit, tables)
    return [...tables.values()]
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException
    if (failure instanceof Malformed || code === 'ENOENT') return null
    throw failure
  }
}

/** The records of a file in LevelDB's log format, up to one that a crash cut off. */
function* readLog(bytes: Buffer): Generator<Buffer, void> {
  let parts: Buffer[] = []
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const left = BLOCK_BYTES - (at % BLOCK_BYTES)
    if (left < HEADER_BYTES) {
      at += left
      continue
    }
    const length = bytes.readUInt16LE(at + 4)
    const type = bytes[at + 6] ?? 0
    const end = at + HEADER_BYTES + length
    if (end > bytes.length) return
    if (HEADER_BYTES + length > left) throw new Malformed('a record leaves its block')
    const crc = maskCrc(crc32c(bytes.subarray(at + 6, end)))
    if (bytes.readUInt32LE(at) !== crc) throw new Malformed('a record fails its checksum')
    const part = bytes.subarray(at + HEADER_BYTES, end)
    at = end
    if (type === PART.full || type === PART.first) parts = [part]
    else parts.push(part)
    if (type !== PART.full && type !== PART.last) continue
    yield Buffer.concat(parts)
    parts = []
  }
}

function applyEdit(edit: Buffer, tables: Map<number, TableFile>): void {
  const cursor = new Cursor(edit)
  while (cursor.left > 0) {
    const tag = cursor.varint()
    if (tag === TAG.comparator) {
      cursor.text()
    } else if (tag === TAG.compactPointer) {
      cursor.varint()
      cursor.text()
    } else if (tag === TAG.deletedFile) {
      cursor.varint()
      tables.delete(cursor.varint())
    } else if (tag === TAG.newFile) {
      cursor.varint()
      const file = { number: cursor.varint(), bytes: cursor.varint() }
      tables.set(file.number, { ...file, smallest: cursor.text(), largest: cursor.text() })
    } else if (NUMBER_TAGS.has(tag)) {
      cursor.varint()
    } else {
      throw new Malformed(`a field has the unknown tag ${tag}`)
    }
  }
}

const NUMBER_TAGS: ReadonlySet<number> = new Set([
  TAG.logNumber,
  TAG.nextFile,
  TAG.lastSequence,
  TAG.prevLogNumber,
])
