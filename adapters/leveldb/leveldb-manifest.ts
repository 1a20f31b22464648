// Reads the manifest, which lists the tables and logs of a LevelDB database.
//
// LevelDB is built with assertions, which end the process if a manifest contradicts itself (LEVELDB.md, F16). So a
// manifest that LevelDB would not write is rejected.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Cursor, compareInternalKeys, Malformed } from './leveldb-codec.js'
import { FILE_NUMBER_MAX, readDatabaseFile } from './leveldb-file.js'
import { type LogVisitor, readLog } from './leveldb-log.js'

/** A table in the manifest. Its keys are internal keys: a user key and eight bytes of LevelDB. */
export type TableFile = Readonly<{
  level: number
  number: number
  bytes: number
  smallest: Buffer
  largest: Buffer
}>

export type Manifest = Readonly<{
  tables: readonly TableFile[]
  /** LevelDB replays logs from this number on. */
  log: number
  /** The sequence number of the last change when LevelDB wrote the last edit. */
  lastSequence: number
}>

const LEVELS = 7
const COMPARATOR = 'leveldb.BytewiseComparator'

/** Bytes that LevelDB appends to a user key. */
const KEY_END_BYTES = 8

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
 * Reads the manifest named by CURRENT.
 * @throws {StoreError} DATA_CORRUPT; DATA_LOSS if the manifest is missing.
 */
export async function readManifest(folder: string): Promise<Manifest> {
  const name = await readDatabaseFile(join(folder, 'CURRENT'), async () => {
    const text = await readFile(join(folder, 'CURRENT'), 'latin1')
    const [, named, digits = ''] = /^(MANIFEST-(\d{6,16}))\n$/.exec(text) ?? []
    if (named === undefined || Number(digits) > FILE_NUMBER_MAX) {
      throw new Malformed('it names no manifest')
    }
    return named
  })
  const reader = new ManifestReader()
  await readDatabaseFile(join(folder, name), async (handle) => {
    await readLog(handle, reader)
    reader.end()
  })
  return reader.manifest()
}

type NumberName = 'log' | 'nextFile' | 'lastSequence'

class ManifestReader implements LogVisitor {
  readonly #tables = new Map<number, TableFile>()
  #numbers: Partial<Record<NumberName, number>> = {}
  #edits = 0
  #damage: Readonly<{ at: number; isTold: boolean }> | undefined

  record(bytes: Buffer): void {
    if (this.#damage !== undefined) throw new Malformed(`it is damaged at byte ${this.#damage.at}`)
    const cursor = new Cursor(bytes)
    while (cursor.left > 0) this.#field(cursor.varint(), cursor)
    if (this.#edits === 0) throw new Malformed('it does not begin with a comparator')
  }

  damage(at: number, isTold: boolean): void {
    this.#damage ??= { at, isTold }
  }

  /** Checks that all edits together are consistent. */
  end(): void {
    if (this.#damage?.isTold) throw new Malformed(`it is damaged at byte ${this.#damage.at}`)
    const { log, nextFile, lastSequence } = this.#numbers
    if (log === undefined || nextFile === undefined || lastSequence === undefined) {
      throw new Malformed('it lacks numbers that every manifest has')
    }
    const used = Math.max(log, ...this.#tables.keys())
    if (used >= nextFile) throw new Malformed(`it assigns the number ${used} to two files`)
    for (let level = 1; level < LEVELS; level++) this.#checkLevel(level)
  }

  manifest(): Manifest {
    const { log = 0, lastSequence = 0 } = this.#numbers
    return { tables: [...this.#tables.values()], log, lastSequence }
  }

  #field(tag: number, cursor: Cursor): void {
    if (tag === TAG.comparator) this.#comparator(cursor.text().toString('latin1'))
    else if (tag === TAG.logNumber) this.#number('log', cursor.varint())
    else if (tag === TAG.prevLogNumber) this.#previousLog(cursor.varint())
    else if (tag === TAG.nextFile) this.#number('nextFile', cursor.varint())
    else if (tag === TAG.lastSequence) this.#number('lastSequence', cursor.varint())
    else if (tag === TAG.compactPointer) {
      levelOf(cursor)
      readManifestKey(cursor)
    } else if (tag === TAG.deletedFile) this.#delete(levelOf(cursor), cursor.varint())
    else if (tag === TAG.newFile) this.#add(cursor)
    else throw new Malformed(`a field has the unknown tag ${tag}`)
  }

  /** Checks the name of the comparator, which only the first edit of a manifest has. */
  #comparator(name: string): void {
    if (name !== COMPARATOR) throw new Malformed('its keys are ordered by another comparator')
    if (this.#edits++ > 0) throw new Malformed('it names its comparator twice')
  }

  /** The number of a previous log. For many years LevelDB has written only 0. */
  #previousLog(number: number): void {
    if (number !== 0) throw new Malformed('it names a second log')
  }

  #number(name: NumberName, value: number): void {
    if (value < (this.#numbers[name] ?? 0)) throw new Malformed('its numbers decrease')
    if (value > FILE_NUMBER_MAX) throw new Malformed('its numbers are too high')
    this.#numbers[name] = value
  }

  #delete(level: number, number: number): void {
    if (this.#tables.get(number)?.level !== level) {
      throw new Malformed(`it removes table ${number}, which it does not have`)
    }
    this.#tables.delete(number)
  }

  #add(cursor: Cursor): void {
    const level = levelOf(cursor)
    const file = { level, number: cursor.varint(), bytes: cursor.varint() }
    if (this.#tables.has(file.number)) throw new Malformed(`it adds table ${file.number} twice`)
    this.#tables.set(file.number, {
      ...file,
      smallest: readManifestKey(cursor),
      largest: readManifestKey(cursor),
    })
  }

  /** Checks that the tables of a level above the first do not overlap. */
  #checkLevel(level: number): void {
    const tables = [...this.#tables.values()]
      .filter((table) => table.level === level)
      .sort((left, right) => compareInternalKeys(left.smallest, right.smallest))
    for (const [index, { number, smallest }] of tables.entries()) {
      const before = tables[index - 1]
      if (before === undefined || compareInternalKeys(before.largest, smallest) < 0) continue
      throw new Malformed(`its tables ${before.number} and ${number} overlap`)
    }
  }
}

function levelOf(cursor: Cursor): number {
  const level = cursor.varint()
  if (level >= LEVELS) throw new Malformed(`it has the invalid level ${level}`)
  return level
}

function readManifestKey(cursor: Cursor): Buffer {
  const key = cursor.text()
  if (key.length < KEY_END_BYTES) throw new Malformed('a key is too short')
  return Buffer.from(key)
}
